//! A simulator of Talos, for tests: no image of Talos is at hand there.
//!
//! The program `ichor-simulator` is what Talos has in the place of [`init`] in its initramfs, and of [`machined`] in its root file
//! system. Around it, tests put images together of Debian's kernel, laid out as those of Talos. A [`Payload`] is what the first of
//! them carries with it, and a [`Service`] is how an extension's service runs, on any [`Node`].
//!
//! It does what Talos does from the first process of a machine to an extension service that runs. Nothing installs itself, nobody
//! answers, and there is no Kubernetes. What goes wrong ends it, with a word on the console.

mod console;
pub mod init;
pub mod machined;
mod node;
mod payload;
mod service;

pub use node::Node;
pub use payload::Payload;
pub use service::{Service, listen};
