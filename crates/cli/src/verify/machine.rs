//! Machines, as whoever provides them says.

use std::collections::BTreeMap;
use std::sync::Arc;

use ichor_core::machines::Drives;
use ichor_core::verify::{Known, MachineTold};
use tokio::task::spawn_blocking;

use crate::machines::{Fleet, MachineError, Machines, State, chain};
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

    /// What there is of a node's machine, and what is in its drives. Providers block.
    pub(super) async fn ask(&self, node: &str) -> (Option<Known<MachineTold>>, Option<Known<Drives>>) {
        let provider = match self.0.get(node) {
            Some(Ok(provider)) => provider.clone(),
            Some(Err(why)) => return (Some(Err(why.clone())), None),
            None => return (None, None),
        };
        let (name, place) = (node.to_owned(), provider.place());
        match spawn_blocking(move || look(&*provider, &name)).await {
            Ok((machine, drives)) => (Some(machine), drives),
            Err(error) => (Some(Err(format!("{place}: {error}"))), None),
        }
    }
}

fn look(provider: &dyn Machines, node: &str) -> (Known<MachineTold>, Option<Known<Drives>>) {
    let why = |error: MachineError| format!("{}: {}", provider.place(), chain(&error));
    let told = match provider.state(node) {
        Ok(State::Absent) => return (Ok(MachineTold::Absent), None),
        Ok(State::Foreign(whose)) => return (Ok(MachineTold::Foreign(whose)), None),
        Err(error) => return (Err(why(error)), None),
        Ok(State::Off) => MachineTold::Off,
        Ok(State::On) => MachineTold::On,
    };
    (Ok(told), provider.drives(node).map_err(why).transpose())
}
