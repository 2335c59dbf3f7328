//! The node in its cluster: configuration, etcd, Kubernetes.
#![expect(clippy::unnecessary_wraps, reason = "judges of the list have one form")]

use super::CheckResult;
use super::case::{ClusterContext, NodeContext, list};
use crate::cluster::section::Role;
use crate::plan::CniPlan;
use crate::probe::ProbeError;
use ichor_talos::kubernetes::KubeNode;

pub(super) fn configured(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(told) = case.told() else { return Some(case.silent()) };
    Some(match told.stage.as_str() {
        _ if case.is_early() => CheckResult::broken(
            "the node is in maintenance mode and waits for its configuration",
            "run `ichor up`, which applies it once the checks before this one pass",
        ),
        stage @ ("booting" | "running") => CheckResult::holds(format!("stage {stage}")),
        "" => CheckResult::unknown("the node does not report its stage"),
        stage => CheckResult::broken(format!("the node is {stage}"), "wait until this stage ends"),
    })
}

pub(super) fn etcd_member(case: &NodeContext<'_>) -> Option<CheckResult> {
    if case.node.role != Role::Controlplane {
        return None;
    }
    let Some(detail) = case.detail() else { return Some(case.silent()) };
    let member = match detail.etcd.as_ref() {
        Some(Ok(member)) => member,
        Some(Err(error)) => {
            return Some(CheckResult::broken(
                error.to_string(),
                format!(
                    "`ichor up` bootstraps etcd on the first control plane, and the others join; \
                     if etcd is bootstrapped already, `ichor logs {} etcd` shows why this node does not join",
                    case.name()
                ),
            ));
        }
        None => return Some(CheckResult::unknown("the etcd member was not queried")),
    };
    Some(if !member.leader {
        CheckResult::broken(
            "the etcd member has no leader",
            "etcd needs a majority of the control planes running and connected on port 2380: check those that are not",
        )
    } else if !member.errors.is_empty() {
        CheckResult::broken(member.errors.join("; "), format!("see `ichor logs {} etcd`", case.name()))
    } else if member.learner {
        CheckResult::broken(
            "the etcd member is still a learner",
            "wait until it has caught up; if it does not, check its disk and its network path to the other members",
        )
    } else {
        CheckResult::holds("voting member, leader elected")
    })
}

pub(super) fn etcd(whole: &ClusterContext<'_>) -> Option<CheckResult> {
    let members = match whole.seen.etcd.as_ref() {
        None => return Some(CheckResult::unknown("no control plane could be queried")),
        Some(Err(error)) => return Some(CheckResult::unknown(error.to_string())),
        Some(Ok(members)) => members,
    };
    let planes: Vec<&str> = whole.plan.control_planes().map(|node| node.name.as_str()).collect();
    let strangers = list(members.names.iter().filter(|name| !planes.contains(&name.as_str())));
    let absent = list(planes.iter().filter(|name| !members.names.iter().any(|member| member == **name)));
    let told_by = &members.told_by;
    Some(if !members.alarms.is_empty() {
        CheckResult::broken(
            format!("alarms: {}", members.alarms.join(", ")),
            "NOSPACE: free space and defragment; CORRUPT: replace that member; then `talosctl etcd alarm disarm`",
        )
    } else if !strangers.is_empty() {
        CheckResult::broken(
            format!(
                "{told_by} lists members that are not in the cluster file and count towards the quorum: {strangers}"
            ),
            "if that machine is gone, remove its member; otherwise add it to the cluster file",
        )
    } else if !absent.is_empty() {
        CheckResult::broken(
            format!("{told_by} does not list {absent} as a member"),
            format!("see the check `etcd-member` of {absent}, and `ichor logs NODE etcd`"),
        )
    } else {
        CheckResult::holds(format!("{told_by} lists {}; no alarms", list(&members.names)))
    })
}

pub(super) fn api_address(whole: &ClusterContext<'_>) -> Option<CheckResult> {
    let doors = &whole.seen.doors;
    let silent: Vec<_> = doors.iter().filter_map(|door| Some((door, door.answers.as_ref().err()?))).collect();
    let word = |anycast: bool| if anycast { "anycast" } else { "VIP" };
    match silent.first() {
        None if doors.is_empty() => None,
        None => Some(CheckResult::holds(list(
            doors.iter().map(|door| format!("{} {} answers", word(door.anycast), door.address)),
        ))),
        Some((door, why)) => Some(CheckResult::broken(
            format!("{} {} does not answer: {why}", word(door.anycast), door.address),
            if door.anycast {
                "every control plane with a ready API server announces it: check their `sessions`, and the health gate in `ichor logs`"
            } else {
                "one control plane holds it while etcd has a leader: check that this host is on its network, \
                 and that no other host uses the address"
            },
        )),
    }
}

