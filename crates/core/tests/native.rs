//! Talos' own BGP: Talos accepts the documents, and they match the model.

use ichor_bgp::model::{Family, PrefixFilter, PrefixRule};
use ichor_core::cluster::section::Role;
use ichor_core::model::Cluster;
use ichor_core::plan::backend::{RequestedFeatures, limitations};
use ichor_core::plan::{ConfigStage, NodePlan, Plan};
use ichor_core::render::native;
use ichor_core::render::native::selectors::selectors;
use ichor_talos::load;
use ichor_talos::validate::{Mode, Setting, validate};
use ichor_testbed::machine::RenderErrors;
use ichor_testbed::random::holds_for;
use ichor_testbed::routing::{cases, documents, model, routed};
use ichor_values::Backend;
use ichor_values::TalosVersion;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The documents of the first node of a text, before and after the installation, or why they cannot be rendered.
fn rendered(text: &str) -> Result<[Vec<Value>; 2], RenderErrors> {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
    rendered_node(&cluster, &plan, &plan.nodes[0])
}

fn rendered_node(cluster: &Cluster, plan: &Plan, node: &NodePlan) -> Result<[Vec<Value>; 2], RenderErrors> {
    ichor_testbed::machine::rendered(cluster, plan, |renderer| {
        Ok([renderer.boot(node)?.documents, renderer.machine(node)?.documents])
    })
}

fn of_kind<'d>(documents: &'d [Value], kind: &str) -> Vec<&'d Value> {
    documents.iter().filter(|document| document["kind"] == kind).collect()
}

fn named<'d>(documents: &'d [Value], kind: &str, name: &str) -> &'d Value {
    of_kind(documents, kind).into_iter().find(|document| document["name"] == name).unwrap()
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// A cluster of Talos 1.14 with one node; `routing` and `rest` are texts.
fn text(routing: &str, rest: &str) -> String {
    format!(
        "cluster: {{name: a, id: 1, talos: v1.14.1, endpoint: \"https://10.1.0.1:6443\"}}\n{rest}\n\
         routing: {{{routing}}}\n\
         nodes: [{{name: a, role: controlplane, index: 1, ports: [eth0, eth1], install: {{disk: /dev/sda}}}}]"
    )
}

/// The limitations of Talos' own BGP that affect the first node of a text.
fn lacking(routing: &str, rest: &str) -> Vec<&'static str> {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text(routing, rest)));
    let ask = RequestedFeatures::from_node(&cluster, &plan.nodes[0]).unwrap();
    limitations(Backend::Native, None, &ask).iter().map(|lack| lack.what).collect()
}

