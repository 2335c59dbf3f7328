//! Machines, as whoever provides them says.

use std::collections::BTreeMap;
use std::sync::Arc;

use ichor_core::verify::{Known, MachineTold};
use tokio::task::spawn_blocking;

use crate::machines::{Fleet, Machines, State};
use crate::project::Project;

/// Who provides the machine of each node, or why that cannot be asked; nobody for those that others switch on.
pub(crate) struct Providers(BTreeMap<String, Known<Arc<dyn Machines>>>);

impl Providers {
    /// Of the machines of a cluster.
    pub(crate) fn of(project: &Project) -> Self {
        let names = project.plan.nodes.iter().map(|node| (node.name.to_string(), node.vm.is_some()));
        Self(match Fleet::of(project.name(), &project.cluster, &project.plan) {
            Ok(fleet) => {
                let provided =
                    names.filter_map(|(name, _)| fleet.provider(&name).cloned().map(|it| (name, Ok(it))));
                provided.collect()
            }
            Err(obstacles) => {
                let why: Vec<_> =
                    obstacles.iter().map(|it| format!("{}: {}; {}", it.at, it.what, it.fix)).collect();
                let why = why.join("; ");
                names.filter(|(_, vm)| *vm).map(|(name, _)| (name, Err(why.clone()))).collect()
            }
        })
    }

    /// What there is of a node's machine. Providers block.
    pub(super) async fn ask(&self, node: &str) -> Option<Known<MachineTold>> {
        let provider = match self.0.get(node)? {
            Ok(provider) => provider.clone(),
            Err(why) => return Some(Err(why.clone())),
        };
        let (name, place) = (node.to_owned(), provider.place());
        let told = spawn_blocking(move || provider.state(&name)).await;
        Some(match told {
            Ok(Ok(State::Absent)) => Ok(MachineTold::Absent),
            Ok(Ok(State::Off)) => Ok(MachineTold::Off),
            Ok(Ok(State::On)) => Ok(MachineTold::On),
            Ok(Ok(State::Foreign(whose))) => Ok(MachineTold::Foreign(whose)),
            Ok(Err(error)) => Err(format!("{place}: {error}")),
            Err(error) => Err(format!("{place}: {error}")),
        })
    }
}
