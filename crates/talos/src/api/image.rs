//! `machine.ImageService`, which Talos has since 1.13.

use super::common::{Containerd, Data};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PullRequest {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<Containerd>,
    #[prost(string, tag = "3")]
    pub image_ref: String,
}

/// Talos reports the progress of each layer first, in fields of other numbers.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PullResponse {
    /// The name of the image, once the node has it.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
}

/// The first names the containerd, the others bring the archive.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ImportRequest {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<Containerd>,
    #[prost(message, optional, tag = "2")]
    pub image_chunk: Option<Data>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ImportResponse {
    #[prost(string, tag = "1")]
    pub name: String,
}
