//! Whatever is to be seen of a cluster, asked for all at once: machines, nodes, routers, addresses and the API.
//!
//! What it means is decided by [`ichor_core::verify`].

mod detail;
mod machine;
mod router;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use ichor_bgp::agent::Session;
use ichor_bgp::setting::{Advertise, Software};
use ichor_core::cluster::section::Role;
use ichor_core::observe::Answer;
use ichor_core::plan::{NodePlan, Plan};
use ichor_core::probe::ProbeError;
use ichor_core::verify::{Door, EtcdMembers, Known, NodeSeen, Seen, far_ends};
use ichor_talos::api::PORT;
use ichor_talos::kubernetes::KubeNode;
use ichor_talos::secrets::Bundle;
use tokio::net::TcpStream;
use tokio::time;

use crate::disk;
use crate::observe::{self, Looked};
use crate::progress::Progress;
use crate::project::Project;
use crate::reach::Reach;
use crate::up::endpoint::{self, Endpoint};
use ichor_client::kubernetes::{Kubernetes, Place};
use ichor_client::talos::Node;

pub(crate) use machine::Providers;
use machine::Told;

/// So many nodes are asked at once.
const AT_ONCE: usize = 64;
/// How long a connection may take.
const KNOCK: Duration = Duration::from_secs(5);
/// Names of etcd's alarms, by their numbers.
const ALARMS: [&str; 3] = ["NONE", "NOSPACE", "CORRUPT"];

/// What is asked, and by what.
pub(crate) struct Look<'l> {
    pub project: &'l Project,
    pub reach: &'l Reach,
    pub bundle: Option<&'l Bundle>,
    /// The nodes to look at, each with the configuration it should have, where that is known.
    pub nodes: Vec<(&'l NodePlan, Option<String>)>,
    pub providers: &'l Providers,
}

impl Look<'_> {
    /// Looks at everything.
    pub(crate) async fn all(&self) -> Seen {
        let (mut seen, routers, doors, kubernetes) =
            tokio::join!(self.nodes(), self.routers(), doors(&self.project.plan), self.kubernetes());
        (seen.routers, seen.doors) = (routers, doors);
        (seen.kubernetes_api, seen.kubernetes) = kubernetes;
        seen
    }

    async fn nodes(&self) -> Seen {
        let progress = Progress::count("looking at", self.nodes.len());
        let asked = self.nodes.iter().map(|(plan, configuration)| {
            let progress = &progress;
            async move {
                let looked = Box::pin(self.node(plan, configuration.as_deref())).await;
                progress.step();
                (plan.name.to_string(), looked)
            }
        });
        let looked: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        let mut seen = Seen::default();
        for (name, (node, etcd)) in looked {
            seen.nodes.insert(name, node);
            // The first who knows; else the first who says why not.
            if seen.etcd.as_ref().is_none_or(Result::is_err) {
                seen.etcd = etcd.or(seen.etcd);
            }
        }
        seen
    }

    async fn node(
        &self,
        plan: &NodePlan,
        configuration: Option<&str>,
    ) -> (NodeSeen, Option<Known<EtcdMembers>>) {
        let name = plan.name.as_str();
        // Before it is configured it may be where only its provider knows.
        let asked = async {
            let told = self.providers.ask(name).await;
            (Box::pin(observe::node(self.reach, plan, configuration, &told.addresses)).await, told)
        };
        let ((Looked { report, members, node }, told), loopbacks) = tokio::join!(asked, loopbacks(plan));
        let Told { machine, drives, .. } = told;
        let detail = match &node {
            Some(node) => Some(Box::new(detail::detail(node, plan, &report.answer).await)),
            None => None,
        };
        let etcd = match (&node, members) {
            (Some(node), Some(members)) => Some(etcd(node, members.told_by, members.names).await),
            _ => None,
        };
        let configured = matches!(report.answer, Answer::Configured(_));
        let unknown = || Err(ProbeError::new(format!("{name} does not tell its members")));
        let etcd = etcd.or_else(|| (configured && plan.role == Role::Controlplane).then(unknown));
        (NodeSeen { machine, drives, at: report.at, answer: report.answer, detail, loopbacks }, etcd)
    }

    async fn routers(&self) -> BTreeMap<String, Known<Vec<Session>>> {
        let far = far_ends(&self.project.cluster, &self.project.plan);
        let mut wanted: BTreeMap<&str, &str> = BTreeMap::new();
        for (node, _) in &self.nodes {
            let of_node = far.get(node.name.as_str()).into_iter().flatten();
            let askable = of_node.filter(|far| far.software == Software::Frr);
            wanted.extend(askable.map(|far| (far.router.as_str(), far.ssh.as_str())));
        }
        let asked = wanted
            .into_iter()
            .map(|(name, ssh)| async move { (name.to_owned(), router::sessions(ssh).await) });
        join_all(asked).await.into_iter().collect()
    }

    /// Whether the API answers at its endpoint, and if so, its nodes.
    async fn kubernetes(&self) -> (Option<Known<()>>, Option<Known<BTreeMap<String, KubeNode>>>) {
        let Some(bundle) = self.bundle else { return (None, None) };
        let endpoint = match Endpoint::planned(&self.project.plan, &bundle.k8s.crt) {
            Ok(Some(endpoint)) => endpoint,
            Ok(None) => return (None, None),
            Err(error) => {
                let error = ProbeError::new(format!("the authority in the bundle: {error}"));
                return (Some(Err(error)), None);
            }
        };
        let answers = endpoint.answers().await.map_err(|error| ProbeError::new(error.to_string()));
        let nodes = if answers.is_ok() { Some(kube_nodes(bundle, endpoint).await) } else { None };
        (Some(answers), nodes)
    }
}

