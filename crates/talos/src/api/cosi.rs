//! `cosi.resource.State`: everything a node knows of itself, as resources.

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GetRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(string, tag = "3")]
    pub id: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GetResponse {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<ResourceMessage>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListResponse {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<ResourceMessage>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct WatchRequest {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(string, optional, tag = "3")]
    pub id: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub options: Option<WatchOptions>,
    /// 1, or Talos answers in an older form.
    #[prost(int32, tag = "5")]
    pub api_version: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct WatchOptions {
    /// Whether existing resources are sent first.
    #[prost(bool, tag = "1")]
    pub bootstrap_contents: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct WatchResponse {
    #[prost(message, repeated, tag = "1")]
    pub event: Vec<WatchEvent>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct WatchEvent {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<ResourceMessage>,
    #[prost(enumeration = "EventType", tag = "2")]
    pub event_type: i32,
    #[prost(string, tag = "4")]
    pub error: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
pub enum EventType {
    Created = 0,
    Updated = 1,
    Destroyed = 2,
    Bootstrapped = 3,
    Errored = 4,
    Noop = 5,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ResourceMessage {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResourceMetadata>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<Spec>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ResourceMetadata {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(string, tag = "3")]
    pub id: String,
    #[prost(string, tag = "4")]
    pub version: String,
}

/// The same content twice; ichor reads the YAML.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Spec {
    #[prost(bytes = "vec", tag = "1")]
    pub proto_spec: Vec<u8>,
    #[prost(string, tag = "2")]
    pub yaml_spec: String,
}
