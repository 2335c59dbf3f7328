//! Images of a node from the Image Factory.

use crate::plan::NodePlan;
use ichor_talos::asset::{AssetRequest, Factory};

/// The request to the Image Factory for a node's images.
pub(crate) fn asset_request<'n>(node: &'n NodePlan, id: &'n str) -> AssetRequest<'n> {
    AssetRequest {
        id,
        talos: &node.talos.value,
        platform: node.platform.value.word(),
        arch: node.arch.value.word(),
        secure_boot: node.boot.secure_boot.value,
    }
}

/// The Image Factory of a node.
pub fn factory(node: &NodePlan) -> Factory {
    Factory::new(&node.boot.factory.value)
}
