//! From the releases that nodes run to those that the file says, one node after the other.
//!
//! A node with the right release and another image than the file means is upgraded, too.
//!
//! [`plan`] takes a [`UpgradeCandidate`] for every node and gives the [`UpgradeStep`]s in their order, or everything that is in the way. What
//! runs the release it shall run is left alone, so a run that was broken off is gone on with by beginning again.
//! [`judge`] says whether a node that came back is what it was to become.
//!
//! Not here: asking nodes and doing it.

pub mod installer;

use installer::InstallerError;

use crate::cluster::section::Role;
use crate::etcd::{EtcdCluster, RebootImpact};
use crate::observe::{ExpectedImage, InstalledExtension};
use crate::probe::ProbeError;
use ichor_talos::release::{accepts_kubernetes, at_least, is_newer};
use ichor_values::{Issue, KubernetesVersion, TalosVersion};

/// A node, and what was seen of it.
#[derive(Clone, Debug)]
pub struct UpgradeCandidate {
    /// Its name.
    pub name: String,
    /// What it is in the cluster.
    pub role: Role,
    /// Whether it is to be upgraded; others are only looked at.
    pub chosen: bool,
    /// The release it shall run.
    pub wanted: TalosVersion,
    /// Architecture, as the file says.
    pub arch: String,
    /// The reference of its installer, or why there is none.
    pub installer: Result<String, InstallerError>,
    /// The image that the installer brings.
    pub image: ExpectedImage,
    /// What it runs, or why that is not known.
    pub seen: Result<RunningNode, ProbeError>,
}

/// What a node runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningNode {
    /// The release.
    pub release: TalosVersion,
    /// What it runs on.
    pub platform: String,
    /// Its architecture.
    pub arch: String,
    /// Its stage and what it lacks, where it does not run and is not ready.
    pub unready: Option<String>,
    /// The release of its kubelet, where Kubernetes knows it.
    pub kubelet: Option<KubernetesVersion>,
    /// Whether it is cordoned by an upgrade that was broken off.
    pub cordoned: bool,
    /// The extensions of its image; none where it does not tell them.
    pub extensions: Option<Vec<InstalledExtension>>,
}

/// How a node is upgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeMethod {
    /// Before 1.13 one call does everything: it drains, installs and reboots by itself.
    Whole,
    /// From 1.13 on the image is fetched and installed while the node runs; moving its pods away and the reboot are up to us.
    Parts,
}

/// A node that is upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeStep {
    /// The node.
    pub node: String,
    /// What it is in the cluster.
    pub role: Role,
    /// What it runs.
    pub from: TalosVersion,
    /// What it shall run.
    pub to: TalosVersion,
    /// The installer.
    pub image: String,
    /// In what its image is another one, where it runs the release already.
    pub other: Option<String>,
    /// The image that it shall run.
    pub(crate) expects: ExpectedImage,
    /// How.
    pub way: UpgradeMethod,
    /// What that means for etcd.
    pub absence: RebootImpact,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpgradePlan {
    /// Nodes to upgrade, in their order.
    pub steps: Vec<UpgradeStep>,
    /// Nodes that run what they shall and are still cordoned by an upgrade that was broken off.
    pub uncordon: Vec<String>,
    /// Nodes that run what they shall.
    pub done: Vec<String>,
}

impl UpgradePlan {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.uncordon.is_empty()
    }
}

