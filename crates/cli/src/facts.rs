//! Facts that identify a machine.

use ichor_core::bringup::MachineFacts;
use ichor_talos::resource::{HostnameStatus, LinkStatus, SystemInformation};
use ichor_values::Mac;

use ichor_client::talos::{NodeClient, NodeError};

/// Reads the MAC addresses, UUID, hostname and certificate fingerprint of a machine.
pub(crate) async fn read_facts(node: &NodeClient) -> Result<MachineFacts, NodeError> {
    let (links, system, name) = tokio::join!(
        node.list::<LinkStatus>(),
        node.get::<SystemInformation>(SystemInformation::ID),
        node.get::<HostnameStatus>(HostnameStatus::ID)
    );
    let ports = links?.into_iter().filter(|(_, link)| link.is_port());
    let mut macs: Vec<Mac> = ports.filter_map(|(_, link)| Mac::parse(link.mac()?).ok()).collect();
    macs.sort_unstable();
    let uuid = system?.map(|system| system.uuid).filter(|uuid| !uuid.is_empty());
    let hostname = name?.map(|name| name.hostname).filter(|name| !name.is_empty());
    Ok(MachineFacts { macs, uuid, fingerprint: Some(node.peer().pin.to_string()), hostname })
}
