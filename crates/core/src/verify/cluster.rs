//! The node in its cluster: configuration, etcd, Kubernetes.
#![expect(clippy::unnecessary_wraps, reason = "judges of the list have one form")]

use super::Verdict;
use super::case::{Case, Whole, list};
use crate::cluster::section::Role;
use crate::plan::CniPlan;
use crate::probe::ProbeError;
use ichor_talos::kubernetes::KubeNode;

pub(super) fn configured(case: &Case<'_>) -> Option<Verdict> {
    let Some(told) = case.told() else { return Some(case.silent()) };
    Some(match told.stage.as_str() {
        _ if case.is_early() => Verdict::broken(
            "it waits for its configuration",
            "`ichor up` brings it, when all before this holds",
        ),
        stage @ ("booting" | "running") => Verdict::holds(format!("it is {stage}")),
        "" => Verdict::unknown("it does not tell its stage"),
        stage => Verdict::broken(format!("it is {stage}"), "wait until that is over"),
    })
}

pub(super) fn etcd_member(case: &Case<'_>) -> Option<Verdict> {
    if case.node.role != Role::Controlplane {
        return None;
    }
    let Some(detail) = case.detail() else { return Some(case.silent()) };
    let member = match detail.etcd.as_ref() {
        Some(Ok(member)) => member,
        Some(Err(error)) => {
            return Some(Verdict::broken(
                error.to_string(),
                format!(
                    "`ichor up` bootstraps etcd on its first control plane, and the others join; \
                     if it is bootstrapped, `ichor logs {} etcd` says what keeps this one out",
                    case.name()
                ),
            ));
        }
        None => return Some(Verdict::unknown("it was not asked")),
    };
    Some(if !member.leader {
        Verdict::broken(
            "its etcd knows no leader",
            "most control planes must run and reach each other on port 2380: see those that do not",
        )
    } else if !member.errors.is_empty() {
        Verdict::broken(member.errors.join("; "), format!("`ichor logs {} etcd` has more", case.name()))
    } else if member.learner {
        Verdict::broken(
            "it does not vote yet",
            "wait until it has caught up; if it stays so, see its disk and its way to the others",
        )
    } else {
        Verdict::holds("it votes, and there is a leader")
    })
}

pub(super) fn etcd(whole: &Whole<'_>) -> Option<Verdict> {
    let members = match whole.seen.etcd.as_ref() {
        None => return Some(Verdict::unknown("no control plane could be asked")),
        Some(Err(error)) => return Some(Verdict::unknown(error.to_string())),
        Some(Ok(members)) => members,
    };
    let planes: Vec<&str> = whole.plan.control_planes().map(|node| node.name.as_str()).collect();
    let strangers = list(members.names.iter().filter(|name| !planes.contains(&name.as_str())));
    let absent = list(planes.iter().filter(|name| !members.names.iter().any(|member| member == **name)));
    let told_by = &members.told_by;
    Some(if !members.alarms.is_empty() {
        Verdict::broken(
            format!("alarms: {}", members.alarms.join(", ")),
            "NOSPACE: free space and defragment; CORRUPT: replace that member; then `talosctl etcd alarm disarm`",
        )
    } else if !strangers.is_empty() {
        Verdict::broken(
            format!("{told_by} counts {strangers}, which the file does not have: it counts for the quorum"),
            "if that machine is gone, remove its member; else write it into the file",
        )
    } else if !absent.is_empty() {
        Verdict::broken(
            format!("{told_by} does not count {absent}"),
            format!("see `etcd-member` of {absent}, and the log of its service etcd by `ichor logs`"),
        )
    } else {
        Verdict::holds(format!("{told_by} counts {}, and there is no alarm", list(&members.names)))
    })
}

pub(super) fn api_address(whole: &Whole<'_>) -> Option<Verdict> {
    let doors = &whole.seen.doors;
    let silent: Vec<_> = doors.iter().filter_map(|door| Some((door, door.answers.as_ref().err()?))).collect();
    let word = |anycast: bool| if anycast { "anycast" } else { "VIP" };
    match silent.first() {
        None if doors.is_empty() => None,
        None => Some(Verdict::holds(list(
            doors.iter().map(|door| format!("{} {} answers", word(door.anycast), door.address)),
        ))),
        Some((door, why)) => Some(Verdict::broken(
            format!("{} {} does not answer: {why}", word(door.anycast), door.address),
            if door.anycast {
                "every control plane whose API is ready announces it: see their `sessions`, and the gate in `ichor logs`"
            } else {
                "a control plane holds it while etcd has a leader: see that this machine is in its network, \
                 and that nobody else has the address"
            },
        )),
    }
}

