//! How the nodes of a cluster are, as they tell it.

use std::future::Future;

use futures_util::{StreamExt as _, stream};
use ichor_bgp::agent::status;
use ichor_bgp::agent::status::{Status, StatusError};
use ichor_core::bringup::configured::compare;
use ichor_core::bringup::{ConfigSeen, Contact};
use ichor_core::cluster::section::Role;
use ichor_core::observe::{
    Answer, EtcdTold, Expected, ExtensionTold, KubernetesTold, Members, NodeReport, Report, SessionTold, Told,
};
use ichor_core::plan::NodePlan;
use ichor_talos::api::machine::ServiceInfo;
use ichor_talos::resource::{BgpPeerStatus, Diagnostic, ExtensionStatus, MachineStatus, NodeStatus};

use crate::progress::Progress;
use crate::project::Project;
use crate::reach::{Reach, Reached};
use ichor_client::talos::machine::LogTail;
use ichor_client::talos::{Kind, Node, NodeError};

/// So many nodes are asked at once: those that do not answer keep others waiting.
const AT_ONCE: usize = 512;

/// How far back the agent's last word is looked for; it says how it is once a minute.
const RECENT: u32 = 500;

/// Asks every node. `configurations` are what the nodes should have, in the order of the plan; none where that is not known.
pub(crate) async fn cluster(project: &Project, reach: &Reach, configurations: Option<&[String]>) -> Report {
    let plan = &project.plan;
    let progress = Progress::count("asking", plan.nodes.len());
    let asked = plan.nodes.iter().enumerate().map(|(nth, plan)| {
        let (configuration, progress) = (configurations.map(|all| all[nth].as_str()), &progress);
        async move {
            let looked = Box::pin(node(reach, plan, configuration, &[])).await;
            progress.step();
            (looked.report, looked.members)
        }
    });
    let told: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let members = told.iter().find_map(|(_, members)| members.clone());
    let nodes = told.into_iter().map(|(report, _)| report).collect();
    Report::new(plan.cluster.name.to_string(), nodes, members)
}

/// What came of asking a node.
pub(crate) struct Looked {
    /// What it answered, judged.
    pub report: NodeReport,
    /// Who is in etcd, where it is a control plane that knows.
    pub members: Option<Members>,
    /// The connection, for more questions.
    pub node: Option<Node>,
}

/// Asks one node, which may also be where others `found` it.
pub(crate) async fn node(
    reach: &Reach,
    plan: &NodePlan,
    configuration: Option<&str>,
    found: &[Contact],
) -> Looked {
    let expected = Expected::of(plan);
    let looked = |at: Option<Contact>, answer, node, members| {
        let report = NodeReport::new(&expected, at, answer);
        Looked { report, members, node }
    };
    match reach.node_or_at(plan, found).await {
        Reached::Silent(errors) => {
            let reasons = errors.iter().map(|(at, error)| format!("{at}: {}", error.answer())).collect();
            looked(None, Answer::Silent { reasons }, None, None)
        }
        Reached::Other(at, reason) => looked(Some(at), Answer::Other { reason }, None, None),
        Reached::Maintenance(node, at) => {
            let mut told = told(&node, &expected, true).await;
            if told.stage.is_empty() {
                "maintenance".clone_into(&mut told.stage);
            }
            let fingerprint = node.peer().pin;
            looked(Some(at), Answer::Maintenance { fingerprint, told: Box::new(told) }, Some(node), None)
        }
        Reached::Configured(node, at) => {
            let (mut told, (drift, members)) =
                tokio::join!(told(&node, &expected, false), deeper(&node, plan, configuration));
            match drift {
                Ok(drift) => told.drift = drift,
                Err(error) => untold(&mut told, &error),
            }
            looked(Some(at), Answer::Configured(Box::new(told)), Some(node), members)
        }
    }
}

/// What only an administrator is told: whether the configuration is the wanted one, and who is in etcd.
async fn deeper(
    node: &Node,
    plan: &NodePlan,
    wanted: Option<&str>,
) -> (Result<Option<Vec<String>>, NodeError>, Option<Members>) {
    let drift = async {
        let Some(wanted) = wanted else { return Ok(None) };
        let Some(active) = node.machine_config().await? else { return Ok(None) };
        Ok(match compare(&active, wanted, &plan.talos.value) {
            ConfigSeen::Unknown => None,
            ConfigSeen::Same => Some(Vec::new()),
            ConfigSeen::Differs { keys, .. } => Some(keys),
        })
    };
    let members = async {
        let members =
            if plan.role == Role::Controlplane { node.etcd_members().await.ok()? } else { return None };
        let mut names: Vec<_> = members.into_iter().map(|member| member.hostname).collect();
        names.sort();
        Some(Members { told_by: plan.name.to_string(), names })
    };
    tokio::join!(drift, members)
}

