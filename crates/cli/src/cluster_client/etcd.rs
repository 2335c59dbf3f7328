//! State of etcd, from all its members.

use std::sync::Arc;

use futures_util::future::join_all;
use ichor_core::etcd::{EtcdCluster, MemberHealth, QuorumMember, RaisedAlarm};
use ichor_core::probe::ProbeError;
use ichor_talos::api::machine::{EtcdAlarm, EtcdMember, EtcdMemberStatus};

use super::{ClusterClient, ClusterError};
use ichor_client::talos::{NodeClient, NodeError};

/// Answers of one control plane node.
struct MemberReport {
    node: String,
    status: Result<EtcdMemberStatus, Arc<ClusterError>>,
    list: Result<(Vec<EtcdMember>, Vec<EtcdAlarm>), Arc<ClusterError>>,
}

impl ClusterClient<'_> {
    /// Queries every control plane node; fails if none answers.
    pub(crate) async fn etcd(&self) -> Result<EtcdCluster, ClusterError> {
        let all = join_all(self.control_planes().map(|node| self.query_member(node.name.as_str()))).await;
        let Some((members, alarms)) = all.iter().find_map(|report| report.list.as_ref().ok()) else {
            let why = |report: &MemberReport| {
                report.list.as_ref().err().map(|why| format!("{}: {}", report.node, why.answer()))
            };
            return Err(ClusterError::Etcd(all.iter().filter_map(why).collect()));
        };
        let member = |member: &EtcdMember| {
            let own = |report: &&MemberReport| {
                report.status.as_ref().is_ok_and(|status| status.member_id == member.id)
            };
            let report =
                all.iter().find(own).or_else(|| all.iter().find(|report| report.node == member.hostname));
            let result = match report.map(|report| &report.status) {
                None => Err("no control plane node of the cluster file has this member".to_owned()),
                Some(Err(why)) => Err(why.answer()),
                Some(Ok(status)) if status.member_id != member.id => {
                    Err("the node now runs another member".to_owned())
                }
                Some(Ok(status)) => Ok(MemberHealth { leader: status.leader, errors: status.errors.clone() }),
            };
            let node = report.map_or_else(|| member.hostname.clone(), |report| report.node.clone());
            QuorumMember {
                id: member.id,
                node,
                learner: member.is_learner,
                health: result.map_err(ProbeError::new),
            }
        };
        Ok(EtcdCluster {
            members: members.iter().map(member).collect(),
            alarms: alarms.iter().filter_map(|alarm| RaisedAlarm::from_number(alarm.alarm)).collect(),
        })
    }

    async fn query_member(&self, name: &str) -> MemberReport {
        let report = |status, list| MemberReport { node: name.to_owned(), status, list };
        let node = match self.connect(name).await {
            Ok(node) => node,
            Err(error) => {
                let why = Arc::new(error);
                return report(Err(Arc::clone(&why)), Err(why));
            }
        };
        let words = |error: NodeError| Arc::new(ClusterError::Node(error));
        let (status, list) = tokio::join!(node.etcd_status(), list_members(&node));
        report(status.map_err(words), list.map_err(words))
    }

    /// Removes a node's etcd member through another control plane node; false if there was none.
    pub(crate) async fn remove_etcd_member(&self, name: &str) -> Result<bool, ClusterError> {
        let etcd = self.etcd().await?;
        let Some(dead) = etcd.member(name) else { return Ok(false) };
        let mut last = ClusterError::NoOtherControlPlane;
        for other in self.control_planes().filter(|node| node.name.as_str() != name) {
            let removed = match self.connect(other.name.as_str()).await {
                Ok(node) => node.etcd_remove(dead.id).await.map_err(ClusterError::from),
                Err(why) => Err(why),
            };
            match removed {
                Ok(()) => return Ok(true),
                Err(why) => last = why,
            }
        }
        Err(last)
    }
}

async fn list_members(node: &NodeClient) -> Result<(Vec<EtcdMember>, Vec<EtcdAlarm>), NodeError> {
    let (members, alarms) = tokio::join!(node.etcd_members(), node.etcd_alarms());
    Ok((members?, alarms?))
}
