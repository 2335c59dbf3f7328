//! The health of a cluster's etcd, and whether it tolerates the loss of a member.
//!
//! An [`EtcdCluster`] has the reports of its members. [`EtcdCluster::problems`] lists their problems,
//! [`EtcdCluster::reboot_impact`] determines whether a node may reboot, [`EtcdCluster::removal_impact`] whether it may be removed.
//!
//! Not here: querying the members.

use std::fmt;

use crate::probe::ProbeError;

/// A cluster's etcd as observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdCluster {
    /// Its members, as listed by one of them.
    pub members: Vec<QuorumMember>,
    /// Its alarms.
    pub alarms: Vec<RaisedAlarm>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumMember {
    /// Its ID in etcd.
    pub id: u64,
    /// The node it is on.
    pub node: String,
    /// Whether it is a learner, which does not vote.
    pub learner: bool,
    /// Its health, or why that is unknown.
    pub health: Result<MemberHealth, ProbeError>,
}

/// The health that a member reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberHealth {
    /// The ID of the leader; 0 without a leader.
    pub leader: u64,
    /// Its errors.
    pub errors: Vec<String>,
}

/// An alarm, which stays until an operator disarms it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaisedAlarm {
    /// Its database is full.
    NoSpace,
    /// Members have different data.
    Corrupt,
    /// An alarm of a newer release.
    Other(i32),
}

impl RaisedAlarm {
    /// The alarm with this number in Talos' API; none for 0.
    pub fn from_number(number: i32) -> Option<Self> {
        match number {
            0 => None,
            1 => Some(Self::NoSpace),
            2 => Some(Self::Corrupt),
            other => Some(Self::Other(other)),
        }
    }
}

impl fmt::Display for RaisedAlarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSpace => f.write_str("NOSPACE: its database is full"),
            Self::Corrupt => f.write_str("CORRUPT: its members have different data"),
            Self::Other(number) => write!(f, "number {number}"),
        }
    }
}

/// The impact of a node's reboot on etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebootImpact {
    /// None: the node is not a member.
    None,
    /// The other members keep the quorum.
    Spared,
    /// No writes until it is back. Unavoidable, because there are too few members.
    Outage,
}

/// Why a node must not be taken down: too few members of etcd would be healthy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumError {
    /// The remaining members would have no quorum.
    #[error("without {node} etcd would have {well} of {voters} members healthy, and needs {needed}")]
    Lost {
        /// The node to take down.
        node: String,
        /// Members that would be healthy.
        well: usize,
        /// Members that would vote.
        voters: usize,
        /// The quorum.
        needed: usize,
    },
    /// The members have no quorum to remove it.
    #[error("etcd has {well} of {voters} members healthy and needs {needed} to remove {node}")]
    NoMajority {
        /// The node to remove.
        node: String,
        /// Members that are healthy.
        well: usize,
        /// Members that vote.
        voters: usize,
        /// The quorum.
        needed: usize,
    },
}

impl EtcdCluster {
    /// The member on a node.
    pub fn member(&self, node: &str) -> Option<&QuorumMember> {
        self.members.iter().find(|member| member.node == node)
    }

    /// The node with the leader.
    pub fn leader(&self) -> Option<&str> {
        let leader_of = |member: &QuorumMember| member.health.as_ref().map_or(0, |health| health.leader);
        let leader = self.members.iter().map(leader_of).find(|leader| *leader != 0)?;
        self.members.iter().find(|member| member.id == leader).map(|member| member.node.as_str())
    }

    fn voters(&self) -> impl Iterator<Item = &QuorumMember> {
        self.members.iter().filter(|member| !member.learner)
    }

    fn is_healthy(member: &QuorumMember) -> bool {
        member.health.as_ref().is_ok_and(|health| health.leader != 0 && health.errors.is_empty())
    }