/// What is to be done with `all`, or everything that is in the way of it.
///
/// Control planes come first, for the newer ones among Talos' parts are those that others ask; the one that leads etcd is the
/// last of them, so that etcd looks for a new leader once. With `outage`, a cluster of two control planes may stand still meanwhile.
pub fn plan(
    all: &[UpgradeCandidate],
    etcd: Option<&EtcdCluster>,
    outage: bool,
) -> Result<UpgradePlan, Vec<Issue>> {
    let (mut plan, mut found) = (UpgradePlan::default(), Vec::new());
    for candidate in ordered(all, etcd).into_iter().filter(|candidate| candidate.chosen) {
        match consider(candidate) {
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
        found.extend(unwell(all, etcd));
        for step in &mut plan.steps {
            match absence(etcd, &step.node, step.role, outage) {
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

/// What is wrong with the cluster as it is.
fn unwell(all: &[UpgradeCandidate], etcd: Option<&EtcdCluster>) -> Vec<Issue> {
    let mut found = Vec::new();
    let fix = "set it right first: `ichor status` shows how it is, and nothing is upgraded in a cluster that is not well";
    for candidate in all {
        match &candidate.seen {
            Ok(RunningNode { unready: Some(why), .. }) => {
                found.push(Issue::error(&candidate.name, format!("it is not ready: {why}")).with_help(fix));
            }
            // What is chosen was told before.
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
        None => found.push(Issue::error("etcd", "no control plane tells how it is").with_help(fix)),
    }
    found
}

/// What it means for etcd that a node reboots, or why it must not.
pub fn absence(
    etcd: Option<&EtcdCluster>,
    node: &str,
    role: Role,
    outage: bool,
) -> Result<RebootImpact, Issue> {
    let Some(etcd) = etcd.filter(|_| role == Role::Controlplane) else { return Ok(RebootImpact::None) };
    match etcd.without(node) {
        Err(error) => Err(Issue::error(node, error.to_string())
            .with_help("bring the other members back first; nothing is rebooted meanwhile")),
        Ok(RebootImpact::Outage) if etcd.members.len() == 2 && !outage => Err(Issue::error(node, "etcd has two members, and stands still while one of them reboots; if that one does not come back, so does the cluster").with_help("add a third control plane first, or say --outage")),
        Ok(absence) => Ok(absence),
    }
}

/// What a node needs; none where it runs what it shall.
fn consider(candidate: &UpgradeCandidate) -> Result<Option<UpgradeStep>, Vec<Issue>> {
    let UpgradeCandidate { name, wanted, .. } = candidate;
    let running = candidate.seen.as_ref().map_err(|error| {
        vec![
            Issue::error(name, error.to_string())
                .with_help("see `ichor status`; it cannot be upgraded without its API"),
        ]
    })?;
    let is_same = is_same(wanted, &running.release);
    let other = running.extensions.as_deref().and_then(|has| candidate.image.differs(has));
    if is_same && other.is_none() {
        return Ok(None);
    }
    let mut found = Vec::new();
    let mut wrong = |what: String, fix: &str| found.push(Issue::error(name, what).with_help(fix));
    let from = &running.release;
    let ((major, minor), (to_major, to_minor)) = (from.minor(), wanted.minor());
    if is_same {
        // Another image of the release it runs.
    } else if is_newer(from, wanted) {
        wrong(
            format!("it runs {from}, and {wanted} would be a step back"),
            "Talos has no way back but the release before; write the release it runs, or make the node anew with `ichor reset`",
        );
    } else if to_major != major || to_minor > minor + 1 {
        wrong(
            format!("from {from} to {wanted} is more than one minor release"),
            &format!("write v{major}.{} first and upgrade to that, then to the next", minor + 1),
        );
    }
    if running.arch != candidate.arch {
        let what = format!("its machine is {}, and the file says {}", running.arch, candidate.arch);
        wrong(what, "write `arch` as it is");
    }
    if let Some(kubelet) = &running.kubelet
        && accepts_kubernetes(wanted, kubelet) == Some(false)
    {
        let what = format!("it runs Kubernetes {kubelet}, which Talos {wanted} does not run");
        wrong(what, "upgrade Kubernetes first, with `talosctl upgrade-k8s`");
    }
    match &candidate.installer {
        Err(error) => wrong(error.to_string(), "name one in `image.source.installer`"),
        Ok(image) => {
            if let Some(what) = installer::unfit(image, wanted, &running.platform) {
                wrong(
                    what,
                    "write the `platform` it runs on and the release that is meant, or another `image.source.installer`",
                );
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

/// Whether a node runs what is wanted; without a patch number, any of that minor release will do.
fn is_same(wanted: &TalosVersion, running: &TalosVersion) -> bool {
    match wanted.patch() {
        Some(_) => wanted == running,
        None => wanted.minor() == running.minor(),
    }
}

/// What a node runs after its upgrade, where that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// The image is still the former one.
    #[error(
        "it runs what it ran before, and {other}: {image} did not come up, or is not what the file means"
    )]
    SameImage {
        /// In what the image differs.
        other: String,
        /// The installer.
        image: String,
    },
    /// The image is neither the former one nor the one of the file.
    #[error("it runs {running} now, and {other}: {image} is not what the file means")]
    OtherImage {
        /// The release it runs.
        running: TalosVersion,
        /// In what the image differs.
        other: String,
        /// The installer.
        image: String,
    },
    /// The release is neither the former one nor the wanted one.
    #[error("it runs {running} now, which is neither {from} nor {to}")]
    OtherRelease {
        /// The release it runs.
        running: TalosVersion,
        /// The one it ran.
        from: TalosVersion,
        /// The one it should run.
        to: TalosVersion,
    },
    /// The new release was installed and did not boot.
    #[error(
        "it fell back to {from}: {to} was installed and did not come up, so Talos booted what it ran before"
    )]
    FellBack {
        /// The release it runs.
        from: TalosVersion,
        /// The one it should run.
        to: TalosVersion,
    },
    /// Talos installed nothing, or what it installed did not boot.
    #[error(
        "it fell back to {from}: {to} could not be installed, or did not come up and Talos booted what it ran before"
    )]
    NotInstalled {
        /// The release it runs.
        from: TalosVersion,
        /// The one it should run.
        to: TalosVersion,
    },
}

/// Whether a node that came back from its upgrade runs what it shall, and what happened otherwise; `has` are the extensions of
/// its image, where it tells them.
pub fn judge(
    step: &UpgradeStep,
    running: &TalosVersion,
    has: Option<&[InstalledExtension]>,
) -> Result<(), UpgradeError> {
    let UpgradeStep { from, to, way, image, .. } = step;
    if is_same(to, running) {
        let image = image.clone();
        return match has.and_then(|has| step.expects.differs(has)) {
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
