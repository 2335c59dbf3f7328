//! The list of checks.

use super::case::{Case, Whole};
use super::{Verdict, cluster, image, machine, network, routing};

/// A check.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name.
    pub id: &'static str,
    /// What holds when it does.
    pub title: &'static str,
    /// What is looked at.
    pub looks_at: &'static str,
    /// What it would only be a consequence of.
    pub needs: &'static [&'static str],
    /// Whose it is, and who judges.
    pub scope: Scope,
}

impl Check {
    /// Whatever it needs, and what that needs in turn, in the order of the list: also past checks that do not concern a node.
    pub(super) fn all_needs(&self) -> Vec<&'static str> {
        let mut wanted: Vec<&str> = self.needs.to_vec();
        let mut found: Vec<_> = CHECKS
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
        found.reverse();
        found
    }
}

/// Whose a check is. A judge says nothing where the check does not concern a node.
#[derive(Clone, Copy)]
pub enum Scope {
    /// Each node's.
    Node(for<'c> fn(&Case<'c>) -> Option<Verdict>),
    /// The whole cluster's; what it needs must hold on most of the control planes.
    Cluster(for<'c> fn(&Whole<'c>) -> Option<Verdict>),
}

/// Every check, in the order in which they are judged: what is needed comes first.
pub const CHECKS: &[Check] = &[
    Check {
        id: "machine",
        title: "the machine is there and switched on",
        looks_at: "the hypervisor or the machine's controller",
        needs: &[],
        scope: Scope::Node(machine::machine),
    },
    Check {
        id: "drives",
        title: "its media are in until it is installed, and it boots its disk afterwards",
        looks_at: "drives and boot order, by the hypervisor or the machine's controller",
        needs: &["machine"],
        scope: Scope::Node(machine::drives),
    },
    Check {
        id: "talos-api",
        title: "Talos answers at an address of the node",
        looks_at: "port 50000 at every address of the file and of the hypervisor, in the order of a machine's life",
        needs: &["machine"],
        scope: Scope::Node(machine::talos_api),
    },
    Check {
        id: "identity",
        title: "who answers is the node",
        looks_at: "permanent MAC addresses and UUID; once it is configured, the cluster's certificate and the hostname",
        needs: &["talos-api"],
        scope: Scope::Node(machine::identity),
    },
    Check {
        id: "release",
        title: "it runs the Talos release of the file",
        looks_at: "Version",
        needs: &["identity"],
        scope: Scope::Node(machine::release),
    },
    Check {
        id: "medium",
        title: "the medium with the first configuration was read",
        looks_at: "before it is configured: the kernel's command line, `PlatformMetadatas`, `MetaKeys`, `ExtensionStatuses`",
        needs: &["drives", "identity"],
        scope: Scope::Node(image::medium),
    },
    Check {
        id: "first-configuration",
        title: "the first configuration is in force",
        looks_at: "before it is configured: `ExtensionServiceConfigStatuses`",
        needs: &["medium"],
        scope: Scope::Node(image::first_configuration),
    },
    Check {
        id: "configuration",
        title: "the configuration in force is the one of the file",
        looks_at: "the active `MachineConfigs`, compared with what `ichor build` writes",
        needs: &["identity"],
        scope: Scope::Node(image::configuration),
    },
    Check {
        id: "extensions",
        title: "the image has the extensions that are needed",
        looks_at: "`ExtensionStatuses`",
        needs: &["identity"],
        scope: Scope::Node(image::extensions),
    },
    Check {
        id: "service",
        title: "the service that routes has started",
        looks_at: "`Services`, and the last lines of its log",
        needs: &["extensions", "first-configuration"],
        scope: Scope::Node(image::service),
    },
    Check {
        id: "links",
        title: "links are there and up, with their MTU",
        looks_at: "`LinkStatuses`, ports by their permanent MAC address",
        needs: &["first-configuration"],
        scope: Scope::Node(network::links),
    },
    Check {
        id: "addresses",
        title: "links have their addresses: node, loopback, dummies, anycast",
        looks_at: "`AddressStatuses`",
        needs: &["links"],
        scope: Scope::Node(network::addresses),
    },
    Check {
        id: "sessions",
        title: "BGP sessions with the fabric stand, as the node sees them",
        looks_at: "the agent's last status line, `BGPPeerStatuses`, or routes that came by BGP",
        needs: &["service", "addresses"],
        scope: Scope::Node(routing::sessions),
    },
    Check {
        id: "routers",
        title: "the same sessions stand as the routers see them, and routers take prefixes",
        looks_at: "`show bgp vrf all neighbors json` on routers with `reach.ssh`",
        needs: &["service", "addresses"],
        scope: Scope::Node(routing::routers),
    },
    Check {
        id: "loopback",
        title: "the loopback answers from here",
        looks_at: "port 50000 at every announced loopback",
        needs: &["sessions", "routers"],
        scope: Scope::Node(routing::loopback),
    },
    Check {
        id: "configured",
        title: "the node has its configuration and is past its installation",
        looks_at: "`MachineStatuses`",
        needs: &["first-configuration"],
        scope: Scope::Node(cluster::configured),
    },
    Check {
        id: "overlay",
        title: "the node is in the overlay",
        looks_at: "the addresses of tailscale0",
        needs: &["configured", "extensions", "addresses"],
        scope: Scope::Node(network::overlay),
    },
    Check {
        id: "etcd-member",
        title: "the control plane is a voting member of etcd, and sees a leader",
        looks_at: "EtcdStatus",
        needs: &["configured", "addresses"],
        scope: Scope::Node(cluster::etcd_member),
    },
    Check {
        id: "etcd",
        title: "etcd has the members of the file and no alarm",
        looks_at: "EtcdMemberList, EtcdAlarmList",
        needs: &["etcd-member"],
        scope: Scope::Cluster(cluster::etcd),
    },
    Check {
        id: "api-address",
        title: "VIP and anycast addresses of the API answer",
        looks_at: "port 6443 at each of them",
        needs: &["sessions", "routers", "etcd"],
        scope: Scope::Cluster(cluster::api_address),
    },
    Check {
        id: "kubernetes-api",
        title: "the Kubernetes API answers at its endpoint by the cluster's certificate",
        looks_at: "/readyz at `cluster.endpoint`",
        needs: &["etcd", "api-address"],
        scope: Scope::Cluster(cluster::kubernetes_api),
    },
    Check {
        id: "cni",
        title: "pods have a network on the node",
        looks_at: "the node's conditions NetworkUnavailable and Ready in Kubernetes",
        needs: &["configured", "kubernetes-api"],
        scope: Scope::Node(cluster::cni),
    },
    Check {
        id: "kubernetes-node",
        title: "Kubernetes knows the node, finds it ready and puts pods on it",
        looks_at: "the node in Kubernetes, or `NodeStatuses` as Talos has it",
        needs: &["cni", "kubernetes-api", "configured", "overlay"],
        scope: Scope::Node(cluster::kubernetes_node),
    },
    Check {
        id: "speaker",
        title: "the speaker of service addresses has its session with the node",
        looks_at: "the agent's last status line",
        needs: &["kubernetes-node", "service"],
        scope: Scope::Node(routing::speaker),
    },
    Check {
        id: "ready",
        title: "Talos finds the node ready, with all its services and nothing to complain of",
        looks_at: "`MachineStatuses`, ServiceList, `Diagnostics`",
        needs: &["service", "etcd-member", "etcd", "kubernetes-node"],
        scope: Scope::Node(cluster::ready),
    },
];
