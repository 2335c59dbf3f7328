//! `cosi.resource.State`: everything a node knows of itself, as resources.

use std::collections::HashMap;

use super::common::Timestamp;

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
    pub resource: Option<Resource>,
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
    pub resource: Option<Resource>,
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
    /// Whether what is there already is told first.
    #[prost(bool, tag = "1")]
    pub bootstrap_contents: bool,
    #[prost(int32, tag = "2")]
    pub tail_events: i32,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct WatchResponse {
    #[prost(message, repeated, tag = "1")]
    pub event: Vec<Event>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Event {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(enumeration = "EventType", tag = "2")]
    pub event_type: i32,
    #[prost(message, optional, tag = "3")]
    pub old: Option<Resource>,
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
pub struct Resource {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<Spec>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Metadata {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub r#type: String,
    #[prost(string, tag = "3")]
    pub id: String,
    #[prost(string, tag = "4")]
    pub version: String,
    #[prost(string, tag = "5")]
    pub owner: String,
    /// `running` or `tearingDown`.
    #[prost(string, tag = "6")]
    pub phase: String,
    #[prost(message, optional, tag = "7")]
    pub created: Option<Timestamp>,
    #[prost(message, optional, tag = "8")]
    pub updated: Option<Timestamp>,
    #[prost(string, repeated, tag = "9")]
    pub finalizers: Vec<String>,
    #[prost(map = "string, string", tag = "10")]
    pub labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "11")]
    pub annotations: HashMap<String, String>,
}

/// The same content twice; ichor reads the YAML.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Spec {
    #[prost(bytes = "vec", tag = "1")]
    pub proto_spec: Vec<u8>,
    #[prost(string, tag = "2")]
    pub yaml_spec: String,
}
