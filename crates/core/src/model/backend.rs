//! A cluster with another routing backend.

use super::Cluster;
use crate::cluster::section::Routing;
use ichor_values::Backend;
use ichor_values::key::Key;

impl Cluster {
    /// The cluster with `backend` on these nodes, without the settings of their current daemon.
    #[must_use]
    pub(crate) fn with_backend(&self, backend: Backend, nodes: &[usize]) -> Self {
        let mut all = self.nodes.clone();
        for &nth in nodes {
            let node = &mut all[nth];
            let place = node.place;
            let own = node.value.settings.routing.get().cloned().unwrap_or_default();
            let routing = Routing {
                backend: Key::set(backend, place),
                carrier: Key::cleared(place),
                version: Key::cleared(place),
                service: Key::cleared(place),
                template: Key::cleared(place),
                daemons: Key::cleared(place),
                ..own
            };
            node.value.settings.routing = Key::set(routing, place);
        }
        Self::from_nodes(self.file.clone(), self.talos.clone(), all)
    }
}
