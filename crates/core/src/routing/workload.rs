//! The instance toward the speaker, decided from the plan.

use ichor_bgp::model::workload::{Domain, End, Workload};
use ichor_bgp::model::{Bfd, Family, Protected, Term};
use ichor_bgp::setting::{Isolation, MetallbMode, Speaker};

use super::ModelError;
use crate::cluster::section::Routing;
use crate::plan::{NodePlan, WorkloadPlan};

/// The instance of a node.
pub(super) fn of(
    node: &NodePlan,
    plan: &WorkloadPlan,
    routing: &Routing,
    protected: &Protected,
) -> Result<Workload, ModelError> {
    let missing = |key| ModelError { node: node.name.to_string(), key };
    let (ours, theirs) = plan.link.as_ref().ok_or_else(|| missing("routing.workload.link"))?;
    let name = || plan.domain.as_ref().map(|domain| domain.value.clone());
    let domain = match plan.isolation.value {
        Isolation::None => Domain::Shared,
        Isolation::Vrf => Domain::Vrf {
            name: name().ok_or_else(|| missing("routing.workload.vrf.name"))?,
            table: plan.table.as_ref().ok_or_else(|| missing("routing.workload.vrf.table"))?.value,
        },
        Isolation::Netns => {
            Domain::Namespace { name: name().ok_or_else(|| missing("routing.workload.namespace"))? }
        }
    };
    let bfd = routing.workload.get().and_then(|workload| workload.bfd.get()?.on());
    Ok(Workload {
        speaker: plan.speaker,
        domain,
        ours: End { link: plan.names.0.clone(), address: ours.value, asn: plan.asn.0.value },
        theirs: End { link: plan.names.1.clone(), address: theirs.value, asn: plan.asn.1.value },
        prefix: plan.prefix,
        families: families(plan),
        bfd: bfd
            .map(|bfd| Bfd::from((bfd.interval.value().unwrap_or(300), bfd.multiplier.value().unwrap_or(3)))),
        timers: (3, 9),
        filter: protected.filter(&allowed(plan, routing)),
    })
}

/// MetalLB by itself knows IPv4 alone.
fn families(plan: &WorkloadPlan) -> Vec<Family> {
    match (plan.speaker, plan.mode) {
        (Speaker::Metallb, MetallbMode::Native) => vec![Family::V4],
        _ => Family::ALL.to_vec(),
    }
}

/// What is written and all within it; else single addresses for MetalLB, of its pools where the file has some, and
/// everything for Cilium.
fn allowed(plan: &WorkloadPlan, routing: &Routing) -> Vec<Term> {
    let written = routing.workload.get().is_some_and(|workload| workload.allow.values().next().is_some());
    let everything = Family::ALL.map(Family::everything);
    let nets = if plan.allow.is_empty() { &everything[..] } else { &plan.allow };
    let term = if written || plan.speaker == Speaker::Cilium { Term::within } else { Term::hosts };
    nets.iter().map(|net| term(true, net.trunc())).collect()
}
