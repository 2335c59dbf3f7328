//! Installed software of nodes.

use ichor_core::observe::InstalledExtension;
use ichor_core::upgrade::RunningNode;
use ichor_talos::resource::{ExtensionStatus, MachineStatus};
use ichor_values::TalosVersion;

use super::{ClusterClient, ClusterError};
use ichor_client::talos::NodeClient;

impl ClusterClient<'_> {
    /// Queries the installed software of a node.
    pub(crate) async fn installed_software(&self, name: &str) -> Result<RunningNode, ClusterError> {
        let node = self.connect(name).await?;
        let (version, status, extensions) =
            tokio::join!(node.version(), node.get::<MachineStatus>(MachineStatus::ID), extensions(&node));
        let (version, status) = (version?, status?);
        let platform = version.platform.map(|platform| platform.name).unwrap_or_default();
        let version = version.version.unwrap_or_default();
        let release = parse_release(&version.tag)?;
        let unready = unready_reason(status.as_ref());
        let arch = version.arch;
        Ok(RunningNode { release, platform, arch, unready, kubelet: None, cordoned: false, extensions })
    }

    /// Extensions of a node's image; none if it does not report them.
    pub(crate) async fn extensions(&self, name: &str) -> Option<Vec<InstalledExtension>> {
        extensions(&self.connect(name).await.ok()?).await
    }
}

async fn extensions(node: &NodeClient) -> Option<Vec<InstalledExtension>> {
    let all = node.list::<ExtensionStatus>().await.ok()?;
    Some(all.into_iter().map(|(_, it)| InstalledExtension::from(it)).collect())
}

/// Talos release of a node.
pub(super) async fn talos_release(node: &NodeClient) -> Result<TalosVersion, ClusterError> {
    let version = node.version().await?;
    parse_release(&version.version.unwrap_or_default().tag)
}

fn parse_release(tag: &str) -> Result<TalosVersion, ClusterError> {
    TalosVersion::parse(tag).map_err(|_| ClusterError::InvalidRelease(tag.to_owned()))
}

/// Reason why a machine is not ready.
pub(super) fn unready_reason(status: Option<&MachineStatus>) -> Option<String> {
    let Some(status) = status else { return Some("no machine status".to_owned()) };
    if status.stage == "running" && status.status.ready {
        return None;
    }
    let unmet = status.status.unmet_conditions.iter().map(ToString::to_string);
    Some(std::iter::once(status.stage.clone()).chain(unmet).collect::<Vec<_>>().join(", "))
}
