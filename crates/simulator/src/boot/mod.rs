//! A bootable stand-in for Talos, from the first process of a machine to an extension service that runs.
//!
//! [`init`] mounts the layers of the root file system, [`machined`] reads command line and volumes, gives links their addresses and
//! starts services. A [`Payload`] is what the first carries with it, and a [`ExtensionService`] is how an extension's service runs, on any
//! [`NodeHost`]. What goes wrong ends the machine, with a message on the console.

mod console;
mod host;
pub mod init;
pub mod machined;
mod payload;
mod service;

pub use host::NodeHost;
pub use payload::Payload;
pub use service::{ExtensionService, listen_machined};
