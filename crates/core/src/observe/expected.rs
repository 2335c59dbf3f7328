//! The expected state of a node.

use super::ExpectedImage;
use crate::cluster::section::Role;
use crate::plan::NodePlan;
use ichor_bgp::setting::Carrier;
use ichor_values::TalosVersion;

/// The expected state of a node, from the cluster file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedNode {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its release.
    pub talos: TalosVersion,
    /// The required extensions, by the names in their manifests.
    pub extensions: Vec<String>,
    /// The expected image.
    pub image: ExpectedImage,
    /// The routing service, if any.
    pub service: Option<String>,
    /// Whether the agent or Talos reports BGP sessions.
    pub sessions: bool,
}

impl ExpectedNode {
    /// The expected state of a planned node.
    pub fn from_plan(node: &NodePlan) -> Self {
        let has_extension = |carrier| {
            let routing = node.routing.as_deref();
            routing.and_then(|it| it.carrier.as_ref()).is_some_and(|it| it.value == carrier)
        };
        Self {
            name: node.name.to_string(),
            role: node.role,
            talos: node.talos.value.clone(),
            extensions: node.boot.extensions.iter().map(|it| manifest_name(&it.value)).collect(),
            image: ExpectedImage::from_plan(node),
            service: routing_service(node),
            sessions: node.routing.is_some() && !has_extension(Carrier::Official),
        }
    }
}

/// The name in an extension's manifest: official extensions have their publisher as a prefix only in the file.
pub(super) fn manifest_name(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

/// The Talos service that runs a node's routing daemon; none without one, or with Talos' own BGP.
pub fn routing_service(node: &NodePlan) -> Option<String> {
    let service = node.routing.as_deref()?.service.as_ref()?;
    Some(format!("ext-{}", service.value))
}