pub(super) fn kubernetes_api(whole: &Whole<'_>) -> Option<Verdict> {
    let endpoint = whole.plan.cluster.endpoint.as_ref()?.value.as_str();
    Some(match whole.seen.kubernetes_api.as_ref() {
        None => Verdict::unknown("without the secrets nobody knows by what it is recognised"),
        Some(Ok(())) => Verdict::holds(format!("{endpoint} answers")),
        Some(Err(why)) => Verdict::broken(
            format!("{endpoint}: {why}"),
            "the log of kubelet on a control plane (`ichor logs`) says whether the API server starts; the name must lead to one of them",
        ),
    })
}

/// What Kubernetes says of a node; where it could not be asked, nothing, or why not.
fn in_kubernetes<'c>(case: &Case<'c>) -> Option<Result<Option<&'c KubeNode>, &'c ProbeError>> {
    Some(match case.all.kubernetes.as_ref()? {
        Ok(all) => Ok(all.get(case.name())),
        Err(error) => Err(error),
    })
}

pub(super) fn cni(case: &Case<'_>) -> Option<Verdict> {
    Some(match in_kubernetes(case) {
        None => Verdict::unknown("Kubernetes was not asked"),
        Some(Err(error)) => Verdict::unknown(error.to_string()),
        Some(Ok(None)) => Verdict::unknown("Kubernetes does not know the node"),
        Some(Ok(Some(KubeNode { network: None, .. }))) => {
            Verdict::holds("Kubernetes finds nothing wrong with it")
        }
        Some(Ok(Some(KubeNode { network: Some(why), .. }))) => Verdict::broken(
            why.clone(),
            match &case.plan.cluster.cni.value {
                CniPlan::None => "the file says `cni: none`: install the one you mean",
                CniPlan::Flannel(Some(_)) => {
                    "see the pods of kube-flannel in kube-system, and that the link of `cluster.flannel` is there"
                }
                CniPlan::Flannel(None) => "see the pods of kube-flannel in kube-system",
                CniPlan::Cilium => "see the pods of cilium in kube-system",
                CniPlan::Manifest(_) => "see the pods that the manifest of `cluster.cni` makes",
            },
        ),
    })
}

pub(super) fn kubernetes_node(case: &Case<'_>) -> Option<Verdict> {
    let Some(told) = case.told() else { return Some(case.silent()) };
    let logs = format!("`ichor logs {} kubelet` says why", case.name());
    let unknown = || Verdict::broken("Kubernetes does not know it", logs.clone());
    let (unready, unschedulable) = match (in_kubernetes(case), told.kubernetes) {
        (Some(Ok(None)), _) => return Some(unknown()),
        (Some(Ok(Some(node))), _) => ((!node.ready).then(|| node.message.clone()), node.unschedulable),
        (_, Some(told)) => {
            ((!told.ready).then(|| "Talos says that it is not ready".to_owned()), !told.schedulable)
        }
        (_, None) if case.is_early() => return Some(Verdict::unknown("it has no configuration yet")),
        (_, None) => return Some(unknown()),
    };
    Some(match unready {
        Some(why) => Verdict::broken(format!("it is not ready: {why}"), logs),
        None if unschedulable => Verdict::broken(
            "it is cordoned",
            format!("`kubectl uncordon {}`, when that is over", case.name()),
        ),
        None => Verdict::holds("it is ready"),
    })
}

pub(super) fn ready(case: &Case<'_>) -> Option<Verdict> {
    let Some(told) = case.told() else { return Some(case.silent()) };
    let lacks: Vec<_> = told.unmet.iter().chain(&told.down).chain(&told.diagnostics).cloned().collect();
    Some(if !lacks.is_empty() {
        Verdict::broken(
            lacks.join("; "),
            format!("`ichor logs {}` with the name of the service says why", case.name()),
        )
    } else if !told.ready && !case.is_early() {
        Verdict::broken(
            "it is not ready, and does not say why",
            format!("see `ichor logs {} --dmesg`", case.name()),
        )
    } else if told.untold.is_empty() {
        Verdict::holds("it lacks nothing")
    } else {
        Verdict::unknown(told.untold.join("; "))
    })
}
