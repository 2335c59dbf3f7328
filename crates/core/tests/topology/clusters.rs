//! Clusters of any size, and their diagrams.

use ichor_core::cluster::LoadResult;
use ichor_core::render::topology;

/// The diagram of a parsed cluster.
pub fn drawn(loaded: LoadResult) -> String {
    let (cluster, plan) = ichor_testbed::planned(loaded);
    topology::render(&cluster, &plan)
}

/// The diagram of the cluster file `text`.
pub fn draw(text: &str) -> String {
    drawn(ichor_testbed::load_text(text))
}

/// One cluster of each kind and size that has its own layout.
pub fn every_kind() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for count in [0, 1, 3, 8, 9, 13, 50, 60, 61, 500] {
        all.push((format!("{count} routed"), routed(count)));
        all.push((format!("{count} on a network"), HOMELAB.to_owned() + &nodes(count, |_| String::new())));
        all.push((format!("{count} at sites"), sites(count, 7)));
    }
    for leafs in [1, 4, 12, 13, 40] {
        for count in [2, 8, 30, 100] {
            all.push((format!("{count} with {leafs} leafs"), with_leafs(count, leafs)));
        }
    }
    let mixed = with_leafs(7, 2) + "overlay: {tailscale: {key: {env: KEY}}}\n";
    all.push(("fabric and overlay".to_owned(), mixed));
    all.push(("long names".to_owned(), long_names()));
    all
}

const HOMELAB: &str = "\
cluster: {name: home, id: 7, talos: v1.13.9}
network: {api: {vip: 10.7.0.10}, node: {v4: 10.7.0.0/16, gateway: {v4: 10.7.0.1}}}
";

/// A fabric with two leafs and two spines; three control planes.
pub fn routed(count: usize) -> String {
    let head = "\
cluster: {name: sol, id: 101, talos: v1.13.9}
network: {digits: value, node: {v4: 10.0.0.0/12}, loopback: {v4: 10.64.0.0/12}, api: {anycast: [10.0.0.100/32]}}
fabric:
  routers:
    - {name: spine1, role: spine, asn: 65001}
    - {name: spine2, role: spine, asn: 65001}
    - {name: leaf1, asn: 65101}
    - {name: leaf2, asn: 65102}
routing: {asn: 4210000000, router_id: 10.128.0.0, workload: {speaker: metallb}}
defaults: {ports: [fab0, fab1]}
";
    head.to_owned() + &nodes(count, |_| String::new())
}

/// An overlay over `sites` sites.
pub fn sites(count: usize, sites: usize) -> String {
    let mut text = "cluster: {name: edge, talos: v1.13.9, endpoint: https://api.edge}\n\
                    network: {node: {addressing: dhcp}, loopback: null}\n\
                    overlay: {tailscale: {key: {env: KEY}}}\nsites:\n"
        .to_owned();
    (0..sites).for_each(|nth| text.push_str(&format!("  site{nth}: {{relay: 10.9.0.1}}\n")));
    text + &nodes(count, |nth| format!(", site: site{}", nth % sites))
}

fn with_leafs(count: usize, leafs: usize) -> String {
    let mut text = "cluster: {name: sol, id: 101, talos: v1.13.9}\n\
                    network: {digits: value}\nrouting: {workload: {speaker: cilium}}\nfabric:\n  routers:\n"
        .to_owned();
    (1..=leafs).for_each(|nth| text.push_str(&format!("    - {{name: leaf{nth}, asn: {}}}\n", 65100 + nth)));
    text.push_str("    - {name: gate, role: gateway, asn: 64999, addresses: [10.101.0.254]}\n");
    let ports: Vec<_> = (0..leafs).map(|nth| format!("fab{nth}")).collect();
    text.push_str(&format!("defaults: {{ports: [{}]}}\n", ports.join(", ")));
    text + &nodes(count, |_| String::new())
}

fn long_names() -> String {
    let long = "a-name-that-is-as-long-as-a-name-may-be-and-then-some-more-0000";
    let text = routed(3).replace("leaf1", &long[..60]).replace("name: sol", &format!("name: {long}"));
    text.replace("n000002", &long[..63]).replace("asn: 65102", &format!("asn: 65102, vrf: {long}"))
}

fn nodes(count: usize, more: impl Fn(usize) -> String) -> String {
    let role = |nth| if nth <= 3 { "controlplane" } else { "worker" };
    let node = |nth| format!("  - {{name: n{nth:06}, role: {}, index: {nth}{}}}\n", role(nth), more(nth));
    if count == 0 {
        return "nodes: []\n".to_owned();
    }
    "nodes:\n".to_owned() + &(1..=count).map(node).collect::<String>()
}
