//! Upgrades nodes to the releases of the cluster file, one node at a time.
//!
//! A node with the right release but another image than the file's is upgraded as well.
//!
//! [`plan`] turns the [`UpgradeCandidate`]s into ordered [`UpgradeStep`]s, or returns all blockers. Nodes with the expected
//! release are skipped, so an interrupted run is continued by starting it again. [`verify_upgrade`] checks a node after its
//! reboot.
//!
//! Not here: querying nodes and running the steps.

pub mod installer;

use installer::InstallerError;

use crate::cluster::section::Role;
use crate::etcd::{EtcdCluster, RebootImpact};
use crate::observe::{ExpectedImage, InstalledExtension};
use crate::probe::ProbeError;
use ichor_talos::release::{accepts_kubernetes, at_least, is_newer};
use ichor_values::{Issue, KubernetesVersion, TalosVersion};

/// A node with its observed state.
#[derive(Clone, Debug)]
pub struct UpgradeCandidate {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Whether it is selected; others are only checked.
    pub chosen: bool,
    /// The expected release.
    pub wanted: TalosVersion,
    /// The architecture in the cluster file.
    pub arch: String,
    /// The reference of its installer, or why it is unknown.
    pub installer: Result<String, InstallerError>,
    /// The image of the installer.
    pub image: ExpectedImage,
    /// Its running state, or why that is unknown.
    pub seen: Result<RunningNode, ProbeError>,
}

/// The running state of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningNode {
    /// The release.
    pub release: TalosVersion,
    /// Its platform.
    pub platform: String,
    /// Its architecture.
    pub arch: String,
    /// Its stage and unmet conditions, if it is not ready.
    pub unready: Option<String>,
    /// The release of its kubelet, if registered in Kubernetes.
    pub kubelet: Option<KubernetesVersion>,
    /// Whether an interrupted upgrade left it cordoned.
    pub cordoned: bool,
    /// The extensions of its image; none if unknown.
    pub extensions: Option<Vec<InstalledExtension>>,
}

/// The method of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeMethod {
    /// Before 1.13: a single request drains, installs and reboots.
    Whole,
    /// From 1.13 on: the image is pulled and installed while the node runs; ichor drains and reboots it.
    Parts,
}

/// The upgrade of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeStep {
    /// The node.
    pub node: String,
    /// Its role.
    pub role: Role,
    /// The running release.
    pub from: TalosVersion,
    /// The new release.
    pub to: TalosVersion,
    /// The installer.
    pub image: String,
    /// The difference of its image, if it runs the release already.
    pub other: Option<String>,
    /// The expected image.
    pub(crate) expects: ExpectedImage,
    /// The method.
    pub way: UpgradeMethod,
    /// The impact on etcd.
    pub absence: RebootImpact,
}

/// The plan of an upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpgradePlan {
    /// Nodes to upgrade, in order.
    pub steps: Vec<UpgradeStep>,
    /// Upgraded nodes that an interrupted run left cordoned.
    pub uncordon: Vec<String>,
    /// Upgraded nodes.
    pub done: Vec<String>,
}

impl UpgradePlan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.uncordon.is_empty()
    }
}

/// Plans the upgrade of `all`, or returns all blockers.
///
/// Control planes come first, because servers must not be older than their clients. The leader of etcd is the last of them, so
/// that only one election follows. `outage` permits an outage of etcd in a cluster with two control planes.
pub fn plan(
    all: &[UpgradeCandidate],
    etcd: Option<&EtcdCluster>,
    outage: bool,
) -> Result<UpgradePlan, Vec<Issue>> {
    let (mut plan, mut found) = (UpgradePlan::default(), Vec::new());
    for candidate in ordered(all, etcd).into_iter().filter(|candidate| candidate.chosen) {
        match plan_node(candidate) {
            Ok(None) => {
                plan.done.push(candidate.name.clone());
                if candidate.seen.as_ref().is_ok_and(|running| running.cordoned) {
                    plan.uncordon.push(candidate.name.clone());
                }
            }
            Ok(Some(step)) => plan.steps.push(step),
            Err(mut obstacles) => found.append(&mut obstacles),
        }
    }
    if !plan.steps.is_empty() {
        found.extend(find_cluster_problems(all, etcd));
        for step in &mut plan.steps {
            match reboot_impact(etcd, &step.node, step.role, outage) {
                Ok(absence) => step.absence = absence,
                Err(obstacle) => found.push(obstacle),
            }
        }
    }
    if found.is_empty() { Ok(plan) } else { Err(found) }
}

