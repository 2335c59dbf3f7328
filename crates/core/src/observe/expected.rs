//! What the file says a node should be.

use super::ExpectedImage;
use crate::cluster::section::Role;
use crate::plan::NodePlan;
use ichor_bgp::setting::Carrier;
use ichor_values::TalosVersion;

/// What a node should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedNode {
    /// Its name.
    pub name: String,
    /// What it is in the cluster.
    pub role: Role,
    /// Its release.
    pub talos: TalosVersion,
    /// The extensions it needs, by the names they give themselves.
    pub extensions: Vec<String>,
    /// The image it should run.
    pub image: ExpectedImage,
    /// The service that routes, if there is one.
    pub service: Option<String>,
    /// Whether sessions are told: by the agent, or by Talos itself.
    pub sessions: bool,
}

impl ExpectedNode {
    /// Of a node.
    pub fn of(node: &NodePlan) -> Self {
        let carried = |carrier| {
            let routing = node.routing.as_deref();
            routing.and_then(|it| it.carrier.as_ref()).is_some_and(|it| it.value == carrier)
        };
        Self {
            name: node.name.to_string(),
            role: node.role,
            talos: node.talos.value.clone(),
            extensions: node.boot.extensions.iter().map(|it| short(&it.value)).collect(),
            image: ExpectedImage::planned(node),
            service: routing_service(node),
            sessions: node.routing.is_some() && !carried(Carrier::Official),
        }
    }
}

/// What an extension calls itself: the official ones are called after whoever makes them, and call themselves by the rest.
pub(super) fn short(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

/// The service of Talos that runs a node's routing daemon; none where there is none, or where Talos routes by itself.
pub fn routing_service(node: &NodePlan) -> Option<String> {
    let service = node.routing.as_deref()?.service.as_ref()?;
    Some(format!("ext-{}", service.value))
}
