//! The BGP instance toward the speaker.

use ichor_bgp::model::workload::{RoutingDomain, SessionEndpoint, Workload};
use ichor_bgp::model::{Bfd, Family, PrefixRule, ProtectedPrefixes};
use ichor_bgp::setting::{Isolation, MetallbMode, Speaker};

use super::MissingKey;
use crate::plan::{NodePlan, WorkloadPlan};

/// The speaker instance of a node.
pub(super) fn workload_instance(
    node: &NodePlan,
    plan: &WorkloadPlan,
    protected: &ProtectedPrefixes,
) -> Result<Workload, MissingKey> {
    let missing = |key| MissingKey::new(node, key);
    let (ours, theirs) = plan.link.as_ref().ok_or_else(|| missing("routing.workload.link"))?;
    let name = || plan.domain.as_ref().map(|domain| domain.value.clone());
    let domain = match plan.isolation.value {
        Isolation::None => RoutingDomain::Shared,
        Isolation::Vrf => RoutingDomain::Vrf {
            name: name().ok_or_else(|| missing("routing.workload.vrf.name"))?,
            table: plan.table.as_ref().ok_or_else(|| missing("routing.workload.vrf.table"))?.value,
        },
        Isolation::Netns => {
            RoutingDomain::Namespace { name: name().ok_or_else(|| missing("routing.workload.namespace"))? }
        }
    };
    Ok(Workload {
        speaker: plan.speaker,
        domain,
        ours: SessionEndpoint {
            link: plan.names.0.value.clone(),
            address: ours.value,
            asn: plan.asn.0.value,
        },
        theirs: SessionEndpoint {
            link: plan.names.1.value.clone(),
            address: theirs.value,
            asn: plan.asn.1.value,
        },
        prefix: plan.prefix.value,
        families: families(plan),
        bfd: plan.bfd.as_ref().map(Bfd::from),
        timers: (3, 9),
        filter: protected.filter(&allowed(plan)),
    })
}

/// MetalLB's native mode supports only IPv4.
fn families(plan: &WorkloadPlan) -> Vec<Family> {
    match (plan.speaker, plan.mode.value) {
        (Speaker::Metallb, MetallbMode::Native) => vec![Family::V4],
        _ => Family::ALL.to_vec(),
    }
}

/// The written prefixes and more specific ones; else host routes for MetalLB, of its pools if there are any, and everything
/// for Cilium.
fn allowed(plan: &WorkloadPlan) -> Vec<PrefixRule> {
    let everything = Family::ALL.map(Family::everything);
    let nets = if plan.allow.value.is_empty() { &everything[..] } else { &plan.allow.value };
    let term = if plan.accepts_subnets() { PrefixRule::within } else { PrefixRule::hosts };
    nets.iter().map(|net| term(true, net.trunc())).collect()
}
