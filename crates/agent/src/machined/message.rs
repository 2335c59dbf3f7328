//! The messages of `/machine.MachineService/Events`, as far as they are needed.

/// What is asked for.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct EventsRequest {
    /// How many past events come first; all there are below zero.
    #[prost(int32, tag = "1")]
    pub(super) tail_events: i32,
}

/// One event; the first of a stream is empty.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Event {
    #[prost(message, optional, tag = "2")]
    pub(super) data: Option<Any>,
}

/// A message and its name.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Any {
    /// Such as `talos/runtime/machine.MachineStatusEvent`.
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// The machine's stage changed, or what it waits for.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MachineStatusEvent {
    #[prost(int32, tag = "1")]
    pub(super) stage: i32,
}

/// A sequence began or ended.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SequenceEvent {
    #[prost(string, tag = "1")]
    pub(super) sequence: String,
    #[prost(int32, tag = "2")]
    pub(super) action: i32,
}

/// A sequence began.
pub(super) const START: i32 = 1;
/// A sequence ended.
pub(super) const STOP: i32 = 2;
