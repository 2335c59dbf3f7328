//! Limitations of Talos' own BGP.
//!
//! It is GoBGP 4.8 with the fields of BGPInstanceConfig and without policies. The limitations come from the sources of Talos
//! 1.14.0-rc.1, the behaviour of GoBGP from tests with a running node.

use super::{LimitationKind, LimitationList, RequestedFeatures, has_items};
use crate::plan::{NeighborAddress, NeighborPlan};
use ichor_bgp::setting::{Isolation, Speaker};
use ichor_talos::release;
use ichor_values::Toggle;

/// Reason of most limitations.
const NO_FIELD: &str = "BGPInstanceConfig has no such field";

/// Adds the requested features that are not supported.
pub(super) fn add_limitations(limitations: &mut LimitationList, features: &RequestedFeatures<'_>) {
    let old = !release::at_least(features.talos, 14);
    limitations.add_kind(
        LimitationKind::Release,
        old,
        "backend",
        "Talos' own BGP",
        "Talos supports it from 1.14 on",
    );
    check_sessions(limitations, features);
    check_workload(limitations, features);
    check_policy(limitations, features);
    limitations.add(
        features.has_other_addresses,
        "advertise",
        "only some addresses of a link",
        "Talos announces all addresses of an announced link, with their prefix length",
    );
    let why = "Talos uses its own BGP, not an extension";
    limitations.add(features.routing.version.is_set(), "version", "a release of the daemon", why);
    limitations.add(features.routing.service.is_set(), "service", "an extension service", why);
    limitations.add(features.routing.carrier.is_set(), "carrier", "a carrier", why);
}

fn check_sessions(limitations: &mut LimitationList, features: &RequestedFeatures<'_>) {
    let any = |asks: fn(&NeighborPlan) -> bool| features.neighbors.iter().any(asks);
    limitations.add_kind(
        LimitationKind::Password,
        any(|it| it.password.is_some()),
        "neighbors",
        "a session password",
        NO_FIELD,
    );
    limitations.check_bfd_with_range(features);
    limitations.add_kind(
        LimitationKind::Transit,
        gives_transit(features.neighbors),
        "neighbors",
        "two routers without transit between them",
        "it announces the routes of one router to every other whose AS number is not in the path",
    );
    // FRR and BIRD send both of their addresses as next hop. Talos prefers the link-local one and drops its port, and the
    // kernel rejects the route: "Egress device not specified".
    limitations.add_kind(
        LimitationKind::NextHop,
        any(|it| matches!(it.peer, NeighborAddress::Address(address) if address.is_ipv6())),
        "neighbors",
        "a session over an IPv6 address",
        "Talos installs the router's link-local next hop without its port, and the kernel rejects the route",
    );
    limitations.add_kind(
        LimitationKind::Timers,
        any(|it| matches!(it.timers.value, (keepalive, hold) if keepalive == 0 || keepalive != hold / 3)),
        "neighbors",
        "a custom keepalive time",
        "it is always a third of the hold time",
    );
}

/// Whether routes of one neighbour are announced to another.
///
/// GoBGP withholds from a neighbour only routes with its AS number in the path, so routers of one AS receive no routes of each
/// other.
fn gives_transit(neighbors: &[NeighborPlan]) -> bool {
    let mut asns = neighbors.iter().map(NeighborPlan::asn);
    let first = asns.next().flatten();
    neighbors.len() > 1 && (first.is_none() || asns.any(|asn| asn != first))
}

fn check_workload(limitations: &mut LimitationList, features: &RequestedFeatures<'_>) {
    limitations.add_kind(
        LimitationKind::BfdDomain,
        features.wants_speaker_bfd() && features.isolates(Isolation::Vrf),
        "workload.bfd",
        "BFD with the speaker",
        "Talos rejects BFD on an instance in a VRF",
    );
    limitations.add(
        features.isolates(Isolation::Netns),
        "workload.isolation",
        "a network namespace",
        "an instance runs in a VRF or in the default VRF",
    );
    limitations.add(
        features.isolates(Isolation::None),
        "workload.isolation",
        "a speaker without isolation",
        "the speaker's end must be in another VRF",
    );
    let unnamed = |speaker: Speaker, nothing: bool| nothing && speaker != Speaker::Cilium;
    limitations.add(
        features.workload.is_some_and(|it| unnamed(it.speaker, it.allow.value.is_empty())),
        "workload",
        "host routes of any prefix",
        "`importRoutes` matches prefixes, not prefix lengths: list them in `network.services.pools` or `workload.allow`",
    );
}

fn check_policy(limitations: &mut LimitationList, features: &RequestedFeatures<'_>) {
    let (policy_in, policy_out) = (features.policy_in(), features.policy_out());
    let filters = policy_in.is_some_and(|policy| has_items(&policy.allow));
    limitations.add(filters, "policy.in.allow", "an import filter", NO_FIELD);
    limitations.add(features.limits_prefixes(), "policy.in.max_prefixes", "a prefix limit", NO_FIELD);
    let prefers = policy_in.is_some_and(|policy| policy.local_preference.is_set());
    limitations.add(prefers, "policy.in.local_preference", "a local preference", NO_FIELD);
    let marks = policy_out.is_some_and(|policy| has_items(&policy.communities));
    limitations.add(marks, "policy.out.communities", "communities", NO_FIELD);
    let prepends = policy_out.is_some_and(|policy| policy.prepend.value().unwrap_or(0) > 0);
    limitations.add(prepends, "policy.out.prepend", "AS-path prepending", NO_FIELD);
    limitations.add(has_items(&features.routing.aggregates), "aggregates", "aggregates", NO_FIELD);
    let graceful = matches!(features.routing.graceful_restart.get(), Some(Toggle::On(_)));
    limitations.add(graceful, "graceful_restart", "graceful restart", NO_FIELD);
}
