//! What a node is asked for, beyond what `ichor status` asks.

use std::collections::{BTreeMap, BTreeSet};

use ichor_core::cluster::section::Role;
use ichor_core::observe::{Answer, routing_service};
use ichor_core::plan::NodePlan;
use ichor_core::probe::ProbeError;
use ichor_core::verify::{Detail, EtcdSeen, Known, ServiceSeen};
use ichor_talos::resource::{
    AddressStatus, ExtensionServiceConfigStatus, KernelCmdline, Kind as Typed, LinkStatus, MetaKey,
    PlatformMetadata, RouteStatus, Service,
};

use ichor_client::talos::machine::LogTail;
use ichor_client::talos::{Kind, Node, NodeError};

/// So many lines of a log are evidence.
const LINES: u32 = 5;

/// Asks for all of it at once.
pub(super) async fn detail(node: &Node, plan: &NodePlan, answer: &Answer) -> Detail {
    let configured = matches!(answer, Answer::Configured(_));
    let etcd =
        async { if configured && plan.role == Role::Controlplane { Some(etcd(node).await) } else { None } };
    let (command_line, platform, meta, documents, services, log, links, addresses, routes, etcd) = tokio::join!(
        node.get::<KernelCmdline>(KernelCmdline::ID),
        node.get::<PlatformMetadata>(PlatformMetadata::ID),
        names::<MetaKey>(node),
        names::<ExtensionServiceConfigStatus>(node),
        services(node),
        log(node, plan),
        node.list::<LinkStatus>(),
        node.list::<AddressStatus>(),
        node.list::<RouteStatus>(),
        etcd,
    );
    Detail {
        command_line: known(command_line.map(|told| told.map(|told| told.cmdline))),
        platform: known(platform),
        meta,
        documents: documents
            .map(|all| all.iter().map(|id| id.trim_start_matches("ext-").to_owned()).collect()),
        services,
        log,
        links: known(links),
        addresses: known(addresses.map(bare)),
        routes: known(routes.map(bare)),
        etcd,
    }
}

fn known<T>(told: Result<T, NodeError>) -> Known<T> {
    told.map_err(|error| ProbeError::new(format!("it does not tell ({}): {}", error.call(), error.answer())))
}

fn bare<T>(all: Vec<(String, T)>) -> Vec<T> {
    all.into_iter().map(|(_, it)| it).collect()
}

async fn names<K: Typed>(node: &Node) -> Known<BTreeSet<String>> {
    known(node.list::<K>().await.map(|all| all.into_iter().map(|(id, _)| id).collect()))
}

async fn services(node: &Node) -> Known<BTreeMap<String, ServiceSeen>> {
    let seen =
        |it: Service| ServiceSeen { running: it.running, healthy: (!it.unknown).then_some(it.healthy) };
    known(node.list::<Service>().await.map(|all| all.into_iter().map(|(id, it)| (id, seen(it))).collect()))
}

async fn log(node: &Node, plan: &NodePlan) -> Known<Vec<String>> {
    let Some(service) = routing_service(plan) else { return Ok(Vec::new()) };
    let log = node.logs(&service, LogTail { lines: Some(LINES), follow: false }).bytes().await;
    match log {
        Err(error) if error.kind() == Kind::Unimplemented => {
            Err(ProbeError::new("Talos before 1.13 shows no logs before it is configured"))
        }
        Err(error) if error.kind() == Kind::NotFound => Ok(Vec::new()),
        log => known(log.map(|log| String::from_utf8_lossy(&log).lines().map(str::to_owned).collect())),
    }
}

async fn etcd(node: &Node) -> Known<EtcdSeen> {
    let told = node.etcd_status().await.map_err(|error| ProbeError::new(error.answer()))?;
    Ok(EtcdSeen { leader: told.leader != 0, learner: told.is_learner, errors: told.errors })
}
