//! The expectations of a case, as readable text.

use std::fmt::{Display, Write as _};
use std::path::Path;

use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::model::RoutingDomain;
use ichor_core::lab::topology::{LabMachine, LabSessionEnd, LabVm, MachineRole};
use ichor_core::lab::{HostCapabilities, LabTopology, TopologyInputs};
use ichor_core::plan::attachment::Attachments;
use ichor_core::plan::why::{ValueRow, cluster_rows, merged_settings, node_rows};
use ichor_core::plan::{ConfigStage, NodePlan, Origin, Plan};
use ichor_core::prove::ProofModel;
use ichor_core::render::artifact::{Artifact, ArtifactContents};
use ichor_core::render::machine::network::{documents, machine, network_config};
use ichor_image::media::FileSystem;
use ichor_talos::digest::sha256;
use ichor_talos::release;
use ichor_values::SoftwareVersion;
use ichor_values::go_yaml::emit;

/// Keys and certificates are longer than this; so are only image names.
const LONGEST_WORD: usize = 100;

/// A file as written to `expected/`; `machine` is the node's complete configuration.
pub fn readable(artifact: &Artifact, machine: Option<&Artifact>) -> String {
    match &artifact.contents {
        ArtifactContents::Image(image) => listing(&image.bytes()),
        ArtifactContents::Text(text) if artifact.path.ends_with("/boot.yaml") => {
            let machine = machine.and_then(Artifact::text).unwrap_or_default();
            redacted(&without_known(text, machine))
        }
        ArtifactContents::Text(text) if artifact.path.ends_with("/machine.yaml") => redacted(text),
        ArtifactContents::Text(text) => text.clone(),
    }
}

/// The files in an image with their lengths and checksums.
fn listing(bytes: &[u8]) -> String {
    let image = &bytes.to_vec();
    let found = FileSystem::open(image).unwrap();
    let mut text = format!("{} `{}`, {} bytes\n", found.kind.name(), found.label, bytes.len());
    for file in &found.files {
        let sum = sha256(&found.read(image, file).unwrap());
        let _ = writeln!(text, "{sum} {:>6} {}", file.length, file.name);
    }
    text
}

/// The text with the documents that `known` also has as comments.
fn without_known(text: &str, known: &str) -> String {
    let known: Vec<&str> = known.split("---\n").collect();
    let comment = |document: &str| {
        let value = |key: &str| document.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        format!("# as in machine.yaml: {} {}", value("kind: "), value("name: ")).trim_end().to_owned() + "\n"
    };
    let documents = text.split("---\n");
    let shown =
        documents.map(|it| if known.contains(&it) { comment(it) } else { it.to_owned() }).collect::<Vec<_>>();
    shown.join("---\n")
}

/// The text without keys and certificates.
fn redacted(text: &str) -> String {
    let mut output = String::new();
    let mut in_pem = false;
    for line in text.lines() {
        let (begins, ends) = (line.contains("-----BEGIN"), line.contains("-----END"));
        if !in_pem || ends {
            let is_key = |word: &str| word.len() > LONGEST_WORD && !word.contains([':', '.']);
            let words = line.split(' ').map(|word| if is_key(word) { "***" } else { word });
            let _ = writeln!(output, "{}", words.collect::<Vec<_>>().join(" "));
        }
        in_pem = (in_pem || begins) && !ends;
    }
    output
}

/// Every decided value of a case with its origin, and, with `settings`, the settings of each node from all layers.
pub fn decided(case: &Path, settings: bool) -> String {
    let mut loaded = ichor_testbed::load_case(case, "ichor.yaml");
    let sources = std::mem::take(&mut loaded.sources);
    let (_, plan) = ichor_testbed::planned(loaded);
    let mut text = String::new();
    let mut tell = |(key, value, origin): ValueRow| {
        let from = match origin {
            Origin::Written(place) => sources.locate(place),
            Origin::Derived(rule, _) => rule.description().to_owned(),
            Origin::Default(_) => "default".to_owned(),
        };
        let _ = writeln!(text, "{key} = {value}  ({from})");
    };
    cluster_rows(&plan.cluster).into_iter().for_each(&mut tell);
    for node in &plan.nodes {
        if settings {
            let settings = merged_settings(node);
            tell((format!("{}.settings", node.name), settings, Origin::Written(node.place)));
        }
        let rows = node_rows(&plan, node).into_iter();
        rows.map(|(key, value, origin)| (format!("{}.{key}", node.name), value, origin)).for_each(&mut tell);
    }
    text
}

/// The network of one node of each class, before and after the installation.
pub fn networks(plan: &Plan) -> String {
    let mut output = String::new();
    for (node, _) in plan.by_class() {
        for (form, text) in network_forms(plan, node) {
            let _ = write!(output, "# {}: {form}\n{text}\n", node.name);
        }
    }
    output
}

