//! The list of checks.

use super::context::{ClusterContext, NodeContext};
use super::{CheckResult, cluster, image, machine, network, routing};

/// A check.
#[derive(Clone, Copy)]
pub struct CheckDefinition {
    /// Its name.
    pub id: &'static str,
    /// The statement that it verifies.
    pub title: &'static str,
    /// The source of its evidence.
    pub looks_at: &'static str,
    /// The checks that must pass first.
    pub needs: &'static [&'static str],
    /// Its scope and function.
    pub scope: CheckScope,
}

impl CheckDefinition {
    /// All checks that it needs, directly or indirectly, in the order of the list, including those that do not apply to a node.
    pub(super) fn all_needs(&self) -> Vec<&'static str> {
        let mut wanted: Vec<&str> = self.needs.to_vec();
        let mut needed: Vec<_> = CHECKS
            .iter()
            .rev()
            .filter(|check| {
                let is_needed = wanted.contains(&check.id);
                if is_needed {
                    wanted.extend(check.needs);
                }
                is_needed
            })
            .map(|check| check.id)
            .collect();
        needed.reverse();
        needed
    }
}

/// The scope of a check. Its function returns none if it does not apply.
#[derive(Clone, Copy)]
pub enum CheckScope {
    /// A check of each node.
    Node(for<'c> fn(&NodeContext<'c>) -> Option<CheckResult>),
    /// A check of the cluster. The checks that it needs must pass on a majority of the control planes.
    Cluster(for<'c> fn(&ClusterContext<'c>) -> Option<CheckResult>),
}

