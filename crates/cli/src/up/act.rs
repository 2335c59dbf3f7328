//! What is done with nodes: each step looks once more, over the connection that it is done by.

use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::identity::Verdict;
use ichor_core::bringup::{Blocker, Contact, Etcd, Facts};
use ichor_talos::api::cluster::ClusterInfo;
use ichor_talos::api::machine::ApplyConfiguration;
use ichor_talos::peer::Pin;

use super::look::{Subject, etcd, socket};
use crate::facts::facts;
use ichor_client::talos::{Kind, Node, NodeError, Trust};

/// How a step ended that was not done.
#[derive(Debug)]
pub(super) enum Ended {
    /// It may be done later, and was not done now.
    Later(String),
    /// Nobody knows whether it was done.
    Unknown(String),
    /// It will not be done.
    Refused(Blocker),
}

impl Ended {
    /// By what a node answered.
    fn of(error: &NodeError, at: Contact, remedy: &str) -> Self {
        let told = format!("{}: {}", error.call(), error.answer());
        match error.kind() {
            Kind::Unreachable | Kind::NotYet | Kind::NotMaintenance => Self::Later(told),
            Kind::Lost | Kind::TimedOut => Self::Unknown(told),
            // Whoever is there now is not who was there before: the next look says who.
            Kind::WrongCertificate => Self::Later(told),
            _ => Self::Refused(Blocker::new(Some(at), told, remedy)),
        }
    }
}

/// Gives a machine without a configuration its own, over one connection to the machine that was looked at.
pub(super) async fn apply(subject: &Subject, at: Contact, seen: &Facts) -> Result<Vec<String>, Ended> {
    let remedy = "mend what it says in the cluster file, and run `ichor up` again";
    let pin = seen.fingerprint.as_deref().and_then(Pin::parse);
    let trust = Trust::Maintenance { pin };
    let wrong = |error: NodeError| Ended::of(&error, at, remedy);
    let node = Node::connect(&subject.name, socket(at), &trust).await.map_err(wrong)?;
    let facts = facts(&node).await.map_err(wrong)?;
    if subject.identity.judge(&facts) != Verdict::Same {
        return Err(Ended::Later("another machine answers now".to_owned()));
    }
    let said = give(&node, subject).await.map_err(wrong)?;
    Ok(said.warnings)
}

/// Gives a node of the cluster the configuration that is wanted now.
pub(super) async fn reconfigure(subject: &Subject, at: Contact) -> Result<Vec<String>, Ended> {
    let remedy = "mend what it says in the cluster file, and run `ichor up` again";
    let wrong = |error: NodeError| Ended::of(&error, at, remedy);
    let node = known(subject, at).await?;
    let said = give(&node, subject).await.map_err(wrong)?;
    Ok(said.warnings)
}

async fn give(node: &Node, subject: &Subject) -> Result<ApplyConfiguration, NodeError> {
    node.apply(subject.config.clone().into_bytes(), false).await
}

/// A connection to a machine of the cluster that is the node.
async fn known(subject: &Subject, at: Contact) -> Result<Node, Ended> {
    let wrong = |error: NodeError| {
        Ended::of(&error, at, "see that the secrets beside the cluster file are those of the cluster")
    };
    let node = subject.connect(at).await.map_err(wrong)?;
    let facts = Facts { fingerprint: None, ..facts(&node).await.map_err(wrong)? };
    match subject.identity.judge_ours(&facts, &subject.name) {
        Verdict::Same => Ok(node),
        Verdict::Other(reason) | Verdict::Unknown(reason) => Err(Ended::Later(reason)),
    }
}

/// Bootstraps etcd on a node whose etcd waits; true where it was done before.
pub(super) async fn bootstrap(subject: &Subject, at: Contact) -> Result<bool, Ended> {
    let remedy = "what it says is the reason; nothing was bootstrapped";
    let node = known(subject, at).await?;
    match etcd(&node).await.map_err(|error| Ended::Later(format!("{}: {}", error.call(), error.answer())))? {
        Etcd::Waiting => {}
        Etcd::Runs => return Ok(true),
        Etcd::Unknown => return Err(Ended::Later("its etcd does not wait yet".to_owned())),
    }
    match node.bootstrap().await {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == Kind::AlreadyExists => Ok(true),
        Err(error) => Err(Ended::of(&error, at, remedy)),
    }
}

/// Lets a control plane check the cluster's health; every message is told.
pub(super) async fn health(
    subject: &Subject,
    at: Contact,
    nodes: ClusterInfo,
    wait: Duration,
    told: impl Fn(String),
) -> Result<(), Ended> {
    let remedy = "`ichor verify` looks for the cause";
    let node = known(subject, at).await?;
    let mut stream = node.health(nodes, wait);
    let mut last = String::new();
    loop {
        match stream.next().await {
            Ok(Some(progress)) => {
                if !progress.message.is_empty() {
                    last.clone_from(&progress.message);
                    told(progress.message);
                }
            }
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == Kind::TimedOut => {
                let reason = if last.is_empty() { error.answer().to_owned() } else { last };
                return Err(Ended::Refused(Blocker::new(
                    Some(at),
                    format!("not healthy in time: {reason}"),
                    remedy,
                )));
            }
            Err(error) => return Err(Ended::of(&error, at, remedy)),
        }
    }
}

/// Fetches a kubeconfig.
pub(super) async fn kubeconfig(subject: Arc<Subject>, at: Contact) -> Result<String, Ended> {
    let node = known(&subject, at).await?;
    node.kubeconfig().await.map_err(|error| Ended::of(&error, at, "run `ichor up` again"))
}
