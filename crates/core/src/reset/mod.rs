//! Resets nodes and removes them from the cluster.
//!
//! [`plan`] turns [`ResetTarget`]s and the health of etcd into ordered [`ResetStep`]s, or returns all blockers. The remaining
//! members of etcd keep a quorum after every step.
//!
//! Not here: querying nodes and running the steps.

use crate::cluster::section::Role;
use crate::etcd::{EtcdCluster, RemovalImpact};
use ichor_values::Issue;

/// A node to reset, with its observed state.
#[derive(Clone, Debug)]
pub struct ResetTarget {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its state.
    pub seen: TargetState,
    /// Whether it can boot with an empty disk, from a medium or the network.
    pub boots_without_disk: bool,
}

/// The state of a node to reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetState {
    /// The node is running.
    Runs,
    /// The machine is in maintenance mode and needs no reset.
    Maintenance,
    /// The node is unreachable, with the reason.
    Silent(String),
}

/// The scope of the wipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wipe {
    /// Talos' configuration and data. The machine boots into maintenance mode.
    #[default]
    System,
    /// The entire disk, including the boot loader.
    Disk,
}

/// Additional permissions.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResetPermissions {
    /// Destroy the cluster by resetting its last control plane.
    pub last: bool,
    /// Remove unreachable nodes from the cluster.
    pub gone: bool,
}

/// The reset of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetStep {
    /// The node.
    pub node: String,
    /// Its role.
    pub role: Role,
    /// Whether the machine is reset; otherwise it is only removed from the cluster.
    pub reset: bool,
    /// The impact on etcd.
    pub departure: RemovalImpact,
    /// Whether the machine can no longer boot.
    pub stranded: bool,
}

/// Plans the reset of `subjects`, workers first, or returns all blockers.
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
        match plan_node(subject, left.as_ref(), wipe, allowed) {
            Ok(step) => {
                left = left.map(|etcd| etcd.without_member(&subject.name));
                steps.push(step);
            }
            Err(obstacle) => found.push(obstacle),
        }
    }
    if found.is_empty() { Ok(steps) } else { Err(found) }
}

/// Plans the reset of one node with the current health of etcd.
pub fn plan_node(
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
            let fix = "power it on; if it is lost, pass --gone to remove it from etcd and Kubernetes";
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
    let end = "this is the last control plane: the cluster, all its state and its volumes would be lost";
    match (subject.role, etcd) {
        (Role::Worker, _) => Ok(RemovalImpact::NoMember),
        // No control plane can report what etcd loses.
        (Role::Controlplane, None) if allowed.last => Ok(RemovalImpact::Last),
        (Role::Controlplane, None) => {
            Err(Issue::error(name, "no control plane reports the health of etcd, so the loss is unknown")
                .with_help("see `ichor status`; pass --destroy-cluster to destroy the cluster"))
        }
        (Role::Controlplane, Some(etcd)) => match etcd.removal_impact(name) {
            Ok(RemovalImpact::Last) if !allowed.last => {
                Err(Issue::error(name, end).with_help("pass --destroy-cluster to confirm this"))
            }
            Ok(departure) => Ok(departure),
            Err(_) if allowed.last => Ok(RemovalImpact::Last),
            Err(error) => Err(Issue::error(name, error.to_string())
                .with_help("restore the other members first, or pass --gone to remove lost ones")),
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
            health: if *well {
                Ok(MemberHealth { leader: 1, errors: Vec::new() })
            } else {
                Err(ProbeError::new("off"))
            },
        });
        EtcdCluster { members: members.collect(), alarms: Vec::new() }
    }

    fn error_text(rejected: Result<Vec<ResetStep>, Vec<Issue>>) -> String {
        rejected.unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    const NO: ResetPermissions = ResetPermissions { last: false, gone: false };

    #[test]
    fn workers_are_reset_first_and_the_leader_of_etcd_last() {
        let all = ["cp1", "cp2", "worker1"].map(|name| subject(name, TargetState::Runs));

        let steps = plan(&all, Some(&etcd(&[true; 5])), Wipe::System, NO).unwrap();

        let order: Vec<_> = steps.iter().map(|step| step.node.as_str()).collect();
        assert_eq!(order, ["worker1", "cp2", "cp1"]);
        assert_eq!(steps[1].departure, RemovalImpact::Leaves);
        assert!(steps.iter().all(|step| step.reset && !step.stranded));
    }

    #[test]
    fn the_last_control_plane_is_reset_only_on_request() {
        let all = ["cp1", "cp2", "cp3"].map(|name| subject(name, TargetState::Runs));
        let end = ResetPermissions { last: true, gone: false };

        assert!(
            error_text(plan(&all, Some(&etcd(&[true; 3])), Wipe::System, NO))
                .contains("cp1: this is the last control plane")
        );
        let steps = plan(&all, Some(&etcd(&[true; 3])), Wipe::System, end).unwrap();
        assert_eq!(steps[2].departure, RemovalImpact::Last);
        assert!(error_text(plan(&all[..1], None, Wipe::System, NO)).contains("so the loss is unknown"));
    }

    #[test]
    fn a_needed_member_is_kept_and_a_lost_one_removed() {
        let etcd = etcd(&[true, true, false]);
        let living = [subject("cp2", TargetState::Runs)];
        let dead = [subject("cp3", TargetState::Silent("no response".to_owned()))];
        let gone = ResetPermissions { gone: true, last: false };

        assert!(error_text(plan(&living, Some(&etcd), Wipe::System, NO)).contains("needs 2"));
        assert!(error_text(plan(&dead, Some(&etcd), Wipe::System, NO)).contains("--gone"));
        let steps = plan(&dead, Some(&etcd), Wipe::System, gone).unwrap();
        assert!(!steps[0].reset);
        assert_eq!(steps[0].departure, RemovalImpact::Leaves);
    }

    #[test]
    fn a_wiped_disk_strands_a_machine_without_other_boot_devices() {
        let mut worker = subject("worker1", TargetState::Runs);

        assert!(plan(&[worker.clone()], None, Wipe::Disk, NO).unwrap()[0].stranded);
        worker.boots_without_disk = true;
        assert!(!plan(&[worker], None, Wipe::Disk, NO).unwrap()[0].stranded);
    }
}
