//! `make bench` runs this: the proof of a large fabric compared with real FRR on a small one.

use std::process::{Command, Stdio};
use std::time::Instant;

use ichor_bgp::model::Family;
use ipnet::IpNet;
use serde_json::Value;

use crate::differential::lab::reality::Reality;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;

impl Reality {
    /// Whether all machines have a best route to every prefix, and nodes a default route.
    fn has_everything(&self) -> bool {
        let nets = self.subject.destinations.iter().flat_map(|target| &target.nets);
        let (v4, v6): (Vec<IpNet>, Vec<IpNet>) =
            nets.copied().partition(|net| Family::of(*net) == Family::V4);
        self.machines.iter().all(|(name, machine)| {
            let node = self.subject.network.nodes.iter().any(|model| model.name.as_str() == name);
            let full = |family: &str, count: usize| {
                let output = machine.run(&format!("vtysh -c 'show bgp {family} unicast json'"));
                let table: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
                table["routes"].as_object().is_some_and(|routes| routes.len() == count + usize::from(node))
            };
            full("ipv4", v4.len()) && full("ipv6", v6.len())
        })
    }
}

/// Seconds that real FRR takes on a fabric of 30 nodes and two leafs, from reading its files until all routes are installed.
fn seconds_on_thirty_nodes() -> f64 {
    let text = rack(30);
    let reality = Reality::new(&text, || Frr::V10);
    let start = Instant::now();
    reality.load();
    wait_for("everything everywhere", || reality.has_everything(), String::new);
    start.elapsed().as_secs_f64()
}

/// Nodes with two ports on two leafs.
fn rack(nodes: usize) -> String {
    let head = "cluster: {name: rack, id: 1, talos: v1.13.9}\n\
         network: {digits: value, node: null, loopback: {v4: 10.64.0.0/12}, api: {anycast: [10.0.0.100/32]}}\n\
         fabric: {routers: [{name: leaf1, asn: 65101}, {name: leaf2, asn: 65102}]}\n\
         routing: {backend: frr, asn: 4210000000, router_id: 10.128.0.0}\ndefaults: {ports: [fab0, fab1]}\nnodes:\n";
    (1..=nodes).fold(head.to_owned(), |text, node| text + &named_node(node, ""))
}

/// Nodes with two ports on a pair of 50 leafs, under four spines.
fn clos(nodes: usize) -> String {
    let leafs: Vec<String> =
        (1..=50).map(|nth| format!("  - {{name: leaf{nth}, asn: {}}}\n", 65100 + nth)).collect();
    let spines: Vec<String> =
        (1..=4).map(|nth| format!("  - {{name: spine{nth}, role: spine, asn: 65000}}\n")).collect();
    let routers = [leafs, spines].concat().concat();
    let head = format!(
        "cluster: {{name: clos, id: 1, talos: v1.13.9}}\n\
         network: {{digits: value, node: null, loopback: {{v4: 10.64.0.0/12}}, api: {{anycast: [10.0.0.100/32]}}}}\n\
         fabric:\n  routers:\n{routers}\
         routing: {{backend: frr, asn: 4210000000, router_id: 10.128.0.0}}\ndefaults: {{ports: [fab0, fab1]}}\nnodes:\n"
    );
    (1..=nodes).fold(head, |text, node| {
        let leaf = node % 25 * 2 + 1;
        let neighbors =
            format!("{{router: leaf{leaf}, link: fab0}}, {{router: leaf{}, link: fab1}}", leaf + 1);
        text + &named_node(node, &format!(", routing: {{neighbors: [{neighbors}]}}"))
    })
}

fn named_node(node: usize, more: &str) -> String {
    let role = if node <= 3 { "controlplane" } else { "worker" };
    let (high, low) = (node / 256, node % 256);
    format!(
        "- {{name: n{node}, role: {role}, index: {node}, \
         macs: [\"02:00:00:{high:02x}:{low:02x}:00\", \"02:00:00:{high:02x}:{low:02x}:01\"]{more}}}\n"
    )
}

/// Time in seconds and memory in KiB of `ichor prove`, including every single failure.
fn proved(text: &str) -> (f64, u64) {
    let folder = std::env::temp_dir().join(format!("ichor-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ichor.yaml"), text).unwrap();
    let ichor = std::env::var("ICHOR").expect("ICHOR is the released program: use `make bench`");
    let start = Instant::now();
    let mut command = Command::new("/usr/bin/time");
    command.args(["-f", "%M", &ichor, "prove"]).current_dir(&folder).stdout(Stdio::null());
    let run = command.output().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_dir_all(&folder).unwrap();
    let output = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.success(), "{output}");
    (seconds, output.trim().parse().unwrap())
}

#[test]
fn the_proof_of_a_thousand_nodes_is_faster_than_frr_on_thirty() {
    let mut thousand = 0.0;
    let sizes = [
        ("50 nodes, 2 leafs", rack(50)),
        ("1,000 nodes, 2 leafs", rack(1000)),
        ("1,000 nodes, 50 leafs, 4 spines", clos(1000)),
    ];
    for (name, text) in sizes {
        let (seconds, memory) = proved(&text);
        println!("prove, every single failure, {name}: {seconds:.2} s, {} MiB", memory / 1024);
        thousand = f64::max(thousand, seconds);
    }
    let real = seconds_on_thirty_nodes();
    println!(
        "real FRR, 30 nodes, 2 leafs, converging once: {real:.2} s, {:.1} times as long",
        real / thousand
    );

    assert!(thousand < real);
}
