//! `machine.LifecycleService`, which Talos has since 1.13.

use super::common::Containerd;

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct LifecycleUpgradeRequest {
    #[prost(message, optional, tag = "1")]
    pub containerd: Option<Containerd>,
    #[prost(message, optional, tag = "2")]
    pub source: Option<Source>,
}

/// An installer image that the node has already.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Source {
    #[prost(string, tag = "1")]
    pub image_name: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct LifecycleUpgradeResponse {
    #[prost(message, optional, tag = "1")]
    pub progress: Option<Progress>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Progress {
    #[prost(oneof = "UpgradeOutput", tags = "1, 2")]
    pub response: Option<UpgradeOutput>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum UpgradeOutput {
    #[prost(string, tag = "1")]
    Message(String),
    /// The exit code of the installer; other than 0 is a failure of the installer, not of the call.
    #[prost(int32, tag = "2")]
    ExitCode(i32),
}
