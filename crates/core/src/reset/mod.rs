//! Nodes that are to forget what they are.
//!
//! [`plan`] takes a [`ResetTarget`] for each of them and what etcd says, and gives the [`ResetStep`]s in their order, or everything that
//! is in the way. The members of etcd that stay are enough after every single step.
//!
//! Not here: asking nodes and doing it.

use crate::cluster::section::Role;
use crate::etcd::{EtcdCluster, RemovalImpact};
use ichor_values::Issue;

/// A node that is to be reset, and what was seen of it.
#[derive(Clone, Debug)]
pub struct ResetTarget {
    /// Its name.
    pub name: String,
    /// What it is in the cluster.
    pub role: Role,
    /// What answers.
    pub seen: TargetState,
    /// Whether something is there to boot once its disk is empty: a medium, a network.
    pub boots_without_disk: bool,
}

/// What answers for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetState {
    /// The node.
    Runs,
    /// A machine in maintenance mode: there is nothing to forget.
    Maintenance,
    /// Nobody, or somebody else: why it cannot be told anything.
    Silent(String),
}

/// What is wiped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wipe {
    /// What Talos keeps: configuration and data. It boots again, into maintenance mode.
    #[default]
    System,
    /// The whole disk, with the loader.
    Disk,
}

/// What is allowed besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResetPermissions {
    /// To end the cluster, by its last control plane.
    pub last: bool,
    /// To take nodes that do not answer out of the cluster.
    pub gone: bool,
}

/// What is done with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetStep {
    /// The node.
    pub node: String,
    /// What it is in the cluster.
    pub role: Role,
    /// Whether the machine is told to forget; otherwise only the cluster forgets it.
    pub reset: bool,
    /// What it means for etcd.
    pub departure: RemovalImpact,
    /// Whether nothing bootable is left on the machine.
    pub stranded: bool,
}

/// What is to be done with `subjects`, workers first, or everything that is in the way of it.
pub fn plan(
    subjects: &[ResetTarget],
    etcd: Option<&EtcdCluster>,
    wipe: Wipe,
    allowed: ResetPermissions,
) -> Result<Vec<ResetStep>, Vec<Issue>> {
    let leader = etcd.and_then(EtcdCluster::leader).map(str::to_owned);
    let mut order: Vec<_> = subjects.iter().collect();
    order.sort_by_key(|one| (one.role == Role::Controlplane, leader.as_deref() == Some(one.name.as_str())));
    let (mut steps, mut found) = (Vec::new(), Vec::new());
    let mut left = etcd.cloned();
    for subject in order {
        match consider(subject, left.as_ref(), wipe, allowed) {
            Ok(step) => {
                left = left.map(|etcd| etcd.after(&subject.name));
                steps.push(step);
            }
            Err(obstacle) => found.push(obstacle),
        }
    }
    if found.is_empty() { Ok(steps) } else { Err(found) }
}

/// What is done with one node, now that etcd is like this.
pub fn consider(
    subject: &ResetTarget,
    etcd: Option<&EtcdCluster>,
    wipe: Wipe,
    allowed: ResetPermissions,
) -> Result<ResetStep, Issue> {
    let name = &subject.name;
    let reset = match &subject.seen {
        TargetState::Runs => true,
        TargetState::Maintenance => false,
        TargetState::Silent(_) if allowed.gone => false,
        TargetState::Silent(why) => {
            let fix =
                "switch it on; if it is gone for good, --gone takes it out of etcd and Kubernetes without it";
            return Err(Issue::error(name, why).with_help(fix));
        }
    };
    let departure = departure(subject, etcd, allowed)?;
    let stranded = reset && wipe == Wipe::Disk && !subject.boots_without_disk;
    Ok(ResetStep { node: name.clone(), role: subject.role, reset, departure, stranded })
}

