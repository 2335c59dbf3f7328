//! `ichor show` on the command line.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::common::{EXAMPLES, GOOD, folder, ichor, root};

#[test]
fn views_of_examples_fit_a_hundred_columns_and_have_json() {
    for example in EXAMPLES {
        for view in ["", "nodes", "bgp", "boot", "vms"] {
            let words = format!("show {view} examples/{example}/ichor.yaml");
            let run = ichor(&root(), &words);
            let widest = run.stdout.lines().map(|line| line.chars().count()).max().unwrap_or(0);

            assert_eq!(run.code, 0, "{words}: {}", run.stderr);
            assert!((1..=100).contains(&widest), "{words} is {widest} columns wide");
            assert!(!ichor(&root(), &format!("{words} --json")).json().is_null(), "{words}");
        }
    }
}

#[test]
fn the_boot_medium_of_a_node_is_shown() {
    let text = GOOD.replace("install:", "platform: nocloud, install:");
    let folder = folder(&[("ichor.yaml", &text), ("metal.yaml", GOOD)]);

    let (cidata, apply) =
        (ichor(folder.path(), "show boot --json"), ichor(folder.path(), "show boot metal.yaml --json"));

    assert_eq!(cidata.json()[0]["config_media"], "nodes/solcp01/cidata.iso");
    assert!(apply.json()[0]["config_media"].is_null(), "{}", apply.stdout);
    assert!(ichor(folder.path(), "show boot").stdout.contains("cidata.iso"));
}

#[test]
fn derived_numbers_match_the_reference_design() {
    let run = ichor(&root(), "show nodes examples/cilium/ichor.yaml --json");
    let node = &run.json()[0];

    assert_eq!(node["node"], "solcp01");
    assert_eq!(node["asn"], 4_210_101_011_u32);
    assert_eq!(node["router_id"], "10.255.101.11");
    assert_eq!(node["addresses"]["ipv6"], "fd00:101::11/64");
    assert_eq!(node["loopbacks"]["ipv4"], "10.101.254.11/32");
    assert_eq!(node["loopbacks"]["ipv6"], "fd00:101:fe::11/128");
    assert_eq!(node["gateways"]["ipv6"], "fd00:101::fffe");
}

#[test]
fn an_explanation_has_the_rule_and_its_inputs_or_the_line() {
    let folder = folder(&[("ichor.yaml", GOOD)]);
    let rule = ichor(folder.path(), "show --why nodes.solcp01.routing.asn");
    let line = ichor(folder.path(), "show --why network.api.vip");
    let default = ichor(folder.path(), "show --why cluster.kubeprism");
    let wrong = ichor(folder.path(), "show --why nodes.solcp01.routing.asm");

    assert_eq!(
        rule.stdout,
        "nodes.solcp01.routing.asn = 4210101011\n  derived: 4210000000 + id·1000 + index\n    \
         id = 101    ichor.yaml:1:26\n    index = 11  ichor.yaml:5:48\n"
    );
    assert_eq!(
        line.stdout,
        "network.api.vip = 10.101.0.10\n  written at ichor.yaml:2:22\n    network: {api: {vip: 10.101.0.10}}\n"
    );
    assert_eq!(default.stdout, "cluster.kubeprism = 7445\n  default: Talos' default port\n");
    assert_eq!((wrong.code, wrong.stderr.contains("did you mean `asn`?")), (2, true), "{}", wrong.stderr);
}

#[test]
fn the_merged_file_gives_the_same_plan() {
    let parts = folder(&[
        ("ichor.yaml", "include: [more.yaml]\ncluster: {name: sol, id: 101, talos: v1.13.9}\nnodes: []\n"),
        ("more.yaml", "nodes: [{name: solcp01, role: controlplane, index: 11}]\n"),
    ]);
    let merged = ichor(parts.path(), "show file");
    let one = folder(&[("ichor.yaml", &merged.stdout)]);

    assert!(!merged.stdout.contains("include"), "{}", merged.stdout);
    assert_eq!(ichor(one.path(), "show nodes").stdout, ichor(parts.path(), "show nodes").stdout);
    assert_eq!(ichor(one.path(), "show file").stdout, merged.stdout);
}

#[test]
fn the_topology_diagram_is_written_to_a_file() {
    for example in EXAMPLES {
        let folder = folder(&[(
            "ichor.yaml",
            &std::fs::read_to_string(root().join("examples").join(example).join("ichor.yaml")).unwrap(),
        )]);
        let run = ichor(folder.path(), "show --svg topology.svg");
        let picture = std::fs::read_to_string(folder.path().join("topology.svg")).unwrap();

        assert_eq!((run.code, run.stdout.as_str()), (0, ""));
        assert!(picture.starts_with("<svg") || picture.starts_with("<?xml"), "{example}");
    }
}

#[test]
fn an_unknown_view_is_named_in_the_error() {
    let folder = folder(&[("ichor.yaml", GOOD)]);
    let run = ichor(folder.path(), "show nods ichor.yaml");

    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "error: unknown view `nods`; want one of nodes, bgp, boot, vms, cilium, file, backends\n"
    );
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let nodes: Vec<_> = (1..5000).map(|index| format!("  - {{name: n{index}, index: {index}}}\n")).collect();
    let folder = folder(&[(
        "ichor.yaml",
        &format!("cluster: {{name: sol, talos: v1.13.9}}\nnodes:\n{}", nodes.concat()),
    )]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_ichor"))
        .args(["show", "nodes", "--json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();

    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn a_plan_with_errors_is_shown_with_a_warning() {
    let folder = folder(&[("ichor.yaml", &GOOD.replace("vip: 10.101.0.10", "vip: 192.0.2.1"))]);
    let run = ichor(folder.path(), "show nodes");

    assert_eq!(run.code, 0);
    assert_eq!(run.stderr, "1 error; run `ichor check` to see it\n");
}

#[test]
fn a_closed_stderr_is_not_an_error() {
    let folder = folder(&[]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_ichor"))
        .args(["new", "sol"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(full)
        .status()
        .unwrap();

    assert_eq!(status.code(), Some(0));
}

#[test]
fn backends_are_compared_without_a_cluster_file() {
    let folder = folder(&[]);

    let table = ichor(folder.path(), "show backends");
    let json = ichor(folder.path(), "show backends --json").json();

    assert_eq!(table.code, 0, "{}", table.stderr);
    let line = |start: &str| table.stdout.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
    let words: Vec<String> = line("session passwords").split_whitespace().map(ToOwned::to_owned).collect();
    assert_eq!(words[2..], ["no", "yes", "yes", "yes", "yes", "yes", "yes"]);
    assert_eq!(table.stdout.matches("BGPInstanceConfig has no such field").count(), 1, "{}", table.stdout);
    assert!(table.stdout.lines().all(|line| line.chars().count() <= 100), "{}", table.stdout);
    assert_eq!(json[0]["backends"][5]["supported"], false);
}
