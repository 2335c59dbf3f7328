//! The configuration of the agent, and the decisions that follow from it.

use std::collections::{BTreeMap, BTreeSet};

use ichor_bgp::agent::config::{AgentConfig, ConfigSource, HealthProbe};
use ichor_bgp::agent::desired_state::{Conditions, DesiredState, Prerequisite};
use ichor_bgp::agent::{Link, environment};
use ichor_bgp::model::RoutingDomain;
use ichor_bgp::render::Service;
use ichor_bgp::setting::Carrier;
use ichor_core::plan::NodePlan;
use ichor_core::render::machine::{RenderedConfig, Renderer};
use ichor_talos::secrets::Pem;
use ichor_testbed::routing::{PASSWORD, cases, routed, service_with};
use ichor_values::Backend;
use ichor_values::{Issue, Mac, NodeName};
use serde_json::Value;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

fn link(name: &str, mac: Option<Mac>) -> Link {
    Link { name: name.to_owned(), mac, permanent: mac, up: true, mtu: 9000, ..Link::default() }
}

fn conditions<'a>(links: &'a [Link], advertised: &'a BTreeSet<String>) -> Conditions<'a> {
    Conditions { links, advertised, vrf: true, healthy: true, leaving: false }
}

/// The links of a plan, under their planned names.
fn planned_links(node: &NodePlan) -> Vec<Link> {
    node.ports.iter().map(|port| link(port.name.as_str(), port.mac.as_ref().map(|mac| mac.value))).collect()
}

/// The agent configurations in the documents of a machine configuration.
fn agent_configs(documents: &[Value]) -> Vec<AgentConfig> {
    let files = documents.iter().filter_map(|document| document.get("configFiles")?.as_array());
    let config_of = |file: &Value| {
        let path = file["mountPath"].as_str()?;
        path.ends_with("/agent.json")
            .then(|| AgentConfig::parse(file["content"].as_str().unwrap()).unwrap().config)
    };
    files.flatten().filter_map(config_of).collect()
}

