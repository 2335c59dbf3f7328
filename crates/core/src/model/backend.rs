//! The same cluster with another routing backend.

use super::Cluster;
use crate::cluster::section::Routing;
use ichor_values::Backend;
use ichor_values::key::Key;

impl Cluster {
    /// The cluster as it would be if these nodes had `backend`, and nothing were written for the daemon they have now.
    #[must_use]
    pub fn with_backend(&self, backend: Backend, nodes: &[usize]) -> Self {
        let mut changed = Self {
            file: self.file.clone(),
            talos: self.talos.clone(),
            nodes: self.nodes.clone(),
            ground: self.ground.clone(),
            bases: self.bases.clone(),
            base_of: self.base_of.clone(),
            by_name: std::sync::OnceLock::new(),
        };
        for &nth in nodes {
            let node = &mut changed.nodes[nth];
            let place = node.place;
            let own = node.value.rung.routing.get().cloned().unwrap_or_default();
            let routing = Routing {
                backend: Key::set(backend, place),
                carrier: Key::cleared(place),
                version: Key::cleared(place),
                service: Key::cleared(place),
                template: Key::cleared(place),
                daemons: Key::cleared(place),
                ..own
            };
            node.value.rung.routing = Key::set(routing, place);
        }
        changed
    }
}
