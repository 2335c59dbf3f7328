//! Queries a cluster for `ichor verify`: machines, nodes, routers, addresses and the API, in parallel.
//!
//! The checks are in [`ichor_core::verify`].

mod detail;
mod provider;
mod router;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use ichor_bgp::agent::Session;
use ichor_bgp::setting::{Advertise, Software};
use ichor_core::cluster::section::Role;
use ichor_core::observe::QueryOutcome;
use ichor_core::plan::{NodePlan, Plan};
use ichor_core::probe::ProbeError;
use ichor_core::verify::{
    ApiAddress, EtcdMembership, NodeObservations, Observations, Probed, router_peerings,
};
use ichor_talos::api::PORT;
use ichor_talos::kubernetes::KubeNode;
use ichor_talos::secrets::Bundle;
use tokio::net::TcpStream;
use tokio::time;

use crate::connect::NodeConnector;
use crate::disk;
use crate::observe::{self, NodeObservation};
use crate::progress::Progress;
use crate::project::Project;
use crate::up::endpoint::{self, KubernetesEndpoint};
use ichor_client::kubernetes::{ApiEndpoint, KubernetesClient};
use ichor_client::talos::NodeClient;

pub(crate) use provider::MachineProviders;
use provider::ProviderReport;

/// Concurrent node queries.
const MAX_CONCURRENT: usize = 64;
/// Time limit for a TCP connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Names of etcd alarms by number.
const ALARMS: [&str; 3] = ["NONE", "NOSPACE", "CORRUPT"];

/// Observes a cluster.
pub(crate) struct ClusterObserver<'l> {
    pub project: &'l Project,
    pub connector: &'l NodeConnector,
    pub bundle: Option<&'l Bundle>,
    /// Nodes to observe, each with its desired configuration if known.
    pub nodes: Vec<(&'l NodePlan, Option<String>)>,
    pub providers: &'l MachineProviders,
}

impl ClusterObserver<'_> {
    /// Observes everything in parallel.
    pub(crate) async fn observe(&self) -> Observations {
        let (mut observations, routers, probes, kubernetes) = tokio::join!(
            self.observe_nodes(),
            self.query_routers(),
            probe_api_addresses(&self.project.plan),
            self.query_kubernetes()
        );
        (observations.routers, observations.api_addresses) = (routers, probes);
        (observations.kubernetes_api, observations.kubernetes) = kubernetes;
        observations
    }

    async fn observe_nodes(&self) -> Observations {
        let progress = Progress::count("checking nodes", self.nodes.len());
        let queries = self.nodes.iter().map(|(plan, configuration)| {
            let progress = &progress;
            async move {
                let observed = Box::pin(self.observe_node(plan, configuration.as_deref())).await;
                progress.step();
                (plan.name.to_string(), observed)
            }
        });
        let observed: Vec<_> = stream::iter(queries).buffered(MAX_CONCURRENT).collect().await;
        let mut observations = Observations::default();
        for (name, (node, etcd)) in observed {
            observations.nodes.insert(name, node);
            // The first answer, else the first error.
            if observations.etcd.as_ref().is_none_or(Result::is_err) {
                observations.etcd = etcd.or(observations.etcd);
            }
        }
        observations
    }

    async fn observe_node(
        &self,
        plan: &NodePlan,
        configuration: Option<&str>,
    ) -> (NodeObservations, Option<Probed<EtcdMembership>>) {
        let name = plan.name.as_str();
        // In maintenance mode only the provider may know its address.
        let queries = async {
            let provider_report = self.providers.query(name).await;
            (
                Box::pin(observe::observe_node(
                    self.connector,
                    plan,
                    configuration,
                    &provider_report.addresses,
                ))
                .await,
                provider_report,
            )
        };
        let ((NodeObservation { report, members, node }, provider_report), loopbacks) =
            tokio::join!(queries, probe_loopbacks(plan));
        let ProviderReport { machine, drives, .. } = provider_report;
        let detail = match &node {
            Some(node) => Some(Box::new(detail::query_detail(node, plan, &report.answer).await)),
            None => None,
        };
        let etcd = match (&node, members) {
            (Some(node), Some(members)) => Some(query_etcd(node, members.told_by, members.names).await),
            _ => None,
        };
        let configured = matches!(report.answer, QueryOutcome::Configured(_));
        let unknown = || Err(ProbeError::new(format!("{name} does not report its etcd members")));
        let etcd = etcd.or_else(|| (configured && plan.role == Role::Controlplane).then(unknown));
        (NodeObservations { machine, drives, at: report.at, answer: report.answer, detail, loopbacks }, etcd)
    }

    async fn query_routers(&self) -> BTreeMap<String, Probed<Vec<Session>>> {
        let far = router_peerings(&self.project.cluster, &self.project.plan);
        let mut wanted: BTreeMap<&str, &str> = BTreeMap::new();
        for (node, _) in &self.nodes {
            let of_node = far.get(node.name.as_str()).into_iter().flatten();
            let askable = of_node.filter(|far| far.software == Software::Frr);
            wanted.extend(askable.map(|far| (far.router.as_str(), far.ssh.as_str())));
        }
        let queries = wanted
            .into_iter()
            .map(|(name, ssh)| async move { (name.to_owned(), router::query_sessions(ssh).await) });
        join_all(queries).await.into_iter().collect()
    }

    /// Probes the Kubernetes API at its endpoint, and lists its nodes.
    async fn query_kubernetes(&self) -> (Option<Probed<()>>, Option<Probed<BTreeMap<String, KubeNode>>>) {
        let Some(bundle) = self.bundle else { return (None, None) };
        let endpoint = match KubernetesEndpoint::planned(&self.project.plan, &bundle.k8s.crt) {
            Ok(Some(endpoint)) => endpoint,
            Ok(None) => return (None, None),
            Err(error) => {
                let error =
                    ProbeError::new(format!("cannot use the CA certificate in the secrets bundle: {error}"));
                return (Some(Err(error)), None);
            }
        };
        let answers = endpoint.probe().await.map_err(|error| ProbeError::new(error.to_string()));
        let nodes = if answers.is_ok() { Some(query_kube_nodes(bundle, endpoint).await) } else { None };
        (Some(answers), nodes)
    }
}