/// What a node tells; what it does not is noted, unless that is how it is at its stage.
async fn told(node: &Node, expected: &Expected, early: bool) -> Told {
    let mut told = Told::default();
    let etcd = async {
        let has = expected.role == Role::Controlplane && !early;
        if has { node.etcd_status().await.map(Some) } else { Ok(None) }
    };
    let (machine, version, services, extensions, kubernetes, diagnostics, sessions, etcd) = tokio::join!(
        node.get::<MachineStatus>(MachineStatus::ID),
        passes(early, node.version()),
        passes(early, node.services()),
        node.list::<ExtensionStatus>(),
        node.list::<NodeStatus>(),
        node.list::<Diagnostic>(),
        passes(early, sessions(node, expected)),
        etcd,
    );
    if let Some(machine) = told_or(&mut told, machine).flatten() {
        told.stage = machine.stage;
        told.ready = machine.status.ready;
        told.unmet = machine.status.unmet_conditions.iter().map(ToString::to_string).collect();
    }
    told.talos = told_or(&mut told, version).flatten().and_then(|it| it.version).map(|it| it.tag);
    if let Some(services) = told_or(&mut told, services).flatten() {
        told.down =
            services.iter().filter(|it| !is_up(it)).map(|it| format!("{} ({})", it.id, it.state)).collect();
    }
    told.extensions = told_or(&mut told, extensions).map(|all| {
        all.into_iter().map(|(_, it): (String, ExtensionStatus)| ExtensionTold::from(it)).collect()
    });
    let kubernetes = told_or(&mut told, kubernetes).and_then(|all| all.into_iter().next());
    told.kubernetes =
        kubernetes.map(|(_, it)| KubernetesTold { ready: it.node_ready, schedulable: !it.unschedulable });
    let diagnostics = told_or(&mut told, diagnostics).unwrap_or_default();
    told.diagnostics = diagnostics.into_iter().map(|(_, it)| words(&it)).collect();
    match told_or(&mut told, sessions).flatten().flatten() {
        Some(Ok(sessions)) => told.sessions = Some(sessions),
        Some(Err(error)) => told.untold.push(error.to_string()),
        None => {}
    }
    // A control plane that waits for its first member, or to become one, says so itself.
    told.etcd = etcd.ok().flatten().map(|it| EtcdTold {
        leads: it.leader != 0 && it.leader == it.member_id,
        learner: it.is_learner,
        errors: it.errors,
    });
    told
}

/// What a machine without a configuration need not be able to tell.
async fn passes<T>(
    early: bool,
    call: impl Future<Output = Result<T, NodeError>>,
) -> Result<Option<T>, NodeError> {
    match call.await {
        Ok(told) => Ok(Some(told)),
        Err(error) if early && error.kind() == Kind::Unimplemented => Ok(None),
        Err(error) => Err(error),
    }
}

fn told_or<T>(told: &mut Told, result: Result<T, NodeError>) -> Option<T> {
    result.map_err(|error| untold(told, &error)).ok()
}

fn untold(told: &mut Told, error: &NodeError) {
    told.untold.push(format!("it does not tell ({}): {}", error.call(), error.answer()));
}

fn is_up(service: &ServiceInfo) -> bool {
    match service.state.as_str() {
        "Running" => service.health.as_ref().is_none_or(|health| health.healthy || health.unknown),
        "Finished" | "Skipped" => true,
        _ => false,
    }
}

fn words(diagnostic: &Diagnostic) -> String {
    if diagnostic.details.is_empty() {
        diagnostic.message.clone()
    } else {
        format!("{}: {}", diagnostic.message, diagnostic.details.join("; "))
    }
}

/// The sessions: as the agent last said in its log, or as Talos itself says; none where nobody does.
async fn sessions(
    node: &Node,
    expected: &Expected,
) -> Result<Option<Result<Vec<SessionTold>, StatusError>>, NodeError> {
    if !expected.sessions {
        return Ok(None);
    }
    let Some(service) = &expected.service else {
        let all = node.list::<BgpPeerStatus>().await?;
        return Ok(Some(Ok(all.into_iter().map(|(_, it)| native(&it)).collect())));
    };
    let log = node.logs(service, LogTail { lines: Some(RECENT), follow: false }).bytes().await;
    let log = match log {
        Err(error) if error.kind() == Kind::NotFound => return Ok(None),
        log => log?,
    };
    let log = String::from_utf8_lossy(&log);
    // A line that was cut off says nothing; one that is too new says that everything before it is out of date.
    let last = log.lines().rev().find_map(|line| match Status::find(line)? {
        Err(StatusError::Malformed(_)) => None,
        found => Some(found),
    });
    Ok(last.map(|status| Ok(status?.sessions.into_iter().map(of_agent).collect())))
}

fn of_agent(told: status::Told) -> SessionTold {
    let session = told.session;
    SessionTold {
        established: session.is_established(),
        state: session.state.to_string(),
        peer: session.peer,
        received: session.received,
        sent: session.sent,
        speaker: told.with == status::With::Speaker,
        trouble: told.trouble.map(|trouble| trouble.to_string()),
    }
}

fn native(peer: &BgpPeerStatus) -> SessionTold {
    SessionTold {
        established: peer.is_established(),
        state: peer.state.to_lowercase().replace('_', " "),
        peer: format!("{} ({})", peer.peer, peer.instance),
        received: peer.received,
        sent: peer.advertised,
        speaker: false,
        trouble: None,
    }
}