#[test]
fn talos_accepts_the_documents_of_every_supported_node() {
    let talos = TalosVersion::parse("v1.14.1").unwrap();
    let mut seen = 0;
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for node in routed(&plan) {
            let model = model(&cluster, &plan, node);
            for stage in [ConfigStage::Boot, ConfigStage::Final] {
                let Ok(documents) = native::documents(&model, node, stage) else { continue };
                let links = ichor_core::render::machine::network::documents(node, stage);
                let all: Vec<Value> = links.into_iter().chain(documents).collect();
                let at = format!("{} {}", case.display(), node.name);
                let config = load::load_values(&all, &talos).unwrap_or_else(|error| panic!("{at}: {error}"));
                let flaws = validate(&config, Setting { talos: &talos, mode: Mode::Metal });
                assert!(flaws.is_empty(), "{at}: {flaws:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn talos_accepts_the_documents_of_any_cluster() {
    holds_for(60, Backend::Native, |random| {
        let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(random.text.as_str()));
        for node in routed(&plan) {
            let stages = rendered_node(&cluster, &plan, node)
                .map_err(|errors| TestCaseError::fail(errors.to_string()))?;
            for documents in stages {
                let config = load::load_values(&documents, &node.talos.value);
                let config = config.map_err(|error| TestCaseError::fail(error.to_string()))?;
                let flaws = validate(&config, Setting { talos: &node.talos.value, mode: Mode::Metal });
                prop_assert!(flaws.is_empty(), "{}: {:?}", node.name, flaws);
                prop_assert!(!of_kind(&documents, "BGPInstanceConfig").is_empty(), "{}", node.name);
            }
        }
        Ok(())
    });
}

#[test]
fn talos_accepts_complete_configurations_with_bgp() {
    let mut seen = 0;
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for node in routed(&plan) {
            if node.routing.as_deref().unwrap().backend.value != Backend::Native {
                continue;
            }
            let [boot, machine] = rendered_node(&cluster, &plan, node).unwrap();

            for documents in [&boot, &machine] {
                assert!(of_kind(documents, "ExtensionServiceConfig").is_empty());
                assert_eq!(
                    named(documents, "BGPInstanceConfig", "fabric")["localASN"],
                    node.asn.as_ref().unwrap().value.0
                );
            }
            seen += 1;
        }
    }
    assert!(seen >= 7, "{seen}");
}

#[test]
fn the_links_of_every_instance_exist() {
    for case in cases() {
        let (_, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for (name, stages) in documents(&case) {
            let node = plan.node(&name).unwrap();
            for (stage, documents) in [ConfigStage::Boot, ConfigStage::Final].into_iter().zip(stages) {
                let links = node.links(stage);
                let fabric = named(&documents, "BGPInstanceConfig", "fabric");
                let announced = fabric["advertise"].as_array().unwrap();
                let sessions = fabric["neighbors"].as_array().unwrap().iter().map(|it| &it["link"]);
                for link in announced.iter().chain(sessions).filter_map(Value::as_str) {
                    assert!(links.iter().any(|it| it.name.as_str() == link), "{name} {stage:?}: {link}");
                }
            }
        }
    }
}

#[test]
fn the_anycast_address_is_announced_after_the_installation_only() {
    let case = ichor_testbed::folder("cases/native-unnumbered");

    let (_, [boot, last]) = documents(&case).into_iter().find(|(name, _)| name == "cp").unwrap();

    assert_eq!(named(&boot, "BGPInstanceConfig", "fabric")["advertise"], json!(["lo", "dummy0"]));
    assert_eq!(named(&last, "BGPInstanceConfig", "fabric")["advertise"], json!(["lo", "dummy0", "dummy1"]));
}

#[test]
fn the_speaker_receives_no_routes_and_its_own_are_not_installed() {
    for case in cases() {
        for (_, [_, last]) in documents(&case) {
            let workloads =
                of_kind(&last, "BGPInstanceConfig").into_iter().filter(|it| it["name"] == "load-balancer");
            for workload in workloads {
                assert_eq!(workload["installRoutes"], false);
                assert!(workload.get("advertise").is_none() && workload.get("importRoutes").is_none());
                assert_eq!(workload["neighbors"][0]["passive"], true);
            }
        }
    }
}

#[test]
fn imports_are_the_prefixes_that_the_model_admits() {
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for (name, [_, last]) in documents(&case) {
            let node = plan.node(&name).unwrap();
            let Some(workload) = model(&cluster, &plan, node).workload else { continue };
            let fabric = named(&last, "BGPInstanceConfig", "fabric");
            let prefixes = fabric["importRoutes"][0]["prefixes"].as_array().unwrap();
            for prefix in prefixes.iter().map(|prefix| net(prefix.as_str().unwrap())) {
                let ends = [prefix.network(), prefix.broadcast()].map(IpNet::from);
                assert!(ends.iter().all(|host| workload.filter.admits(*host)), "{name}: {prefix}");
                assert!(prefix.prefix_len() > 0, "{name}: {prefix}");
            }
        }
    }
}

#[test]
fn a_node_newer_than_the_contract_has_its_documents_too() {
    let file = "cluster: {name: a, id: 1, talos: v1.13.9, endpoint: \"https://10.1.0.1:6443\"}\n\
                routing: {neighbors: [{link: eth0}]}\n\
                nodes: [{name: new, role: controlplane, index: 1, talos: v1.14.1, install: {disk: /dev/sda}},\
                {name: old, index: 2, install: {disk: /dev/sda}}]";

    let [boot, machine] = rendered(file).unwrap();

    assert_eq!(of_kind(&boot, "BGPInstanceConfig").len(), 1);
    assert_eq!(of_kind(&machine, "BGPInstanceConfig"), of_kind(&boot, "BGPInstanceConfig"));
}

#[test]
fn the_official_extension_has_the_link_to_the_speaker_as_documents() {
    let routing = |more: &str| format!("backend: bird, neighbors: [{{link: eth0}}], {more}");
    let pools = "network: {services: {pools: {all: [198.51.100.0/24]}}}";
    let link = |more: &str| {
        let [boot, machine] = rendered(&text(&routing(more), pools)).unwrap();
        let of = |documents: &[Value]| {
            ["VethConfig", "VRFConfig"]
                .map(|kind| of_kind(documents, kind).into_iter().cloned().collect::<Vec<_>>())
        };
        assert_eq!(of(&boot), of(&machine));
        of(&machine)
    };

    let [veth, vrf] = link("carrier: official, workload: {speaker: metallb, isolation: vrf}");
    let [alone, none] = link("carrier: official, workload: {speaker: metallb, isolation: none}");
    let agents = link("carrier: ichor, workload: {speaker: metallb}");

    assert_eq!(veth[0]["name"], "metallb-frr");
    assert_eq!(veth[0]["addresses"][0]["address"], "fda1:b2c3:d4e5:1::1/127");
    assert_eq!(veth[0]["peer"]["addresses"][0]["address"], "fda1:b2c3:d4e5:1::/127");
    assert_eq!(vrf[0]["links"], json!(["frr-metallb"]));
    assert_eq!((alone.len(), none.len()), (1, 0));
    assert!(agents.iter().all(Vec::is_empty), "the agent makes it");
}

#[test]
fn limitations_of_talos_are_known() {
    let pools = "network: {services: {pools: {all: [198.51.100.0/24]}}}";
    let one = "neighbors: [{link: eth0}]";
    let cases: [(&str, &str, &[&str]); 14] = [
        (one, "", &[]),
        (
            "neighbors: [{address: 10.1.0.254, asn: 65001, passive: true, bfd: true, timers: [10, 30]}]",
            "",
            &[],
        ),
        ("neighbors: [{link: eth0, asn: 65100}, {link: eth1, asn: 65100}]", "", &[]),
        (
            "neighbors: [{link: eth0, asn: 65101}, {link: eth1, asn: 65102}]",
            "",
            &["two routers without transit between them"],
        ),
        ("neighbors: [{link: eth0}, {link: eth1}]", "", &["two routers without transit between them"]),
        ("neighbors: [{address: \"fd00:1::fffe\", asn: 65001}]", "", &["a session over an IPv6 address"]),
        ("neighbors: [{link: eth0, timers: [1, 9]}]", "", &["a custom keepalive time"]),
        (&format!("{one}, graceful_restart: {{time: 30}}"), "", &["graceful restart"]),
        (&format!("{one}, graceful_restart: false"), "", &[]),
        (
            &format!("{one}, version: 10.5, service: bgp"),
            "",
            &["a release of the daemon", "an extension service"],
        ),
        (&format!("{one}, workload: {{speaker: metallb}}"), pools, &[]),
        (&format!("{one}, workload: {{speaker: metallb}}"), "", &["host routes of any prefix"]),
        (&format!("{one}, workload: {{speaker: metallb, allow: [192.0.2.0/24]}}"), "", &[]),
        (&format!("{one}, workload: {{speaker: cilium}}"), "", &[]),
    ];

    for (routing, rest, reported) in cases {
        assert_eq!(lacking(routing, rest), reported, "{routing}");
    }
}

#[test]
fn a_link_with_other_than_announced_addresses_is_reported() {
    let routing = |advertise: &str| format!("neighbors: [{{link: eth0}}], advertise: {advertise}");
    let more = ["only some addresses of a link"];
    let none: [&str; 0] = [];
    let lo = "defaults: {links: [{name: lo, addresses: [192.0.2.1/32]}]}";
    let shared = "network: {dummy: {dummy0: {v4: 10.1.2.0/24}}, api: {anycast: [10.1.3.1/32], link: dummy0}}";
    let vip = "network: {dummy: {dummy0: {v4: 10.1.2.0/24}}, api: {vip: 10.1.3.1, link: dummy0}}";
    let wide = "network: {api: {anycast: [10.1.3.0/24]}}";

    assert_eq!(lacking(&routing("[loopback]"), lo), more);
    assert_eq!(lacking(&routing("[dummy]"), lo), none);
    assert_eq!(lacking(&routing("[dummy]"), shared), more);
    assert_eq!(lacking(&routing("[dummy, anycast]"), shared), none);
    assert_eq!(lacking(&routing("[dummy]"), vip), more);
    assert_eq!(lacking(&routing("[loopback]"), vip), none);
    assert_eq!(lacking(&routing("[anycast]"), wide), more);
}

#[test]
fn too_many_import_selectors_are_rejected() {
    let nodes: Vec<String> = (0..200)
        .map(|nth| format!("{{name: n{nth}, network: {{loopback: {{v4: 10.{nth}.{nth}.1}}}}, routing: {{asn: {}, router_id: 10.0.0.{nth}}}}}", 65001 + nth))
        .collect();
    let file = format!(
        "cluster: {{name: a, talos: v1.14.1, endpoint: \"https://10.1.0.1:6443\"}}\n\
         routing: {{backend: native, neighbors: [{{link: eth0}}], workload: {{speaker: cilium, \
         link: {{ours: \"fd01::\", theirs: \"fd01::1\"}}}}}}\nnodes: [{}]",
        nodes.join(",\n ")
    );
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(file));
    let node = &plan.nodes[0];

    let issues = native::documents(&model(&cluster, &plan, node), node, ConfigStage::Final).unwrap_err();

    assert_eq!(issues[0].subject, "routing.workload.allow");
    assert!(issues[0].message.contains("outside 1 to 512"), "{}", issues[0]);
}

