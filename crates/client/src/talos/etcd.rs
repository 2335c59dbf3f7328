//! Calls about etcd, for control planes.

use std::time::Duration;

use ichor_talos::api::machine::{
    EtcdAlarm, EtcdAlarmListResponse, EtcdForfeitLeadershipResponse, EtcdMember, EtcdMemberListResponse,
    EtcdMemberStatus, EtcdRemoveMemberByIdRequest, EtcdStatusResponse, PlainResponse,
};
use ichor_talos::api::{Empty, method};

use super::NodeClient;
use super::call::NodeCall;
use super::error::{NodeError, NodeErrorKind};

const MEMBERS: NodeCall = NodeCall::quick("etcd members", method::ETCD_MEMBER_LIST);
const STATUS: NodeCall = NodeCall::quick("etcd status", method::ETCD_STATUS);
const REMOVE: NodeCall =
    NodeCall::slow("remove etcd member", method::ETCD_REMOVE_MEMBER_BY_ID, Duration::from_mins(1));
const FORFEIT: NodeCall =
    NodeCall::slow("forfeit etcd leadership", method::ETCD_FORFEIT_LEADERSHIP, Duration::from_mins(1));
const ALARMS: NodeCall = NodeCall::quick("etcd alarms", method::ETCD_ALARM_LIST);

impl NodeClient {
    /// The members of etcd, as this node knows them.
    pub async fn etcd_members(&self) -> Result<Vec<EtcdMember>, NodeError> {
        let answer: EtcdMemberListResponse = self.ask(MEMBERS, Empty {}).await?;
        self.first_message(MEMBERS, answer.messages).map(|it| it.members)
    }

    /// The status of this node's own member.
    pub async fn etcd_status(&self) -> Result<EtcdMemberStatus, NodeError> {
        let answer: EtcdStatusResponse = self.ask(STATUS, Empty {}).await?;
        let nothing = || NodeError::new(self.about(STATUS.name), NodeErrorKind::Refused, "empty response");
        self.first_message(STATUS, answer.messages)?.member_status.ok_or_else(nothing)
    }

    /// Takes out a member that is gone.
    pub async fn etcd_remove(&self, member_id: u64) -> Result<(), NodeError> {
        let answer: PlainResponse = self.ask(REMOVE, EtcdRemoveMemberByIdRequest { member_id }).await?;
        self.first_message(REMOVE, answer.messages).map(drop)
    }

    /// Transfers leadership to another member; returns the new leader, or none if this member did not lead.
    pub async fn etcd_forfeit(&self) -> Result<String, NodeError> {
        let answer: EtcdForfeitLeadershipResponse = self.ask(FORFEIT, Empty {}).await?;
        self.first_message(FORFEIT, answer.messages).map(|it| it.member)
    }

    /// The alarms that etcd has raised on any member.
    pub async fn etcd_alarms(&self) -> Result<Vec<EtcdAlarm>, NodeError> {
        let answer: EtcdAlarmListResponse = self.ask(ALARMS, Empty {}).await?;
        Ok(answer.messages.into_iter().flat_map(|it| it.member_alarms).collect())
    }
}
