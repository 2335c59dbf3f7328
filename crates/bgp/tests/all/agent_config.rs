//! The format of `agent.json`: files are written in the newest version, and every released version stays readable.
//!
//! `agent-config/clusters/` has clusters, `agent-config/VERSION/` a file of that version for the first node of each, and for
//! configurations that no cluster has. `UPDATE_GOLDEN=1` rewrites the newest version, which is right only while that is not
//! released: files of a released version never change, and a changed format gets a new version and a new folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::Ipv4Addr;

use crate::{cases, tests};
use ichor_bgp::agent::config;
use ichor_bgp::agent::config::{
    AgentConfig, ConfigSource, DaemonFiles, ParsedConfig, SecretText, UserTemplate, VethPair,
};
use ichor_bgp::agent::environment;
use ichor_bgp::model::RoutingDomain;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::setting::LogLevel;
use ichor_core::plan::attachment::Attachments;
use ichor_core::render::machine::{AgentConfigInputs, agent_config_without_status};
use ichor_core::routing::protected;
use ichor_testbed::schema::assert_valid;
use ichor_values::Backend;
use ichor_values::NodeName;

/// The folder of the newest version.
fn newest() -> String {
    format!("v{}", config::VERSION)
}

/// The folders of older versions.
const OLDER: &[&str] = &["v0"];

fn parse(text: &str) -> AgentConfig {
    let ParsedConfig { config, warnings } =
        AgentConfig::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(warnings, [""; 0]);
    config
}

fn stored(version: &str, name: &str) -> String {
    fs::read_to_string(tests("agent-config").join(version).join(name)).unwrap()
}

/// The names of the files of a version.
fn names(version: &str) -> BTreeSet<String> {
    let files = cases(&format!("agent-config/{version}"));
    files.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The file of a build for the first node of each cluster, and the expected configuration.
fn built() -> BTreeMap<String, (String, AgentConfig)> {
    let clusters = cases("agent-config/clusters").into_iter();
    clusters
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(fs::read(&path).unwrap()));
            let node = &plan.nodes[0];
            let rendered = ichor_testbed::machine::rendered(&cluster, &plan, |renderer| {
                if name.starts_with("boot-") { renderer.boot(node) } else { renderer.machine(node) }
            });
            let documents = rendered.unwrap_or_else(|error| panic!("{name}: {error}")).documents;
            let files =
                documents.iter().filter_map(|document| document.get("configFiles")?.as_array()).flatten();
            let mut files = files.filter(|file| file["mountPath"].as_str().unwrap().ends_with(config::FILE));
            let text = files.next().unwrap()["content"].as_str().unwrap().to_owned();
            let attachments =
                Attachments::gather(&cluster, "ichor.yaml", &mut ichor_testbed::SingleFile(Vec::new()));
            let secret = |_: &_| Ok("a-secret-of-the-file".to_owned());
            let inputs = AgentConfigInputs { attachments: &attachments, secret: &secret };
            let expected = agent_config_without_status(inputs, &protected(&plan), node).unwrap().unwrap();
            (format!("{name}.json"), (text, expected))
        })
        .collect()
}

fn variables(pairs: &[(&str, &str)]) -> AgentConfig {
    let variables = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    environment::read_config(&variables, &NodeName::parse("node1").unwrap(), Backend::Frr).unwrap()
}

fn files(backend: Backend, daemons: Option<&str>, domain: Option<RoutingDomain>) -> AgentConfig {
    let end = |name: &str, net: &str| (name.to_owned(), net.parse().unwrap());
    let veth = |domain| VethPair {
        domain,
        ours: end("frr-metallb", "fda1:b2c3:d4e5:1::/127"),
        theirs: end("metallb-frr", "fda1:b2c3:d4e5:1::1/127"),
    };
    let files = DaemonFiles {
        configuration: SecretText("router id 10.0.0.1;\n".to_owned()),
        daemons: daemons.map(str::to_owned),
        veth: domain.map(veth),
    };
    AgentConfig {
        backend,
        source: ConfigSource::Files(Box::new(files)),
        mtu: Some(1500),
        extra_addresses: Vec::new(),
        health: None,
        drain: false,
        log: LogLevel::Warn,
        status: None,
    }
}

