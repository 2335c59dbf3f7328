//! The images of a node, as the Image Factory is asked for them.

use crate::plan::NodePlan;
use ichor_talos::asset::{FACTORY, Factory, Order};

/// What is asked of the Image Factory for a node.
pub fn order<'n>(node: &'n NodePlan, id: &'n str) -> Order<'n> {
    Order {
        id,
        talos: &node.talos.value,
        platform: node.platform.value.word(),
        arch: node.arch.value.word(),
        secure_boot: secure_boot(node),
    }
}

/// The Image Factory of a node.
pub fn factory(node: &NodePlan) -> Factory {
    let written = node.settings.image.get().and_then(|image| image.factory.get());
    Factory::new(written.map_or(FACTORY, |url| url.as_str()))
}

/// Whether a node boots with secure boot.
pub fn secure_boot(node: &NodePlan) -> bool {
    node.settings.image.get().and_then(|image| image.secure_boot.value()).unwrap_or(false)
}
