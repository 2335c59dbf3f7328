//! What Kubernetes is told about the routing beneath it: objects for the speaker, and kube-vip, which goes into configurations.
//!
//! The speaker's end of the link is the mirror of the node's: AS numbers, addresses, families, timers and BFD come from the
//! same [`Model`]s as the daemon's configuration. Nodes whose links are alike share their objects (`SpeakerLink`s).

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

/// The name of Cilium's manifest in configurations.
pub(crate) const CILIUM: &str = "cilium";
/// The name of the one with what Cilium is told of BGP.
pub(crate) const CILIUM_BGP: &str = "cilium-bgp";
/// The name of kube-vip's.
pub(crate) const KUBE_VIP: &str = "kube-vip";

/// The files below `manifests/`, or everything that is wrong.
pub fn render(plan: &Plan, network: &BgpTopology) -> Result<Vec<Artifact>, Vec<Issue>> {
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    let mut file = |name: &str, objects: Vec<Value>| {
        if !objects.is_empty() {
            files.push(Artifact::public(format!("manifests/{name}.yaml"), emit_all(&objects)));
        }
    };
    let links = links(plan, network);
    match metallb::objects(plan, &of(&links, Speaker::Metallb)) {
        Ok(objects) => file("metallb", objects),
        Err(error) => errors.push(error),
    }
    file("cilium", cilium::objects(plan, &of(&links, Speaker::Cilium)));
    if errors.is_empty() { Ok(files) } else { Err(errors) }
}

/// What Cilium is told of BGP; nothing where it is nobody's speaker.
pub(super) fn cilium_bgp(plan: &Plan, network: &BgpTopology) -> Vec<Value> {
    cilium::objects(plan, &of(&links(plan, network), Speaker::Cilium))
}

/// A link to a speaker, and the nodes that have one like it.
struct SpeakerLink<'n> {
    /// The node's end of it.
    workload: &'n Workload,
    /// How MetalLB speaks BGP.
    mode: MetallbMode,
    /// What is taken from the speaker; empty is everything.
    allow: &'n [ipnet::IpNet],
    /// The nodes.
    nodes: Vec<&'n NodePlan>,
    /// Whether these are all nodes of the cluster.
    everywhere: bool,
}

/// What objects can tell of a link.
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
        let Some((alike, workload)) = alike(model, node) else { continue };
        match links.iter_mut().find(|(other, _)| *other == alike) {
            Some((_, link)) => link.nodes.push(node),
            None => {
                let (mode, allow) = (alike.mode, alike.allow);
                links.push((
                    alike,
                    SpeakerLink { workload, mode, allow, nodes: vec![node], everywhere: false },
                ));
            }
        }
    }
    let mut links: Vec<_> = links.into_iter().map(|(_, link)| link).collect();
    for link in &mut links {
        link.everywhere = link.nodes.len() == plan.nodes.len();
    }
    links
}

fn alike<'n>(model: &'n BgpModel, node: &'n NodePlan) -> Option<(SpeakerLinkKey<'n>, &'n Workload)> {
    let plan = node.routing.as_deref()?.workload.as_ref()?;
    let workload = model.workload.as_ref()?;
    let alike = SpeakerLinkKey {
        speaker: workload.speaker,
        mode: plan.mode.value,
        ours: &workload.ours,
        theirs: &workload.theirs,
        families: &workload.families,
        bfd: workload.bfd,
        timers: workload.timers,
        allow: &plan.allow.value,
    };
    Some((alike, workload))
}

fn of<'l, 'n>(links: &'l [SpeakerLink<'n>], speaker: Speaker) -> Vec<&'l SpeakerLink<'n>> {
    links.iter().filter(|link| link.workload.speaker == speaker).collect()
}

impl SpeakerLink<'_> {
    /// Which nodes are meant; none where all are.
    fn selector(&self) -> Option<Value> {
        let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        let hosts = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": names});
        (!self.everywhere).then(|| json!({"matchExpressions": [hosts]}))
    }
}

/// A name for the `nth` of several objects.
fn named(name: &str, nth: usize) -> String {
    if nth == 0 { name.to_owned() } else { format!("{name}-{}", nth + 1) }
}
