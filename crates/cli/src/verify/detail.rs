//! Queries to a node beyond those of `ichor status`.

use std::collections::{BTreeMap, BTreeSet};

use ichor_core::cluster::section::Role;
use ichor_core::observe::{QueryOutcome, routing_service};
use ichor_core::plan::NodePlan;
use ichor_core::probe::ProbeError;
use ichor_core::verify::{EtcdMemberState, NodeDetail, Probed, ServiceState};
use ichor_talos::resource::{
    AddressStatus, ExtensionServiceConfigStatus, KernelCmdline, LinkStatus, MetaKey, PlatformMetadata,
    ResourceKind as Typed, RouteStatus, ServiceResource,
};

use ichor_client::talos::machine::LogTail;
use ichor_client::talos::{NodeClient, NodeError, NodeErrorKind};

/// Log lines shown as evidence.
const LOG_LINES: u32 = 5;

/// Runs all queries in parallel.
pub(super) async fn query_detail(node: &NodeClient, plan: &NodePlan, answer: &QueryOutcome) -> NodeDetail {
    let configured = matches!(answer, QueryOutcome::Configured(_));
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
    NodeDetail {
        command_line: or_error(command_line.map(|status| status.map(|status| status.cmdline))),
        platform: or_error(platform),
        meta,
        documents: documents
            .map(|all| all.iter().map(|id| id.trim_start_matches("ext-").to_owned()).collect()),
        services,
        log,
        links: or_error(links),
        addresses: or_error(addresses.map(without_ids)),
        routes: or_error(routes.map(without_ids)),
        etcd,
    }
}

fn or_error<T>(status: Result<T, NodeError>) -> Probed<T> {
    status.map_err(|error| ProbeError::new(format!("cannot query it ({}): {}", error.call(), error.answer())))
}

fn without_ids<T>(all: Vec<(String, T)>) -> Vec<T> {
    all.into_iter().map(|(_, it)| it).collect()
}

async fn names<K: Typed>(node: &NodeClient) -> Probed<BTreeSet<String>> {
    or_error(node.list::<K>().await.map(|all| all.into_iter().map(|(id, _)| id).collect()))
}

async fn services(node: &NodeClient) -> Probed<BTreeMap<String, ServiceState>> {
    let seen = |it: ServiceResource| ServiceState {
        running: it.running,
        healthy: (!it.unknown).then_some(it.healthy),
    };
    or_error(
        node.list::<ServiceResource>()
            .await
            .map(|all| all.into_iter().map(|(id, it)| (id, seen(it))).collect()),
    )
}

async fn log(node: &NodeClient, plan: &NodePlan) -> Probed<Vec<String>> {
    let Some(service) = routing_service(plan) else { return Ok(Vec::new()) };
    let log = node.logs(&service, LogTail { lines: Some(LOG_LINES), follow: false }).bytes().await;
    match log {
        Err(error) if error.kind() == NodeErrorKind::Unimplemented => {
            Err(ProbeError::new("Talos before 1.13 shows no logs before it is configured"))
        }
        Err(error) if error.kind() == NodeErrorKind::NotFound => Ok(Vec::new()),
        log => or_error(log.map(|log| String::from_utf8_lossy(&log).lines().map(str::to_owned).collect())),
    }
}

async fn etcd(node: &NodeClient) -> Probed<EtcdMemberState> {
    let status = node.etcd_status().await.map_err(|error| ProbeError::new(error.answer()))?;
    Ok(EtcdMemberState { leader: status.leader != 0, learner: status.is_learner, errors: status.errors })
}
