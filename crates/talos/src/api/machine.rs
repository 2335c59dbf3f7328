//! `machine.MachineService`.

use super::common::{Any, ResponseMetadata};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct VersionResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Version>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Version {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    #[prost(message, optional, tag = "2")]
    pub version: Option<VersionInfo>,
    #[prost(message, optional, tag = "3")]
    pub platform: Option<PlatformInfo>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct VersionInfo {
    /// Such as `v1.13.9`.
    #[prost(string, tag = "1")]
    pub tag: String,
    #[prost(string, tag = "6")]
    pub arch: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PlatformInfo {
    #[prost(string, tag = "1")]
    pub name: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ApplyConfigurationRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub data: Vec<u8>,
    #[prost(enumeration = "ApplyMode", tag = "4")]
    pub mode: i32,
    #[prost(bool, tag = "5")]
    pub dry_run: bool,
}

/// [`Auto`](ApplyMode::Auto) is accepted by every release at every stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
pub enum ApplyMode {
    Reboot = 0,
    Auto = 1,
    NoReboot = 2,
    Staged = 3,
    Try = 4,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ApplyConfigurationResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<ApplyConfiguration>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ApplyConfiguration {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    #[prost(string, repeated, tag = "2")]
    pub warnings: Vec<String>,
    #[prost(enumeration = "ApplyMode", tag = "3")]
    pub mode: i32,
    #[prost(string, tag = "4")]
    pub mode_details: String,
}

/// The answer of calls that have nothing to say but that they were made.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PlainResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EmptyResponse>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EmptyResponse {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ServiceListResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<ServiceList>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ServiceList {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    #[prost(message, repeated, tag = "2")]
    pub services: Vec<ServiceInfo>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ServiceInfo {
    #[prost(string, tag = "1")]
    pub id: String,
    /// Such as `Running`.
    #[prost(string, tag = "2")]
    pub state: String,
    #[prost(message, optional, tag = "3")]
    pub events: Option<ServiceEvents>,
    #[prost(message, optional, tag = "4")]
    pub health: Option<ServiceHealth>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ServiceEvents {
    #[prost(message, repeated, tag = "1")]
    pub events: Vec<ServiceEvent>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ServiceEvent {
    #[prost(string, tag = "1")]
    pub msg: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ServiceHealth {
    #[prost(bool, tag = "1")]
    pub unknown: bool,
    #[prost(bool, tag = "2")]
    pub healthy: bool,
    #[prost(string, tag = "3")]
    pub last_message: String,
}

/// Starts, stops or restarts a service.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ServiceRequest {
    #[prost(string, tag = "1")]
    pub id: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct LogsRequest {
    /// `system` for services.
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub id: String,
    #[prost(enumeration = "super::common::Driver", tag = "3")]
    pub driver: i32,
    #[prost(bool, tag = "4")]
    pub follow: bool,
    /// All lines if negative.
    #[prost(int32, tag = "5")]
    pub tail_lines: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct DmesgRequest {
    #[prost(bool, tag = "1")]
    pub follow: bool,
    #[prost(bool, tag = "2")]
    pub tail: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ReadRequest {
    #[prost(string, tag = "1")]
    pub path: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EventsRequest {
    /// How many past events come first; all if negative.
    #[prost(int32, tag = "1")]
    pub tail_events: i32,
}

/// An event; the first of a stream is empty.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct MachineEvent {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    #[prost(message, optional, tag = "2")]
    pub data: Option<Any>,
    #[prost(string, tag = "3")]
    pub id: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SequenceEvent {
    #[prost(string, tag = "1")]
    pub sequence: String,
    #[prost(enumeration = "SequenceAction", tag = "2")]
    pub action: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
pub enum SequenceAction {
    Noop = 0,
    Start = 1,
    Stop = 2,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct MachineStatusEvent {
    #[prost(enumeration = "Stage", tag = "1")]
    pub stage: i32,
    #[prost(message, optional, tag = "2")]
    pub status: Option<MachineStatusMessage>,
}

/// The stage of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
pub enum Stage {
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

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct MachineStatusMessage {
    #[prost(bool, tag = "1")]
    pub ready: bool,
    #[prost(message, repeated, tag = "2")]
    pub unmet_conditions: Vec<UnmetConditionMessage>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct UnmetConditionMessage {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub reason: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ResetRequest {
    #[prost(bool, tag = "1")]
    pub graceful: bool,
    #[prost(bool, tag = "2")]
    pub reboot: bool,
    /// If empty, the complete disk is wiped.
    #[prost(message, repeated, tag = "3")]
    pub system_partitions_to_wipe: Vec<PartitionToWipe>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PartitionToWipe {
    #[prost(string, tag = "1")]
    pub label: String,
    #[prost(bool, tag = "2")]
    pub wipe: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct RebootRequest {
    #[prost(enumeration = "RebootMode", tag = "1")]
    pub mode: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
pub enum RebootMode {
    Default = 0,
    Powercycle = 1,
    Force = 2,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ShutdownRequest {
    #[prost(bool, tag = "1")]
    pub force: bool,
}

/// The response to a call that ends a machine's run.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ActionResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Action>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Action {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct UpgradeRequest {
    #[prost(string, tag = "1")]
    pub image: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct UpgradeResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Upgrade>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Upgrade {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct MetaWriteRequest {
    #[prost(uint32, tag = "1")]
    pub key: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct MetaDeleteRequest {
    #[prost(uint32, tag = "1")]
    pub key: u32,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdMemberListResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdMembers>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdMembers {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    #[prost(message, repeated, tag = "3")]
    pub members: Vec<EtcdMember>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdMember {
    #[prost(uint64, tag = "2")]
    pub id: u64,
    #[prost(string, tag = "3")]
    pub hostname: String,
    #[prost(bool, tag = "6")]
    pub is_learner: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdStatusResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdStatus>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdStatus {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    #[prost(message, optional, tag = "2")]
    pub member_status: Option<EtcdMemberStatus>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdMemberStatus {
    #[prost(uint64, tag = "4")]
    pub leader: u64,
    #[prost(string, repeated, tag = "8")]
    pub errors: Vec<String>,
    #[prost(bool, tag = "9")]
    pub is_learner: bool,
    #[prost(uint64, tag = "10")]
    pub member_id: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct EtcdRemoveMemberByIdRequest {
    #[prost(uint64, tag = "1")]
    pub member_id: u64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdForfeitLeadershipResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdForfeitLeadership>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdForfeitLeadership {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    /// The new leader; empty if this member was not the leader.
    #[prost(string, tag = "2")]
    pub member: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdAlarmListResponse {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<EtcdAlarms>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct EtcdAlarms {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ResponseMetadata>,
    #[prost(message, repeated, tag = "2")]
    pub member_alarms: Vec<EtcdAlarm>,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct EtcdAlarm {
    #[prost(uint64, tag = "1")]
    pub member_id: u64,
    #[prost(int32, tag = "2")]
    pub alarm: i32,
}
