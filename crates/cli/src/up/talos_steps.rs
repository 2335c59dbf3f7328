//! Steps on nodes through the Talos API. Each step verifies the node's identity on its own connection.

use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::identity::IdentityMatch;
use ichor_core::bringup::{Blocker, EtcdPhase, MachineFacts, NodeAddress};
use ichor_talos::api::cluster::ClusterInfo;
use ichor_talos::api::machine::ApplyConfiguration;
use ichor_talos::peer::Pin;

use super::observer::{NodeTarget, api_socket, etcd_state};
use crate::facts::read_facts;
use ichor_client::talos::{NodeClient, NodeError, NodeErrorKind, NodeTrust};

/// A step that did not succeed.
#[derive(Debug)]
pub(super) enum StepError {
    /// Not done; retry later.
    Later(String),
    /// The connection broke, so the result is unknown.
    Unknown(String),
    /// Failed permanently.
    Refused(Blocker),
}

impl StepError {
    /// Classifies the error of a node.
    fn from_node(error: &NodeError, at: NodeAddress, remedy: &str) -> Self {
        let message = format!("{}: {}", error.call(), error.answer());
        match error.kind() {
            NodeErrorKind::Unreachable | NodeErrorKind::NotYet | NodeErrorKind::NotMaintenance => {
                Self::Later(message)
            }
            NodeErrorKind::Lost | NodeErrorKind::TimedOut => Self::Unknown(message),
            // Another machine answers at this address now; the next observation identifies it.
            NodeErrorKind::WrongCertificate => Self::Later(message),
            _ => Self::Refused(Blocker::new(Some(at), message, remedy)),
        }
    }
}

/// Applies the configuration to a machine in maintenance mode, over one connection pinned to the observed certificate.
pub(super) async fn apply(
    target: &NodeTarget,
    at: NodeAddress,
    observed: &MachineFacts,
) -> Result<Vec<String>, StepError> {
    let remedy = "fix the reported problem in the cluster file and run `ichor up` again";
    let pin = observed.fingerprint.as_deref().and_then(Pin::parse);
    let trust = NodeTrust::Maintenance { pin };
    let step_error = |error: NodeError| match error.kind() {
        // An earlier run applied one, and was killed: Talos requires certificates from then on, even on this connection.
        NodeErrorKind::Unauthorised => {
            StepError::Later(format!("the machine has a configuration: {}: {}", error.call(), error.answer()))
        }
        _ => StepError::from_node(&error, at, remedy),
    };
    let node = NodeClient::connect(&target.name, api_socket(at), &trust).await.map_err(step_error)?;
    let facts = read_facts(&node).await.map_err(step_error)?;
    if target.identity.match_unconfigured(&facts) != IdentityMatch::Same {
        return Err(StepError::Later("another machine answers at this address now".to_owned()));
    }
    let response = send_config(&node, target).await.map_err(step_error)?;
    Ok(response.warnings)
}

/// Applies the current configuration to a configured node.
pub(super) async fn reconfigure(target: &NodeTarget, at: NodeAddress) -> Result<Vec<String>, StepError> {
    let remedy = "fix the reported problem in the cluster file and run `ichor up` again";
    let step_error = |error: NodeError| StepError::from_node(&error, at, remedy);
    let node = connect_verified(target, at).await?;
    let response = send_config(&node, target).await.map_err(step_error)?;
    Ok(response.warnings)
}

async fn send_config(node: &NodeClient, target: &NodeTarget) -> Result<ApplyConfiguration, NodeError> {
    node.apply(target.config.clone().into_bytes(), false).await
}

/// Connects to a configured node and verifies its identity.
async fn connect_verified(target: &NodeTarget, at: NodeAddress) -> Result<NodeClient, StepError> {
    let step_error = |error: NodeError| {
        StepError::from_node(
            &error,
            at,
            "check that the secrets next to the cluster file belong to this cluster",
        )
    };
    let node = target.connect(at).await.map_err(step_error)?;
    let facts = MachineFacts { fingerprint: None, ..read_facts(&node).await.map_err(step_error)? };
    match target.identity.match_member(&facts, &target.name) {
        IdentityMatch::Same => Ok(node),
        IdentityMatch::Other(reason) | IdentityMatch::Unknown(reason) => Err(StepError::Later(reason)),
    }
}

/// Bootstraps etcd on a node where it waits for that; true if it was bootstrapped before.
pub(super) async fn bootstrap(target: &NodeTarget, at: NodeAddress) -> Result<bool, StepError> {
    let remedy = "fix the reported problem and run `ichor up` again; etcd was not bootstrapped";
    let node = connect_verified(target, at).await?;
    match etcd_state(&node)
        .await
        .map_err(|error| StepError::Later(format!("{}: {}", error.call(), error.answer())))?
    {
        EtcdPhase::Waiting => {}
        EtcdPhase::Runs => return Ok(true),
        EtcdPhase::Unknown => {
            return Err(StepError::Later("etcd is not waiting for the bootstrap yet".to_owned()));
        }
    }
    match node.bootstrap().await {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == NodeErrorKind::AlreadyExists => Ok(true),
        Err(error) => Err(StepError::from_node(&error, at, remedy)),
    }
}

/// Runs Talos's cluster health check from a control plane node and passes on its messages.
pub(super) async fn health(
    target: &NodeTarget,
    at: NodeAddress,
    nodes: ClusterInfo,
    wait: Duration,
    message: impl Fn(String),
) -> Result<(), StepError> {
    let remedy = "run `ichor verify` to find the cause";
    let node = connect_verified(target, at).await?;
    let mut stream = node.health(nodes, wait);
    let mut last = String::new();
    loop {
        match stream.next().await {
            Ok(Some(progress)) => {
                if !progress.message.is_empty() {
                    last.clone_from(&progress.message);
                    message(progress.message);
                }
            }
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == NodeErrorKind::TimedOut => {
                let reason = if last.is_empty() { error.answer().to_owned() } else { last };
                return Err(StepError::Refused(Blocker::new(
                    Some(at),
                    format!("the cluster did not become healthy in time: {reason}"),
                    remedy,
                )));
            }
            Err(error) => return Err(StepError::from_node(&error, at, remedy)),
        }
    }
}

/// Downloads a kubeconfig.
pub(super) async fn kubeconfig(target: Arc<NodeTarget>, at: NodeAddress) -> Result<String, StepError> {
    let node = connect_verified(&target, at).await?;
    node.kubeconfig().await.map_err(|error| StepError::from_node(&error, at, "run `ichor up` again"))
}
