//! The installer of a node: which one it is, and whether it is for that machine.

use crate::plan::NodePlan;
use crate::render::machine;
use ichor_talos::asset::AssetSelection;
use ichor_talos::document;
use ichor_talos::release::{at_least, is_newer};
use ichor_values::{Issue, TalosVersion};

/// Where Talos itself publishes an installer for machines without a hypervisor, until 1.13.
const OFFICIAL: &str = "ghcr.io/siderolabs/installer";
const METAL: &str = "metal";

/// Why the installer of a node is not known.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InstallerError {
    /// The installer by which its images are made cannot be named.
    #[error(transparent)]
    Image(#[from] Issue),
    /// Talos publishes installers for metal alone.
    #[error("nobody says which installer is for {platform}")]
    Platform {
        /// Its platform.
        platform: &'static str,
    },
    /// Talos publishes none for the release.
    #[error("there is no installer of Talos' own for {talos}")]
    NotPublished {
        /// The release.
        talos: TalosVersion,
    },
}

/// The reference of the installer of a node whose configuration is `config`: what stands there, patches included, else what
/// its images are made by, else Talos' own.
pub fn installer(node: &NodePlan, config: &str) -> Result<String, InstallerError> {
    if let Some(image) = configured(config) {
        return Ok(image);
    }
    if let Some(image) = machine::installer(node)? {
        return Ok(image);
    }
    let talos = &node.talos.value;
    if node.platform.value.word() != METAL {
        return Err(InstallerError::Platform { platform: node.platform.value.word() });
    }
    if at_least(talos, 14) || talos.patch().is_none() {
        return Err(InstallerError::NotPublished { talos: talos.clone() });
    }
    Ok(format!("{OFFICIAL}:{talos}"))
}

/// The installer that stands in a configuration.
fn configured(config: &str) -> Option<String> {
    let documents = document::read(config).ok()?;
    let found = documents.iter().find_map(|document| {
        let pointer = match document.get("kind").and_then(|kind| kind.as_str()) {
            None => "/machine/install/image",
            Some("UnattendedInstallConfig") => "/installer/image",
            Some(_) => return None,
        };
        document.pointer(pointer)?.as_str()
    });
    found.filter(|image| !image.is_empty()).map(str::to_owned)
}

/// Why an installer is not for a machine that shall run `wanted` and runs on `platform`; nothing where its reference does not tell.
pub(crate) fn unfit(image: &str, wanted: &TalosVersion, platform: &str) -> Option<String> {
    let made_by_factory = AssetSelection::parse(image).ok();
    let official = image.strip_prefix(OFFICIAL).is_some_and(|rest| rest.starts_with([':', '@']));
    let made_for = made_by_factory.as_ref().and_then(|made| made.platform.as_deref());
    if let Some(made_for) = made_for.or(official.then_some(METAL)).filter(|made_for| *made_for != platform) {
        return Some(format!("its installer {image} is for {made_for}, and the machine runs on {platform}"));
    }
    let release = made_by_factory.map(|made| made.talos).or_else(|| tagged(image))?;
    let differs = is_newer(&release, wanted) || is_newer(wanted, &release);
    differs.then(|| format!("its installer {image} is {release}, and the file says {wanted}"))
}

/// The release at the beginning of a tag, as ichor and Talos write them: `v1.13.9`, `v1.13.9-metal-amd64-0a1b2c`.
fn tagged(image: &str) -> Option<TalosVersion> {
    let name = image.split('@').next()?;
    let (_, tag) = name.rsplit_once('/').unwrap_or(("", name)).1.split_once(':')?;
    let words: Vec<&str> = tag.split('-').collect();
    // A pre-release has a part of its own: v1.14.0-rc.1.
    (1..=words.len().min(2)).rev().find_map(|count| {
        tag.starts_with('v').then(|| TalosVersion::parse(&words[..count].join("-")).ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::planned;

    const ID: &str = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";

    fn talos(text: &str) -> TalosVersion {
        TalosVersion::parse(text).unwrap()
    }

    #[test]
    fn an_installer_for_another_platform_or_release_is_unfit() {
        let image = format!("factory.talos.dev/nocloud-installer/{ID}:v1.13.9");
        let unfit = |image: &str, talos_: &str, platform: &str| unfit(image, &talos(talos_), platform);

        assert_eq!(unfit(&image, "v1.13.9", "nocloud"), None);
        assert!(
            unfit(&image, "v1.13.9", "metal")
                .unwrap()
                .contains("is for nocloud, and the machine runs on metal")
        );
        assert!(
            unfit(&image, "v1.14.0", "nocloud").unwrap().contains("is v1.13.9, and the file says v1.14.0")
        );
        for own in [
            "reg.example:5000/installer:v1.14.0-rc.1-metal-amd64-0a1b2c",
            "reg.example/installer:v1.14.0-rc.1",
        ] {
            assert_eq!(unfit(own, "v1.14.0-rc.1", "metal"), None, "{own}");
            assert!(unfit(own, "v1.13.9", "metal").is_some(), "{own}");
        }
        assert!(unfit("ghcr.io/siderolabs/installer:v1.13.9", "v1.13.9", "nocloud").is_some());
        assert_eq!(unfit("reg.example/mine@sha256:00", "v1.13.9", "metal"), None);
    }

    #[test]
    fn what_the_configuration_says_comes_before_everything() {
        let plan = planned(
            "{cluster: {name: sol, talos: v1.13.9}, nodes: [{name: a, macs: [\"02:00:00:00:00:01\"]}]}",
        );
        let node = &plan.nodes[0];

        let patched = installer(node, "machine: {install: {image: reg.example/mine:v1.13.9}}\n");
        let document =
            installer(node, "kind: UnattendedInstallConfig\ninstaller: {image: reg.example/other:v1.13.9}\n");
        let factory = installer(node, "machine: {}\n").unwrap();

        assert_eq!(patched.unwrap(), "reg.example/mine:v1.13.9");
        assert_eq!(document.unwrap(), "reg.example/other:v1.13.9");
        assert!(factory.ends_with("v1.13.9"), "{factory}");
    }
}
