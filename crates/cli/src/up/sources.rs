//! Sources of machine addresses besides the cluster file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ichor_core::bringup::contact::node_addresses;
use ichor_core::bringup::leases::DhcpLease;
use ichor_core::bringup::terraform::{self, OutputError};
use ichor_core::bringup::{AddressOrigin, AddressStage, MachineIdentity, NodeAddress};
use ichor_core::plan::{NodePlan, Plan};
use ichor_talos::peer::Pin;
use ipnet::IpNet;

use super::leases::{self, LeasesError};
use crate::argument::ArgumentError;
use crate::project::UnknownNode;

/// Errors of address sources.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}", path.display())]
    Terraform { path: PathBuf, source: Box<OutputError> },
    #[error(transparent)]
    Node(#[from] UnknownNode),
    #[error(transparent)]
    Leases(#[from] LeasesError),
}

/// Command-line options for finding machines.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Finding machines")]
pub(crate) struct SourceArgs {
    /// Address of a node's machine while it boots (repeatable)
    #[arg(long, value_name = "NODE=ADDRESS", value_parser = node_address)]
    node_address: Vec<(String, IpAddr)>,
    /// Certificate fingerprint on the console of a node (repeatable)
    #[arg(long, value_name = "NODE=FINGERPRINT", value_parser = fingerprint)]
    fingerprint: Vec<(String, Pin)>,
    /// Search the neighbour table of this prefix by MAC address (repeatable)
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) neighbours: Vec<IpNet>,
    /// Search this lease file of dnsmasq or Kea by MAC address (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) leases: Vec<PathBuf>,
    /// Read addresses from `terraform output -json`
    ///
    /// Uses the outputs `external_addresses`, `dhcp_addresses` and `macs`, each a map by node.
    #[arg(long, value_name = "FILE")]
    terraform: Option<PathBuf>,
}

/// Addresses and identity of a node's machine before it is observed.
pub(crate) struct KnownMachine {
    pub contacts: Vec<NodeAddress>,
    pub identity: MachineIdentity,
}

impl SourceArgs {
    /// Known addresses and identities of all nodes, in the order of the plan.
    pub(crate) fn known(&self, plan: &Plan) -> Result<Vec<KnownMachine>, SourceError> {
        let outputs = match &self.terraform {
            Some(path) => outputs(path)?,
            None => terraform::TerraformOutputs::default(),
        };
        let named = self.node_address.iter().map(|(node, _)| node);
        let named = named.chain(self.fingerprint.iter().map(|(node, _)| node));
        for name in named.chain(outputs.external.keys()).chain(outputs.dhcp.keys()) {
            if plan.node(name).is_none() {
                return Err(UnknownNode(name.clone()).into());
            }
        }
        let leases = leases::read(&self.leases)?;
        Ok(plan.nodes.iter().map(|node| self.known_machine(node, &outputs, &leases)).collect())
    }

    fn known_machine(
        &self,
        node: &NodePlan,
        outputs: &terraform::TerraformOutputs,
        leases: &[DhcpLease],
    ) -> KnownMachine {
        let name = node.name.as_str();
        let given = self.node_address.iter().filter(|(node, _)| node == name);
        let mut found: Vec<NodeAddress> = given
            .map(|(_, address)| NodeAddress {
                address: *address,
                stage: AddressStage::Dhcp,
                source: AddressOrigin::Caller,
            })
            .collect();
        let contacts_at = |addresses: &BTreeMap<String, Vec<IpAddr>>, stage| {
            let of_node = addresses.get(name).into_iter().flatten();
            of_node
                .map(|address| NodeAddress { address: *address, stage, source: AddressOrigin::Terraform })
                .collect::<Vec<_>>()
        };
        found.extend(contacts_at(&outputs.external, AddressStage::External));
        found.extend(contacts_at(&outputs.dhcp, AddressStage::Dhcp));
        let mut identity = MachineIdentity::from_plan(node);
        if let Some(macs) = outputs.macs.get(name)
            && identity.macs.is_empty()
        {
            identity.macs.clone_from(macs);
        }
        found.extend(leases::contacts(leases, &identity));
        let pin = self.fingerprint.iter().find(|(node, _)| node == name);
        identity.fingerprint = pin.map(|(_, pin)| pin.to_string());
        KnownMachine { contacts: node_addresses(node, &found), identity }
    }
}

fn outputs(path: &Path) -> Result<terraform::TerraformOutputs, SourceError> {
    let text =
        fs::read_to_string(path).map_err(|source| SourceError::Read { path: path.to_owned(), source })?;
    terraform::parse_outputs(&text)
        .map_err(|source| SourceError::Terraform { path: path.to_owned(), source: Box::new(source) })
}

/// Parses a prefix argument.
pub(crate) fn prefix(text: &str) -> Result<IpNet, ArgumentError> {
    text.parse().map_err(|_| ArgumentError::want("a prefix, such as 10.0.0.0/24"))
}

fn node_address(text: &str) -> Result<(String, IpAddr), ArgumentError> {
    let (node, address) = text.split_once('=').ok_or(ArgumentError::want("NODE=ADDRESS"))?;
    let address = address.parse().map_err(|_| ArgumentError::Address(address.to_owned()))?;
    Ok((node.to_owned(), address))
}

fn fingerprint(text: &str) -> Result<(String, Pin), ArgumentError> {
    let (node, pin) = text.split_once('=').ok_or(ArgumentError::want("NODE=FINGERPRINT"))?;
    let pin = Pin::parse(pin).ok_or(ArgumentError::Fingerprint)?;
    Ok((node.to_owned(), pin))
}
