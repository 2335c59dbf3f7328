//! Sessions that do not come up, or not for all families.

use crate::prove::{messages, proof, rack, subject};

#[test]
fn only_accepted_prefixes_count_toward_the_prefix_limit() {
    // In each family, a receives a default route and the other's loopback, but not its own.
    let crowded = |policy: &str| {
        let text =
            rack("", "").replace("index: 1", &format!("index: 1, routing: {{policy: {{in: {{{policy}}}}}}}"));
        subject(&text).faults.iter().flatten().count()
    };

    assert_eq!(crowded("max_prefixes: 2"), 0);
    assert_eq!(crowded("max_prefixes: 1"), 2);
    assert_eq!(crowded("max_prefixes: 0, allow: [192.0.2.0/24]"), 0);
    assert_eq!(crowded("max_prefixes: 0"), 2);
}

#[test]
fn a_speaker_has_no_session_if_bird2_uses_its_port() {
    let text = rack(", workload: {speaker: metallb}", "");
    let taken = text.replace("defaults: {ports", "defaults: {extensions: [siderolabs/bird2], ports");

    let reported = messages(&proof(&taken));

    assert!(
        reported.iter().any(|reported| reported.contains("a and b: the extension bird2 uses port 179")),
        "{reported:#?}"
    );
}

#[test]
fn a_foreign_router_with_another_password_rejects_the_session() {
    let text = |password: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
             fabric: {{routers: [{{name: gw, role: gateway, asn: 65001, addresses: [10.1.0.254], software: other, password: {{env: A}}}}]}}\n\
             routing: {{backend: frr, neighbors: [{{router: gw{password}}}]}}\nnodes: [{{name: a, index: 1}}]"
        )
    };

    let (same, other) = (messages(&proof(&text(""))), messages(&proof(&text(", password: {env: B}"))));

    assert!(!same.iter().any(|reported| reported.starts_with("sessions")), "{same:#?}");
    assert!(
        other.iter().any(|reported| reported.contains("have passwords from different sources")),
        "{other:#?}"
    );
}

#[test]
fn a_gateway_with_the_as_number_of_its_nodes_does_not_pass_their_routes_on() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
                fabric: {routers: [{name: gw, role: gateway, asn: 4200000001, addresses: [10.1.0.254], software: other}]}\n\
                routing: {backend: frr, neighbors: [{router: gw}]}\nnetwork: {loopback: {v6: null}}\n\
                nodes: [{name: a, index: 1, routing: {asn: 4200000001}}, {name: b, index: 2, routing: {asn: 4200000001}}]";

    let reported = messages(&proof(text));

    assert!(
        !reported.iter().any(|reported| reported.starts_with("sessions") || reported.starts_with("reached")),
        "{reported:#?}"
    );
    assert!(
        reported.iter().any(|reported| reported.starts_with("together: b does not reach 10.1.254.1/32")),
        "{reported:#?}"
    );
}