async fn query_kube_nodes(bundle: &Bundle, at: KubernetesEndpoint) -> Probed<BTreeMap<String, KubeNode>> {
    let places = vec![ApiEndpoint { host: at.host, port: at.port }];
    let kubernetes = KubernetesClient::new(bundle, places, ichor_system::now()).map_err(ProbeError::new)?;
    let nodes = kubernetes.nodes().await.map_err(ProbeError::new)?;
    Ok(nodes.into_iter().map(|node| (node.name.clone(), node)).collect())
}

async fn query_etcd(node: &NodeClient, told_by: String, names: Vec<String>) -> Probed<EtcdMembership> {
    let alarms = node.etcd_alarms().await.map_err(|error| ProbeError::new(error.answer()))?;
    let word =
        |alarm: i32| usize::try_from(alarm).ok().and_then(|nth| ALARMS.get(nth)).unwrap_or(&"unknown alarm");
    let alarms = alarms.iter().filter(|it| it.alarm != 0);
    let alarms = alarms.map(|it| format!("{} of member {:x}", word(it.alarm), it.member_id)).collect();
    Ok(EtcdMembership { told_by, names, alarms })
}

/// Probes the announced loopbacks of a node.
async fn probe_loopbacks(plan: &NodePlan) -> Vec<(IpAddr, Probed<()>)> {
    let announced = plan.routing.as_ref().is_some_and(|it| it.advertise.value.contains(&Advertise::Loopback));
    let addresses = plan.loopback.iter().filter(|_| announced).map(|(net, _)| net.addr());
    join_all(addresses.map(|address| async move { (address, probe_tcp(address, PORT).await) })).await
}

/// Probes the shared addresses of the API: VIP and anycast.
async fn probe_api_addresses(plan: &Plan) -> Vec<ApiAddress> {
    let vip = plan.cluster.vip.iter().map(|vip| (vip.value, false));
    let anycast = plan.cluster.anycast.iter().map(|net| (net.value.addr(), true));
    let probes = vip.chain(anycast).map(|(address, anycast)| async move {
        ApiAddress { address, anycast, answers: probe_tcp(address, endpoint::PORT).await }
    });
    join_all(probes).await
}

/// Probes a TCP port.
async fn probe_tcp(address: IpAddr, port: u16) -> Probed<()> {
    match time::timeout(CONNECT_TIMEOUT, TcpStream::connect((address, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(ProbeError::new(disk::io_reason(&error))),
        Err(_) => Err(ProbeError::new(format!("no response within {} s", CONNECT_TIMEOUT.as_secs()))),
    }
}
