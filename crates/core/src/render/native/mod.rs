//! BGP by Talos itself, from 1.14 on: documents instead of a daemon's files.
//!
//! [`documents`] gives a node's instances ([`instance`]), with what crosses between them ([`selectors`]) and the [`link`] to the
//! speaker, which also nodes with Talos' official extension have. Ports, their aliases, loopbacks and dummies are among the
//! node's own links ([`render::machine::network`](crate::render::machine::network)).
//!
//! Not here: what Talos cannot do at all ([`plan::backend`](crate::plan::backend)).

pub mod instance;
pub mod link;
pub mod selectors;

use serde_json::{Map, Value, json};

use crate::plan::{ConfigStage, LinkPlan, NodePlan};
use ichor_bgp::model::{BgpModel, RoutingDomain};
use ichor_values::{Issue, LinkName};

/// So many prefixes are a list that a person can still read; more come of a gate that refuses nodes one by one.
const MOST_SELECTORS: usize = 512;

/// The documents of a node, or why there are none.
pub fn documents(model: &BgpModel, node: &NodePlan, stage: ConfigStage) -> Result<Vec<Value>, Vec<Issue>> {
    let links = node.links(stage);
    let announced = announced(model, &links);
    let Some(workload) = &model.workload else {
        return Ok(vec![instance::fabric(model, &announced, &[])]);
    };
    let RoutingDomain::Vrf { name, .. } = &workload.domain else {
        let reason = "Talos' own BGP takes a speaker in a VRF only; use `isolation: vrf`, or another backend";
        return Err(vec![Issue::error("routing.workload.isolation", reason)]);
    };
    let imports = selectors::selectors(&workload.filter, &workload.families);
    // A node that is drained takes nothing on purpose.
    let drained = workload.filter.0.is_empty();
    if (imports.is_empty() && !drained) || imports.len() > MOST_SELECTORS {
        let reason = format!(
            "what may come from the speaker makes {} prefixes for Talos' own BGP, which takes 1 to {MOST_SELECTORS}; \
             write the prefixes that are meant, or use `backend: frr`",
            imports.len()
        );
        return Err(vec![Issue::error("routing.workload.allow", reason)]);
    }
    let mut documents = link::documents(workload, node.speaker_mtu(&links));
    documents.push(instance::workload(model, workload, name));
    documents.push(instance::fabric(model, &announced, &imports));
    Ok(documents)
}

/// The link to the speaker of a node whose daemon has no agent beside it.
pub(crate) fn speaker_link(model: &BgpModel, node: &NodePlan, stage: ConfigStage) -> Vec<Value> {
    let Some(workload) = &model.workload else { return Vec::new() };
    link::documents(workload, node.speaker_mtu(&node.links(stage)))
}

fn document(kind: &str, name: &str, body: Map<String, Value>) -> Value {
    let mut document = json!({"apiVersion": "v1alpha1", "kind": kind, "name": name});
    if let Value::Object(document) = &mut document {
        document.extend(body);
    }
    document
}

/// The links whose addresses are announced, each once. Talos waits with the whole instance for one that is not there, as an
/// anycast link is not before the installation.
fn announced<'m>(model: &'m BgpModel, links: &[LinkPlan]) -> Vec<&'m LinkName> {
    let mut names: Vec<&LinkName> = Vec::new();
    for announced in &model.fabric.announced {
        let is_there = links.iter().any(|link| link.name == announced.link);
        if is_there && !names.contains(&&announced.link) {
            names.push(&announced.link);
        }
    }
    names
}
