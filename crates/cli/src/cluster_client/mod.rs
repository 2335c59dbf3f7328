//! Client of a running cluster: its nodes through the Talos API, and its Kubernetes.
//!
//! [`ClusterClient::connect`] connects to a node at its current address, with a [`NodeConnector`]. The submodules are shared by
//! several commands: the state of `etcd`, cluster `health`, waiting for a `reboot`, the `drain` of a node, and its installed
//! `software`.

mod drain;
mod error;
mod etcd;
mod health;
mod reboot;
mod software;

use ichor_core::bringup::contact::node_addresses;
use ichor_core::bringup::{AddressStage, NodeAddress};
use ichor_core::cluster::section::Role;
use ichor_core::plan::NodePlan;
use ichor_talos::secrets::Bundle;

use crate::chain::chain;
use crate::connect::{ConnectOptions, NodeAnswer, NodeConnector};
use crate::project::Project;
use ichor_client::kubernetes;
use ichor_client::kubernetes::{ApiEndpoint, KubernetesClient};
use ichor_client::talos::NodeClient;

pub(crate) use drain::DrainOutcome;
pub(crate) use error::{ClusterError, ClusterOpenError};
pub(crate) use reboot::boot_id;

/// Client of a running cluster.
pub(crate) struct ClusterClient<'p> {
    project: &'p Project,
    connector: NodeConnector,
    /// Client of its Kubernetes API.
    pub kubernetes: KubernetesClient,
}

/// Result of looking up a node.
pub(crate) enum NodeLookup {
    /// The configured node.
    Node(NodeClient),
    /// A machine in maintenance mode, with its address.
    Maintenance(NodeAddress),
    /// No answer or another machine, with the reason.
    Unreachable(String),
}

impl<'p> ClusterClient<'p> {
    /// Opens the cluster of a project with its secrets, which are returned.
    pub(crate) fn open(
        project: &'p Project,
        options: &ConnectOptions,
    ) -> Result<(Self, Bundle), ClusterOpenError> {
        let (connector, bundle) = NodeConnector::open(project, options)?;
        let bundle = bundle.ok_or(ClusterOpenError::NoSecrets)?;
        let plan = &project.plan;
        let mut places: Vec<ApiEndpoint> = Vec::new();
        for node in plan.control_planes() {
            let hosts = sorted_addresses(node).map(|address| address.address.to_string());
            places.extend(hosts.map(|host| ApiEndpoint { host, port: kubernetes::PORT }));
        }
        let endpoint = plan.cluster.endpoint.as_ref().map(|endpoint| &endpoint.value);
        if let Some((host, port)) = endpoint.and_then(|it| Some((it.host()?.to_owned(), it.port()))) {
            places.push(ApiEndpoint { host, port });
        }
        let kubernetes = KubernetesClient::new(&bundle, places, ichor_system::now())?;
        Ok((Self { project, connector, kubernetes }, bundle))
    }

    /// The project of the cluster.
    pub(crate) fn project(&self) -> &'p Project {
        self.project
    }

    fn nodes(&self) -> &'p [NodePlan] {
        &self.project.plan.nodes
    }

    fn control_planes(&self) -> impl Iterator<Item = &'p NodePlan> {
        self.nodes().iter().filter(|node| node.role == Role::Controlplane)
    }

    /// Looks up a node.
    pub(crate) async fn locate(&self, node: &NodePlan) -> NodeLookup {
        match self.connector.find_node(node).await {
            NodeAnswer::Configured(node, _) => NodeLookup::Node(node),
            NodeAnswer::Maintenance(_, at) => NodeLookup::Maintenance(at),
            other => {
                let why = other.node(node.name.as_str()).err();
                NodeLookup::Unreachable(why.map(|why| chain(&why)).unwrap_or_default())
            }
        }
    }

    /// Connects to a configured node.
    pub(crate) async fn connect(&self, name: &str) -> Result<NodeClient, ClusterError> {
        let node = self.nodes().iter().find(|node| node.name.as_str() == name);
        match self.locate(node.ok_or(ClusterError::UnknownNode)?).await {
            NodeLookup::Node(node) => Ok(node),
            NodeLookup::Maintenance(at) => Err(ClusterError::Maintenance(at)),
            NodeLookup::Unreachable(why) => Err(ClusterError::Unreachable(why)),
        }
    }
}

/// Whether the address of a node in maintenance mode is known.
pub(crate) fn is_found_unconfigured(node: &NodePlan) -> bool {
    node_addresses(node, &[])
        .iter()
        .any(|contact| matches!(contact.stage, AddressStage::Dhcp | AddressStage::External))
}

/// Addresses of a node, those of the running node first.
fn sorted_addresses(node: &NodePlan) -> impl Iterator<Item = NodeAddress> {
    let mut all = node_addresses(node, &[]);
    all.sort_by_key(|contact| match contact.stage {
        AddressStage::Static => 0,
        AddressStage::Overlay => 1,
        AddressStage::Dhcp => 2,
        AddressStage::External => 3,
    });
    all.into_iter()
}
