//! Machines on a libvirt host: which documents make them, and what keeps them from being made.

pub mod answer;
pub mod drives;
pub mod obstacles;
pub mod store;
pub mod wanted;

pub use store::VolumeStore;
pub use wanted::DesiredDomain;
