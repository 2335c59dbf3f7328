//! The file system of a machine: that of this host or another one, with tmpfs over writable folders.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

/// Folders that daemons write to.
const WRITTEN: [&str; 7] = ["run", "tmp", "var/tmp", "var/log", "var/lib/frr", "etc/frr", "usr/local/etc"];

/// Path of the agent in every machine.
pub(crate) const AGENT: &str = "/run/lab/ichor-agent";

/// Mounts the file system of a machine; called by its init process.
pub(crate) fn make(root: Option<&Path>, agent: &Path) -> io::Result<()> {
    // Opened now, because the next mounts may hide its path.
    let agent = File::open(agent)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    let base = root.unwrap_or(Path::new("/"));
    if root.is_some() {
        mount(Some(base), base, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
        let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        mount(None::<&str>, base, None::<&str>, flags, None::<&str>)?;
        let devices = base.join("dev");
        mount(Some("/dev"), &devices, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)?;
    }
    for folder in WRITTEN.map(|folder| base.join(folder)) {
        if folder.is_dir() {
            mount(Some("lab"), &folder, Some("tmpfs"), MsFlags::empty(), Some("mode=755"))?;
        }
    }
    let inside = base.join(AGENT.trim_start_matches('/'));
    fs::create_dir_all(inside.parent().expect("a file in a folder"))?;
    File::create(&inside)?;
    let source = PathBuf::from(format!("/proc/self/fd/{}", agent.as_raw_fd()));
    mount(Some(&source), &inside, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    drop(agent);
    if root.is_some() {
        chdir(base)?;
        mount(Some("proc"), "proc", Some("proc"), MsFlags::empty(), None::<&str>)?;
        mount(Some("sysfs"), "sys", Some("sysfs"), MsFlags::empty(), None::<&str>)?;
        pivot_root(".", ".")?;
        umount2(".", MntFlags::MNT_DETACH)?;
        return chdir("/").map_err(io::Error::from);
    }
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), None::<&str>)?;
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>)?;
    Ok(())
}