fn departure(
    subject: &ResetTarget,
    etcd: Option<&EtcdCluster>,
    allowed: ResetPermissions,
) -> Result<RemovalImpact, Issue> {
    let name = &subject.name;
    let end = "this is the last control plane: the cluster, all its state and every volume that only it knows would be gone for good";
    match (subject.role, etcd) {
        (Role::Worker, _) => Ok(RemovalImpact::NoMember),
        // Nobody is left who could say what etcd loses.
        (Role::Controlplane, None) if allowed.last => Ok(RemovalImpact::Last),
        (Role::Controlplane, None) => {
            Err(Issue::error(name, "no control plane tells how etcd is, so nobody knows what would be lost")
                .with_help("see `ichor status`; if the cluster shall end, say --destroy-cluster"))
        }
        (Role::Controlplane, Some(etcd)) => match etcd.leaving(name) {
            Ok(RemovalImpact::Last) if !allowed.last => {
                Err(Issue::error(name, end).with_help("say --destroy-cluster if that is meant"))
            }
            Ok(departure) => Ok(departure),
            Err(_) if allowed.last => Ok(RemovalImpact::Last),
            Err(error) => Err(Issue::error(name, error.to_string()).with_help(
                "bring the other members back first, or take those that are gone out with --gone",
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::{MemberHealth, QuorumMember};
    use crate::probe::ProbeError;

    fn subject(name: &str, seen: TargetState) -> ResetTarget {
        let role = if name.starts_with("cp") { Role::Controlplane } else { Role::Worker };
        ResetTarget { name: name.to_owned(), role, seen, boots_without_disk: false }
    }

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

    fn told(refused: Result<Vec<ResetStep>, Vec<Issue>>) -> String {
        refused.unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    const NO: ResetPermissions = ResetPermissions { last: false, gone: false };

    #[test]
    fn workers_go_first_and_the_leader_of_etcd_last() {
        let all = ["cp1", "cp2", "worker1"].map(|name| subject(name, TargetState::Runs));

        let steps = plan(&all, Some(&etcd(&[true; 5])), Wipe::System, NO).unwrap();

        let order: Vec<_> = steps.iter().map(|step| step.node.as_str()).collect();
        assert_eq!(order, ["worker1", "cp2", "cp1"]);
        assert_eq!(steps[1].departure, RemovalImpact::Leaves);
        assert!(steps.iter().all(|step| step.reset && !step.stranded));
    }

    #[test]
    fn the_last_control_plane_goes_only_where_the_end_is_meant() {
        let all = ["cp1", "cp2", "cp3"].map(|name| subject(name, TargetState::Runs));
        let end = ResetPermissions { last: true, gone: false };

        assert!(
            told(plan(&all, Some(&etcd(&[true; 3])), Wipe::System, NO))
                .contains("cp1: this is the last control plane")
        );
        let steps = plan(&all, Some(&etcd(&[true; 3])), Wipe::System, end).unwrap();
        assert_eq!(steps[2].departure, RemovalImpact::Last);
        assert!(told(plan(&all[..1], None, Wipe::System, NO)).contains("nobody knows what would be lost"));
    }

    #[test]
    fn a_member_that_is_needed_stays_and_a_dead_one_goes_first() {
        let etcd = etcd(&[true, true, false]);
        let living = [subject("cp2", TargetState::Runs)];
        let dead = [subject("cp3", TargetState::Silent("nobody answers".to_owned()))];
        let gone = ResetPermissions { gone: true, last: false };

        assert!(told(plan(&living, Some(&etcd), Wipe::System, NO)).contains("needs 2"));
        assert!(told(plan(&dead, Some(&etcd), Wipe::System, NO)).contains("--gone"));
        let steps = plan(&dead, Some(&etcd), Wipe::System, gone).unwrap();
        assert!(!steps[0].reset);
        assert_eq!(steps[0].departure, RemovalImpact::Leaves);
    }

    #[test]
    fn a_wiped_disk_strands_a_machine_that_boots_from_nothing_else() {
        let mut worker = subject("worker1", TargetState::Runs);

        assert!(plan(&[worker.clone()], None, Wipe::Disk, NO).unwrap()[0].stranded);
        worker.boots_without_disk = true;
        assert!(!plan(&[worker], None, Wipe::Disk, NO).unwrap()[0].stranded);
    }
}