#[test]
fn the_agent_renders_the_files_of_the_build() {
    let mut compared = 0;
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for node in routed(&plan) {
            let routing = node.routing.as_deref().unwrap();
            let ours = routing.carrier.as_ref().is_some_and(|carrier| carrier.value == Carrier::Ichor);
            let service = service_with(&cluster, &plan, node, &|_| Ok(PASSWORD.to_owned()));
            let Ok(Some(service)) = service else { continue };
            let Ok(boot) = ichor_testbed::machine::rendered(&cluster, &plan, |renderer| renderer.boot(node))
            else {
                continue;
            };
            let agent_configs = agent_configs(&boot.documents);
            assert_eq!(agent_configs.len(), usize::from(ours), "{}: {}", case.display(), node.name);
            let Some(config) = agent_configs.into_iter().next() else { continue };
            let links = planned_links(node);
            let advertised = links.iter().map(|link| link.name.clone()).collect();

            let state = DesiredState::new(&config, conditions(&links, &advertised)).unwrap();

            assert_eq!(state.waiting, [], "{}: {}", case.display(), node.name);
            let rendered = state.render(&config, None).unwrap();
            let texts = |service: &Service| -> Vec<String> {
                service.files.iter().map(|file| file.text.clone()).collect()
            };
            assert_eq!(texts(&rendered), texts(&service), "{}: {}", case.display(), node.name);
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn read(pairs: &[(&str, &str)]) -> Result<AgentConfig, Vec<String>> {
    let node = NodeName::parse("node1").unwrap();
    environment::read_config(&variables(pairs), &node, Backend::Frr)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

const VRF: &[(&str, &str)] =
    &[("NODE_IP", "10.0.0.1"), ("ASN_LOCAL", "65001"), ("FE_MACS", "00:11:22:33:44:55,00:11:22:33:44:56")];

#[test]
fn variables_of_the_vrf_have_its_defaults() {
    let config = read(VRF).unwrap();

    let ConfigSource::Model(bgp) = &config.source else { panic!("{config:?}") };
    let workload = bgp.model.workload.as_ref().unwrap();
    assert_eq!(workload.domain, RoutingDomain::Vrf { name: "metallb".to_owned(), table: 88 });
    assert_eq!((workload.ours.asn.0, workload.theirs.asn.0), (4_000_099_998, 4_000_099_999));
    assert_eq!(workload.ours.address.to_string(), "fda1:b2c3:d4e5:1::");
    assert_eq!((workload.prefix, config.mtu), (127, None));
    assert!(bgp.model.fabric.neighbors.iter().all(|neighbor| neighbor.bfd.is_some()));
}

#[test]
fn variables_of_the_namespace_have_its_defaults() {
    let config = read(&[("NODE_IP", "10.10.10.10"), ("ASN_LOCAL", "4200001001")]).unwrap();

    let ConfigSource::Model(bgp) = &config.source else { panic!("{config:?}") };
    let workload = bgp.model.workload.as_ref().unwrap();
    assert_eq!(workload.domain, RoutingDomain::Namespace { name: "metallb".to_owned() });
    assert_eq!((workload.ours.asn.0, workload.theirs.asn.0), (4_200_099_998, 4_200_099_999));
    assert_eq!(workload.theirs.address.to_string(), "192.168.250.255");
    assert_eq!((workload.prefix, config.mtu), (31, Some(1500)));
    assert!(bgp.discover.is_some() && bgp.model.fabric.neighbors.is_empty());
}

#[test]
fn all_problems_of_variables_are_reported_by_name() {
    let problems = read(&[
        ("NODE_IP", "10.0.0.256"),
        ("ASN_LOCAL", "0"),
        ("FE_MACS", "00:11:22:33:44:55,nonsense, 00-11-22-33-44-55"),
        ("METALLB_VRF_ROUTE_TABLE_ID", "many"),
        ("PEER_IP_METALLB", "fda1:b2c3:d4e5:2::1"),
        ("INTERFACE_MTU", "10"),
        ("ENABLE_BFD", "perhaps"),
        ("ICHOR_HEALTH", "readyz"),
    ])
    .unwrap_err();

    let named: Vec<_> = problems.iter().map(|problem| problem.split(':').next().unwrap()).collect();
    assert_eq!(
        named,
        [
            "NODE_IP",
            "ASN_LOCAL",
            "ICHOR_HEALTH",
            "INTERFACE_MTU",
            "ENABLE_BFD",
            "FE_MACS",
            "FE_MACS",
            "METALLB_VRF_ROUTE_TABLE_ID",
            "PEER_IP_METALLB",
        ],
        "{problems:#?}"
    );
}

#[test]
fn variables_of_both_variants_are_rejected() {
    let problems = read(&[VRF, &[("NAMESPACE_METALLB", "metallb")]].concat()).unwrap_err();

    assert!(problems[0].contains("set the variables of one variant only"), "{problems:?}");
    let missing =
        read(&[("NODE_IP", "10.0.0.1"), ("ASN_LOCAL", "65001"), ("ICHOR_VARIANT", "vrf")]).unwrap_err();
    assert!(missing[0].starts_with("FE_MACS: not set"), "{missing:?}");
}

#[test]
fn a_misspelled_variable_is_detected() {
    let found = environment::misspelled_variables(&variables(&[
        ("ASN_LOCALE", "1"),
        ("PATH", "/bin"),
        ("HOME", "/"),
    ]));

    assert_eq!(found, [("ASN_LOCALE".to_owned(), "ASN_LOCAL")]);
}

#[test]
fn a_missing_variable_is_reported_with_its_misspelling() {
    let problems = read(&[("NODE_IP", "10.0.0.1"), ("ASN_LOKAL", "65001")]).unwrap_err();

    let reported: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert!(reported[0].starts_with("ASN_LOCAL: not set; want "), "{reported:?}");
    assert!(reported[0].ends_with("; did you mean ASN_LOCAL by ASN_LOKAL?"), "{reported:?}");
}

#[test]
fn ports_have_the_kernels_names_in_the_order_of_the_configuration() {
    let config = read(VRF).unwrap();
    let links = [
        link("enp1s0", Some(Mac::parse("00:11:22:33:44:56").unwrap())),
        link("enp2s0", Some(Mac::parse("00:11:22:33:44:55").unwrap())),
    ];

    let state = DesiredState::new(&config, conditions(&links, &BTreeSet::new())).unwrap();

    assert_eq!(state.wiring.ports, ["enp2s0", "enp1s0"]);
    assert_eq!(state.wiring.pair.as_ref().unwrap().mtu, 9000);
    let text = &state.render(&config, None).unwrap().files[0].text;
    assert!(text.contains("neighbor enp2s0 interface v6only remote-as external"), "{text}");
}

#[test]
fn bird_connects_to_a_router_once_its_address_is_known() {
    let config = AgentConfig { backend: Backend::Bird, ..read(VRF).unwrap() };
    let links = ["00:11:22:33:44:55", "00:11:22:33:44:56"].map(|mac| Mac::parse(mac).unwrap());
    let links = [link("eth0", Some(links[0])), link("eth1", Some(links[1]))];
    let state = DesiredState::new(&config, conditions(&links, &BTreeSet::new())).unwrap();
    let text_of = |state: &DesiredState| state.render(&config, None).unwrap().files[0].text.clone();
    assert_eq!(text_of(&state).matches("neighbor range fe80::/10 external;").count(), 2);

    let known = [("eth1".to_owned(), "fe80::1".parse().unwrap())].into();
    let text = text_of(&state.with_routers(&known));

    assert_eq!(text.matches("neighbor range fe80::/10 external;").count(), 1, "{text}");
    let (_, second) = text.split_once("protocol bgp 'fabric-eth1'").unwrap();
    let (second, _) = second.split_once("\n}").unwrap();
    assert!(second.contains("neighbor fe80::1%eth1 external;"), "{second}");
    assert!(!second.contains("passive on;") && !second.contains("dynamic name"), "it dials: {second}");
}

#[test]
fn a_missing_port_is_awaited_and_the_rest_is_configured() {
    let config = read(VRF).unwrap();
    let links = [link("eth1", Some(Mac::parse("00:11:22:33:44:56").unwrap()))];

    let state = DesiredState::new(&config, conditions(&links, &BTreeSet::new())).unwrap();

    assert_eq!(state.wiring.ports, ["eth1"]);
    assert_eq!(state.waiting.len(), 1);
    assert_eq!(state.waiting[0].to_string(), "no port has the MAC address 00:11:22:33:44:55 (fe0)");
}

#[test]
fn the_fabric_comes_up_without_vrf_support() {
    let config = read(VRF).unwrap();
    let links = [link("eth1", Some(Mac::parse("00:11:22:33:44:56").unwrap()))];
    let advertised = BTreeSet::new();
    let now = Conditions { vrf: false, ..conditions(&links, &advertised) };

    let state = DesiredState::new(&config, now).unwrap();

    assert!(state.waiting.contains(&Prerequisite::Vrf("metallb".to_owned())));
    assert_eq!(state.wiring.pair, None);
    assert!(!state.render(&config, None).unwrap().files[0].text.contains("vrf metallb"));
}

#[test]
fn addresses_of_links_are_announced_and_anycast_ones_only_while_healthy() {
    let config = read(&[VRF, &[("ICHOR_HEALTH", "tcp://127.0.0.1:6443")]].concat()).unwrap();
    assert_eq!(config.health.as_ref().unwrap().probe, HealthProbe::Tcp("127.0.0.1:6443".to_owned()));
    let mut links = vec![link("eth0", Some(Mac::parse("00:11:22:33:44:55").unwrap()))];
    for (name, net) in [("lo", "10.0.0.1/32"), ("lo", "127.0.0.1/8"), ("dummy1", "10.0.0.100/32")] {
        links.push(Link { addresses: vec![net.parse().unwrap()], ..link(name, None) });
    }
    let advertised = BTreeSet::new();
    let state_of = |healthy, leaving| {
        let now = Conditions { healthy, leaving, ..conditions(&links, &advertised) };
        let model = DesiredState::new(&config, now).unwrap().model.unwrap();
        (model.fabric.announced.iter().map(|it| it.net.to_string()).collect::<Vec<_>>(), model.sources)
    };

    let (announced, sources) = state_of(true, false);

    assert_eq!(announced, ["10.0.0.1/32", "10.0.0.100/32"]);
    assert_eq!(sources, ["10.0.0.1".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(state_of(false, false).0, ["10.0.0.1/32"]);
    assert_eq!(state_of(true, true).0, Vec::<String>::new());
}

#[test]
fn a_port_is_discovered_by_its_router_advertisements() {
    let config = read(&[("NODE_IP", "10.10.10.10"), ("ASN_LOCAL", "4200001001")]).unwrap();
    let mac = |last| Some(Mac([2, 0, 0, 0, 0, last]));
    let pod = Link { kind: Some("veth".to_owned()), ..link("veth12", mac(9)) };
    let links = [link("eth0", mac(1)), link("eth1", mac(2)), pod];
    let advertised = BTreeSet::from(["eth1".to_owned(), "veth12".to_owned()]);

    let state = DesiredState::new(&config, conditions(&links, &advertised)).unwrap();

    assert_eq!(state.wiring.ports, ["eth1"], "a pod that advertises itself is not a leaf");
    let without_routers = DesiredState::new(&config, conditions(&links, &BTreeSet::new())).unwrap();
    assert_eq!(without_routers.waiting, [Prerequisite::AnyPort]);
}

#[test]
fn values_of_an_invalid_configuration_are_not_repeated() {
    for text in [
        r#"{"backend": "frr", "speech": {"model": "hush"}}"#,
        r#"{"version": "1.0", "backend": "frr", "files": {"config": 1, "confg": "hush"}}"#,
        r#"{"version": "1.0", "backend": "hush"}"#,
        r#"{"version": "hush"}"#,
    ] {
        let error = AgentConfig::parse(text).unwrap_err();

        assert!(!error.to_string().contains("hush"), "{error}");
    }
}

#[test]
fn the_status_is_served_after_the_installation_with_a_certificate_of_the_os_authority() {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(
        "cluster: {name: a, id: 1, talos: v1.13.9, endpoint: \"https://10.1.0.1:6443\"}\n\
         routing: {backend: frr, agent: {status: {listen: \"node:9179\"}}, neighbors: [{link: eth0, asn: 65000}]}\n\
         defaults: {install: {disk: /dev/sda}}\n\
         nodes: [{name: a1, role: controlplane, index: 1}]",
    ));
    let node = &plan.nodes[0];
    let status_of = |stage: fn(&Renderer<'_>, &NodePlan) -> Result<RenderedConfig, Vec<Issue>>| {
        let rendered =
            ichor_testbed::machine::rendered(&cluster, &plan, |renderer| stage(renderer, node)).unwrap();
        agent_configs(&rendered.documents).remove(0).status
    };
    let machine = || status_of(|renderer, node| renderer.machine(node));

    assert_eq!(status_of(|renderer, node| renderer.boot(node)), None);
    let status = machine().unwrap();
    assert_eq!(Some(&status), machine().as_ref(), "the same secrets give the same");
    assert_eq!((status.listen.to_string().as_str(), status.port), ("10.1.0.1", 9179));
    let der = |pem: &str| Pem::from_bytes(pem).block().unwrap().1;
    let (ca, own) = (der(&status.ca), der(&status.certificate));
    let (_, ca) = X509Certificate::from_der(&ca).unwrap();
    let (_, own) = X509Certificate::from_der(&own).unwrap();
    own.verify_signature(Some(ca.public_key())).unwrap();
    assert_eq!(
        (own.validity().not_before, own.validity().not_after),
        (ca.validity().not_before, ca.validity().not_after)
    );
    let names = &own.subject_alternative_name().unwrap().unwrap().value.general_names;
    assert_eq!(names[..], [GeneralName::DNSName("a1"), GeneralName::IPAddress(&[10, 1, 0, 1])]);
    assert!(own.extended_key_usage().unwrap().unwrap().value.server_auth);
}