async fn kube_nodes(bundle: &Bundle, at: Endpoint) -> Known<BTreeMap<String, KubeNode>> {
    let places = vec![Place { host: at.host, port: at.port }];
    let kubernetes = Kubernetes::new(bundle, places, ichor_system::now()).map_err(ProbeError::new)?;
    let nodes = kubernetes.nodes().await.map_err(ProbeError::new)?;
    Ok(nodes.into_iter().map(|node| (node.name.clone(), node)).collect())
}

async fn etcd(node: &Node, told_by: String, names: Vec<String>) -> Known<EtcdMembers> {
    let alarms = node.etcd_alarms().await.map_err(|error| ProbeError::new(error.answer()))?;
    let word = |alarm: i32| usize::try_from(alarm).ok().and_then(|nth| ALARMS.get(nth)).unwrap_or(&"another");
    let alarms = alarms.iter().filter(|it| it.alarm != 0);
    let alarms = alarms.map(|it| format!("{} of member {:x}", word(it.alarm), it.member_id)).collect();
    Ok(EtcdMembers { told_by, names, alarms })
}

/// Whether the loopbacks of a node answer, where they are announced.
async fn loopbacks(plan: &NodePlan) -> Vec<(IpAddr, Known<()>)> {
    let announced = plan.routing.as_ref().is_some_and(|it| it.advertise.value.contains(&Advertise::Loopback));
    let addresses = plan.loopback.iter().filter(|_| announced).map(|(net, _)| net.addr());
    join_all(addresses.map(|address| async move { (address, knock(address, PORT).await) })).await
}

/// Whether the addresses of the API answer that no single node has.
async fn doors(plan: &Plan) -> Vec<Door> {
    let vip = plan.cluster.vip.iter().map(|vip| (vip.value, false));
    let anycast = plan.cluster.anycast.iter().map(|net| (net.value.addr(), true));
    let doors = vip.chain(anycast).map(|(address, anycast)| async move {
        Door { address, anycast, answers: knock(address, endpoint::PORT).await }
    });
    join_all(doors).await
}

/// Whether somebody listens there.
async fn knock(address: IpAddr, port: u16) -> Known<()> {
    match time::timeout(KNOCK, TcpStream::connect((address, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(ProbeError::new(disk::reason(&error))),
        Err(_) => Err(ProbeError::new(format!("no answer within {} s", KNOCK.as_secs()))),
    }
}
