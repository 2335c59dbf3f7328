//! Bringing a cluster up: what is wanted, what is seen, and what to do next.
//!
//! [`Wanted`] comes from the plan. Whoever looks at the machines fills a [`Seen`], and what must survive the end of a
//! program is in a [`Record`]. From these three [`decide`] says what every node and the cluster as a whole needs next; it
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
pub use contact::{Contact, Source, Stage};
pub use decide::{ClusterStep, Decision, Next, NodeStep, Wait, decide};
pub use foresee::{Foreseen, foresee};
pub use identity::{Facts, Identity};
pub use record::{Applied, Begun, NodeRecord, RECORD_VERSION, Record};
pub use seen::{ClusterSeen, ConfigSeen, Etcd, Look, MachineSeen, NodeSeen, Ours, Seen, prefer};
pub use wanted::{Wanted, WantedNode};
