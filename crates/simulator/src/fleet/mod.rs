//! Simulated Talos nodes: what machines do between power on and a healthy cluster, as their API shows it.
//!
//! A [`Fleet`] is all of them. Time comes in as an argument: [`Fleet::advance`] lets happen what is due, [`Fleet::next`] says
//! when to come again, [`Fleet::doors`] what is open where. The calls of Talos' API are methods of it, too; who may make
//! them, [`rights`] says. A [`Fault`] is what a node does wrong on purpose. [`scenario`] is a cluster file for as many nodes
//! as one likes, on addresses of the loopback network.
//!
//! Not here: sockets, TLS and clocks, and everything below the API: nothing is booted, and no container runs.

mod call_error;
mod calls;
mod delays;
pub mod duration;
mod etcd;
mod fault;
mod hardware;
mod health;
mod intent;
mod kube;
mod kubeconfig;
mod machine;
mod pods;
mod resources;
pub mod rights;
mod routing;
mod said;
pub mod scenario;
mod services;
mod simulation;
mod spoil;
#[cfg(test)]
mod tests;

pub use call_error::{CallError, Code};
pub use delays::Delays;
pub use etcd::{Etcd, KubeNode, Member};
pub use fault::{Fault, FaultError, Faults};
pub use hardware::Hardware;
pub use health::{Check, Nodes, Waits};
pub use intent::{Authorities, BgpPeer, Intent};
pub use kube::{KubeAnswer, Verb};
pub use kubeconfig::kubeconfig;
pub use machine::{Disk, Happened, Machine, Phase, Sequence, What};
pub use resources::stage_word;
pub(crate) use said::no_such_resource;
pub use services::Handling;
pub use simulation::{Doors, Fleet, Lock};
