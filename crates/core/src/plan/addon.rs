//! Cluster software that Talos or ichor installs: the CNI and kube-vip.

use std::net::IpAddr;

use super::{Decided, NodePlan};
use crate::cluster::section::{Cilium, ClusterSection, Cni, Role};
use ichor_values::key::List;
use ichor_values::{FilePath, LinkName, Text, WordOrRecord};

/// The CNI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CniPlan {
    /// flannel, on a link if one is set.
    Flannel(Option<LinkName>),
    /// Cilium.
    Cilium,
    /// None, or a CNI that is installed separately.
    None,
    /// A manifest.
    Manifest(String),
}

/// Cilium's chart.
#[derive(Debug)]
pub struct CiliumPlan {
    /// Release of the chart.
    pub version: Decided<String>,
    /// Name of the chart in its repository, or an `oci://` reference.
    pub(crate) chart: Decided<String>,
    /// Repository of the chart.
    pub repository: Decided<String>,
    /// File with Helm values.
    pub values: Option<Decided<FilePath>>,
    /// Manifest rendered elsewhere, instead of the chart.
    pub manifest: Option<Decided<FilePath>>,
}

/// kube-vip, which holds the address of the API.
#[derive(Debug)]
pub struct KubeVipPlan {
    /// The address.
    pub address: Decided<IpAddr>,
    /// Link it is announced on; none if the control planes have their addresses on different links.
    pub(crate) interface: Option<Decided<LinkName>>,
}

/// Decides the CNI.
pub fn cni(section: &ClusterSection) -> Decided<CniPlan> {
    let interface = section.flannel.get().and_then(|flannel| flannel.interface.get()).cloned();
    let Some(cni) = section.cni.at() else {
        return Decided::default(CniPlan::Flannel(interface), "Talos' default pod network");
    };
    let plan = match cni.value {
        WordOrRecord::Word(Cni::Flannel) => CniPlan::Flannel(interface),
        WordOrRecord::Word(Cni::Cilium) => CniPlan::Cilium,
        WordOrRecord::Word(Cni::None) => CniPlan::None,
        WordOrRecord::Record(own) => {
            CniPlan::Manifest(own.manifest.get().map(ToString::to_string).unwrap_or_default())
        }
    };
    Decided::written(plan, cni.place)
}

/// Additional arguments of flannel.
pub(crate) fn flannel_args(section: &ClusterSection) -> Option<Decided<List<Text>>> {
    Decided::from_key(&section.flannel.get()?.args)
}

/// Decides the chart of Cilium; none if Cilium is not the CNI.
pub fn cilium(section: &ClusterSection, cni: &CniPlan) -> Option<CiliumPlan> {
    if *cni != CniPlan::Cilium {
        return None;
    }
    let none = Cilium::default();
    let Cilium { version, values, chart, repository, manifest } = section.cilium.get().unwrap_or(&none);
    Some(CiliumPlan {
        version: Decided::text_or(version, "1.20.1", "supports Kubernetes 1.33 to 1.36"),
        chart: Decided::text_or(chart, "cilium", "the chart's name in Cilium's repository"),
        repository: Decided::text_or(repository, "https://helm.cilium.io/", "Cilium's repository"),
        values: Decided::from_key(values),
        manifest: Decided::from_key(manifest),
    })
}

/// Decides the settings of kube-vip; none if the file does not use it.
pub(crate) fn kube_vip(section: &ClusterSection, nodes: &[NodePlan]) -> Option<KubeVipPlan> {
    let written = section.kube_vip.get()?;
    let address = Decided::from_key(&written.address)?;
    let mut links = nodes.iter().filter(|node| node.role == Role::Controlplane).map(|node| &node.link);
    let first = links.next();
    let common = first.filter(|first| links.all(|link| link.value == first.value)).cloned();
    Some(KubeVipPlan { address, interface: Decided::from_key(&written.interface).or(common) })
}

/// Decides whether kube-proxy runs.
pub(crate) fn kube_proxy(section: &ClusterSection, cni: &CniPlan) -> Decided<bool> {
    match cni {
        CniPlan::Cilium => Decided::from_key_or(&section.kube_proxy, false, "Cilium replaces it"),
        _ => Decided::from_key_or(&section.kube_proxy, true, "Talos runs it"),
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
