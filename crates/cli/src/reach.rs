//! The way to a cluster's nodes: at which addresses they are looked for, and which of those who answer is the one.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use ichor_core::bringup::contact::contacts;
use ichor_core::bringup::identity::Verdict;
use ichor_core::bringup::{Contact, Facts, Identity, Source, Stage};
use ichor_core::plan::NodePlan;
use ichor_talos::api::PORT;
use ichor_talos::secrets::Bundle;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::{self, Instant};

use crate::argument::{ArgumentError, IdentityFile};
use crate::facts::facts;
use crate::project::Project;
use crate::vault::SecretsError;
use crate::{style, vault};
use ichor_client::talos::{Credentials, CredentialsError, Met, Node, NodeError};

/// How long others may take to answer, once a machine was found that waits for its configuration: the node may be elsewhere as well.
pub(crate) const GRACE: Duration = Duration::from_millis(200);

/// How the nodes of a cluster are reached
#[derive(Debug, clap::Args)]
pub(crate) struct Way {
    #[command(flatten)]
    pub(crate) identity: IdentityFile,
    /// Where a node is besides where the file says; may be given more than once
    #[arg(long, value_name = "NODE=ADDRESS", value_parser = given)]
    node_address: Vec<(String, IpAddr)>,
}

fn given(text: &str) -> Result<(String, IpAddr), ArgumentError> {
    let wanted = || ArgumentError::want("a node and its address, such as solcp01=10.0.0.57");
    let (node, address) = text.split_once('=').ok_or_else(wanted)?;
    Ok((node.to_owned(), address.parse().map_err(|_| wanted())?))
}

/// Why nodes cannot be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    #[error("--node-address {0}: there is no such node; `ichor show nodes` lists them")]
    UnknownNode(String),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// What opens a cluster's nodes, and where they are besides where the file says.
pub(crate) struct Reach {
    credentials: Option<Arc<Credentials>>,
    given: Vec<(String, IpAddr)>,
}

/// What came of looking for a node.
pub(crate) enum Reached {
    /// It is of the cluster.
    Configured(Node, Contact),
    /// It has no configuration yet; by what it is known.
    Maintenance(Node, Contact),
    /// Somebody else is at its address, and who.
    Other(Contact, String),
    /// Nobody answers, and why, for each address; none where no address is known.
    Silent(Vec<(Contact, NodeError)>),
}

impl Reach {
    /// Opens the secrets of a cluster. Where there are none yet, only machines without a configuration can be asked.
    pub(crate) fn open(project: &Project, way: &Way) -> Result<(Self, Option<Bundle>), ReachError> {
        for (name, _) in &way.node_address {
            if !project.plan.nodes.iter().any(|node| node.name.as_str() == name) {
                return Err(ReachError::UnknownNode(name.clone()));
            }
        }
        let given = way.node_address.clone();
        if !vault::place::bundle_of(project).exists() {
            style::say(&format!(
                "{}note:{} there are no secrets yet, so only machines without a configuration can be asked",
                style::NOTE,
                style::NOTE.render_reset()
            ));
            return Ok((Self { credentials: None, given }, None));
        }
        let (bundle, admin) = vault::secrets(project, way.identity.path())?;
        let credentials = Credentials::new(&bundle.os.crt, &admin)?;
        Ok((Self { credentials: Some(Arc::new(credentials)), given }, Some(bundle)))
    }

    /// Looks for a node at all its addresses at once, until it is found.
    pub(crate) async fn node(&self, node: &NodePlan) -> Reached {
        self.node_or_at(node, &[]).await
    }

    /// Looks for a node where others found it as well.
    pub(crate) async fn node_or_at(&self, node: &NodePlan, found: &[Contact]) -> Reached {
        let name = node.name.as_str();
        let given = self.given.iter().filter(|(of, _)| of == name);
        let given = given.map(|(_, address)| Contact {
            address: *address,
            stage: Stage::Dhcp,
            source: Source::Caller,
        });
        let given: Vec<_> = given.chain(found.iter().copied()).collect();
        let identity = Identity::of(node);
        let looks = contacts(node, &given).into_iter().map(|at| self.look(name, &identity, at));
        let mut looks: FuturesUnordered<_> = looks.collect();
        let (mut best, mut silent) = (None::<Look>, Vec::new());
        let mut end = None;
        while let Some(look) = before(end, looks.next()).await {
            if matches!(look, Look::Maintenance(..)) {
                end.get_or_insert_with(|| Instant::now() + GRACE);
            }
            match look {
                Look::Configured(node, at) => return Reached::Configured(node, at),
                Look::Silent(at, error) => silent.push((at, error)),
                look if best.as_ref().is_none_or(|best| look.rank() < best.rank()) => best = Some(look),
                Look::Maintenance(..) | Look::Other(..) => {}
            }
        }
        match best {
            Some(Look::Configured(node, at)) => Reached::Configured(node, at),
            Some(Look::Maintenance(node, at)) => Reached::Maintenance(node, at),
            Some(Look::Other(at, reason)) => Reached::Other(at, reason),
            Some(Look::Silent(..)) | None => {
                silent.sort_by_key(|(at, _)| at.stage);
                Reached::Silent(silent)
            }
        }
    }

