//! Queries the status of a cluster's nodes.

use std::future::Future;

use futures_util::{StreamExt as _, stream};
use ichor_bgp::agent::status;
use ichor_bgp::agent::status::{AgentStatus, StatusError};
use ichor_core::bringup::configured::compare_configs;
use ichor_core::bringup::{ConfigState, NodeAddress};
use ichor_core::cluster::section::Role;
use ichor_core::observe::{
    ClusterStatusReport, EtcdMemberList, EtcdMemberSummary, ExpectedNode, InstalledExtension,
    KubernetesStatus, NodeSnapshot, NodeStatusReport, QueryOutcome, SessionStatus,
};
use ichor_core::plan::NodePlan;
use ichor_talos::api::machine::ServiceInfo;
use ichor_talos::resource::{BgpPeerStatus, Diagnostic, ExtensionStatus, MachineStatus, NodeStatus};

use crate::connect::{NodeAnswer, NodeConnector};
use crate::progress::Progress;
use crate::project::Project;
use ichor_client::talos::machine::LogTail;
use ichor_client::talos::{NodeClient, NodeError, NodeErrorKind};

/// Concurrent node queries: silent nodes delay others.
const MAX_CONCURRENT: usize = 512;

/// Log lines to search for the agent's last status, which it prints once a minute.
const LOG_LINES: u32 = 500;

/// Queries every node. `configurations` are the desired configurations in the order of the plan, if known.
pub(crate) async fn observe_cluster(
    project: &Project,
    connector: &NodeConnector,
    configurations: Option<&[String]>,
) -> ClusterStatusReport {
    let plan = &project.plan;
    let progress = Progress::count("querying nodes", plan.nodes.len());
    let queries = plan.nodes.iter().enumerate().map(|(nth, plan)| {
        let (configuration, progress) = (configurations.map(|all| all[nth].as_str()), &progress);
        async move {
            let observation = Box::pin(observe_node(connector, plan, configuration, &[])).await;
            progress.step();
            (observation.report, observation.members)
        }
    });
    let answers: Vec<_> = stream::iter(queries).buffered(MAX_CONCURRENT).collect().await;
    let members = answers.iter().find_map(|(_, members)| members.clone());
    let nodes = answers.into_iter().map(|(report, _)| report).collect();
    ClusterStatusReport::new(plan.cluster.name.to_string(), nodes, members)
}

/// Observation of one node.
pub(crate) struct NodeObservation {
    /// Its answer, with findings.
    pub report: NodeStatusReport,
    /// etcd members, if a control plane node reported them.
    pub members: Option<EtcdMemberList>,
    /// The connection, for more queries.
    pub node: Option<NodeClient>,
}

/// Queries one node, including at the addresses `found` elsewhere.
pub(crate) async fn observe_node(
    connector: &NodeConnector,
    plan: &NodePlan,
    configuration: Option<&str>,
    found: &[NodeAddress],
) -> NodeObservation {
    let expected = ExpectedNode::from_plan(plan);
    let observation = |at: Option<NodeAddress>, answer, node, members| {
        let report = NodeStatusReport::new(&expected, at, answer);
        NodeObservation { report, members, node }
    };
    match connector.find_node_at(plan, found).await {
        NodeAnswer::Silent(errors) => {
            let reasons = errors.iter().map(|(at, error)| format!("{at}: {}", error.answer())).collect();
            observation(None, QueryOutcome::Silent { reasons }, None, None)
        }
        NodeAnswer::Other(at, reason) => observation(Some(at), QueryOutcome::Other { reason }, None, None),
        NodeAnswer::Maintenance(node, at) => {
            let mut snapshot = query_status(&node, &expected, true).await;
            if snapshot.stage.is_empty() {
                "maintenance".clone_into(&mut snapshot.stage);
            }
            let fingerprint = node.peer().pin;
            observation(
                Some(at),
                QueryOutcome::Maintenance { fingerprint, snapshot: Box::new(snapshot) },
                Some(node),
                None,
            )
        }
        NodeAnswer::Configured(node, at) => {
            let (mut snapshot, (drift, members)) = tokio::join!(
                query_status(&node, &expected, false),
                query_admin_details(&node, plan, configuration)
            );
            match drift {
                Ok(drift) => snapshot.drift = drift,
                Err(error) => record_failure(&mut snapshot, &error),
            }
            observation(Some(at), QueryOutcome::Configured(Box::new(snapshot)), Some(node), members)
        }
    }
}

/// Queries that need admin rights: configuration drift and etcd members.
async fn query_admin_details(
    node: &NodeClient,
    plan: &NodePlan,
    wanted: Option<&str>,
) -> (Result<Option<Vec<String>>, NodeError>, Option<EtcdMemberList>) {
    let drift = async {
        let Some(wanted) = wanted else { return Ok(None) };
        let Some(active) = node.machine_config().await? else { return Ok(None) };
        Ok(match compare_configs(&active, wanted, &plan.talos.value) {
            ConfigState::Unknown => None,
            ConfigState::Same => Some(Vec::new()),
            ConfigState::Differs { keys, .. } => Some(keys),
        })
    };
    let members = async {
        let members =
            if plan.role == Role::Controlplane { node.etcd_members().await.ok()? } else { return None };
        let mut names: Vec<_> = members.into_iter().map(|member| member.hostname).collect();
        names.sort();
        Some(EtcdMemberList { told_by: plan.name.to_string(), names })
    };
    tokio::join!(drift, members)
}

