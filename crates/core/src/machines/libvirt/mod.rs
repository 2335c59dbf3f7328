//! Machines on a libvirt host: the documents that define them, and blockers.

pub mod blockers;
pub mod desired_domain;
pub mod drives;
pub mod virsh_output;
pub mod volume_store;

pub use desired_domain::DesiredDomain;
pub use volume_store::VolumeStore;
