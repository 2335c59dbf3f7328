//! Bring-up of a cluster: desired state, observed state, and the next steps.
//!
//! [`DesiredState`] is derived from the plan, [`ObservedState`] has the machines as observed, and [`BringupRecord`] persists
//! between runs. From these three, [`decide`] determines the next step of every node and of the cluster. It runs again after
//! every step and observation, so an interrupted run continues like a new one. [`preview`] predicts all steps.
//!
//! Three guarantees: a configuration is applied only to a machine that is identified as the node ([`identity`]), etcd is
//! bootstrapped once, and nothing is ever reset.
//!
//! Not here: connections, hypervisors, clocks and files.

mod blocker;
pub mod configured;
pub mod contact;
mod decide;
mod desired;
mod health;
pub mod identity;
pub mod kubeconfig;
pub mod leases;
mod observed;
mod preview;
mod record;
pub mod terraform;

pub use blocker::Blocker;
pub use contact::{AddressOrigin, AddressStage, NodeAddress};
pub use decide::{BringupDecision, ClusterStep, NextStep, NodeStep, WaitReason, decide};
pub use desired::{DesiredNode, DesiredState};
pub use health::health_check_addresses;
pub use identity::{MachineFacts, MachineIdentity};
pub use observed::{
    ClusterMember, ConfigState, EtcdPhase, NodeProbe, ObservedCluster, ObservedNode, ObservedState,
    ObservedVm, select_probe,
};
pub use preview::{BringupPreview, preview};
pub use record::{AppliedConfig, BootstrapRecord, BringupRecord, NodeRecord, RECORD_VERSION};