/// Queries the status of a node. Failed queries are recorded, unless they are normal before configuration.
async fn query_status(node: &NodeClient, expected: &ExpectedNode, early: bool) -> NodeSnapshot {
    let mut snapshot = NodeSnapshot::default();
    let etcd = async {
        let has = expected.role == Role::Controlplane && !early;
        if has { node.etcd_status().await.map(Some) } else { Ok(None) }
    };
    let (machine, version, services, extensions, kubernetes, diagnostics, sessions, etcd) = tokio::join!(
        node.get::<MachineStatus>(MachineStatus::ID),
        optional_before_config(early, node.version()),
        optional_before_config(early, node.services()),
        node.list::<ExtensionStatus>(),
        node.list::<NodeStatus>(),
        node.list::<Diagnostic>(),
        optional_before_config(early, query_sessions(node, expected)),
        etcd,
    );
    if let Some(machine) = note_failure(&mut snapshot, machine).flatten() {
        snapshot.stage = machine.stage;
        snapshot.ready = machine.status.ready;
        snapshot.unmet = machine.status.unmet_conditions.iter().map(ToString::to_string).collect();
    }
    snapshot.talos =
        note_failure(&mut snapshot, version).flatten().and_then(|it| it.version).map(|it| it.tag);
    if let Some(services) = note_failure(&mut snapshot, services).flatten() {
        snapshot.down =
            services.iter().filter(|it| !is_up(it)).map(|it| format!("{} ({})", it.id, it.state)).collect();
    }
    snapshot.extensions = note_failure(&mut snapshot, extensions).map(|all| {
        all.into_iter().map(|(_, it): (String, ExtensionStatus)| InstalledExtension::from(it)).collect()
    });
    let kubernetes = note_failure(&mut snapshot, kubernetes).and_then(|all| all.into_iter().next());
    snapshot.kubernetes =
        kubernetes.map(|(_, it)| KubernetesStatus { ready: it.node_ready, schedulable: !it.unschedulable });
    let diagnostics = note_failure(&mut snapshot, diagnostics).unwrap_or_default();
    snapshot.diagnostics = diagnostics.into_iter().map(|(_, it)| diagnostic_text(&it)).collect();
    match note_failure(&mut snapshot, sessions).flatten().flatten() {
        Some(Ok(sessions)) => snapshot.sessions = Some(sessions),
        Some(Err(error)) => snapshot.untold.push(error.to_string()),
        None => {}
    }
    // A control plane node reports itself that it waits for the bootstrap or to join.
    snapshot.etcd = etcd.ok().flatten().map(|it| EtcdMemberSummary {
        leads: it.leader != 0 && it.leader == it.member_id,
        learner: it.is_learner,
        errors: it.errors,
    });
    snapshot
}

/// Makes a query optional before configuration, where Talos may not implement it.
async fn optional_before_config<T>(
    early: bool,
    call: impl Future<Output = Result<T, NodeError>>,
) -> Result<Option<T>, NodeError> {
    match call.await {
        Ok(value) => Ok(Some(value)),
        Err(error) if early && error.kind() == NodeErrorKind::Unimplemented => Ok(None),
        Err(error) => Err(error),
    }
}

fn note_failure<T>(snapshot: &mut NodeSnapshot, result: Result<T, NodeError>) -> Option<T> {
    result.map_err(|error| record_failure(snapshot, &error)).ok()
}

fn record_failure(snapshot: &mut NodeSnapshot, error: &NodeError) {
    snapshot.untold.push(format!("cannot query it ({}): {}", error.call(), error.answer()));
}

fn is_up(service: &ServiceInfo) -> bool {
    match service.state.as_str() {
        "Running" => service.health.as_ref().is_none_or(|health| health.healthy || health.unknown),
        "Finished" | "Skipped" => true,
        _ => false,
    }
}

fn diagnostic_text(diagnostic: &Diagnostic) -> String {
    if diagnostic.details.is_empty() {
        diagnostic.message.clone()
    } else {
        format!("{}: {}", diagnostic.message, diagnostic.details.join("; "))
    }
}

/// BGP sessions: from the agent's last status in its log, or from Talos itself; none if neither reports them.
async fn query_sessions(
    node: &NodeClient,
    expected: &ExpectedNode,
) -> Result<Option<Result<Vec<SessionStatus>, StatusError>>, NodeError> {
    if !expected.sessions {
        return Ok(None);
    }
    let Some(service) = &expected.service else {
        let all = node.list::<BgpPeerStatus>().await?;
        return Ok(Some(Ok(all.iter().map(|(_, it)| SessionStatus::from_talos(it)).collect())));
    };
    let log = node.logs(service, LogTail { lines: Some(LOG_LINES), follow: false }).bytes().await;
    let log = match log {
        Err(error) if error.kind() == NodeErrorKind::NotFound => return Ok(None),
        log => log?,
    };
    let log = String::from_utf8_lossy(&log);
    // A truncated line is skipped; a line of a newer format version makes all earlier ones outdated.
    let last = log.lines().rev().find_map(|line| match AgentStatus::find(line)? {
        Err(StatusError::Malformed(_)) => None,
        found => Some(found),
    });
    Ok(last.map(|status| Ok(status?.sessions.into_iter().map(agent_session).collect())))
}

fn agent_session(status: status::SessionStatus) -> SessionStatus {
    let session = status.session;
    SessionStatus {
        established: session.is_established(),
        state: session.state.to_string(),
        peer: session.peer,
        received: session.received,
        sent: session.sent,
        speaker: status.with == status::PeerRole::Speaker,
        trouble: status.trouble.map(|trouble| trouble.to_string()),
    }
}
