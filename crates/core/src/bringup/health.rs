//! The addresses by which Talos' health check knows the nodes.

use std::net::IpAddr;

use ipnet::IpNet;

use super::contact::node_addresses;
use crate::cluster::section::Role;
use crate::plan::{NodePlan, Plan};

/// The address of each node for Talos' health check, in the order of the plan: none for a node without a planned one.
///
/// Talos takes every listed address for a node of its own, and every address that an etcd member advertises must be listed. No list
/// fits if a member advertises several: the result is `None`, and Talos has to discover the nodes.
pub fn health_check_addresses(plan: &Plan) -> Option<Vec<Option<IpAddr>>> {
    let planned = |node: &NodePlan, subnets: &[IpNet]| -> Vec<IpAddr> {
        let addresses = node_addresses(node, &[]).into_iter().map(|contact| contact.address);
        addresses.filter(|address| subnets.iter().any(|subnet| subnet.contains(address))).collect()
    };
    let address = |node: &NodePlan| {
        if node.role != Role::Controlplane {
            return Some(planned(node, &plan.kubelet_subnets(node).value).first().copied());
        }
        let subnets = plan.etcd_subnets(node).value;
        let addresses = planned(node, &subnets);
        (addresses.len().max(subnets.len()) <= 1).then(|| addresses.first().copied())
    };
    plan.nodes.iter().map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::planned;

    fn addresses(network: &str) -> Option<Vec<String>> {
        let text = format!(
            "{{cluster: {{name: sol, id: 101, talos: v1.14.1}}, network: {network}, nodes: [{{name: a, role: controlplane, index: 11}},
              {{name: b, index: 12}}]}}"
        );
        let plan = planned(Box::leak(text.into_boxed_str()));
        let all = health_check_addresses(&plan)?.into_iter();
        Some(all.map(|address| address.map_or_else(String::new, |address| address.to_string())).collect())
    }

    #[test]
    fn nodes_are_listed_by_the_address_that_etcd_and_kubernetes_use() {
        assert_eq!(addresses("{node: {v6: null}}").unwrap(), ["10.101.0.11", "10.101.0.12"]);
        let one = addresses("{etcd_subnets: [10.101.0.0/24]}").unwrap();
        assert_eq!(one[0], "10.101.0.11");
    }

    #[test]
    fn talos_discovers_the_nodes_of_a_dual_stack_cluster() {
        assert_eq!(addresses("{}"), None);
    }
}
