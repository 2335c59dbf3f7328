//! Connects to a cluster's nodes: tries all their addresses and verifies the identity of the machine that answers.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use ichor_core::bringup::contact::node_addresses;
use ichor_core::bringup::identity::IdentityMatch;
use ichor_core::bringup::{AddressOrigin, AddressStage, MachineFacts, MachineIdentity, NodeAddress};
use ichor_core::plan::NodePlan;
use ichor_talos::api::PORT;
use ichor_talos::secrets::Bundle;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::{self, Instant};

use crate::argument::{ArgumentError, IdentityFile};
use crate::cluster_secrets::SecretsError;
use crate::facts::read_facts;
use crate::project::Project;
use crate::{cluster_secrets, style};
use ichor_client::talos::{Credentials, CredentialsError, NodeClient, NodeError, ProbeResult};

/// Time for the other addresses to answer once a machine in maintenance mode was found: the node may also be configured elsewhere.
pub(crate) const GRACE: Duration = Duration::from_millis(200);

/// Options for connecting to nodes
#[derive(Debug, clap::Args)]
pub(crate) struct ConnectOptions {
    #[command(flatten)]
    pub(crate) identity: IdentityFile,
    /// Additional address of a node (repeatable)
    #[arg(long, value_name = "NODE=ADDRESS", value_parser = parse_node_address)]
    node_address: Vec<(String, IpAddr)>,
}

fn parse_node_address(text: &str) -> Result<(String, IpAddr), ArgumentError> {
    let wanted = || ArgumentError::want("a node and its address, such as solcp01=10.0.0.57");
    let (node, address) = text.split_once('=').ok_or_else(wanted)?;
    Ok((node.to_owned(), address.parse().map_err(|_| wanted())?))
}

/// Errors of creating a connector.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectorError {
    #[error("--node-address {0}: no such node; `ichor show nodes` lists them")]
    UnknownNode(String),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// Connects to nodes, with the cluster's credentials and additional addresses.
pub(crate) struct NodeConnector {
    credentials: Option<Arc<Credentials>>,
    given: Vec<(String, IpAddr)>,
}

/// Result of connecting to a node.
pub(crate) enum NodeAnswer {
    /// A configured node of the cluster.
    Configured(NodeClient, NodeAddress),
    /// A machine in maintenance mode.
    Maintenance(NodeClient, NodeAddress),
    /// Another machine has its address, with the reason.
    Other(NodeAddress, String),
    /// No answer, with the error of each address; empty if no address is known.
    Silent(Vec<(NodeAddress, NodeError)>),
}

impl NodeConnector {
    /// Opens the secrets of a cluster. Without secrets only machines in maintenance mode can be queried.
    pub(crate) fn open(
        project: &Project,
        options: &ConnectOptions,
    ) -> Result<(Self, Option<Bundle>), ConnectorError> {
        for (name, _) in &options.node_address {
            if !project.plan.nodes.iter().any(|node| node.name.as_str() == name) {
                return Err(ConnectorError::UnknownNode(name.clone()));
            }
        }
        let given = options.node_address.clone();
        if !cluster_secrets::bundle_file::bundle_path(project).exists() {
            style::say(&format!(
                "{}note:{} no secrets found; only machines in maintenance mode can be queried",
                style::NOTE,
                style::NOTE.render_reset()
            ));
            return Ok((Self { credentials: None, given }, None));
        }
        let (bundle, admin) = cluster_secrets::open_secrets(project, options.identity.path())?;
        let credentials = Credentials::new(&bundle.os.crt, &admin)?;
        Ok((Self { credentials: Some(Arc::new(credentials)), given }, Some(bundle)))
    }

    /// Connects to a node at all its addresses in parallel.
    pub(crate) async fn find_node(&self, node: &NodePlan) -> NodeAnswer {
        self.find_node_at(node, &[]).await
    }

    /// Connects to a node, including at addresses that were found elsewhere.
    pub(crate) async fn find_node_at(&self, node: &NodePlan, found: &[NodeAddress]) -> NodeAnswer {
        let name = node.name.as_str();
        let given = self.given.iter().filter(|(of, _)| of == name);
        let given = given.map(|(_, address)| NodeAddress {
            address: *address,
            stage: AddressStage::Dhcp,
            source: AddressOrigin::Caller,
        });
        let given: Vec<_> = given.chain(found.iter().copied()).collect();
        let identity = MachineIdentity::from_plan(node);
        let answers =
            node_addresses(node, &given).into_iter().map(|at| self.probe_address(name, &identity, at));
        let mut answers: FuturesUnordered<_> = answers.collect();
        let (mut best, mut silent) = (None::<AddressAnswer>, Vec::new());
        let mut end = None;
        while let Some(answer) = next_before(end, answers.next()).await {
            if matches!(answer, AddressAnswer::Maintenance(..)) {
                end.get_or_insert_with(|| Instant::now() + GRACE);
            }
            match answer {
                AddressAnswer::Configured(node, at) => return NodeAnswer::Configured(node, at),
                AddressAnswer::Silent(at, error) => silent.push((at, error)),
                answer if best.as_ref().is_none_or(|best| answer.rank() < best.rank()) => best = Some(answer),
                AddressAnswer::Maintenance(..) | AddressAnswer::Other(..) => {}
            }
        }
        match best {
            Some(AddressAnswer::Configured(node, at)) => NodeAnswer::Configured(node, at),
            Some(AddressAnswer::Maintenance(node, at)) => NodeAnswer::Maintenance(node, at),
            Some(AddressAnswer::Other(at, reason)) => NodeAnswer::Other(at, reason),
            Some(AddressAnswer::Silent(..)) | None => {
                silent.sort_by_key(|(at, _)| at.stage);
                NodeAnswer::Silent(silent)
            }
        }
    }

