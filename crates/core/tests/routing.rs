//! What a node's BGP means, and how routing daemons are told.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run --test routing` rewrites `golden-routing/`; the diff is reviewed.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "real daemons read files")]

mod common;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ichor_core::cluster::section::Backend;
use ichor_core::model::Cluster;
use ichor_core::plan::{NodePlan, Plan};
use ichor_core::render::routing::Refusal;
use ichor_core::render::routing::frr::{self, Files};
use ichor_core::routing::{Family, Model, Protected};
use ipnet::IpNet;

const PASSWORD: &str = "a-secret-of-the-file";

fn model(cluster: &Cluster, plan: &Plan, node: &NodePlan) -> Model {
    Model::of(cluster, node, &Protected::of(plan)).unwrap().unwrap()
}

fn frr(cluster: &Cluster, plan: &Plan, node: &NodePlan) -> Result<Files, Vec<Refusal>> {
    let routing = node.settings.routing.get().unwrap();
    frr::render(&model(cluster, plan, node), routing, &|_| Ok(PASSWORD.to_owned()))
}

/// The cases whose nodes run FRR: examples, and variants beside this test.
fn cases() -> Vec<PathBuf> {
    let all = ["../../../examples", "routing"].into_iter().flat_map(common::cases);
    all.filter(|case| frr_nodes(&common::planned_case(case, "ichor.yaml").1).next().is_some()).collect()
}

fn frr_nodes(plan: &Plan) -> impl Iterator<Item = &NodePlan> {
    plan.by_kind()
        .map(|(node, _)| node)
        .filter(|node| node.routing.as_ref().is_some_and(|it| it.backend.value == Backend::Frr))
}

/// Each kind of node of a case, with its files.
fn rendered(case: &Path) -> Vec<(String, Files)> {
    let (cluster, plan) = common::planned_case(case, "ichor.yaml");
    frr_nodes(&plan)
        .map(|node| {
            let files = frr(&cluster, &plan, node);
            (
                node.name.to_string(),
                files.unwrap_or_else(|refusals| panic!("{}: {refusals:#?}", case.display())),
            )
        })
        .collect()
}

/// The model of the only node of a text.
fn model_of(text: &str) -> Model {
    let (cluster, plan) = common::planned(common::load_text(text));
    model(&cluster, &plan, &plan.nodes[0])
}

/// What FRR reads on the only node of a text.
fn frr_of(text: &str) -> Result<Files, Vec<String>> {
    let (cluster, plan) = common::planned(common::load_text(text));
    let files = frr(&cluster, &plan, &plan.nodes[0]);
    files.map_err(|refusals| {
        refusals.into_iter().map(|refusal| format!("{}: {refusal}", refusal.key)).collect()
    })
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

#[test]
fn every_case_has_the_files_that_are_expected() {
    for case in cases() {
        let mut told = String::new();
        for (name, files) in rendered(&case) {
            let _ =
                write!(told, "# {name}: frr.conf\n{}\n# {name}: daemons\n{}\n", files.conf, files.daemons);
        }
        let name = case.file_name().unwrap().to_str().unwrap();
        common::assert_same(&common::folder("golden-routing").join(format!("{name}-frr.txt")), &told);
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for case in cases() {
        assert!(rendered(&case) == rendered(&case), "{}", case.display());
    }
}

#[test]
fn no_speaker_gives_a_default_route_or_a_prefix_of_the_cluster() {
    for case in cases() {
        let (cluster, plan) = common::planned_case(&case, "ichor.yaml");
        for node in frr_nodes(&plan) {
            let model = model(&cluster, &plan, node);
            let Some(workload) = model.workload else { continue };
            let own = node.loopback.iter().chain(node.address.iter()).map(|(net, _)| net);
            let announced = model.fabric.announced.iter().map(|announced| announced.net);
            let all = own.chain(announced).chain(Family::ALL.map(Family::everything));
            for net in all {
                let name = case.display();
                assert!(!workload.filter.admits(net.trunc()), "{name} {}: {net}", node.name);
                assert!(
                    !workload.filter.admits(IpNet::from(net.addr())) || net.prefix_len() == 0,
                    "{name}: {net}"
                );
            }
        }
    }
}

#[test]
fn metallb_gives_single_addresses_of_the_pools_and_cilium_everything() {
    let text = |workload: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
             network: {{services: {{pools: {{default: [198.51.100.0/24]}}}}}}\n\
             routing: {{backend: frr, workload: {workload}}}\nnodes: [{{name: a, index: 1}}]"
        )
    };
    let filter = |workload| model_of(&text(workload)).workload.unwrap().filter;

    let metallb = filter("{speaker: metallb}");
    let wider = filter("{speaker: metallb, allow: [192.0.2.0/24]}");
    let cilium = filter("{speaker: cilium}");
    let narrow = filter("{speaker: cilium, allow: [10.200.0.0/16]}");

    assert!(metallb.admits(net("198.51.100.7/32")) && !metallb.admits(net("198.51.100.0/24")));
    assert!(!metallb.admits(net("192.0.2.7/32")) && !metallb.admits(net("2001:db8::1/128")));
    assert!(wider.admits(net("192.0.2.0/24")) && !wider.admits(net("198.51.100.7/32")));
    assert!(cilium.admits(net("10.244.3.0/24")) && cilium.admits(net("2001:db8::/64")));
    assert!(narrow.admits(net("10.200.3.0/24")) && !narrow.admits(net("10.244.3.0/24")));
}

