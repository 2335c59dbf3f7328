//! Bringing a cluster up: what is wanted, what is seen, and what to do next.
//!
//! [`DesiredState`] comes from the plan. Whoever looks at the machines fills a [`ObservedState`], and what must survive the end of a
//! program is in a [`BringupRecord`]. From these three [`decide`] says what every node and the cluster as a whole needs next; it
//! is asked again after everything that was done or seen, so a run that is killed and one that begins anew take the same
//! way. [`foresee`] says beforehand what all of it will be.
//!
//! Three things hold whatever is seen: a configuration is given only to a machine that is known to be the node
//! ([`identity`]), etcd is bootstrapped once, and nothing is ever reset.
//!
//! Not here: connections, hypervisors, clocks and files.

mod blocker;
pub mod configured;
pub mod contact;
mod decide;
mod foresee;
pub mod identity;
pub mod kubeconfig;
pub mod leases;
mod record;
mod seen;
pub mod terraform;
mod wanted;

pub use blocker::Blocker;
pub use contact::{AddressOrigin, AddressStage, NodeAddress};
pub use decide::{BringupDecision, ClusterStep, NextStep, NodeStep, WaitReason, decide};
pub use foresee::{BringupPreview, foresee};
pub use identity::{MachineFacts, MachineIdentity};
pub use record::{AppliedConfig, BootstrapRecord, BringupRecord, NodeRecord, RECORD_VERSION};
pub use seen::{
    ClusterMember, ConfigState, EtcdPhase, NodeProbe, ObservedCluster, ObservedNode, ObservedState,
    ObservedVm, prefer,
};
pub use wanted::{DesiredNode, DesiredState};