#[test]
fn a_worker_has_no_anycast_to_announce() {
    for case in cases() {
        let (_, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for (name, [_, last]) in documents(&case) {
            if plan.node(&name).unwrap().role == Role::Worker {
                let announced = &named(&last, "BGPInstanceConfig", "fabric")["advertise"];
                assert!(!announced.as_array().unwrap().contains(&json!("dummy1")), "{name}");
            }
        }
    }
}

#[test]
fn a_closed_firewall_admits_routers_and_speaker() {
    let case = ichor_testbed::folder("cases/native-unnumbered");
    let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");

    let [_, machine] = rendered_node(&cluster, &plan, plan.node("wk").unwrap()).unwrap();

    for rule in ["bgp", "bfd"] {
        let ingress = named(&machine, "NetworkRuleConfig", rule)["ingress"].to_string();
        assert!(ingress.contains("fe80::/10") && ingress.contains("fda1:b2c3:d4e5:1::1/128"), "{ingress}");
    }
}

prop_compose! {
    fn a_net()(v4 in any::<bool>(), address in any::<u32>(), length in 0_u8..=32) -> IpNet {
        if v4 {
            IpNet::V4(Ipv4Net::new_assert(address.into(), length)).trunc()
        } else {
            let address = (u128::from(address) << 96) | u128::from(address);
            IpNet::V6(Ipv6Net::new_assert(address.into(), length * 4)).trunc()
        }
    }
}

prop_compose! {
    fn a_term()(permit in any::<bool>(), net in a_net(), kind in 0..3) -> PrefixRule {
        match kind {
            0 => PrefixRule::hosts(permit, net),
            1 if net.prefix_len() == 0 => PrefixRule::exactly(false, net),
            _ => PrefixRule::within(permit, net),
        }
    }
}

proptest! {
    #[test]
    fn selectors_match_the_addresses_that_the_filter_admits(
        terms in proptest::collection::vec(a_term(), 0..8),
        tried in proptest::collection::vec(a_net(), 0..20),
    ) {
        let filter = PrefixFilter(terms.clone());
        let selected = selectors(&filter, &Family::ALL);

        let near = terms.iter().map(|term| term.net);
        for net in tried.into_iter().chain(near) {
            for host in [net.network(), net.broadcast()].map(IpNet::from) {
                let selects = selected.iter().any(|selector| selector.contains(&host));
                prop_assert_eq!(selects, filter.admits(host), "{}", host);
            }
        }
        for (nth, selector) in selected.iter().enumerate() {
            prop_assert!(*selector == selector.trunc() && selector.prefix_len() > 0, "{}", selector);
            let meets = |other: &IpNet| other.contains(selector) || selector.contains(other);
            prop_assert!(!selected[nth + 1..].iter().any(meets), "{}", selector);
        }
    }
}
