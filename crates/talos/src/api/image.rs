//! `machine.ImageService`, which Talos has since 1.13.

use super::common::{Containerd, Data};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PullRequest {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<Containerd>,
    #[prost(string, tag = "3")]
    pub image_ref: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PullResponse {
    #[prost(oneof = "Pulled", tags = "1, 2")]
    pub response: Option<Pulled>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum Pulled {
    /// It is there, by this name.
    #[prost(string, tag = "1")]
    Name(String),
    #[prost(message, tag = "2")]
    Progress(PullProgress),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PullProgress {
    #[prost(string, tag = "1")]
    pub layer_id: String,
    #[prost(message, optional, tag = "2")]
    pub progress: Option<LayerProgress>,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct LayerProgress {
    #[prost(int32, tag = "1")]
    pub status: i32,
    #[prost(int64, tag = "3")]
    pub offset: i64,
    #[prost(int64, tag = "4")]
    pub total: i64,
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
