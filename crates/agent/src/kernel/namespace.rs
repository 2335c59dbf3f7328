//! Named network namespaces, as iproute2 has them: a file below `/run/netns` on which the namespace is mounted.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ichor_bgp::agent::wiring::{GROUP, NamespaceState};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags};
use nix::sched::CloneFlags;
use nix::sys::statfs::{NSFS_MAGIC, fstatfs};

use super::Kernel;

/// Where namespaces have their names; zebra looks nowhere else.
pub const FOLDER: &str = "/run/netns";

/// The namespace that the calling thread is in.
const OWN: &str = "/proc/thread-self/ns/net";

fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

/// The namespace, to move links to.
pub(super) fn open(name: &str) -> io::Result<File> {
    File::open(path(name))
}

/// The kernel of a namespace.
pub(super) fn kernel(name: &str) -> io::Result<Kernel> {
    visit(name, Kernel::open)
}

/// Opens something in a namespace: a socket stays in the one it was made in, whoever uses it.
pub(super) fn visit<T>(name: &str, open_there: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let namespace = open(name)?;
    away(|| nix::sched::setns(namespace, CloneFlags::CLONE_NEWNET), open_there)
}

/// Takes this thread to another namespace for some work, and back. The work waits for nothing: whoever else ran on this thread
/// meanwhile would be there, too.
fn away<T>(leave: impl FnOnce() -> nix::Result<()>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let home = File::open(OWN)?;
    leave()?;
    let _return = NamespaceGuard(home);
    work()
}

/// The way back to the namespace that a thread came from.
struct NamespaceGuard(File);

impl Drop for NamespaceGuard {
    fn drop(&mut self) {
        if nix::sched::setns(&self.0, CloneFlags::CLONE_NEWNET).is_err() {
            // All that this thread did from now on, it would do in the wrong network.
            std::process::abort();
        }
    }
}

/// The kernel's number of a namespace; none while no namespace has the name. One that is made anew has another.
pub fn number(name: &str) -> Option<u64> {
    let file = File::open(path(name)).ok()?;
    let is_one = fstatfs(&file).is_ok_and(|system| system.filesystem_type() == NSFS_MAGIC);
    file.metadata().ok().filter(|_| is_one).map(|file| file.ino())
}

/// What is there of a namespace.
pub(super) async fn inside(name: &str) -> io::Result<NamespaceState> {
    let file = match File::open(path(name)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(NamespaceState::Missing),
        Err(error) => return Err(error),
    };
    if fstatfs(&file)?.filesystem_type() != NSFS_MAGIC {
        return Ok(NamespaceState::Half);
    }
    let links = kernel(name)?.links().await?;
    let made = links.iter().any(|link| link.loopback && link.made);
    Ok(NamespaceState::There { made, links })
}

/// Makes a namespace. It gets its name when it is marked as ours, so that none is ever without the mark.
pub(super) async fn make(name: &str) -> io::Result<()> {
    let path = path(name);
    DirBuilder::new().recursive(true).mode(0o755).create(FOLDER)?;
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o444).open(&path)?;
    let fresh = || nix::sched::unshare(CloneFlags::CLONE_NEWNET);
    let (namespace, kernel) = away(fresh, || Ok((File::open(OWN)?, Kernel::open()?)))?;
    kernel.set("lo", |lo| lo.link_group(GROUP).up()).await?;
    let itself = format!("/proc/self/fd/{}", namespace.as_raw_fd());
    nix::mount::mount(Some(itself.as_str()), &path, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    Ok(())
}

/// Takes a namespace's name away: with its last process and name it is gone. What was never mounted is an empty file.
pub(super) fn remove(name: &str) -> io::Result<()> {
    let path = path(name);
    match nix::mount::umount2(&path, MntFlags::MNT_DETACH) {
        Ok(()) | Err(Errno::EINVAL) => {}
        Err(Errno::ENOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    }
    let file = fs::symlink_metadata(&path)?;
    if !file.is_file() || file.len() > 0 {
        return Err(io::Error::other("it is no namespace and no empty file"));
    }
    fs::remove_file(&path)
}
