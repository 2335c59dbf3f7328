//! How it is with a cluster's etcd, and whether it can do without a member.
//!
//! An [`EtcdCluster`] is what its members were asked. [`EtcdCluster::problems`] is what is wrong with it, [`EtcdCluster::without`] whether a node may
//! be away for a while, and [`EtcdCluster::leaving`] whether it may go for good.
//!
//! Not here: asking.

use std::fmt;

use crate::probe::ProbeError;

/// A cluster's etcd, as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdCluster {
    /// Its members, as one of them lists them.
    pub members: Vec<QuorumMember>,
    /// What it complains of.
    pub alarms: Vec<RaisedAlarm>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumMember {
    /// By what etcd knows it.
    pub id: u64,
    /// The node it is on.
    pub node: String,
    /// Whether it does not vote yet.
    pub learner: bool,
    /// What it says of itself, or why it says nothing.
    pub said: Result<MemberHealth, ProbeError>,
}

/// What a member says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberHealth {
    /// Who leads; 0 for nobody.
    pub leader: u64,
    /// What it complains of.
    pub errors: Vec<String>,
}

/// What etcd complains of until somebody disarms it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaisedAlarm {
    /// Its database is full.
    NoSpace,
    /// Members have different data.
    Corrupt,
    /// Something newer than this list.
    Other(i32),
}

impl RaisedAlarm {
    /// By its number in Talos' API; none for no alarm.
    pub fn of(number: i32) -> Option<Self> {
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

/// What it means for etcd that a node is away for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebootImpact {
    /// Nothing: it is no member.
    None,
    /// The others go on.
    Spared,
    /// Nothing can be written until it is back, whenever that is: there are too few members for anything else.
    Outage,
}

/// Why a node must not go away: too few members of etcd would be well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumError {
    /// Those that stay could not write.
    #[error("without {node} etcd would have {well} of {voters} members that are well, and needs {needed}")]
    Lost {
        /// The node that would go.
        node: String,
        /// Members that would be well.
        well: usize,
        /// Members that would vote.
        voters: usize,
        /// The members it takes to write.
        needed: usize,
    },
    /// Those that are there cannot agree that it goes.
    #[error("etcd has {well} of {voters} members that are well and needs {needed} to let {node} go")]
    NoMajority {
        /// The node that would go.
        node: String,
        /// Members that are well.
        well: usize,
        /// Members that vote.
        voters: usize,
        /// The members it takes to write.
        needed: usize,
    },
}

impl EtcdCluster {
    /// The member on a node.
    pub fn member(&self, node: &str) -> Option<&QuorumMember> {
        self.members.iter().find(|member| member.node == node)
    }

    /// The node that leads.
    pub fn leader(&self) -> Option<&str> {
        let told = |member: &QuorumMember| member.said.as_ref().map_or(0, |said| said.leader);
        let leader = self.members.iter().map(told).find(|leader| *leader != 0)?;
        self.members.iter().find(|member| member.id == leader).map(|member| member.node.as_str())
    }

    fn voters(&self) -> impl Iterator<Item = &QuorumMember> {
        self.members.iter().filter(|member| !member.learner)
    }

    fn is_well(member: &QuorumMember) -> bool {
        member.said.as_ref().is_ok_and(|said| said.leader != 0 && said.errors.is_empty())
    }

    /// Everything that is wrong with it now.
    pub fn problems(&self) -> Vec<String> {
        let mut found: Vec<String> =
            self.alarms.iter().map(|alarm| format!("etcd has raised the alarm {alarm}")).collect();
        if self.members.is_empty() {
            found.push("etcd has no members".to_owned());
        }
        for member in &self.members {
            let node = &member.node;
            match &member.said {
                Err(why) => found.push(format!("etcd's member on {node} does not answer: {why}")),
                Ok(said) if said.leader == 0 => {
                    found.push(format!("etcd's member on {node} knows no leader"));
                }
                Ok(said) if !said.errors.is_empty() => {
                    found.push(format!("etcd's member on {node} says: {}", said.errors.join("; ")));
                }
                Ok(_) if member.learner => found.push(format!("etcd's member on {node} does not vote yet")),
                Ok(_) => {}
            }
        }
        found
    }

    /// What happens while a node is away, or why it must not be now.
    pub fn without(&self, node: &str) -> Result<RebootImpact, QuorumError> {
        let Some(member) = self.member(node).filter(|member| !member.learner) else {
            return Ok(RebootImpact::None);
        };
        let voters = self.voters().count();
        let quorum = voters / 2 + 1;
        let others = self.voters().filter(|other| other.id != member.id && Self::is_well(other)).count();
        if others >= quorum {
            return Ok(RebootImpact::Spared);
        }
        if voters <= 2 && others + 1 == voters {
            return Ok(RebootImpact::Outage);
        }
        Err(QuorumError::Lost { node: node.to_owned(), well: others, voters, needed: quorum })
    }

