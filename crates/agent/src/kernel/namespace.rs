//! Named network namespaces, as iproute2 has them: a file below `/run/netns` on which the namespace is mounted.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::future::Future;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use ichor_core::agent::wiring::{GROUP, Inside};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags};
use nix::sched::CloneFlags;
use nix::sys::statfs::{NSFS_MAGIC, fstatfs};
use rtnetlink::LinkUnspec;
use tokio::sync::oneshot;

use super::{Kernel, link};

/// Where namespaces have their names; zebra looks nowhere else.
pub const FOLDER: &str = "/run/netns";

fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

/// The namespace, to move links to.
pub(super) fn open(name: &str) -> io::Result<File> {
    File::open(path(name))
}

/// Does some work on the kernel of a namespace. The thread that entered it ends with the work.
pub(super) async fn within<W, F, T>(name: &str, work: W) -> io::Result<T>
where
    W: FnOnce(Kernel) -> F + Send + 'static,
    F: Future<Output = io::Result<T>>,
    T: Send + 'static,
{
    enter(name, || runtime()?.block_on(async { work(Kernel::open()?).await })).await
}

/// Does something on a thread that entered a namespace and ends with it.
pub(super) async fn enter<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let namespace = open(name)?;
    on_thread(move || {
        nix::sched::setns(namespace, CloneFlags::CLONE_NEWNET)?;
        work()
    })
    .await
}

/// The kernel's number of a namespace; none while no namespace has the name. One that is made anew has another.
pub fn number(name: &str) -> Option<u64> {
    let file = File::open(path(name)).ok()?;
    let is_one = fstatfs(&file).is_ok_and(|system| system.filesystem_type() == NSFS_MAGIC);
    file.metadata().ok().filter(|_| is_one).map(|file| file.ino())
}

/// What is there of a namespace.
pub(super) async fn inside(name: &str) -> io::Result<Inside> {
    let file = match File::open(path(name)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Inside::Missing),
        Err(error) => return Err(error),
    };
    if fstatfs(&file)?.filesystem_type() != NSFS_MAGIC {
        return Ok(Inside::Half);
    }
    let links = within(name, |kernel| async move { kernel.links().await }).await?;
    let made = links.iter().any(|link| link.loopback && link.made);
    Ok(Inside::There { made, links })
}

/// Makes a namespace. It gets its name when it is marked as ours, so that none is ever without the mark.
pub(super) async fn make(name: &str) -> io::Result<()> {
    let path = path(name);
    DirBuilder::new().recursive(true).mode(0o755).create(FOLDER)?;
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o444).open(&path)?;
    on_thread(move || {
        nix::sched::unshare(CloneFlags::CLONE_NEWNET)?;
        runtime()?.block_on(async {
            let kernel = Kernel::open()?;
            let index = link::index("lo")?;
            let loopback = LinkUnspec::new_with_index(index).link_group(GROUP).up().build();
            kernel.handle.link().set(loopback).execute().await.map_err(super::error)
        })?;
        let itself = Some("/proc/thread-self/ns/net");
        nix::mount::mount(itself, &path, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
        Ok(())
    })
    .await
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

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_io().build()
}

/// A thread of its own: the namespace it enters stays with it.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (tell, told) = oneshot::channel();
    thread::Builder::new().name("namespace".to_owned()).spawn(move || {
        // Whoever does not wait any more need not be told.
        let _ = tell.send(work());
    })?;
    told.await.unwrap_or_else(|_| Err(io::Error::other("the work in the namespace was given up")))
}