    async fn look(&self, name: &str, identity: &Identity, at: Contact) -> Look {
        let met = Node::meet(name, SocketAddr::new(at.address, PORT), self.credentials.as_deref()).await;
        let configured = matches!(met, Ok(Met::Configured(_)));
        match met {
            Err(error) => Look::Silent(at, error),
            Ok(Met::Other { reason, .. }) => Look::Other(at, reason),
            Ok(Met::Configured(node) | Met::Maintenance(node)) => {
                let facts = match facts(&node).await {
                    Ok(facts) => facts,
                    Err(error) => return Look::Silent(at, error),
                };
                let verdict = if configured {
                    identity.judge_ours(&Facts { fingerprint: None, ..facts }, name)
                } else {
                    identity.judge(&facts)
                };
                match (verdict, configured) {
                    (Verdict::Other(reason), _) => {
                        Look::Other(at, format!("another machine is there: {reason}"))
                    }
                    (Verdict::Same | Verdict::Unknown(_), true) => Look::Configured(node, at),
                    (Verdict::Same | Verdict::Unknown(_), false) => Look::Maintenance(node, at),
                }
            }
        }
    }
}

/// What comes before a moment; without one there is time.
async fn before<T>(end: Option<Instant>, next: impl Future<Output = Option<T>>) -> Option<T> {
    match end {
        Some(end) => time::timeout_at(end, next).await.ok().flatten(),
        None => next.await,
    }
}

/// What is at one address.
enum Look {
    Configured(Node, Contact),
    Maintenance(Node, Contact),
    Other(Contact, String),
    Silent(Contact, NodeError),
}

impl Look {
    /// A machine of the cluster counts before one without a configuration, and that before somebody else.
    fn rank(&self) -> u8 {
        match self {
            Self::Configured(..) => 0,
            Self::Maintenance(..) => 1,
            Self::Other(..) => 2,
            Self::Silent(..) => 3,
        }
    }
}

/// Why there is no connection to a node.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnreachedError {
    #[error("{name} is not at {at}: {reason}")]
    Other { name: String, at: Contact, reason: String },
    #[error(
        "nobody knows where {0} is: find it with `ichor discover`, and give its address by --node-address"
    )]
    Unplaced(String),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("{name} does not answer: {answers}")]
    Silent { name: String, answers: String },
}

impl Reached {
    /// Where the node is, if it was found.
    pub(crate) fn contact(&self) -> Option<Contact> {
        match self {
            Self::Configured(_, at) | Self::Maintenance(_, at) => Some(*at),
            Self::Other(..) | Self::Silent(_) => None,
        }
    }

    /// The connection, or why there is none.
    pub(crate) fn node(self, name: &str) -> Result<Node, UnreachedError> {
        let name = name.to_owned();
        match self {
            Self::Configured(node, _) | Self::Maintenance(node, _) => Ok(node),
            Self::Other(at, reason) => Err(UnreachedError::Other { name, at, reason }),
            Self::Silent(errors) if errors.is_empty() => Err(UnreachedError::Unplaced(name)),
            Self::Silent(mut errors) if errors.len() == 1 => Err(errors.remove(0).1.into()),
            Self::Silent(errors) => {
                let told: Vec<_> =
                    errors.iter().map(|(at, error)| format!("{at}: {}", error.answer())).collect();
                Err(UnreachedError::Silent { name, answers: told.join("; ") })
            }
        }
    }
}

/// Nothing can run calls to nodes.
#[derive(Debug, thiserror::Error)]
#[error("cannot start threads")]
pub(crate) struct RuntimeError(#[source] io::Error);

/// What runs the calls to nodes, with as many connections at once as the kernel lets this process have.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, RuntimeError> {
    let files = getrlimit(Resource::Nofile);
    // Where it may not be more, it is as it was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, maximum: files.maximum });
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    built.map_err(RuntimeError)
}
