//! State of machines at their providers.

use std::collections::BTreeMap;
use std::sync::Arc;

use ichor_core::bringup::{AddressOrigin, AddressStage, NodeAddress};
use ichor_core::machines::Drives;
use ichor_core::probe::ProbeError;
use ichor_core::verify::{MachinePower, Probed};
use tokio::task::spawn_blocking;

use crate::chain::chain;
use crate::machines::{Fleet, MachineError, MachineProvider, MachineState};
use crate::project::Project;

/// Provider of each node's machine, or why it cannot be queried. Nodes without a provider are missing.
pub(crate) struct MachineProviders(BTreeMap<String, Probed<Arc<dyn MachineProvider>>>);

impl MachineProviders {
    /// Creates the providers of a cluster.
    pub(crate) fn from_project(project: &Project) -> Self {
        let names = project.plan.nodes.iter().map(|node| (node.name.to_string(), node.vm.is_some()));
        Self(match Fleet::from_plan(project.name(), &project.plan) {
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

    /// Queries a node's machine on a blocking thread.
    pub(super) async fn query(&self, node: &str) -> ProviderReport {
        let provider = match self.0.get(node) {
            Some(Ok(provider)) => provider.clone(),
            Some(Err(why)) => return ProviderReport::only(Err(why.clone())),
            None => return ProviderReport::default(),
        };
        let (name, place) = (node.to_owned(), provider.location());
        let queried = spawn_blocking(move || query_provider(&*provider, &name)).await;
        queried
            .unwrap_or_else(|error| ProviderReport::only(Err(ProbeError::new(format!("{place}: {error}")))))
    }
}

/// State of a machine at its provider.
#[derive(Default)]
pub(super) struct ProviderReport {
    /// Existence and power state.
    pub machine: Option<Probed<MachinePower>>,
    /// Contents of its removable drives.
    pub drives: Option<Probed<Drives>>,
    /// Its addresses.
    pub addresses: Vec<NodeAddress>,
}

impl ProviderReport {
    fn only(machine: Probed<MachinePower>) -> Self {
        Self { machine: Some(machine), ..Self::default() }
    }
}

fn query_provider(provider: &dyn MachineProvider, node: &str) -> ProviderReport {
    let why = |error: MachineError| ProbeError::new(format!("{}: {}", provider.location(), chain(&error)));
    let (machine, on) = match provider.state(node) {
        Ok(MachineState::Absent) => return ProviderReport::only(Ok(MachinePower::Absent)),
        Ok(MachineState::Foreign(whose)) => return ProviderReport::only(Ok(MachinePower::Foreign(whose))),
        Err(error) => return ProviderReport::only(Err(why(error))),
        Ok(MachineState::Off) => (MachinePower::Off, false),
        Ok(MachineState::On) => (MachinePower::On, true),
    };
    let found = if on && provider.capabilities().reports_addresses {
        provider.addresses(node)
    } else {
        Ok(Vec::new())
    };
    let contact =
        |address| NodeAddress { address, stage: AddressStage::Dhcp, source: AddressOrigin::Hypervisor };
    // Addresses are optional: the machine may answer at an address of the cluster file.
    let addresses = found.unwrap_or_default().into_iter().map(contact).collect();
    ProviderReport {
        machine: Some(Ok(machine)),
        drives: provider.drives(node).map_err(why).transpose(),
        addresses,
    }
}
