//! File systems, archives, OCI images and Talos boot media, written and read in memory.

pub mod build;
pub mod catalogue;
pub mod extension;
pub mod inspect;
pub mod media;
pub mod oci;