#[test]
fn a_session_carries_the_families_it_can() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
                fabric: {routers: [{name: old, asn: 65001, addresses: [\"fd00:1::fffe\"], extended_nexthop: false}]}\n\
                routing: {backend: frr, neighbors: [{link: eth0}, {address: 10.1.0.1, asn: 65001}, {router: old}]}\n\
                nodes: [{name: a, index: 1}]";

    let model = model_of(text);

    let families: Vec<_> =
        model.fabric.neighbors.iter().map(|neighbor| neighbor.families.as_slice()).collect();
    assert_eq!(families, [&Family::ALL[..], &[Family::V4], &[Family::V6]]);
}

#[test]
fn an_address_that_dhcp_gives_is_no_source() {
    let text = |addressing: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\nnetwork: {{node: {{addressing: {addressing}}}}}\n\
             routing: {{backend: frr, neighbors: [{{address: \"fd00:1::fffe\", asn: 65001}}]}}\n\
             nodes: [{{name: a, index: 1}}]"
        )
    };

    let fixed = frr_of(&text("static")).unwrap();
    let leased = frr_of(&text("dhcp-then-static")).unwrap();

    assert!(fixed.conf.contains("update-source fd00:1::1\n"));
    assert!(!leased.conf.contains("update-source"));
}

#[test]
fn what_frr_cannot_be_told_is_refused() {
    let text = |routing: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\nrouting: {{backend: frr, {routing}}}\n\
             nodes: [{{name: a, index: 1}}]"
        )
    };
    let refused = |routing: &str| frr_of(&text(routing)).err().unwrap_or_default().join("\n");

    let old = refused("version: 7.5");
    let two = refused("version: 8.4, daemons: {mgmtd: [-t], zebra: [\"-s 5\"]}");
    let nowhere =
        refused("version: 8.4, neighbors: [{link: eth0}], workload: {speaker: cilium, isolation: none}");

    assert!(old.contains("routing.version: FRR 7.5"), "{old}");
    assert!(two.contains("`mgmtd` does not run here") && two.contains("`-s 5` is no single word"), "{two}");
    assert!(nowhere.contains("use `isolation: vrf`"), "{nowhere}");
}

#[test]
fn a_password_cannot_add_lines_and_is_not_told() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
                routing: {backend: frr, neighbors: [{link: eth0, password: {env: PW}}]}\nnodes: [{name: a, index: 1}]";
    let (cluster, plan) = common::planned(common::load_text(text));
    let node = &plan.nodes[0];
    let routing = node.settings.routing.get().unwrap();
    let model = model(&cluster, &plan, node);

    for bad in ["", "two words", "line\nno router bgp 1", &"x".repeat(81)] {
        let Err(refusals) = frr::render(&model, routing, &|_| Ok(bad.to_owned())) else { panic!("{bad}") };
        assert!(refusals[0].to_string().contains("1 to 80"));
        assert!(bad.is_empty() || !refusals[0].to_string().contains(bad));
    }
    let unknown = frr::render(&model, routing, &|_| Err("the variable PW is not set".to_owned()));
    assert_eq!(unknown.err().unwrap()[0].to_string(), "the variable PW is not set");
}

/// What FRR itself says. It must be installed: `scripts/tools frr`.
mod lab {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::PathBuf;
    use std::process::{Command, Output};

    /// A file for a daemon to read, gone with the test.
    struct Conf(PathBuf);

    impl Conf {
        fn new(name: &str, text: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ichor-{}-{name}.conf", std::process::id()));
            fs::write(&path, text).unwrap();
            Self(path)
        }

        fn fed_to(&self, program: &str) -> Output {
            let run = Command::new(program).arg("-C").arg("-f").arg(&self.0).output();
            run.unwrap_or_else(|error| panic!("{program}: {error}; install FRR with `scripts/tools frr`"))
        }
    }

    impl Drop for Conf {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn said(output: &Output) -> String {
        String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
    }

    /// The lines that concern bgpd: others end its reading.
    fn of_bgpd(conf: &str) -> String {
        let mut told = String::new();
        let mut skipping = false;
        for line in conf.lines() {
            skipping |= line == "bfd" || line.starts_with("interface ");
            let zebra = line.starts_with(" set src") || line.contains(" protocol bgp route-map ");
            if !skipping && !zebra {
                told += line;
                told.push('\n');
            }
            skipping &= line != "exit";
        }
        told
    }

    /// Every file of every case.
    fn files() -> Vec<(String, String)> {
        let named = |case: PathBuf| {
            let name = case.file_name().unwrap().to_str().unwrap().to_owned();
            super::rendered(&case)
                .into_iter()
                .map(move |(node, files)| (format!("{name}-{node}"), files.conf))
        };
        super::cases().into_iter().flat_map(named).collect()
    }

    #[test]
    fn the_grammar_of_every_file_is_frrs() {
        for (name, conf) in files() {
            let output = Conf::new(&name, &conf).fed_to("vtysh");
            assert!(output.status.success() && said(&output).is_empty(), "{name}: {}", said(&output));
        }
    }

    #[test]
    fn a_file_that_is_not_frrs_is_noticed() {
        let output =
            Conf::new("bad", "router bgp 65001\n neighbour 10.0.0.1 remote-as 65002\n").fed_to("vtysh");

        assert!(!output.status.success(), "{}", said(&output));
    }

    /// bgpd sees neighbours without AS number, unknown groups and a second AS number, which the grammar does not, and always
    /// exits with 0.
    #[test]
    fn bgpd_has_nothing_to_say_against_any_file() {
        for (name, conf) in files() {
            let output = Conf::new(&format!("{name}-bgpd"), &of_bgpd(&conf)).fed_to("/usr/lib/frr/bgpd");
            let said = said(&output);
            let harmless = |line: &str| line.starts_with("Graceful restart configuration changed");
            let against: Vec<_> = said.lines().filter(|line| !harmless(line)).collect();
            assert!(output.status.success() && against.is_empty(), "{name}: {against:#?}");
        }
    }

    #[test]
    fn a_file_that_bgpd_does_not_take_is_noticed() {
        let text = "router bgp 65001\n neighbor 10.0.0.1 timers 3 9\n";

        let output = Conf::new("bad-bgpd", text).fed_to("/usr/lib/frr/bgpd");

        assert!(!said(&output).is_empty());
    }

    /// Each line with the lines it stands below.
    fn lines(conf: &str) -> BTreeSet<String> {
        let mut above: Vec<(usize, &str)> = Vec::new();
        let mut found = BTreeSet::new();
        for line in conf.lines().filter(|line| !line.trim_start().starts_with('!') && !line.is_empty()) {
            let text = line.trim_start();
            let depth = line.len() - text.len();
            above.retain(|(other, _)| *other < depth);
            above.push((depth, text));
            if !text.starts_with("exit") {
                found.insert(above.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(" / "));
            }
        }
        found
    }

    /// What FRR does anyway and therefore does not repeat; a port is a name without dots and colons.
    fn goes_without_saying(line: &str) -> bool {
        let unnumbered = |text: &str| {
            let port = text
                .split_once(" / neighbor ")
                .and_then(|(_, rest)| rest.strip_suffix(" capability extended-nexthop"));
            port.is_some_and(|port| {
                !port.contains([':', '.']) && port.chars().any(|c| c.is_ascii_lowercase())
            })
        };
        let defaults = ["/ detect-multiplier 3", "/ receive-interval 300", "/ transmit-interval 300"];
        line.starts_with("hostname ")
            || unnumbered(line)
            || defaults.iter().any(|default| line.ends_with(default))
    }

    /// Grammar is not enough: a daemon can refuse a line or take it for another. Needs root.
    #[test]
    fn running_daemons_have_every_line() {
        let script = super::common::folder("lab/frr-running");
        for (name, conf) in files() {
            let file = Conf::new(&format!("{name}-running"), &conf);
            let output = Command::new(&script).arg(&file.0).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{name}: {errors}; this test needs root, and `scripts/tools frr`"
            );
            let running = lines(&String::from_utf8_lossy(&output.stdout));
            let meant = lines(&conf);
            let lost: Vec<_> = meant.difference(&running).filter(|line| !goes_without_saying(line)).collect();
            assert!(lost.is_empty(), "{name}: {lost:#?}\n{errors}");
        }
    }
}