    async fn probe_address(&self, name: &str, identity: &MachineIdentity, at: NodeAddress) -> AddressAnswer {
        let met =
            NodeClient::meet(name, SocketAddr::new(at.address, PORT), self.credentials.as_deref()).await;
        let configured = matches!(met, Ok(ProbeResult::Configured(_)));
        match met {
            Err(error) => AddressAnswer::Silent(at, error),
            Ok(ProbeResult::Other { reason, .. }) => AddressAnswer::Other(at, reason),
            Ok(ProbeResult::Configured(node) | ProbeResult::Maintenance(node)) => {
                let facts = match read_facts(&node).await {
                    Ok(facts) => facts,
                    Err(error) => return AddressAnswer::Silent(at, error),
                };
                let verdict = if configured {
                    identity.match_member(&MachineFacts { fingerprint: None, ..facts }, name)
                } else {
                    identity.match_unconfigured(&facts)
                };
                match (verdict, configured) {
                    (IdentityMatch::Other(reason), _) => {
                        AddressAnswer::Other(at, format!("another machine answers: {reason}"))
                    }
                    (IdentityMatch::Same | IdentityMatch::Unknown(_), true) => {
                        AddressAnswer::Configured(node, at)
                    }
                    (IdentityMatch::Same | IdentityMatch::Unknown(_), false) => {
                        AddressAnswer::Maintenance(node, at)
                    }
                }
            }
        }
    }
}

/// The next item, before `end` if it is set.
async fn next_before<T>(end: Option<Instant>, next: impl Future<Output = Option<T>>) -> Option<T> {
    match end {
        Some(end) => time::timeout_at(end, next).await.ok().flatten(),
        None => next.await,
    }
}

/// Answer at one address.
enum AddressAnswer {
    Configured(NodeClient, NodeAddress),
    Maintenance(NodeClient, NodeAddress),
    Other(NodeAddress, String),
    Silent(NodeAddress, NodeError),
}

impl AddressAnswer {
    /// Preference: a configured node, then maintenance mode, then another machine.
    fn rank(&self) -> u8 {
        match self {
            Self::Configured(..) => 0,
            Self::Maintenance(..) => 1,
            Self::Other(..) => 2,
            Self::Silent(..) => 3,
        }
    }
}

/// Errors of connecting to a node.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnreachableError {
    #[error("{name} is not at {at}: {reason}")]
    Other { name: String, at: NodeAddress, reason: String },
    #[error("no address of {0} is known; find it with `ichor discover` and set it with --node-address")]
    UnknownAddress(String),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("{name} does not answer: {answers}")]
    Silent { name: String, answers: String },
}

impl NodeAnswer {
    /// Address of the node, if it was found.
    pub(crate) fn contact(&self) -> Option<NodeAddress> {
        match self {
            Self::Configured(_, at) | Self::Maintenance(_, at) => Some(*at),
            Self::Other(..) | Self::Silent(_) => None,
        }
    }

    /// The connection, or an error.
    pub(crate) fn node(self, name: &str) -> Result<NodeClient, UnreachableError> {
        let name = name.to_owned();
        match self {
            Self::Configured(node, _) | Self::Maintenance(node, _) => Ok(node),
            Self::Other(at, reason) => Err(UnreachableError::Other { name, at, reason }),
            Self::Silent(errors) if errors.is_empty() => Err(UnreachableError::UnknownAddress(name)),
            Self::Silent(mut errors) if errors.len() == 1 => Err(errors.remove(0).1.into()),
            Self::Silent(errors) => {
                let answers: Vec<_> =
                    errors.iter().map(|(at, error)| format!("{at}: {}", error.answer())).collect();
                Err(UnreachableError::Silent { name, answers: answers.join("; ") })
            }
        }
    }
}

/// The async runtime cannot start.
#[derive(Debug, thiserror::Error)]
#[error("cannot start threads")]
pub(crate) struct RuntimeError(#[source] io::Error);

/// Starts the async runtime, and raises the limit of open files to its maximum for many connections.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, RuntimeError> {
    let files = getrlimit(Resource::Nofile);
    // Best effort: the limit may be fixed.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, maximum: files.maximum });
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    built.map_err(RuntimeError)
}
