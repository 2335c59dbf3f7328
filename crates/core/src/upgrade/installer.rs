//! The installer of a node, and whether it suits the machine.

use crate::plan::NodePlan;
use crate::render::machine;
use ichor_talos::asset::AssetSelection;
use ichor_talos::document;
use ichor_talos::release::{at_least, is_newer};
use ichor_values::{Issue, TalosVersion};

/// The installer that Talos publishes for metal, up to 1.13.
const OFFICIAL: &str = "ghcr.io/siderolabs/installer";
const METAL: &str = "metal";

/// Why the installer of a node is unknown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InstallerError {
    /// The installer of its images has no reference.
    #[error(transparent)]
    Image(#[from] Issue),
    /// Talos publishes installers for metal only.
    #[error("the installer for the platform {platform} is unknown")]
    Platform {
        /// Its platform.
        platform: &'static str,
    },
    /// Talos publishes no installer for the release.
    #[error("Talos publishes no installer for {talos}")]
    NotPublished {
        /// The release.
        talos: TalosVersion,
    },
}

/// The reference of a node's installer: from its configuration `config` with patches, else from its images, else Talos' own.
pub fn find_installer(node: &NodePlan, config: &str) -> Result<String, InstallerError> {
    if let Some(image) = configured_installer(config) {
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

/// The installer in a configuration.
fn configured_installer(config: &str) -> Option<String> {
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

/// Why an installer does not suit a machine on `platform` that should run `wanted`, if its reference shows it.
pub(crate) fn find_mismatch(image: &str, wanted: &TalosVersion, platform: &str) -> Option<String> {
    let made_by_factory = AssetSelection::parse(image).ok();
    let official = image.strip_prefix(OFFICIAL).is_some_and(|rest| rest.starts_with([':', '@']));
    let made_for = made_by_factory.as_ref().and_then(|made| made.platform.as_deref());
    if let Some(made_for) = made_for.or(official.then_some(METAL)).filter(|made_for| *made_for != platform) {
        return Some(format!("the installer {image} is for {made_for}, but the machine runs on {platform}"));
    }
    let release = made_by_factory.map(|made| made.talos).or_else(|| tagged_release(image))?;
    let differs = is_newer(&release, wanted) || is_newer(wanted, &release);
    differs.then(|| format!("the installer {image} has {release}, expected {wanted}"))
}

/// The release at the beginning of a tag of ichor or Talos: `v1.13.9`, `v1.13.9-metal-amd64-0a1b2c`.
fn tagged_release(image: &str) -> Option<TalosVersion> {
    let name = image.split('@').next()?;
    let (_, tag) = name.rsplit_once('/').unwrap_or(("", name)).1.split_once(':')?;
    let mut words = tag.strip_prefix('v')?.split('-');
    let release = words.next()?;
    // The second part is that of a pre-release, as in v1.14.0-rc.1, or a platform, as in v1.14.1-metal.
    let is_pre_release = |word: &&str| ["alpha.", "beta.", "rc."].iter().any(|stage| word.starts_with(stage));
    let pre_release = words.next().filter(is_pre_release).map(|word| format!("-{word}"));
    TalosVersion::parse(&format!("v{release}{}", pre_release.unwrap_or_default())).ok()
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
    fn an_installer_for_another_platform_or_release_is_rejected() {
        let image = format!("factory.talos.dev/nocloud-installer/{ID}:v1.13.9");
        let mismatch =
            |image: &str, talos_: &str, platform: &str| find_mismatch(image, &talos(talos_), platform);

        assert_eq!(mismatch(&image, "v1.13.9", "nocloud"), None);
        assert!(
            mismatch(&image, "v1.13.9", "metal")
                .unwrap()
                .contains("is for nocloud, but the machine runs on metal")
        );
        assert!(mismatch(&image, "v1.14.0", "nocloud").unwrap().contains("has v1.13.9, expected v1.14.0"));
        for own in [
            "reg.example:5000/installer:v1.14.0-rc.1-metal-amd64-0a1b2c",
            "reg.example/installer:v1.14.0-rc.1",
        ] {
            assert_eq!(mismatch(own, "v1.14.0-rc.1", "metal"), None, "{own}");
            assert!(mismatch(own, "v1.13.9", "metal").is_some(), "{own}");
        }
        assert!(mismatch("ghcr.io/siderolabs/installer:v1.13.9", "v1.13.9", "nocloud").is_some());
        assert_eq!(mismatch("reg.example/mine@sha256:00", "v1.13.9", "metal"), None);
    }

    #[test]
    fn the_tags_that_ichor_writes_have_the_release_of_the_node() {
        for (tag, release) in [
            ("v1.14.1-nocloud-amd64-468b3ad01511", "v1.14.1"),
            ("v1.14.0-beta.0-metal-arm64-468b3ad01511", "v1.14.0-beta.0"),
            ("v1.13.9", "v1.13.9"),
        ] {
            let image = format!("reg.example:5000/talos/installer:{tag}");

            assert_eq!(find_mismatch(&image, &talos(release), "nocloud"), None, "{tag}");
            assert!(find_mismatch(&image, &talos("v1.12.4"), "nocloud").is_some(), "{tag}");
        }
    }

    #[test]
    fn an_installer_in_the_configuration_takes_precedence() {
        let plan = planned(
            "{cluster: {name: sol, talos: v1.13.9}, nodes: [{name: a, macs: [\"02:00:00:00:00:01\"]}]}",
        );
        let node = &plan.nodes[0];

        let patched = find_installer(node, "machine: {install: {image: reg.example/mine:v1.13.9}}\n");
        let document = find_installer(
            node,
            "kind: UnattendedInstallConfig\ninstaller: {image: reg.example/other:v1.13.9}\n",
        );
        let factory = find_installer(node, "machine: {}\n").unwrap();

        assert_eq!(patched.unwrap(), "reg.example/mine:v1.13.9");
        assert_eq!(document.unwrap(), "reg.example/other:v1.13.9");
        assert!(factory.ends_with("v1.13.9"), "{factory}");
    }
}