    /// Whether a node may leave for good: those that stay must be enough, and must be able to agree that it leaves.
    pub fn leaving(&self, node: &str) -> Result<RemovalImpact, QuorumError> {
        let Some(member) = self.member(node) else { return Ok(RemovalImpact::NoMember) };
        if member.learner {
            return Ok(RemovalImpact::Leaves);
        }
        let voters = self.voters().count();
        if voters == 1 {
            return Ok(RemovalImpact::Last);
        }
        let others = self.voters().filter(|other| other.id != member.id && Self::is_well(other)).count();
        let (now, then) = (voters / 2 + 1, (voters - 1) / 2 + 1);
        let agree = others + usize::from(Self::is_well(member));
        if agree < now {
            return Err(QuorumError::NoMajority { node: node.to_owned(), well: agree, voters, needed: now });
        }
        if others < then {
            let node = node.to_owned();
            return Err(QuorumError::Lost { node, well: others, voters: voters - 1, needed: then });
        }
        Ok(RemovalImpact::Leaves)
    }

    /// The same when a node has left.
    #[must_use]
    pub(crate) fn after(&self, node: &str) -> Self {
        let members = self.members.iter().filter(|member| member.node != node).cloned().collect();
        Self { members, alarms: self.alarms.clone() }
    }
}

/// What it means for etcd that a node goes for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalImpact {
    /// Nothing: it is no member.
    NoMember,
    /// The others go on.
    Leaves,
    /// It is the end of it, and of everything in it.
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
            said: if *well {
                Ok(MemberHealth { leader: 1, errors: Vec::new() })
            } else {
                Err(ProbeError::new("off"))
            },
        });
        EtcdCluster { members: members.collect(), alarms: Vec::new() }
    }

    #[test]
    fn one_of_three_may_be_away_if_the_others_are_well() {
        assert_eq!(etcd(&[true, true, true]).without("cp2"), Ok(RebootImpact::Spared));
        assert_eq!(etcd(&[true, false, true]).without("cp2"), Ok(RebootImpact::Spared));

        let said = etcd(&[true, false, true]).without("cp1").unwrap_err().to_string();

        assert_eq!(said, "without cp1 etcd would have 1 of 3 members that are well, and needs 2");
    }

    #[test]
    fn with_one_or_two_members_there_is_an_outage_and_a_worker_is_none_of_them() {
        assert_eq!(etcd(&[true]).without("cp1"), Ok(RebootImpact::Outage));
        assert_eq!(etcd(&[true, true]).without("cp1"), Ok(RebootImpact::Outage));
        assert!(etcd(&[true, false]).without("cp1").is_err());
        assert_eq!(etcd(&[true]).without("worker1"), Ok(RebootImpact::None));
    }

    #[test]
    fn no_departure_ever_leaves_fewer_than_a_majority() {
        // Every way in which up to five members are well or not.
        for count in 1..=5_u32 {
            for bits in 0..1_u32 << count {
                let well: Vec<bool> = (0..count).map(|nth| bits >> nth & 1 == 1).collect();
                let etcd = etcd(&well);
                for member in &etcd.members {
                    let left = etcd.after(&member.node);
                    let well = left.members.iter().filter(|other| EtcdCluster::is_well(other)).count();
                    match etcd.leaving(&member.node) {
                        Ok(RemovalImpact::Leaves) => assert!(well * 2 > left.members.len()),
                        Ok(RemovalImpact::Last) => assert_eq!(count, 1),
                        Ok(RemovalImpact::NoMember) => panic!("it is one"),
                        Err(_) => assert!(
                            well * 2 <= left.members.len() || {
                                let before = well + usize::from(EtcdCluster::is_well(member));
                                before * 2 <= etcd.members.len()
                            }
                        ),
                    }
                }
            }
        }
    }

    #[test]
    fn alarms_silence_and_learners_are_problems() {
        let mut etcd = etcd(&[true, false]);
        etcd.alarms = RaisedAlarm::of(1).into_iter().collect();
        etcd.members[0].learner = true;

        assert_eq!(
            etcd.problems(),
            [
                "etcd has raised the alarm NOSPACE: its database is full",
                "etcd's member on cp1 does not vote yet",
                "etcd's member on cp2 does not answer: off",
            ]
        );
        assert_eq!(etcd.leader(), Some("cp1"));
    }
}
