//! What Talos' own BGP cannot do.
//!
//! It is GoBGP 4.8 with the fields of BGPInstanceConfig, and no policy at all. Each line here was read in the sources of Talos
//! 1.14.0-rc.1, and what GoBGP makes of it was seen on a running one.

use super::{Ask, LackKind, Lacks, any};
use crate::plan::{NeighborPlan, Peer};
use ichor_bgp::setting::{Isolation, Speaker};
use ichor_talos::release;
use ichor_values::Toggle;

/// Why most is lacking.
const NO_FIELD: &str = "BGPInstanceConfig has no such field";

/// Adds everything of `ask` that is lacking.
pub(super) fn note(lacks: &mut Lacks, ask: &Ask<'_>) {
    let old = !release::at_least(ask.talos, 14);
    lacks.kind(LackKind::Release, old, "backend", "BGP by Talos itself", "Talos has it from 1.14 on");
    sessions(lacks, ask);
    workload(lacks, ask);
    policy(lacks, ask);
    lacks.note(
        ask.more,
        "advertise",
        "only some addresses of a link",
        "Talos announces all that an announced link has, with the length it has them",
    );
    let why = "Talos brings its own, and no extension";
    lacks.note(ask.routing.version.is_set(), "version", "a release of the daemon", why);
    lacks.note(ask.routing.service.is_set(), "service", "an extension service", why);
    lacks.note(ask.routing.carrier.is_set(), "carrier", "a carrier", why);
}

fn sessions(lacks: &mut Lacks, ask: &Ask<'_>) {
    let any = |asks: fn(&NeighborPlan) -> bool| ask.neighbors.iter().any(asks);
    lacks.kind(
        LackKind::Password,
        any(|it| it.password.is_some()),
        "neighbors",
        "a session password",
        NO_FIELD,
    );
    lacks.bfd_with_range(ask);
    lacks.kind(
        LackKind::Transit,
        passes_on(ask.neighbors),
        "neighbors",
        "two routers without carrying traffic between them",
        "it passes on what one tells it to every other whose AS number is not in the path",
    );
    // FRR and BIRD send both of their addresses as next hop. Talos prefers the link-local one and forgets the port it belongs
    // to, and the kernel takes no such route: "Egress device not specified".
    lacks.kind(
        LackKind::NextHop,
        any(|it| matches!(it.peer, Peer::Address(address) if address.is_ipv6())),
        "neighbors",
        "a session with an IPv6 address",
        "Talos takes the router's link-local next hop without its port, and the kernel refuses the route",
    );
    lacks.kind(
        LackKind::Timers,
        any(|it| matches!(it.timers.value, (keepalive, hold) if keepalive == 0 || keepalive != hold / 3)),
        "neighbors",
        "a keepalive time of its own",
        "it is always a third of the hold time",
    );
}

/// Whether a route from one neighbour goes out to another. GoBGP keeps from a neighbour only what its AS number is in, so routers of
/// one AS are told nothing of each other.
fn passes_on(neighbors: &[NeighborPlan]) -> bool {
    let mut asns = neighbors.iter().map(NeighborPlan::asn);
    let first = asns.next().flatten();
    neighbors.len() > 1 && (first.is_none() || asns.any(|asn| asn != first))
}

fn workload(lacks: &mut Lacks, ask: &Ask<'_>) {
    lacks.kind(
        LackKind::BfdDomain,
        ask.wants_speaker_bfd() && ask.isolates(Isolation::Vrf),
        "workload.bfd",
        "BFD with the speaker",
        "Talos refuses BFD on an instance in a VRF",
    );
    lacks.note(
        ask.isolates(Isolation::Netns),
        "workload.isolation",
        "a network namespace",
        "an instance runs in a VRF or in the default domain",
    );
    lacks.note(
        ask.isolates(Isolation::None),
        "workload.isolation",
        "a speaker without isolation",
        "the speaker's end must be in another routing domain",
    );
    let unnamed = |speaker: Speaker, nothing: bool| nothing && speaker != Speaker::Cilium;
    lacks.note(
        ask.workload.is_some_and(|it| unnamed(it.speaker, it.allow.value.is_empty())),
        "workload",
        "single addresses of any prefix",
        "`importRoutes` knows prefixes and no lengths: name them in `network.services.pools` or `workload.allow`",
    );
}

fn policy(lacks: &mut Lacks, ask: &Ask<'_>) {
    let (policy_in, policy_out) = (ask.policy_in(), ask.policy_out());
    let filters = policy_in.is_some_and(|policy| any(&policy.allow));
    lacks.note(filters, "policy.in.allow", "a filter on what comes in", NO_FIELD);
    lacks.note(ask.limits_prefixes(), "policy.in.max_prefixes", "a prefix limit", NO_FIELD);
    let prefers = policy_in.is_some_and(|policy| policy.local_preference.is_set());
    lacks.note(prefers, "policy.in.local_preference", "a local preference", NO_FIELD);
    let marks = policy_out.is_some_and(|policy| any(&policy.communities));
    lacks.note(marks, "policy.out.communities", "communities", NO_FIELD);
    let prepends = policy_out.is_some_and(|policy| policy.prepend.value().unwrap_or(0) > 0);
    lacks.note(prepends, "policy.out.prepend", "prepending", NO_FIELD);
    lacks.note(any(&ask.routing.aggregates), "aggregates", "aggregates", NO_FIELD);
    let graceful = matches!(ask.routing.graceful_restart.get(), Some(Toggle::On(_)));
    lacks.note(graceful, "graceful_restart", "graceful restart", NO_FIELD);
}
