//! A simulator of Talos.
//!
//! * [`fleet`] is the behaviour of machines between power on and a healthy cluster, as their API shows it: pure, time is an
//!   argument. [`serve`] puts it on sockets. Tests use both, and so does `ichor lab nodes`.
//! * [`boot`] is a bootable stand-in: the program `ichor-simulator` replaces Talos' init in an initramfs and machined
//!   in the root file system, up to an extension service that runs.
//!
//! Neither is Talos: nothing installs itself, and no container runs. Both are compared with the real thing.

pub mod boot;
pub mod fleet;
pub mod serve;