/// Every check, after those that it needs.
pub const CHECKS: &[CheckDefinition] = &[
    CheckDefinition {
        id: "machine",
        title: "the machine exists and is powered on",
        looks_at: "the hypervisor or the machine's controller",
        needs: &[],
        scope: CheckScope::Node(machine::check_machine),
    },
    CheckDefinition {
        id: "drives",
        title: "boot media are inserted until Talos is installed; afterwards the machine boots its disk",
        looks_at: "drives and boot order, from the hypervisor or the machine's controller",
        needs: &["machine"],
        scope: CheckScope::Node(machine::check_drives),
    },
    CheckDefinition {
        id: "talos-api",
        title: "the Talos API answers at an address of the node",
        looks_at: "port 50000 at every address known from the cluster file and the hypervisor",
        needs: &["machine"],
        scope: CheckScope::Node(machine::check_talos_api),
    },
    CheckDefinition {
        id: "identity",
        title: "the machine that answers is the node",
        looks_at: "permanent MAC addresses and UUID; once configured, the cluster's certificate and the hostname",
        needs: &["talos-api"],
        scope: CheckScope::Node(machine::check_identity),
    },
    CheckDefinition {
        id: "release",
        title: "the node runs the Talos release of the cluster file",
        looks_at: "Version",
        needs: &["identity"],
        scope: CheckScope::Node(machine::check_release),
    },
    CheckDefinition {
        id: "medium",
        title: "Talos read the boot media with the first configuration",
        looks_at: "in maintenance mode: the kernel command line, `PlatformMetadatas`, `MetaKeys`, `ExtensionStatuses`",
        needs: &["drives", "identity"],
        scope: CheckScope::Node(image::check_medium),
    },
    CheckDefinition {
        id: "first-configuration",
        title: "the first configuration is active",
        looks_at: "in maintenance mode: `ExtensionServiceConfigStatuses`",
        needs: &["medium"],
        scope: CheckScope::Node(image::check_first_configuration),
    },
    CheckDefinition {
        id: "configuration",
        title: "the active configuration is the one of the cluster file",
        looks_at: "the active `MachineConfigs`, compared with what `ichor build` writes",
        needs: &["identity"],
        scope: CheckScope::Node(image::check_configuration),
    },
    CheckDefinition {
        id: "extensions",
        title: "the image has the required extensions",
        looks_at: "`ExtensionStatuses`",
        needs: &["identity"],
        scope: CheckScope::Node(image::check_extensions),
    },
    CheckDefinition {
        id: "service",
        title: "the routing service is running",
        looks_at: "`Services`, and the last lines of its log",
        needs: &["extensions", "first-configuration"],
        scope: CheckScope::Node(image::check_service),
    },
    CheckDefinition {
        id: "links",
        title: "links are up, with their MTU",
        looks_at: "`LinkStatuses`, ports by their permanent MAC address",
        needs: &["first-configuration"],
        scope: CheckScope::Node(network::check_links),
    },
    CheckDefinition {
        id: "addresses",
        title: "links have their addresses: node, loopback, dummies, anycast",
        looks_at: "`AddressStatuses`",
        needs: &["links"],
        scope: CheckScope::Node(network::check_addresses),
    },
    CheckDefinition {
        id: "sessions",
        title: "BGP sessions with the fabric are established, as seen from the node",
        looks_at: "the agent's last status line, `BGPPeerStatuses`, or routes learned by BGP",
        needs: &["service", "addresses"],
        scope: CheckScope::Node(routing::check_sessions),
    },
    CheckDefinition {
        id: "routers",
        title: "the same sessions are established as seen from the routers, which accept prefixes",
        looks_at: "`show bgp vrf all neighbors json` on routers with `reach.ssh`",
        needs: &["service", "addresses"],
        scope: CheckScope::Node(routing::check_routers),
    },
    CheckDefinition {
        id: "loopback",
        title: "the loopback is reachable from this host",
        looks_at: "port 50000 at every announced loopback",
        needs: &["sessions", "routers"],
        scope: CheckScope::Node(routing::check_loopback),
    },
    CheckDefinition {
        id: "configured",
        title: "the node has its configuration and has finished installing",
        looks_at: "`MachineStatuses`",
        needs: &["first-configuration"],
        scope: CheckScope::Node(cluster::check_configured),
    },
    CheckDefinition {
        id: "overlay",
        title: "the node is connected to the overlay",
        looks_at: "the addresses of tailscale0",
        needs: &["configured", "extensions", "addresses"],
        scope: CheckScope::Node(network::check_overlay),
    },
    CheckDefinition {
        id: "etcd-member",
        title: "the control plane is a voting member of etcd, with a leader",
        looks_at: "EtcdStatus",
        needs: &["configured", "addresses"],
        scope: CheckScope::Node(cluster::check_etcd_member),
    },
    CheckDefinition {
        id: "etcd",
        title: "etcd has the members of the cluster file and no alarms",
        looks_at: "EtcdMemberList, EtcdAlarmList",
        needs: &["etcd-member"],
        scope: CheckScope::Cluster(cluster::check_etcd),
    },
    CheckDefinition {
        id: "api-address",
        title: "VIP and anycast addresses of the API answer",
        looks_at: "port 6443 at each of them",
        needs: &["sessions", "routers", "etcd"],
        scope: CheckScope::Cluster(cluster::check_api_address),
    },
    CheckDefinition {
        id: "kubernetes-api",
        title: "the Kubernetes API answers at its endpoint with the cluster's certificate",
        looks_at: "/readyz at `cluster.endpoint`",
        needs: &["etcd", "api-address"],
        scope: CheckScope::Cluster(cluster::check_kubernetes_api),
    },
    CheckDefinition {
        id: "cni",
        title: "pods have a network on the node",
        looks_at: "the node's conditions NetworkUnavailable and Ready in Kubernetes",
        needs: &["configured", "kubernetes-api"],
        scope: CheckScope::Node(cluster::check_cni),
    },
    CheckDefinition {
        id: "kubernetes-node",
        title: "the node is registered in Kubernetes, ready and schedulable",
        looks_at: "the node in Kubernetes, or `NodeStatuses` in Talos",
        needs: &["cni", "kubernetes-api", "configured", "overlay"],
        scope: CheckScope::Node(cluster::check_kubernetes_node),
    },
    CheckDefinition {
        id: "speaker",
        title: "the speaker of service addresses has a session with the node",
        looks_at: "the agent's last status line",
        needs: &["kubernetes-node", "service"],
        scope: CheckScope::Node(routing::check_speaker),
    },
    CheckDefinition {
        id: "ready",
        title: "Talos reports the node ready, with all services running and no diagnostics",
        looks_at: "`MachineStatuses`, ServiceList, `Diagnostics`",
        needs: &["service", "etcd-member", "etcd", "kubernetes-node"],
        scope: CheckScope::Node(cluster::check_ready),
    },
];
