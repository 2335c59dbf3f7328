//! `cluster.ClusterService`.

use super::common::{Duration, ResponseMetadata};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HealthCheckRequest {
    #[prost(message, optional, tag = "1")]
    pub wait_timeout: Option<Duration>,
    #[prost(message, optional, tag = "2")]
    pub cluster_info: Option<ClusterInfo>,
}

/// The expected nodes; if empty, Talos discovers them.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ClusterInfo {
    #[prost(string, repeated, tag = "1")]
    pub control_plane_nodes: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub worker_nodes: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HealthCheckProgress {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    #[prost(string, tag = "2")]
    pub message: String,
}
