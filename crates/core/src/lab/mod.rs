//! A cluster's fabric on one machine: what has to be built so that real daemons do what the cluster file says.
//!
//! A [`LabTopology`] is data: machines, the cables between them, and the sessions that shall come up. Whoever builds it needs nothing
//! of the cluster file any more. [`mod@derive`] makes it of a cluster and of what there is [`here`]; [`kit`] is what a virtual
//! machine for it is made of.
//!
//! A [`LabStatus`] is what is seen of a lab that runs: sessions, prefixes and paths. [`pcap`] keeps what goes over its cables. What
//! becomes of it is compared with what is [`foreseen`]: both are a [`State`](state::State), and a [`verdict`] says where they
//! differ.

pub mod derive;
pub mod echo;
pub mod foreseen;
pub mod here;
pub mod kernel;
pub mod kit;
pub mod needs;
pub mod outage;
pub mod pcap;
pub mod report;
pub mod scene;
pub mod state;
pub mod verdict;
pub mod view;

pub use derive::TopologyInputs;
pub use foreseen::Prediction;
pub use here::HostCapabilities;
pub use scene::LabTopology;
pub use view::LabStatus;
