//! Kubernetes manifests: objects for the speaker, and kube-vip, which is part of the Talos configuration.
//!
//! The speaker's end of the link mirrors the node's: AS numbers, addresses, families, timers and BFD come from the same
//! [`BgpModel`]s as the daemon's configuration. Nodes with identical links share objects (`SpeakerLink`).

mod cilium;
pub(super) mod kube_vip;
mod metallb;

use serde_json::{Value, json};

use super::artifact::Artifact;
use crate::plan::{NodePlan, Plan};
use crate::routing::BgpTopology;
use ichor_bgp::model::{Bfd, BgpModel, Family, Workload, workload};
use ichor_bgp::setting::{MetallbMode, Speaker};
use ichor_values::Issue;
use ichor_values::go_yaml::emit::emit_all;

/// Name of Cilium's inline manifest.
pub(crate) const CILIUM: &str = "cilium";
/// Name of the inline manifest with Cilium's BGP objects.
pub(crate) const CILIUM_BGP: &str = "cilium-bgp";
/// Name of kube-vip's inline manifest.
pub(crate) const KUBE_VIP: &str = "kube-vip";

/// The files below `manifests/`, or all errors.
pub fn render(plan: &Plan, network: &BgpTopology) -> Result<Vec<Artifact>, Vec<Issue>> {
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    let mut file = |name: &str, objects: Vec<Value>| {
        if !objects.is_empty() {
            files.push(Artifact::public(format!("manifests/{name}.yaml"), emit_all(&objects)));
        }
    };
    let links = links(plan, network);
    match metallb::objects(plan, &links_of(&links, Speaker::Metallb)) {
        Ok(objects) => file("metallb", objects),
        Err(error) => errors.push(error),
    }
    file("cilium", cilium::objects(plan, &links_of(&links, Speaker::Cilium)));
    if errors.is_empty() { Ok(files) } else { Err(errors) }
}

/// Cilium's BGP objects; none if no node has it as speaker.
pub(super) fn cilium_bgp(plan: &Plan, network: &BgpTopology) -> Vec<Value> {
    cilium::objects(plan, &links_of(&links(plan, network), Speaker::Cilium))
}

/// A link to a speaker, and the nodes with an identical link.
struct SpeakerLink<'n> {
    /// The BGP instance toward the speaker.
    workload: &'n Workload,
    /// BGP implementation of MetalLB.
    mode: MetallbMode,
    /// Prefixes accepted from the speaker; empty means everything.
    allow: &'n [ipnet::IpNet],
    /// The nodes.
    nodes: Vec<&'n NodePlan>,
    /// Whether every node of the cluster has it.
    everywhere: bool,
}

/// Settings of a link that its objects depend on.
#[derive(PartialEq)]
struct SpeakerLinkKey<'n> {
    speaker: Speaker,
    mode: MetallbMode,
    ours: &'n workload::SessionEndpoint,
    theirs: &'n workload::SessionEndpoint,
    families: &'n [Family],
    bfd: Option<Bfd>,
    timers: (u16, u16),
    allow: &'n [ipnet::IpNet],
}

fn links<'n>(plan: &'n Plan, network: &'n BgpTopology) -> Vec<SpeakerLink<'n>> {
    let mut links: Vec<(SpeakerLinkKey<'n>, SpeakerLink<'n>)> = Vec::new();
    let mut nodes = plan.nodes.iter();
    for model in &network.nodes {
        // Both are in the order of the file.
        let Some(node) = nodes.find(|node| node.name == model.name) else { continue };
        let Some((key, workload)) = link_key(model, node) else { continue };
        match links.iter_mut().find(|(other, _)| *other == key) {
            Some((_, link)) => link.nodes.push(node),
            None => {
                let (mode, allow) = (key.mode, key.allow);
                links
                    .push((key, SpeakerLink { workload, mode, allow, nodes: vec![node], everywhere: false }));
            }
        }
    }
    let mut links: Vec<_> = links.into_iter().map(|(_, link)| link).collect();
    for link in &mut links {
        link.everywhere = link.nodes.len() == plan.nodes.len();
    }
    links
}

fn link_key<'n>(model: &'n BgpModel, node: &'n NodePlan) -> Option<(SpeakerLinkKey<'n>, &'n Workload)> {
    let plan = node.routing.as_deref()?.workload.as_ref()?;
    let workload = model.workload.as_ref()?;
    let key = SpeakerLinkKey {
        speaker: workload.speaker,
        mode: plan.mode.value,
        ours: &workload.ours,
        theirs: &workload.theirs,
        families: &workload.families,
        bfd: workload.bfd,
        timers: workload.timers,
        allow: &plan.allow.value,
    };
    Some((key, workload))
}

fn links_of<'l, 'n>(links: &'l [SpeakerLink<'n>], speaker: Speaker) -> Vec<&'l SpeakerLink<'n>> {
    links.iter().filter(|link| link.workload.speaker == speaker).collect()
}

impl SpeakerLink<'_> {
    /// A selector of its nodes; none for all nodes.
    fn selector(&self) -> Option<Value> {
        let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        let hosts = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": names});
        (!self.everywhere).then(|| json!({"matchExpressions": [hosts]}))
    }
}

/// The name of the `nth` of several objects.
fn numbered_name(name: &str, nth: usize) -> String {
    if nth == 0 { name.to_owned() } else { format!("{name}-{}", nth + 1) }
}
