//! Machines, as whoever provides them says.

use std::collections::BTreeMap;
use std::sync::Arc;

use ichor_core::bringup::{Contact, Source, Stage};
use ichor_core::machines::Drives;
use ichor_core::probe::ProbeError;
use ichor_core::verify::{Known, MachineTold};
use tokio::task::spawn_blocking;

use crate::chain::chain;
use crate::machines::{Fleet, MachineError, Machines, State};
use crate::project::Project;

/// Who provides the machine of each node, or why that cannot be asked; nobody for those that others switch on.
pub(crate) struct Providers(BTreeMap<String, Known<Arc<dyn Machines>>>);

impl Providers {
    /// Of the machines of a cluster.
    pub(crate) fn of(project: &Project) -> Self {
        let names = project.plan.nodes.iter().map(|node| (node.name.to_string(), node.vm.is_some()));
        Self(match Fleet::of(project.name(), &project.plan) {
            Ok(fleet) => {
                let provided =
                    names.filter_map(|(name, _)| fleet.provider(&name).cloned().map(|it| (name, Ok(it))));
                provided.collect()
            }
            Err(obstacles) => {
                let why: Vec<_> = obstacles.iter().map(ToString::to_string).collect();
                let why = ProbeError::new(why.join("; "));
                names.filter(|(_, vm)| *vm).map(|(name, _)| (name, Err(why.clone()))).collect()
            }
        })
    }

    /// What there is of a node's machine. Providers block.
    pub(super) async fn ask(&self, node: &str) -> Told {
        let provider = match self.0.get(node) {
            Some(Ok(provider)) => provider.clone(),
            Some(Err(why)) => return Told::only(Err(why.clone())),
            None => return Told::default(),
        };
        let (name, place) = (node.to_owned(), provider.place());
        let looked = spawn_blocking(move || look(&*provider, &name)).await;
        looked.unwrap_or_else(|error| Told::only(Err(ProbeError::new(format!("{place}: {error}")))))
    }
}

/// What a provider says of a machine.
#[derive(Default)]
pub(super) struct Told {
    /// Whether it is there and on.
    pub machine: Option<Known<MachineTold>>,
    /// What is in its drives.
    pub drives: Option<Known<Drives>>,
    /// Where it is.
    pub addresses: Vec<Contact>,
}

impl Told {
    fn only(machine: Known<MachineTold>) -> Self {
        Self { machine: Some(machine), ..Self::default() }
    }
}

fn look(provider: &dyn Machines, node: &str) -> Told {
    let why = |error: MachineError| ProbeError::new(format!("{}: {}", provider.place(), chain(&error)));
    let (machine, on) = match provider.state(node) {
        Ok(State::Absent) => return Told::only(Ok(MachineTold::Absent)),
        Ok(State::Foreign(whose)) => return Told::only(Ok(MachineTold::Foreign(whose))),
        Err(error) => return Told::only(Err(why(error))),
        Ok(State::Off) => (MachineTold::Off, false),
        Ok(State::On) => (MachineTold::On, true),
    };
    let found = if on && provider.powers().addresses { provider.addresses(node) } else { Ok(Vec::new()) };
    let contact = |address| Contact { address, stage: Stage::Dhcp, source: Source::Hypervisor };
    // Where it is nobody has to know: it may answer at an address of the file.
    let addresses = found.unwrap_or_default().into_iter().map(contact).collect();
    Told { machine: Some(Ok(machine)), drives: provider.drives(node).map_err(why).transpose(), addresses }
}