    /// All current problems.
    pub fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> =
            self.alarms.iter().map(|alarm| format!("etcd has raised the alarm {alarm}")).collect();
        if self.members.is_empty() {
            problems.push("etcd has no members".to_owned());
        }
        for member in &self.members {
            let node = &member.node;
            match &member.health {
                Err(why) => problems.push(format!("etcd's member on {node} does not answer: {why}")),
                Ok(health) if health.leader == 0 => {
                    problems.push(format!("etcd's member on {node} has no leader"));
                }
                Ok(health) if !health.errors.is_empty() => {
                    problems.push(format!("etcd's member on {node} reports: {}", health.errors.join("; ")));
                }
                Ok(_) if member.learner => {
                    problems.push(format!("etcd's member on {node} is still a learner"));
                }
                Ok(_) => {}
            }
        }
        problems
    }

    /// The impact of a node's reboot, or why it must not reboot now.
    pub fn reboot_impact(&self, node: &str) -> Result<RebootImpact, QuorumError> {
        let Some(member) = self.member(node).filter(|member| !member.learner) else {
            return Ok(RebootImpact::None);
        };
        let voters = self.voters().count();
        let quorum = voters / 2 + 1;
        let others = self.voters().filter(|other| other.id != member.id && Self::is_healthy(other)).count();
        if others >= quorum {
            return Ok(RebootImpact::Spared);
        }
        if voters <= 2 && others + 1 == voters {
            return Ok(RebootImpact::Outage);
        }
        Err(QuorumError::Lost { node: node.to_owned(), well: others, voters, needed: quorum })
    }

    /// Whether a node may be removed: the members need a quorum to remove it, and the remaining ones need one afterwards.
    pub fn removal_impact(&self, node: &str) -> Result<RemovalImpact, QuorumError> {
        let Some(member) = self.member(node) else { return Ok(RemovalImpact::NoMember) };
        if member.learner {
            return Ok(RemovalImpact::Leaves);
        }
        let voters = self.voters().count();
        if voters == 1 {
            return Ok(RemovalImpact::Last);
        }
        let others = self.voters().filter(|other| other.id != member.id && Self::is_healthy(other)).count();
        let (now, then) = (voters / 2 + 1, (voters - 1) / 2 + 1);
        let agree = others + usize::from(Self::is_healthy(member));
        if agree < now {
            return Err(QuorumError::NoMajority { node: node.to_owned(), well: agree, voters, needed: now });
        }
        if others < then {
            let node = node.to_owned();
            return Err(QuorumError::Lost { node, well: others, voters: voters - 1, needed: then });
        }
        Ok(RemovalImpact::Leaves)
    }

    /// The cluster after a node has been removed.
    #[must_use]
    pub(crate) fn without_member(&self, node: &str) -> Self {
        let members = self.members.iter().filter(|member| member.node != node).cloned().collect();
        Self { members, alarms: self.alarms.clone() }
    }
}

/// The impact of a node's removal on etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalImpact {
    /// None: the node is not a member.
    NoMember,
    /// The other members keep the quorum.
    Leaves,
    /// It is the last member: etcd and all its data are lost.
    Last,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn etcd(well: &[bool]) -> EtcdCluster {
        let members = well.iter().zip(1..).map(|(well, id)| QuorumMember {
            id,
            node: format!("cp{id}"),
            learner: false,
            health: if *well {
                Ok(MemberHealth { leader: 1, errors: Vec::new() })
            } else {
                Err(ProbeError::new("off"))
            },
        });
        EtcdCluster { members: members.collect(), alarms: Vec::new() }
    }

    #[test]
    fn a_member_may_reboot_if_a_majority_remains_healthy() {
        assert_eq!(etcd(&[true, true, true]).reboot_impact("cp2"), Ok(RebootImpact::Spared));
        assert_eq!(etcd(&[true, false, true]).reboot_impact("cp2"), Ok(RebootImpact::Spared));

        let error = etcd(&[true, false, true]).reboot_impact("cp1").unwrap_err().to_string();

        assert_eq!(error, "without cp1 etcd would have 1 of 3 members healthy, and needs 2");
    }

    #[test]
    fn a_reboot_of_one_or_two_members_is_an_outage_and_of_a_worker_none() {
        assert_eq!(etcd(&[true]).reboot_impact("cp1"), Ok(RebootImpact::Outage));
        assert_eq!(etcd(&[true, true]).reboot_impact("cp1"), Ok(RebootImpact::Outage));
        assert!(etcd(&[true, false]).reboot_impact("cp1").is_err());
        assert_eq!(etcd(&[true]).reboot_impact("worker1"), Ok(RebootImpact::None));
    }

    #[test]
    fn a_removal_always_leaves_a_healthy_majority() {
        // All combinations of up to five healthy or unhealthy members.
        for count in 1..=5_u32 {
            for bits in 0..1_u32 << count {
                let well: Vec<bool> = (0..count).map(|nth| bits >> nth & 1 == 1).collect();
                let etcd = etcd(&well);
                for member in &etcd.members {
                    let left = etcd.without_member(&member.node);
                    let well = left.members.iter().filter(|other| EtcdCluster::is_healthy(other)).count();
                    match etcd.removal_impact(&member.node) {
                        Ok(RemovalImpact::Leaves) => assert!(well * 2 > left.members.len()),
                        Ok(RemovalImpact::Last) => assert_eq!(count, 1),
                        Ok(RemovalImpact::NoMember) => panic!("every node is a member"),
                        Err(_) => assert!(
                            well * 2 <= left.members.len() || {
                                let before = well + usize::from(EtcdCluster::is_healthy(member));
                                before * 2 <= etcd.members.len()
                            }
                        ),
                    }
                }
            }
        }
    }

    #[test]
    fn alarms_silent_members_and_learners_are_problems() {
        let mut etcd = etcd(&[true, false]);
        etcd.alarms = RaisedAlarm::from_number(1).into_iter().collect();
        etcd.members[0].learner = true;

        assert_eq!(
            etcd.problems(),
            [
                "etcd has raised the alarm NOSPACE: its database is full",
                "etcd's member on cp1 is still a learner",
                "etcd's member on cp2 does not answer: off",
            ]
        );
        assert_eq!(etcd.leader(), Some("cp1"));
    }
}
