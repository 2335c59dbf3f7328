//! How a cluster's etcd is, as all its members tell it.

use std::sync::Arc;

use futures_util::future::join_all;
use ichor_core::etcd::{Alarm, Etcd, Member, Said};
use ichor_core::probe::ProbeError;
use ichor_talos::api::machine::{EtcdAlarm, EtcdMember, EtcdMemberStatus};

use super::{Crew, CrewError};
use ichor_client::talos::{Node, NodeError};

/// What one control plane says.
struct Told {
    node: String,
    status: Result<EtcdMemberStatus, Arc<CrewError>>,
    list: Result<(Vec<EtcdMember>, Vec<EtcdAlarm>), Arc<CrewError>>,
}

impl Crew<'_> {
    /// Asks every control plane; why none of them tells where that is so.
    pub(crate) async fn etcd(&self) -> Result<Etcd, CrewError> {
        let all = join_all(self.control_planes().map(|node| self.etcd_at(node.name.as_str()))).await;
        let Some((members, alarms)) = all.iter().find_map(|told| told.list.as_ref().ok()) else {
            let why =
                |told: &Told| told.list.as_ref().err().map(|why| format!("{}: {}", told.node, why.answer()));
            return Err(CrewError::Etcd(all.iter().filter_map(why).collect()));
        };
        let member = |member: &EtcdMember| {
            let own = |told: &&Told| told.status.as_ref().is_ok_and(|status| status.member_id == member.id);
            let told = all.iter().find(own).or_else(|| all.iter().find(|told| told.node == member.hostname));
            let said = match told.map(|told| &told.status) {
                None => Err("no control plane of the file has it".to_owned()),
                Some(Err(why)) => Err(why.answer()),
                Some(Ok(status)) if status.member_id != member.id => {
                    Err("the node has another member now".to_owned())
                }
                Some(Ok(status)) => Ok(Said { leader: status.leader, errors: status.errors.clone() }),
            };
            let node = told.map_or_else(|| member.hostname.clone(), |told| told.node.clone());
            Member { id: member.id, node, learner: member.is_learner, said: said.map_err(ProbeError::new) }
        };
        Ok(Etcd {
            members: members.iter().map(member).collect(),
            alarms: alarms.iter().filter_map(|alarm| Alarm::of(alarm.alarm)).collect(),
        })
    }

    async fn etcd_at(&self, name: &str) -> Told {
        let told = |status, list| Told { node: name.to_owned(), status, list };
        let node = match self.connect(name).await {
            Ok(node) => node,
            Err(error) => {
                let why = Arc::new(error);
                return told(Err(Arc::clone(&why)), Err(why));
            }
        };
        let words = |error: NodeError| Arc::new(CrewError::Node(error));
        let (status, list) = tokio::join!(node.etcd_status(), list(&node));
        told(status.map_err(words), list.map_err(words))
    }

    /// Takes a node's member out of etcd by another control plane; whether there was one.
    pub(crate) async fn remove_member(&self, name: &str) -> Result<bool, CrewError> {
        let etcd = self.etcd().await?;
        let Some(dead) = etcd.member(name) else { return Ok(false) };
        let mut last = CrewError::NoOtherControlPlane;
        for other in self.control_planes().filter(|node| node.name.as_str() != name) {
            let removed = match self.connect(other.name.as_str()).await {
                Ok(node) => node.etcd_remove(dead.id).await.map_err(CrewError::from),
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

async fn list(node: &Node) -> Result<(Vec<EtcdMember>, Vec<EtcdAlarm>), NodeError> {
    let (members, alarms) = tokio::join!(node.etcd_members(), node.etcd_alarms());
    Ok((members?, alarms?))
}