/// Configurations that no build writes, but that the format supports.
fn unbuilt() -> BTreeMap<String, AgentConfig> {
    let discovered = variables(&[
        ("NODE_IP", "10.10.10.10"),
        ("ASN_LOCAL", "4200001001"),
        ("ICHOR_HEALTH", "tcp://127.0.0.1:6443"),
    ]);
    let mut template = variables(&[
        ("NODE_IP", "10.0.0.1"),
        ("ASN_LOCAL", "65001"),
        ("FE_MACS", "00:11:22:33:44:55"),
        ("ICHOR_HEALTH", "command:///usr/bin/healthy --now"),
        ("ICHOR_LOG", "error"),
    ]);
    let ConfigSource::Model(bgp) = &mut template.source else { panic!("{template:?}") };
    bgp.template =
        Some(UserTemplate { path: "frr.conf.j2".to_owned(), text: "router bgp {{ asn }}\n".to_owned() });
    let name = || "metallb".to_owned();
    let vrf = RoutingDomain::Vrf { name: name(), table: 88 };
    let cases = [
        ("discovered-neighbors", discovered),
        ("template", template),
        ("files", files(Backend::Bird, None, None)),
        ("files-vrf", files(Backend::Frr, Some("bgpd=yes\n"), Some(vrf))),
        ("files-namespace", files(Backend::Frr, None, Some(RoutingDomain::Namespace { name: name() }))),
    ];
    cases.into_iter().map(|(name, config)| (format!("{name}.json"), config)).collect()
}

#[test]
fn configurations_are_written_in_the_newest_version() {
    let folder = tests("agent-config").join(newest());
    let built = built().into_iter().map(|(name, (text, _))| (name, text));
    for (name, text) in built.chain(unbuilt().into_iter().map(|(name, config)| (name, config.text()))) {
        ichor_testbed::assert_same(&folder.join(name), &text);
        assert_valid("agent-config", &serde_json::from_str(&text).unwrap());
    }
}

#[test]
fn a_file_has_the_model_of_the_plan() {
    for (name, (_, mut expected)) in built() {
        let mut read = parse(&stored(&newest(), &name));

        // These come from the cluster's own secrets and from the stage of the installation.
        (read.status, read.extra_addresses) = (None, Vec::new());
        let ConfigSource::Model(bgp) = &mut expected.source else { panic!("{expected:?}") };
        // The source of a password is not in the file: it contains the password.
        bgp.model.fabric.neighbors.iter_mut().for_each(|neighbor| neighbor.password = None);
        assert_eq!(read, expected, "{name}");
    }
    let any = PeerAddress::Address { address: Ipv4Addr::UNSPECIFIED.into(), source: None };
    for (name, mut expected) in unbuilt() {
        let mut read = parse(&stored(&newest(), &name));

        // The name of a port that is not discovered yet is arbitrary.
        for config in [&mut read, &mut expected] {
            if let ConfigSource::Model(bgp) = &mut config.source {
                bgp.discover.iter_mut().for_each(|discover| discover.like.found = any.clone());
            }
        }
        assert_eq!(read, expected, "{name}");
    }
}

#[test]
fn every_older_version_has_the_same_configuration() {
    for version in OLDER {
        assert_eq!(names(version), names(&newest()), "{version}");
        for name in names(version) {
            let old = parse(&stored(version, &name));

            let newest = stored(&newest(), &name);
            assert_eq!(old, parse(&newest), "{version}/{name}");
            similar_asserts::assert_eq!(got: old.text(), want: newest, "{version}/{name}");
        }
    }
}

#[test]
fn files_of_every_version_have_every_feature() {
    for version in OLDER.iter().map(|version| (*version).to_owned()).chain([newest()]) {
        let all: Vec<AgentConfig> =
            names(&version).iter().map(|name| parse(&stored(&version, name))).collect();
        let models = || {
            all.iter().filter_map(|config| match &config.source {
                ConfigSource::Model(bgp) => Some(bgp),
                ConfigSource::Files(_) => None,
            })
        };
        let domains: BTreeSet<_> = models()
            .filter_map(|bgp| bgp.model.workload.as_ref())
            .map(|workload| std::mem::discriminant(&workload.domain))
            .map(|domain| format!("{domain:?}"))
            .collect();
        let backends: BTreeSet<_> = all.iter().map(|config| config.backend).collect();

        assert_eq!((domains.len(), backends.len()), (3, 3), "{version}");
        for (feature, has) in [
            ("extra addresses", all.iter().any(|config| !config.extra_addresses.is_empty())),
            ("health check", all.iter().any(|config| config.health.is_some())),
            ("status listener", all.iter().any(|config| config.status.is_some())),
            ("drain", all.iter().any(|config| config.drain)),
            ("passwords", models().any(|bgp| bgp.passwords.iter().any(Option::is_some))),
            ("BFD", models().any(|bgp| bgp.model.fabric.neighbors.iter().any(|it| it.bfd.is_some()))),
            ("discovery", models().any(|bgp| bgp.discover.is_some())),
            ("template", models().any(|bgp| bgp.template.is_some())),
            ("options", models().any(|bgp| !bgp.options.is_empty())),
            ("no load balancer", models().any(|bgp| bgp.model.workload.is_none())),
        ] {
            assert!(has, "no file of {version} has: {feature}");
        }
    }
}
