//! The speaker of service addresses inside a node.

use crate::plan::WorkloadPlan;
use crate::render::topology::diagram::SpeakerBox;
use ichor_bgp::setting::{Isolation, Speaker};

/// The speaker of service addresses.
pub fn speaker(workload: &WorkloadPlan) -> SpeakerBox {
    let name = match workload.speaker {
        Speaker::Metallb => "MetalLB",
        Speaker::Cilium => "Cilium",
        Speaker::None => "none",
    };
    let domain = domain(workload).unwrap_or_default();
    let place = match workload.isolation.value {
        Isolation::Vrf => format!("in VRF {domain}"),
        Isolation::Netns => format!("in netns {domain}"),
        Isolation::None => "not isolated".to_owned(),
    };
    let (ours, theirs) = (&workload.asn.0.value, &workload.asn.1.value);
    let mut lines = vec![place, format!("AS {theirs} – node AS {ours}")];
    lines.extend(
        workload.link.iter().map(|(_, theirs)| format!("{}/{}", theirs.value, workload.prefix.value)),
    );
    SpeakerBox { name: name.to_owned(), lines }
}

/// Whether the diagram shows the same text for both.
pub(crate) fn is_same(one: &WorkloadPlan, other: &WorkloadPlan) -> bool {
    let theirs = |plan: &WorkloadPlan| plan.link.as_ref().map(|(_, theirs)| theirs.value);
    (one.speaker, one.isolation.value, one.prefix.value)
        == (other.speaker, other.isolation.value, other.prefix.value)
        && (one.asn.0.value, one.asn.1.value) == (other.asn.0.value, other.asn.1.value)
        && theirs(one) == theirs(other)
        && domain(one) == domain(other)
}

fn domain(workload: &WorkloadPlan) -> Option<&str> {
    workload.domain.as_ref().map(|domain| domain.value.as_str())
}
