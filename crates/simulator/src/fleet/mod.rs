//! Simulated Talos nodes: the behaviour of machines between power on and a healthy cluster, as their API shows it.
//!
//! A [`Fleet`] is all of them. Time is an argument: [`Fleet::advance`] makes everything happen that is due, [`Fleet::next`] returns
//! the next deadline, [`Fleet::listeners`] the open listeners. The calls of Talos' API are methods of it; [`rbac`] authorizes
//! them. A [`Fault`] is an injected failure of a node. [`scenario`] is a cluster file for as many nodes
//! as one likes, on addresses of the loopback network.
//!
//! Not here: sockets, TLS and clocks, and everything below the API: nothing is booted, and no container runs.

mod call_error;
mod calls;
mod delays;
pub mod duration;
mod etcd;
mod fault;
mod fault_injection;
mod hardware;
mod health;
mod kube;
mod kubeconfig;
mod logs;
mod machine;
mod node_config;
mod pods;
pub mod rbac;
mod resources;
mod routing;
pub mod scenario;
mod services;
mod simulation;
#[cfg(test)]
mod tests;

pub use call_error::{CallError, ErrorCode};
pub use delays::Delays;
pub use etcd::{EtcdCluster, KubeNode, Member};
pub use fault::{Fault, FaultError, Faults};
pub use hardware::Hardware;
pub use health::{CheckPending, ClusterNodes, HealthCheck};
pub use kube::{KubeResponse, KubeVerb};
pub use kubeconfig::kubeconfig;
pub(crate) use logs::no_such_resource;
pub use machine::{Machine, NodeEvent, NodeEventKind, Phase, Sequence, SystemDisk};
pub use node_config::{BgpPeer, CertificateAuthorities, NodeConfig};
pub use resources::stage_word;
pub use services::ServiceAction;
pub use simulation::{AuthMode, Fleet, OpenListeners};
