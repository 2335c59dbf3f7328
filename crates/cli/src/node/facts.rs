//! By what a machine is known.

use ichor_core::bringup::Facts;
use ichor_core::cluster::value::Mac;
use ichor_core::talos::resource::{HostnameStatus, LinkStatus, SystemInformation};

use super::{Node, NodeError};

impl Node {
    /// What the machine tells of itself: ports, UUID, name, and the key it showed.
    pub(crate) async fn facts(&self) -> Result<Facts, NodeError> {
        let (links, system, name) = tokio::join!(
            self.list::<LinkStatus>(),
            self.get::<SystemInformation>(SystemInformation::ID),
            self.get::<HostnameStatus>(HostnameStatus::ID)
        );
        let ports = links?.into_iter().filter(|(_, link)| link.is_port());
        let mut macs: Vec<Mac> = ports.filter_map(|(_, link)| Mac::parse(link.mac()?).ok()).collect();
        macs.sort_unstable();
        let uuid = system?.map(|system| system.uuid).filter(|uuid| !uuid.is_empty());
        let hostname = name?.map(|name| name.hostname).filter(|name| !name.is_empty());
        Ok(Facts { macs, uuid, fingerprint: Some(self.peer().pin.to_string()), hostname })
    }
}
