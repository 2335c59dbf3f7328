//! A lab: a cluster's fabric on one machine, with real daemons.
//!
//! A [`LabTopology`] is data: machines, the cables between them and the expected sessions. It is built without the cluster
//! file. [`mod@derive`] derives it from a cluster and the capabilities of the [`host`]; [`vm_image`] is the image of the
//! virtual machine that a lab may run in.
//!
//! A [`LabStatus`] is the state of a running lab: sessions, prefixes and paths. [`pcap`] writes captured packets. A test
//! compares the observed [`FabricState`](state::FabricState) with the [`prediction`]; a [`comparison`] has the differences.

pub mod comparison;
pub mod derive;
pub mod echo;
pub mod host;
pub mod kernel;
pub mod outage;
pub mod pcap;
pub mod prediction;
pub mod report;
pub mod requirements;
pub mod state;
pub mod status;
pub mod topology;
pub mod vm_image;

pub use derive::TopologyInputs;
pub use host::HostCapabilities;
pub use prediction::Prediction;
pub use status::LabStatus;
pub use topology::LabTopology;
