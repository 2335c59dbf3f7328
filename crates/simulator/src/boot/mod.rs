//! A bootable stand-in for Talos, from the init process to a running extension service.
//!
//! [`init`] mounts the layers of the root file system, [`machined`] reads command line and volumes, sets addresses and
//! starts services. A [`Payload`] has the files that are packed with init, and an [`ExtensionService`] runs an extension's service, on any
//! [`NodeHost`]. A failure ends the machine, with a message on the console.

mod console;
mod host;
pub mod init;
pub mod machined;
mod payload;
mod service;

pub use host::NodeHost;
pub use payload::Payload;
pub use service::{ExtensionService, listen_machined};