/// A node's network in every format of the release.
fn network_forms(plan: &Plan, node: &NodePlan) -> [(&'static str, String); 2] {
    if release::at_least(&plan.cluster.contract.value, 12) {
        let stage = |stage| emit::emit_all(&documents(node, stage));
        [("boot", stage(ConfigStage::Boot)), ("final", stage(ConfigStage::Final))]
    } else {
        let boot = network_config(node, ConfigStage::Boot);
        [("network-config", boot), ("machine", emit::emit(&machine(node)))]
    }
}

/// The machines, cables and sessions of a case in a lab on Debian 13; none if the lab cannot run it.
pub fn lab(case: &Path) -> Option<String> {
    let version = |text| Some(SoftwareVersion::parse(text).unwrap());
    let here = HostCapabilities {
        frr: version("10.3"),
        bird: version("2.17.1"),
        gobgp: version("3.36.0"),
        vrf: true,
        dummy: true,
        emulated: false,
    };
    let (cluster, plan) = ichor_testbed::planned_case(case, "ichor.yaml");
    let subject = ProofModel::from_plan(&cluster, &plan).unwrap();
    let attachments =
        Attachments::gather(&cluster, "ichor.yaml", &mut ichor_testbed::FolderFiles(case.to_owned()));
    let topology = LabTopology::derive(TopologyInputs {
        cluster: &cluster,
        plan: &plan,
        subject: &subject,
        attachments: &attachments,
        secret: &|_| Ok("a-password".to_owned()),
        here: &here,
        guests: false,
    });
    topology.ok().map(|topology| described(&topology))
}

fn described(topology: &LabTopology) -> String {
    let mut text = format!("{}\n", topology.cluster);
    for line in &topology.deviations {
        let _ = writeln!(text, "differs: {line}");
    }
    for machine in &topology.machines {
        add_machine(&mut text, machine);
    }
    for cable in &topology.cables {
        let ends = cable.ends.iter().map(|end| {
            let machine = &topology.machines[end.machine];
            format!(" {}:{}", machine.name, machine.ports[end.port].name)
        });
        let _ = writeln!(text, "cable {}:{}", cable.name, ends.collect::<String>());
    }
    for session in &topology.sessions {
        let end = |end: &LabSessionEnd| format!("{} to {}", end.name, end.peer);
        let bfd = if session.bfd { ", BFD" } else { "" };
        let fault = session.fault.as_ref().map(|fault| format!(": {fault}")).unwrap_or_default();
        let _ = writeln!(text, "session {}, {}{bfd}{fault}", end(&session.one), end(&session.other));
    }
    text
}

fn add_machine(text: &mut String, machine: &LabMachine) {
    let _ = writeln!(text, "\n{}", machine.name);
    let _ = match &machine.part {
        MachineRole::Router { conf, vrf, .. } => {
            let instance = conf.lines().find(|line| line.starts_with("router bgp ")).unwrap_or_default();
            writeln!(text, "  {instance}{}", word("vrf", vrf.as_ref()))
        }
        MachineRole::Node { backend, agent, health, speaker, sources } => {
            let ConfigSource::Model(intended) = AgentConfig::parse(agent).unwrap().config.source else {
                panic!("a build says what is meant")
            };
            let domain = intended.model.workload.map(|workload| domain(&workload.domain));
            let health = word("health", health.as_ref());
            let _ = writeln!(
                text,
                "  {backend}{health}, sources{}{}",
                all(sources),
                word("domain", domain.as_ref())
            );
            match speaker {
                Some(speaker) => {
                    let (announces, refused) = (all(&speaker.announces), all(&speaker.refused));
                    writeln!(text, "  {} announces{announces}, and is refused{refused}", speaker.name)
                }
                None => Ok(()),
            }
        }
        MachineRole::Guest(guest) => {
            let LabVm { cores, memory, disk, bus, uefi, carrier, sources } = guest;
            let (bus, carrier) = (serde_json::to_string(bus).unwrap(), word("carrier", carrier.as_ref()));
            writeln!(
                text,
                "  {cores} cores, {memory} MiB, {disk} GiB {bus}, UEFI {uefi}{carrier}, sources{}",
                all(sources)
            )
        }
        MachineRole::Outside { doors } => {
            for door in doors {
                let (first, last) = (door.sources.first().unwrap(), door.sources.last().unwrap());
                let _ = writeln!(text, "  by {}{} from {first} to {last}", door.router, all(&door.through));
            }
            Ok(())
        }
    };
    add_links(text, machine);
}

fn add_links(text: &mut String, machine: &LabMachine) {
    for (name, mtu) in &machine.dummies {
        let _ = writeln!(text, "  dummy {name}{}", word("mtu", mtu.as_ref()));
    }
    for (link, net) in &machine.addresses {
        let _ = writeln!(text, "  {link} {net}");
    }
    for port in machine.ports.iter().filter(|port| port.name != "outside" || port.vrf.is_some()) {
        let (alias, mac) = (word("alias", port.alias.as_ref()), word("mac", port.mac.as_ref()));
        let (mtu, vrf) = (word("mtu", port.mtu.as_ref()), word("vrf", port.vrf.as_ref()));
        let _ = writeln!(text, "  {}{alias}{mac}{mtu}{vrf}{}", port.name, all(&port.addresses));
    }
    for gateway in &machine.gateways {
        let _ = writeln!(text, "  default via {gateway}");
    }
}

/// A value after its name, if there is one.
fn word(name: &str, value: Option<&impl Display>) -> String {
    value.map(|value| format!(" {name} {value}")).unwrap_or_default()
}

fn all(values: &[impl Display]) -> String {
    values.iter().fold(String::new(), |text, value| text + " " + &value.to_string())
}

fn domain(domain: &RoutingDomain) -> String {
    match domain {
        RoutingDomain::Vrf { name, table } => format!("VRF {name}, table {table}"),
        RoutingDomain::Namespace { name } => format!("namespace {name}"),
        RoutingDomain::Shared => "shared".to_owned(),
    }
}
