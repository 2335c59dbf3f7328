//! The expected image of a node, as far as it can be identified: a release may have many images.

use super::InstalledExtension;
use super::expected::manifest_name;
use crate::cluster::section::ImageSource;
use crate::plan::{ImagePlan, NodePlan};
use crate::render::machine;
use ichor_talos::asset::AssetSelection;
use ichor_talos::schematic::EXTENSION as SCHEMATIC;

/// The number of digits of an ID to show.
const DIGITS: usize = 12;

/// The identity of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedImage {
    /// From the Image Factory, with this schematic ID.
    Schematic(String),
    /// Built by ichor, with these extensions, by the names in their manifests.
    Extensions(Vec<String>),
    /// Not identifiable from a node's reports.
    Any,
}

impl ExpectedImage {
    /// The image of a node with this installer.
    pub fn from_installer(node: &NodePlan, installer: Option<&str>) -> Self {
        if let Some(made) = installer.and_then(|installer| AssetSelection::parse(installer).ok()) {
            return Self::Schematic(made.id);
        }
        match node.boot.image.value {
            ImagePlan::Made(ImageSource::Ichor) => {
                Self::Extensions(node.boot.extensions.iter().map(|it| manifest_name(&it.value)).collect())
            }
            _ => Self::Any,
        }
    }

    /// The image of a node from its plan. Unknown if it has patches, which may set another installer.
    pub(crate) fn from_plan(node: &NodePlan) -> Self {
        if !node.patches.is_empty() {
            return Self::Any;
        }
        let installer = machine::installer(node).ok().flatten();
        Self::from_installer(node, installer.as_deref())
    }

    /// The difference of an image with the extensions `has`.
    pub fn difference(&self, has: &[InstalledExtension]) -> Option<String> {
        match self {
            Self::Any => None,
            Self::Schematic(wanted) => match has.iter().find(|it| it.name == SCHEMATIC) {
                Some(it) if it.version == *wanted => None,
                Some(it) => Some(format!(
                    "the image has the schematic {}, expected {}",
                    abbreviate(&it.version),
                    abbreviate(wanted)
                )),
                None => Some(format!(
                    "the image is not from the Image Factory, expected the schematic {}",
                    abbreviate(wanted)
                )),
            },
            Self::Extensions(wanted) => {
                let lacks = wanted.iter().filter(|name| !has.iter().any(|it| it.name == **name));
                let lacks: Vec<&str> = lacks.map(String::as_str).collect();
                (!lacks.is_empty()).then(|| format!("the image lacks {}", lacks.join(", ")))
            }
        }
    }
}

fn abbreviate(id: &str) -> &str {
    id.get(..DIGITS).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed(all: &[(&str, &str)]) -> Vec<InstalledExtension> {
        let one = |(name, version): &(&str, &str)| InstalledExtension {
            name: (*name).to_owned(),
            version: (*version).to_owned(),
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn an_image_of_the_factory_is_identified_by_its_schematic() {
        let wanted = ExpectedImage::Schematic("376567988ad370138ad8".to_owned());

        assert_eq!(wanted.difference(&installed(&[("frr", "1"), (SCHEMATIC, "376567988ad370138ad8")])), None);
        let other = wanted.difference(&installed(&[(SCHEMATIC, "ce4c980550dd2ab1b17b")])).unwrap();
        assert_eq!(other, "the image has the schematic ce4c980550dd, expected 376567988ad3");
        assert!(wanted.difference(&[]).unwrap().starts_with("the image is not from the Image Factory"));
    }

    #[test]
    fn an_image_of_ichor_is_identified_by_its_extensions() {
        let wanted = ExpectedImage::Extensions(vec!["frr".to_owned(), "tailscale".to_owned()]);

        assert_eq!(wanted.difference(&installed(&[("tailscale", "1"), ("frr", "2"), ("more", "3")])), None);
        assert_eq!(wanted.difference(&installed(&[("frr", "2")])).unwrap(), "the image lacks tailscale");
        assert_eq!(ExpectedImage::Any.difference(&[]), None);
    }
}
