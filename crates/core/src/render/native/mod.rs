//! Talos' own BGP, from 1.14 on: documents instead of files of a daemon.
//!
//! [`documents`] are a node's instances ([`instance`]), the prefixes imported between them ([`selectors`]) and the [`link`] to
//! the speaker, which nodes with Talos' official extension have as well. Ports, their aliases, loopbacks and dummies are links
//! of the node ([`render::machine::network`](crate::render::machine::network)).
//!
//! Not here: features that Talos does not support ([`plan::backend`](crate::plan::backend)).

pub mod instance;
pub mod link;
pub mod selectors;

use serde_json::{Map, Value, json};

use crate::plan::{ConfigStage, LinkPlan, NodePlan};
use ichor_bgp::model::{BgpModel, RoutingDomain};
use ichor_values::{Issue, LinkName};

/// Maximum number of prefixes, which is still readable; more result from a filter that rejects single addresses.
const MOST_SELECTORS: usize = 512;

/// The BGP documents of a node, or the errors.
pub fn documents(model: &BgpModel, node: &NodePlan, stage: ConfigStage) -> Result<Vec<Value>, Vec<Issue>> {
    let links = node.links(stage);
    let announced = announced_links(model, &links);
    let Some(workload) = &model.workload else {
        return Ok(vec![instance::fabric(model, &announced, &[])]);
    };
    let RoutingDomain::Vrf { name, .. } = &workload.domain else {
        let reason =
            "Talos' own BGP supports a speaker only in a VRF; use `isolation: vrf`, or another backend";
        return Err(vec![Issue::error("routing.workload.isolation", reason)]);
    };
    let imports = selectors::selectors(&workload.filter, &workload.families);
    // A drained node intentionally imports nothing.
    let drained = workload.filter.0.is_empty();
    if (imports.is_empty() && !drained) || imports.len() > MOST_SELECTORS {
        let reason = format!(
            "the prefixes accepted from the speaker result in {} import rules of Talos' own BGP, outside 1 to \
                         {MOST_SELECTORS}; list the prefixes, or use `backend: frr`",
            imports.len()
        );
        return Err(vec![Issue::error("routing.workload.allow", reason)]);
    }
    let mut documents = link::documents(workload, node.speaker_mtu(&links));
    documents.push(instance::workload(model, workload, name));
    documents.push(instance::fabric(model, &announced, &imports));
    Ok(documents)
}

/// The link to the speaker of a node without the agent.
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

/// The links with announced addresses. A missing link, such as an anycast link before the installation, is omitted, because
/// Talos does not start the instance without it.
fn announced_links<'m>(model: &'m BgpModel, links: &[LinkPlan]) -> Vec<&'m LinkName> {
    let mut names: Vec<&LinkName> = Vec::new();
    for announced in &model.fabric.announced {
        let exists = links.iter().any(|link| link.name == announced.link);
        if exists && !names.contains(&&announced.link) {
            names.push(&announced.link);
        }
    }
    names
}