fn ordered<'c>(all: &'c [UpgradeCandidate], etcd: Option<&EtcdCluster>) -> Vec<&'c UpgradeCandidate> {
    let leader = etcd.and_then(EtcdCluster::leader);
    let mut order: Vec<_> = all.iter().collect();
    order.sort_by_key(|one| (one.role != Role::Controlplane, leader == Some(one.name.as_str())));
    order
}

/// The current problems of the cluster.
fn find_cluster_problems(all: &[UpgradeCandidate], etcd: Option<&EtcdCluster>) -> Vec<Issue> {
    let mut found = Vec::new();
    let fix = "fix this first: ichor upgrades only a healthy cluster; see `ichor status`";
    for candidate in all {
        match &candidate.seen {
            Ok(RunningNode { unready: Some(why), .. }) => {
                found.push(
                    Issue::error(&candidate.name, format!("the node is not ready: {why}")).with_help(fix),
                );
            }
            // Errors of selected nodes were reported before.
            Err(error) if !candidate.chosen => {
                found.push(Issue::error(&candidate.name, error.to_string()).with_help(fix));
            }
            _ => {}
        }
    }
    match etcd {
        Some(etcd) => {
            found.extend(etcd.problems().into_iter().map(|what| Issue::error("etcd", what).with_help(fix)));
        }
        None => found.push(Issue::error("etcd", "no control plane reports its health").with_help(fix)),
    }
    found
}

/// The impact of a node's reboot on etcd, or why it must not reboot.
pub fn reboot_impact(
    etcd: Option<&EtcdCluster>,
    node: &str,
    role: Role,
    outage: bool,
) -> Result<RebootImpact, Issue> {
    let Some(etcd) = etcd.filter(|_| role == Role::Controlplane) else { return Ok(RebootImpact::None) };
    match etcd.reboot_impact(node) {
        Err(error) => Err(Issue::error(node, error.to_string())
            .with_help("restore the other members first")),
        Ok(RebootImpact::Outage) if etcd.members.len() == 2 && !outage => Err(Issue::error(node, "etcd has two members and loses its quorum while one of them reboots; if that one does not come back, the cluster stays down").with_help("add a third control plane first, or pass --outage")),
        Ok(absence) => Ok(absence),
    }
}

/// The step of a node; none if it is up to date.
fn plan_node(candidate: &UpgradeCandidate) -> Result<Option<UpgradeStep>, Vec<Issue>> {
    let UpgradeCandidate { name, wanted, .. } = candidate;
    let running = candidate.seen.as_ref().map_err(|error| {
        vec![
            Issue::error(name, error.to_string())
                .with_help("see `ichor status`; it cannot be upgraded without its API"),
        ]
    })?;
    let is_same = is_same_release(wanted, &running.release);
    let other = running.extensions.as_deref().and_then(|has| candidate.image.difference(has));
    if is_same && other.is_none() {
        return Ok(None);
    }
    let mut found = Vec::new();
    let mut wrong = |what: String, fix: &str| found.push(Issue::error(name, what).with_help(fix));
    let from = &running.release;
    let ((major, minor), (to_major, to_minor)) = (from.minor(), wanted.minor());
    if is_same {
        // Another image of the running release.
    } else if is_newer(from, wanted) {
        wrong(
            format!("{wanted} would be a downgrade from {from}"),
            "set the running release, or reinstall the node with `ichor reset`: Talos can only roll back to its previous release",
        );
    } else if to_major != major || to_minor > minor + 1 {
        wrong(
            format!("from {from} to {wanted} is more than one minor release"),
            &format!("upgrade to v{major}.{} first", minor + 1),
        );
    }
    if running.arch != candidate.arch {
        let what = format!("the machine is {}, but the file has {}", running.arch, candidate.arch);
        wrong(what, "correct `arch`");
    }
    if let Some(kubelet) = &running.kubelet
        && accepts_kubernetes(wanted, kubelet) == Some(false)
    {
        let what = format!("Talos {wanted} does not support Kubernetes {kubelet}, which the node runs");
        wrong(what, "upgrade Kubernetes first, with `talosctl upgrade-k8s`");
    }
    match &candidate.installer {
        Err(error) => wrong(error.to_string(), "set `image.source.installer`"),
        Ok(image) => {
            if let Some(what) = installer::find_mismatch(image, wanted, &running.platform) {
                wrong(what, "correct `platform` or the release, or set another `image.source.installer`");
            }
        }
    }
    match (&candidate.installer, found.is_empty()) {
        (Ok(image), true) => Ok(Some(UpgradeStep {
            node: name.clone(),
            role: candidate.role,
            from: from.clone(),
            to: wanted.clone(),
            image: image.clone(),
            other: other.filter(|_| is_same),
            expects: candidate.image.clone(),
            way: if at_least(from, 13) { UpgradeMethod::Parts } else { UpgradeMethod::Whole },
            absence: RebootImpact::None,
        })),
        _ => Err(found),
    }
}

