//! Messages that several services use.

/// The node of a response, if a control plane forwarded the call to several nodes.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ResponseMetadata {
    #[prost(string, tag = "1")]
    pub hostname: String,
    /// Why that node did not answer.
    #[prost(string, tag = "2")]
    pub error: String,
}

/// A piece of a stream.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Data {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    #[prost(bytes = "vec", tag = "2")]
    pub bytes: Vec<u8>,
}

/// The containerd instance and namespace.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Containerd {
    #[prost(enumeration = "Driver", tag = "1")]
    pub driver: i32,
    #[prost(enumeration = "Namespace", tag = "2")]
    pub namespace: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
pub enum Driver {
    Containerd = 0,
    Cri = 1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
pub enum Namespace {
    Unknown = 0,
    System = 1,
    Cri = 2,
}

/// A time span.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Duration {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// A message and its name.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Any {
    /// Such as `talos/runtime/machine.MachineStatusEvent`: the name follows the last `/`.
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}