pub(super) fn kubernetes_api(whole: &ClusterContext<'_>) -> Option<CheckResult> {
    let endpoint = whole.plan.cluster.endpoint.as_ref()?.value.as_str();
    Some(match whole.seen.kubernetes_api.as_ref() {
        None => CheckResult::unknown("the API server cannot be verified without the cluster's secrets"),
        Some(Ok(())) => CheckResult::holds(format!("{endpoint} answers")),
        Some(Err(why)) => CheckResult::broken(
            format!("{endpoint}: {why}"),
            "`ichor logs NODE kubelet` on a control plane shows whether the API server starts; the endpoint must resolve to a control plane",
        ),
    })
}

/// What Kubernetes says of a node; where it could not be asked, nothing, or why not.
fn in_kubernetes<'c>(case: &NodeContext<'c>) -> Option<Result<Option<&'c KubeNode>, &'c ProbeError>> {
    Some(match case.all.kubernetes.as_ref()? {
        Ok(all) => Ok(all.get(case.name())),
        Err(error) => Err(error),
    })
}

pub(super) fn cni(case: &NodeContext<'_>) -> Option<CheckResult> {
    Some(match in_kubernetes(case) {
        None => CheckResult::unknown("Kubernetes was not queried"),
        Some(Err(error)) => CheckResult::unknown(error.to_string()),
        Some(Ok(None)) => CheckResult::unknown("the node is not registered in Kubernetes"),
        Some(Ok(Some(KubeNode { network: None, .. }))) => {
            CheckResult::holds("Kubernetes reports no network problem")
        }
        Some(Ok(Some(KubeNode { network: Some(why), .. }))) => CheckResult::broken(
            why.clone(),
            match &case.plan.cluster.cni.value {
                CniPlan::None => "the cluster file sets `cni: none`: install a CNI",
                CniPlan::Flannel(Some(_)) => {
                    "check the kube-flannel pods in kube-system, and that the interface of `cluster.flannel` exists"
                }
                CniPlan::Flannel(None) => "check the kube-flannel pods in kube-system",
                CniPlan::Cilium => "check the cilium pods in kube-system",
                CniPlan::Manifest(_) => "check the pods of the manifest in `cluster.cni`",
            },
        ),
    })
}

pub(super) fn kubernetes_node(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(told) = case.told() else { return Some(case.silent()) };
    let logs = format!("see `ichor logs {} kubelet`", case.name());
    let unknown = || CheckResult::broken("the node is not registered in Kubernetes", logs.clone());
    let (unready, unschedulable) = match (in_kubernetes(case), told.kubernetes) {
        (Some(Ok(None)), _) => return Some(unknown()),
        (Some(Ok(Some(node))), _) => ((!node.ready).then(|| node.message.clone()), node.unschedulable),
        (_, Some(told)) => {
            ((!told.ready).then(|| "Talos reports it as not ready".to_owned()), !told.schedulable)
        }
        (_, None) if case.is_early() => {
            return Some(CheckResult::unknown("the node has no configuration yet"));
        }
        (_, None) => return Some(unknown()),
    };
    Some(match unready {
        Some(why) => CheckResult::broken(format!("the Kubernetes node is not ready: {why}"), logs),
        None if unschedulable => CheckResult::broken(
            "the Kubernetes node is cordoned",
            format!("run `kubectl uncordon {}` when its maintenance is over", case.name()),
        ),
        None => CheckResult::holds("ready and schedulable"),
    })
}

pub(super) fn ready(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(told) = case.told() else { return Some(case.silent()) };
    let lacks: Vec<_> = told.unmet.iter().chain(&told.down).chain(&told.diagnostics).cloned().collect();
    Some(if !lacks.is_empty() {
        CheckResult::broken(lacks.join("; "), format!("see `ichor logs {} SERVICE`", case.name()))
    } else if !told.ready && !case.is_early() {
        CheckResult::broken(
            "the node is not ready and reports no reason",
            format!("see `ichor logs {} --dmesg`", case.name()),
        )
    } else if told.untold.is_empty() {
        CheckResult::holds("ready, nothing unmet")
    } else {
        CheckResult::unknown(told.untold.join("; "))
    })
}