/// Whether a node runs the wanted release; without a patch number, any release of that minor version.
fn is_same_release(wanted: &TalosVersion, running: &TalosVersion) -> bool {
    match wanted.patch() {
        Some(_) => wanted == running,
        None => wanted.minor() == running.minor(),
    }
}

/// A failed upgrade.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// The node runs its previous image.
    #[error(
        "the node still runs its previous image ({other}): {image} did not boot, or is not the image of the file"
    )]
    SameImage {
        /// The difference of the image.
        other: String,
        /// The installer.
        image: String,
    },
    /// The image is neither the previous one nor the file's.
    #[error("the node runs {running}, but {image} is not the image of the file: {other}")]
    OtherImage {
        /// The running release.
        running: TalosVersion,
        /// The difference of the image.
        other: String,
        /// The installer.
        image: String,
    },
    /// The release is neither the previous nor the wanted one.
    #[error("the node runs {running}, which is neither {from} nor {to}")]
    OtherRelease {
        /// The running release.
        running: TalosVersion,
        /// The previous release.
        from: TalosVersion,
        /// The wanted release.
        to: TalosVersion,
    },
    /// The new release was installed and did not boot.
    #[error("the node fell back to {from}: {to} was installed, but did not boot")]
    FellBack {
        /// The running release.
        from: TalosVersion,
        /// The wanted release.
        to: TalosVersion,
    },
    /// The new release was not installed or did not boot.
    #[error("the node fell back to {from}: {to} could not be installed, or did not boot")]
    NotInstalled {
        /// The running release.
        from: TalosVersion,
        /// The wanted release.
        to: TalosVersion,
    },
}

/// Checks a node after its upgrade. `has` are the extensions of its image, if known.
pub fn verify_upgrade(
    step: &UpgradeStep,
    running: &TalosVersion,
    has: Option<&[InstalledExtension]>,
) -> Result<(), UpgradeError> {
    let UpgradeStep { from, to, way, image, .. } = step;
    if is_same_release(to, running) {
        let image = image.clone();
        return match has.and_then(|has| step.expects.difference(has)) {
            None => Ok(()),
            Some(other) if step.other.as_ref() == Some(&other) => {
                Err(UpgradeError::SameImage { other, image })
            }
            Some(other) => Err(UpgradeError::OtherImage { running: running.clone(), other, image }),
        };
    }
    let (from, to) = (from.clone(), to.clone());
    Err(match way {
        _ if *running != from => UpgradeError::OtherRelease { running: running.clone(), from, to },
        UpgradeMethod::Parts => UpgradeError::FellBack { from, to },
        UpgradeMethod::Whole => UpgradeError::NotInstalled { from, to },
    })
}

#[cfg(test)]
mod tests;
