//! Checks of nodes in the cluster: configuration, etcd, Kubernetes.
#![expect(clippy::unnecessary_wraps, reason = "all checks have the same signature")]

use super::CheckResult;
use super::context::{ClusterContext, NodeContext, join_list};
use crate::cluster::section::Role;
use crate::plan::CniPlan;
use crate::probe::ProbeError;
use ichor_talos::kubernetes::KubeNode;

pub(super) fn check_configured(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(snapshot) = case.snapshot() else { return Some(case.unreachable()) };
    Some(match snapshot.stage.as_str() {
        _ if case.is_in_maintenance() => CheckResult::failed(
            "the node is in maintenance mode and waits for its configuration",
            "run `ichor up`, which applies it once the checks before this one pass",
        ),
        stage @ ("booting" | "running") => CheckResult::passed(format!("stage {stage}")),
        "" => CheckResult::unknown("the node does not report its stage"),
        stage => CheckResult::failed(format!("the node is {stage}"), "wait until this stage ends"),
    })
}

pub(super) fn check_etcd_member(case: &NodeContext<'_>) -> Option<CheckResult> {
    if case.node.role != Role::Controlplane {
        return None;
    }
    let Some(detail) = case.detail() else { return Some(case.unreachable()) };
    let member = match detail.etcd.as_ref() {
        Some(Ok(member)) => member,
        Some(Err(error)) => {
            return Some(CheckResult::failed(
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
        CheckResult::failed(
            "the etcd member has no leader",
            "etcd needs a majority of the control planes running and connected on port 2380: check those that are not",
        )
    } else if !member.errors.is_empty() {
        CheckResult::failed(member.errors.join("; "), format!("see `ichor logs {} etcd`", case.name()))
    } else if member.learner {
        CheckResult::failed(
            "the etcd member is still a learner",
            "wait until it has caught up; if it does not, check its disk and its network path to the other members",
        )
    } else {
        CheckResult::passed("voting member, leader elected")
    })
}

pub(super) fn check_etcd(context: &ClusterContext<'_>) -> Option<CheckResult> {
    let members = match context.seen.etcd.as_ref() {
        None => return Some(CheckResult::unknown("no control plane could be queried")),
        Some(Err(error)) => return Some(CheckResult::unknown(error.to_string())),
        Some(Ok(members)) => members,
    };
    let planes: Vec<&str> = context.plan.control_planes().map(|node| node.name.as_str()).collect();
    let unknown = join_list(members.names.iter().filter(|name| !planes.contains(&name.as_str())));
    let missing =
        join_list(planes.iter().filter(|name| !members.names.iter().any(|member| member == **name)));
    let reporter = &members.told_by;
    Some(if !members.alarms.is_empty() {
        CheckResult::failed(
            format!("alarms: {}", members.alarms.join(", ")),
            "NOSPACE: free space and defragment; CORRUPT: replace that member; then `talosctl etcd alarm disarm`",
        )
    } else if !unknown.is_empty() {
        CheckResult::failed(
            format!(
                "{reporter} lists members that are not in the cluster file and count towards the quorum: {unknown}"
            ),
            "if that machine is gone, remove its member; otherwise add it to the cluster file",
        )
    } else if !missing.is_empty() {
        CheckResult::failed(
            format!("{reporter} does not list {missing} as a member"),
            format!("see the check `etcd-member` of {missing}, and `ichor logs NODE etcd`"),
        )
    } else {
        CheckResult::passed(format!("{reporter} lists {}; no alarms", join_list(&members.names)))
    })
}

pub(super) fn check_api_address(context: &ClusterContext<'_>) -> Option<CheckResult> {
    let addresses = &context.seen.api_addresses;
    let failed: Vec<_> =
        addresses.iter().filter_map(|api| Some((api, api.answers.as_ref().err()?))).collect();
    let noun = |anycast: bool| if anycast { "anycast" } else { "VIP" };
    match failed.first() {
        None if addresses.is_empty() => None,
        None => Some(CheckResult::passed(join_list(
            addresses.iter().map(|api| format!("{} {} answers", noun(api.anycast), api.address)),
        ))),
        Some((api, why)) => Some(CheckResult::failed(
            format!("{} {} does not answer: {why}", noun(api.anycast), api.address),
            if api.anycast {
                "every control plane with a ready API server announces it: check their `sessions`, and the health gate in `ichor logs`"
            } else {
                "one control plane holds it while etcd has a leader: check that this host is on its network, \
                 and that no other host uses the address"
            },
        )),
    }
}

pub(super) fn check_kubernetes_api(context: &ClusterContext<'_>) -> Option<CheckResult> {
    let endpoint = context.plan.cluster.endpoint.as_ref()?.value.as_str();
    Some(match context.seen.kubernetes_api.as_ref() {
        None => CheckResult::unknown("the API server cannot be verified without the cluster's secrets"),
        Some(Ok(())) => CheckResult::passed(format!("{endpoint} answers")),
        Some(Err(why)) => CheckResult::failed(
            format!("{endpoint}: {why}"),
            "`ichor logs NODE kubelet` on a control plane shows whether the API server starts; the endpoint must resolve to a control plane",
        ),
    })
}

/// The node in Kubernetes; none if Kubernetes was not queried.
fn kubernetes_entry<'c>(case: &NodeContext<'c>) -> Option<Result<Option<&'c KubeNode>, &'c ProbeError>> {
    Some(match case.all.kubernetes.as_ref()? {
        Ok(all) => Ok(all.get(case.name())),
        Err(error) => Err(error),
    })
}

pub(super) fn check_cni(case: &NodeContext<'_>) -> Option<CheckResult> {
    Some(match kubernetes_entry(case) {
        None => CheckResult::unknown("Kubernetes was not queried"),
        Some(Err(error)) => CheckResult::unknown(error.to_string()),
        Some(Ok(None)) => CheckResult::unknown("the node is not registered in Kubernetes"),
        Some(Ok(Some(KubeNode { network: None, .. }))) => {
            CheckResult::passed("Kubernetes reports no network problem")
        }
        Some(Ok(Some(KubeNode { network: Some(why), .. }))) => CheckResult::failed(
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

pub(super) fn check_kubernetes_node(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(snapshot) = case.snapshot() else { return Some(case.unreachable()) };
    let logs = format!("see `ichor logs {} kubelet`", case.name());
    let unknown = || CheckResult::failed("the node is not registered in Kubernetes", logs.clone());
    let (unready, unschedulable) = match (kubernetes_entry(case), snapshot.kubernetes) {
        (Some(Ok(None)), _) => return Some(unknown()),
        (Some(Ok(Some(node))), _) => ((!node.ready).then(|| node.message.clone()), node.unschedulable),
        (_, Some(state)) => {
            ((!snapshot.ready).then(|| "Talos reports it as not ready".to_owned()), !state.schedulable)
        }
        (_, None) if case.is_in_maintenance() => {
            return Some(CheckResult::unknown("the node has no configuration yet"));
        }
        (_, None) => return Some(unknown()),
    };
    Some(match unready {
        Some(why) => CheckResult::failed(format!("the Kubernetes node is not ready: {why}"), logs),
        None if unschedulable => CheckResult::failed(
            "the Kubernetes node is cordoned",
            format!("run `kubectl uncordon {}` when its maintenance is over", case.name()),
        ),
        None => CheckResult::passed("ready and schedulable"),
    })
}

pub(super) fn check_ready(case: &NodeContext<'_>) -> Option<CheckResult> {
    let Some(snapshot) = case.snapshot() else { return Some(case.unreachable()) };
    let lacks: Vec<_> =
        snapshot.unmet.iter().chain(&snapshot.down).chain(&snapshot.diagnostics).cloned().collect();
    Some(if !lacks.is_empty() {
        CheckResult::failed(lacks.join("; "), format!("see `ichor logs {} SERVICE`", case.name()))
    } else if !snapshot.ready && !case.is_in_maintenance() {
        CheckResult::failed(
            "the node is not ready and reports no reason",
            format!("see `ichor logs {} --dmesg`", case.name()),
        )
    } else if snapshot.untold.is_empty() {
        CheckResult::passed("ready, nothing unmet")
    } else {
        CheckResult::unknown(snapshot.untold.join("; "))
    })
}
