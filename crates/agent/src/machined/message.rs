//! machined's messages about a leaving node, with the fields that are read.

/// Requests events.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct EventsRequest {
    /// How many past events come first; all of them if negative.
    #[prost(int32, tag = "1")]
    pub tail_events: i32,
}

/// One event; the first of a stream is empty.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct MachineEvent {
    #[prost(message, optional, tag = "2")]
    pub data: Option<EventData>,
}

/// A message and its name.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct EventData {
    /// Such as `talos/runtime/machine.MachineStatusEvent`: the name is after the last `/`.
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// A sequence, such as a reboot, starts or stops.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct SequenceEvent {
    #[prost(string, tag = "1")]
    pub sequence: String,
    #[prost(enumeration = "SequenceAction", tag = "2")]
    pub action: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
pub(super) enum SequenceAction {
    Noop = 0,
    Start = 1,
    Stop = 2,
}

/// The stage of the machine changed.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct MachineStatusEvent {
    #[prost(enumeration = "Stage", tag = "1")]
    pub stage: i32,
}

/// The stage of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
pub(super) enum Stage {
    Unknown = 0,
    Booting = 1,
    Installing = 2,
    Maintenance = 3,
    Running = 4,
    Rebooting = 5,
    ShuttingDown = 6,
    Resetting = 7,
    Upgrading = 8,
}
