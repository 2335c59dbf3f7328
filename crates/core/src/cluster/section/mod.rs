//! Every key of the cluster file, one file per section.

mod boot;
mod cluster;
mod fabric;
mod hypervisor;
mod network;
mod node;
mod overlay;
mod root;
mod routing;
mod vm;

pub use boot::*;
pub use cluster::*;
pub use fabric::*;
pub use hypervisor::*;
pub use network::*;
pub use node::*;
pub use overlay::*;
pub use root::*;
pub use routing::*;
pub use vm::*;
