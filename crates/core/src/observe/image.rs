//! The image a node shall run, as far as nodes tell one from another: a release may have many.

use super::InstalledExtension;
use super::expected::short;
use crate::cluster::section::ImageSource;
use crate::plan::{ImagePlan, NodePlan};
use crate::render::machine;
use ichor_talos::asset::AssetSelection;
use ichor_talos::schematic::EXTENSION as SCHEMATIC;

/// So much of an id is enough to tell it from others.
const DIGITS: usize = 12;

/// By what an image is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedImage {
    /// Made by the Image Factory, of the schematic with this id.
    Schematic(String),
    /// Made by ichor, with these extensions, by the names they give themselves.
    Extensions(Vec<String>),
    /// By nothing that a node tells.
    Any,
}

impl ExpectedImage {
    /// The image of a node with this installer.
    pub fn of(node: &NodePlan, installer: Option<&str>) -> Self {
        if let Some(made) = installer.and_then(|installer| AssetSelection::parse(installer).ok()) {
            return Self::Schematic(made.id);
        }
        match node.boot.image.value {
            ImagePlan::Made(ImageSource::Ichor) => {
                Self::Extensions(node.boot.extensions.iter().map(|it| short(&it.value)).collect())
            }
            _ => Self::Any,
        }
    }

    /// The image of a node, by its plan alone: none where patches may name another installer.
    pub(crate) fn planned(node: &NodePlan) -> Self {
        if !node.patches.is_empty() {
            return Self::Any;
        }
        let installer = machine::installer(node).ok().flatten();
        Self::of(node, installer.as_deref())
    }

    /// In what an image with the extensions `has` is another one.
    pub fn differs(&self, has: &[InstalledExtension]) -> Option<String> {
        match self {
            Self::Any => None,
            Self::Schematic(wanted) => match has.iter().find(|it| it.name == SCHEMATIC) {
                Some(it) if it.version == *wanted => None,
                Some(it) => Some(format!(
                    "its image is of the schematic {}, and the file means {}",
                    first(&it.version),
                    first(wanted)
                )),
                None => Some(format!(
                    "its image is not of the Image Factory, and the file means the schematic {}",
                    first(wanted)
                )),
            },
            Self::Extensions(wanted) => {
                let lacks = wanted.iter().filter(|name| !has.iter().any(|it| it.name == **name));
                let lacks: Vec<&str> = lacks.map(String::as_str).collect();
                (!lacks.is_empty()).then(|| format!("its image lacks {}", lacks.join(", ")))
            }
        }
    }
}

fn first(id: &str) -> &str {
    id.get(..DIGITS).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(all: &[(&str, &str)]) -> Vec<InstalledExtension> {
        let one = |(name, version): &(&str, &str)| InstalledExtension {
            name: (*name).to_owned(),
            version: (*version).to_owned(),
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn an_image_of_the_factory_is_known_by_its_schematic() {
        let wanted = ExpectedImage::Schematic("376567988ad370138ad8".to_owned());

        assert_eq!(wanted.differs(&told(&[("frr", "1"), (SCHEMATIC, "376567988ad370138ad8")])), None);
        let other = wanted.differs(&told(&[(SCHEMATIC, "ce4c980550dd2ab1b17b")])).unwrap();
        assert_eq!(other, "its image is of the schematic ce4c980550dd, and the file means 376567988ad3");
        assert!(wanted.differs(&[]).unwrap().starts_with("its image is not of the Image Factory"));
    }

    #[test]
    fn an_image_of_our_own_is_known_by_its_extensions() {
        let wanted = ExpectedImage::Extensions(vec!["frr".to_owned(), "tailscale".to_owned()]);

        assert_eq!(wanted.differs(&told(&[("tailscale", "1"), ("frr", "2"), ("more", "3")])), None);
        assert_eq!(wanted.differs(&told(&[("frr", "2")])).unwrap(), "its image lacks tailscale");
        assert_eq!(ExpectedImage::Any.differs(&[]), None);
    }
}
