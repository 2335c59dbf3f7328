//! Software that Talos brings onto the cluster, or that ichor gives it: the pod network, and kube-vip.

use std::net::IpAddr;

use super::{Decided, NodePlan};
use crate::cluster::section::{Cilium, ClusterSection, Cni, Role};
use ichor_values::key::List;
use ichor_values::{Either, FilePath, LinkName, Text};

/// The pod network's software.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CniPlan {
    /// flannel, on a link if one was given.
    Flannel(Option<LinkName>),
    /// Cilium.
    Cilium,
    /// None, or one that somebody else installs.
    None,
    /// A manifest.
    Manifest(String),
}

/// Cilium's chart.
#[derive(Debug)]
pub struct CiliumPlan {
    /// Release of the chart.
    pub version: Decided<String>,
    /// Name of the chart in its repository, or its place in a registry.
    pub(crate) chart: Decided<String>,
    /// Repository of the chart.
    pub repository: Decided<String>,
    /// The file's own values.
    pub values: Option<Decided<FilePath>>,
    /// A manifest that was rendered elsewhere, in place of the chart.
    pub manifest: Option<Decided<FilePath>>,
}

/// kube-vip, where it holds the address of the API.
#[derive(Debug)]
pub struct KubeVipPlan {
    /// The address.
    pub address: Decided<IpAddr>,
    /// Link it is announced on; none where the control planes have their addresses on different links.
    pub(crate) interface: Option<Decided<LinkName>>,
}

/// Decides the pod network's software.
pub fn cni(section: &ClusterSection) -> Decided<CniPlan> {
    let interface = section.flannel.get().and_then(|flannel| flannel.interface.get()).cloned();
    let Some(cni) = section.cni.at() else {
        return Decided::default(CniPlan::Flannel(interface), "Talos' own pod network");
    };
    let plan = match cni.value {
        Either::Word(Cni::Flannel) => CniPlan::Flannel(interface),
        Either::Word(Cni::Cilium) => CniPlan::Cilium,
        Either::Word(Cni::None) => CniPlan::None,
        Either::Record(own) => {
            CniPlan::Manifest(own.manifest.get().map(ToString::to_string).unwrap_or_default())
        }
    };
    Decided::written(plan, cni.place)
}

/// More arguments of flannel.
pub(crate) fn flannel_args(section: &ClusterSection) -> Option<Decided<List<Text>>> {
    Decided::of(&section.flannel.get()?.args)
}

/// Decides where Cilium comes from; none where it is not the pod network.
pub fn cilium(section: &ClusterSection, cni: &CniPlan) -> Option<CiliumPlan> {
    if *cni != CniPlan::Cilium {
        return None;
    }
    let none = Cilium::default();
    let Cilium { version, values, chart, repository, manifest } = section.cilium.get().unwrap_or(&none);
    Some(CiliumPlan {
        version: Decided::text(version, "1.20.1", "made for Kubernetes 1.33 to 1.36"),
        chart: Decided::text(chart, "cilium", "its name in Cilium's repository"),
        repository: Decided::text(repository, "https://helm.cilium.io/", "Cilium's own"),
        values: Decided::of(values),
        manifest: Decided::of(manifest),
    })
}

/// Decides what kube-vip is told; none where the file does not ask for it.
pub(crate) fn kube_vip(section: &ClusterSection, nodes: &[NodePlan]) -> Option<KubeVipPlan> {
    let written = section.kube_vip.get()?;
    let address = Decided::of(&written.address)?;
    let mut links = nodes.iter().filter(|node| node.role == Role::Controlplane).map(|node| &node.link);
    let first = links.next();
    let common = first.filter(|first| links.all(|link| link.value == first.value)).cloned();
    Some(KubeVipPlan { address, interface: Decided::of(&written.interface).or(common) })
}

/// Decides whether kube-proxy runs.
pub(crate) fn kube_proxy(section: &ClusterSection, cni: &CniPlan) -> Decided<bool> {
    match cni {
        CniPlan::Cilium => Decided::or(&section.kube_proxy, false, "Cilium takes its place"),
        _ => Decided::or(&section.kube_proxy, true, "Talos runs it"),
    }
}

impl std::fmt::Display for CniPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flannel(None) => f.pad("flannel"),
            Self::Flannel(Some(link)) => f.pad(&format!("flannel on {link}")),
            Self::Cilium => f.pad("cilium"),
            Self::None => f.pad("none"),
            Self::Manifest(path) => f.pad(path),
        }
    }
}
