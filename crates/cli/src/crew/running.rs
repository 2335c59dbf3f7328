//! What a node runs.

use ichor_core::observe::ExtensionTold;
use ichor_core::upgrade::Running;
use ichor_talos::resource::{ExtensionStatus, MachineStatus};
use ichor_values::TalosVersion;

use super::{Crew, CrewError};
use ichor_client::talos::Node;

impl Crew<'_> {
    /// What a node runs, as far as it tells itself.
    pub(crate) async fn running(&self, name: &str) -> Result<Running, CrewError> {
        let node = self.connect(name).await?;
        let (version, status, extensions) =
            tokio::join!(node.version(), node.get::<MachineStatus>(MachineStatus::ID), extensions(&node));
        let (version, status) = (version?, status?);
        let platform = version.platform.map(|platform| platform.name).unwrap_or_default();
        let version = version.version.unwrap_or_default();
        let release = parse(&version.tag)?;
        let unready = unready(status.as_ref());
        let arch = version.arch;
        Ok(Running { release, platform, arch, unready, kubelet: None, cordoned: false, extensions })
    }

    /// The extensions of a node's image; none where it does not tell them.
    pub(crate) async fn extensions(&self, name: &str) -> Option<Vec<ExtensionTold>> {
        extensions(&self.connect(name).await.ok()?).await
    }
}

async fn extensions(node: &Node) -> Option<Vec<ExtensionTold>> {
    let all = node.list::<ExtensionStatus>().await.ok()?;
    Some(all.into_iter().map(|(_, it)| ExtensionTold::from(it)).collect())
}

/// The release of a node.
pub(super) async fn release(node: &Node) -> Result<TalosVersion, CrewError> {
    let version = node.version().await?;
    parse(&version.version.unwrap_or_default().tag)
}

fn parse(tag: &str) -> Result<TalosVersion, CrewError> {
    TalosVersion::parse(tag).map_err(|_| CrewError::NoRelease(tag.to_owned()))
}

/// What a machine lacks to run and be ready.
pub(super) fn unready(status: Option<&MachineStatus>) -> Option<String> {
    let Some(status) = status else { return Some("it does not say what it does".to_owned()) };
    if status.stage == "running" && status.status.ready {
        return None;
    }
    let unmet = status.status.unmet_conditions.iter().map(ToString::to_string);
    Some(std::iter::once(status.stage.clone()).chain(unmet).collect::<Vec<_>>().join(", "))
}
