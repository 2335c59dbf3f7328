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

/// The directory of named namespaces; zebra looks nowhere else.
pub const FOLDER: &str = "/run/netns";

/// The namespace of the calling thread.
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
    open_in(name, Kernel::open)
}

/// Opens something in a namespace: a socket stays in the namespace where it was created.
pub(super) fn open_in<T>(name: &str, open_inside: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let namespace = open(name)?;
    run_in_other_namespace(|| nix::sched::setns(namespace, CloneFlags::CLONE_NEWNET), open_inside)
}

/// Runs some work on this thread in another namespace. The work must not await: another task on this thread would run
/// in that namespace as well.
fn run_in_other_namespace<T>(
    leave: impl FnOnce() -> nix::Result<()>,
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let own = File::open(OWN)?;
    leave()?;
    let _return = NamespaceGuard(own);
    work()
}

/// Returns a thread to its namespace.
struct NamespaceGuard(File);

impl Drop for NamespaceGuard {
    fn drop(&mut self) {
        if nix::sched::setns(&self.0, CloneFlags::CLONE_NEWNET).is_err() {
            // Everything that this thread does from now on would be in the wrong network.
            std::process::abort();
        }
    }
}

/// The inode of a namespace; none while no namespace has the name. A recreated namespace has another.
pub fn namespace_inode(name: &str) -> Option<u64> {
    let file = File::open(path(name)).ok()?;
    let is_namespace = fstatfs(&file).is_ok_and(|system| system.filesystem_type() == NSFS_MAGIC);
    file.metadata().ok().filter(|_| is_namespace).map(|file| file.ino())
}

/// The state of a namespace.
pub(super) async fn state(name: &str) -> io::Result<NamespaceState> {
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

/// Creates a namespace. It gets its name after the agent's mark, so that none is ever without the mark.
pub(super) async fn create(name: &str) -> io::Result<()> {
    let path = path(name);
    DirBuilder::new().recursive(true).mode(0o755).create(FOLDER)?;
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o444).open(&path)?;
    let fresh = || nix::sched::unshare(CloneFlags::CLONE_NEWNET);
    let (namespace, kernel) = run_in_other_namespace(fresh, || Ok((File::open(OWN)?, Kernel::open()?)))?;
    kernel.set("lo", |lo| lo.link_group(GROUP).up()).await?;
    let source = format!("/proc/self/fd/{}", namespace.as_raw_fd());
    nix::mount::mount(Some(source.as_str()), &path, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    Ok(())
}

/// Removes the name of a namespace, which disappears with its last process. If it was never mounted, it is an empty
/// file.
pub(super) fn remove(name: &str) -> io::Result<()> {
    let path = path(name);
    match nix::mount::umount2(&path, MntFlags::MNT_DETACH) {
        Ok(()) | Err(Errno::EINVAL) => {}
        Err(Errno::ENOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    }
    let file = fs::symlink_metadata(&path)?;
    if !file.is_file() || file.len() > 0 {
        return Err(io::Error::other("it is neither a namespace nor an empty file"));
    }
    fs::remove_file(&path)
}
