//! Talos' ingress firewall, which allows only traffic that the cluster needs.

use ipnet::IpNet;
use serde_json::json;

use super::{ConfigDraft, RenderInputs};
use crate::cluster::section::{Firewall, Role};
use crate::plan::{CniPlan, NeighborAddress, NodePlan, Plan};

/// A rule: name, ports, protocol and sources.
struct IngressRule<'n> {
    name: &'static str,
    ports: &'static [&'static str],
    protocol: &'static str,
    from: &'n [IpNet],
}

/// Adds the rules if the firewall is enabled.
pub fn add(draft: &mut ConfigDraft, inputs: RenderInputs<'_>) {
    if inputs.plan.cluster.firewall.value != Firewall::DefaultDeny {
        return;
    }
    let plan = inputs.plan;
    let everywhere: Vec<IpNet> = ["0.0.0.0/0", "::/0"].map(|net| net.parse().expect("a prefix")).to_vec();
    let nodes = member_networks(plan);
    let control_planes = etcd_networks(plan);
    let speakers = bgp_sources(plan);
    let mut rules = vec![
        IngressRule { name: "apid", ports: &["50000"], protocol: "tcp", from: &everywhere },
        IngressRule { name: "kubelet", ports: &["10250"], protocol: "tcp", from: &nodes },
    ];
    if draft.is_control_plane() {
        rules.extend([
            IngressRule { name: "kubernetes-api", ports: &["6443"], protocol: "tcp", from: &everywhere },
            IngressRule { name: "trustd", ports: &["50001"], protocol: "tcp", from: &nodes },
            IngressRule { name: "etcd", ports: &["2379-2380"], protocol: "tcp", from: &control_planes },
        ]);
    }
    match plan.cluster.cni.value {
        CniPlan::Flannel(_) => {
            rules.push(IngressRule { name: "cni-vxlan", ports: &["4789"], protocol: "udp", from: &nodes });
        }
        CniPlan::Cilium => rules.extend([
            IngressRule { name: "cni-vxlan", ports: &["8472"], protocol: "udp", from: &nodes },
            IngressRule { name: "cni-health", ports: &["4240"], protocol: "tcp", from: &nodes },
        ]),
        CniPlan::None | CniPlan::Manifest(_) => {}
    }
    if plan.cluster.discovery.kubespan.value {
        rules.push(IngressRule { name: "kubespan", ports: &["51820"], protocol: "udp", from: &everywhere });
    }
    rules.push(IngressRule { name: "bgp", ports: &["179"], protocol: "tcp", from: &speakers });
    if plan.nodes.iter().any(has_bfd) {
        rules.push(IngressRule {
            name: "bfd",
            ports: &["3784", "3785", "4784"],
            protocol: "udp",
            from: &speakers,
        });
    }
    draft.document("NetworkDefaultActionConfig", json!({"ingress": "block"}));
    for rule in rules.iter().filter(|rule| !rule.from.is_empty()) {
        let ports: Vec<_> = rule
            .ports
            .iter()
            .map(|port| port.parse::<u16>().map_or(json!(port), |port| json!(port)))
            .collect();
        let ingress: Vec<_> = rule.from.iter().map(|net| json!({"subnet": net.to_string()})).collect();
        draft.document(
            "NetworkRuleConfig",
            json!({
                "name": rule.name,
                "portSelector": {"ports": ports, "protocol": rule.protocol},
                "ingress": ingress,
            }),
        );
    }
}

/// Source networks of cluster members: the subnets of the kubelets, and the addresses of the control planes.
fn member_networks(plan: &Plan) -> Vec<IpNet> {
    let mut nets: Vec<IpNet> = plan.nodes.iter().flat_map(|node| plan.kubelet_subnets(node).value).collect();
    nets.extend(plan.nodes.iter().filter(|node| node.role == Role::Controlplane).flat_map(node_addresses));
    nets.sort();
    nets.dedup();
    let all = nets.clone();
    nets.retain(|net| !all.iter().any(|other| other != net && other.contains(net)));
    nets
}

/// Source networks of etcd members: the addresses of the control planes, and the subnets of an overlay.
fn etcd_networks(plan: &Plan) -> Vec<IpNet> {
    let mut nets: Vec<IpNet> = plan.control_planes().flat_map(node_addresses).collect();
    let known = nets.clone();
    let subnets = plan.control_planes().flat_map(|node| plan.etcd_subnets(node).value);
    nets.extend(subnets.filter(|subnet| !known.iter().any(|address| subnet.contains(address))));
    nets.sort();
    nets.dedup();
    nets
}

fn node_addresses(node: &NodePlan) -> Vec<IpNet> {
    let prefixes =
        [&node.address, &node.loopback].into_iter().find(|prefixes| prefixes.iter().next().is_some());
    prefixes
        .into_iter()
        .flat_map(|prefixes| prefixes.iter())
        .map(|(net, _)| IpNet::from(net.addr()))
        .collect()
}

fn has_bfd(node: &NodePlan) -> bool {
    node.routing.as_ref().is_some_and(|routing| {
        routing.neighbors.iter().any(|neighbor| neighbor.bfd.is_some())
            || routing.workload.as_ref().is_some_and(|workload| workload.bfd.is_some())
    })
}

/// Sources of BGP sessions: numbered neighbours by address, unnumbered ones by link-local prefix, and the speaker's end of its
/// link.
fn bgp_sources(plan: &Plan) -> Vec<IpNet> {
    let mut nets: Vec<IpNet> = Vec::new();
    for routing in plan.nodes.iter().filter_map(|node| node.routing.as_ref()) {
        nets.extend(routing.neighbors.iter().map(|neighbor| match neighbor.peer {
            NeighborAddress::Address(address) => IpNet::from(address),
            NeighborAddress::Link(_) => "fe80::/10".parse().expect("a prefix"),
        }));
        let link = routing.workload.as_ref().and_then(|workload| workload.link.as_ref());
        nets.extend(link.map(|(_, theirs)| IpNet::from(theirs.value)));
    }
    nets.sort();
    nets.dedup();
    nets
}
