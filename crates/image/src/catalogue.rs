//! The catalogue of official extensions: which image has which, for each release.
//!
//! It is an image itself, with a file that has a line for each extension. The name of an extension is the repository of its image.

use std::collections::BTreeMap;

use crate::oci::{Reference, ReferenceError};
use ichor_values::TalosVersion;

/// The file of the catalogue with the lines.
pub const FILE: &str = "image-digests";

/// Official extensions of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue(BTreeMap<String, Reference>);

/// The image reference of a release's catalogue.
pub fn catalogue_reference(talos: &TalosVersion) -> String {
    format!("ghcr.io/siderolabs/extensions:{talos}")
}

/// Whether an extension has the name of an official one.
pub fn is_official(name: &str) -> bool {
    name.strip_prefix("siderolabs/").is_some_and(|name| !name.contains(['/', ':', '@']))
}

impl Catalogue {
    /// Reads the lines of the catalogue. Lines without a digest are skipped, as the factory does.
    pub fn read(text: &str) -> Result<Self, ReferenceError> {
        let lines = text.lines().map(str::trim).filter(|line| line.contains('@'));
        let named = lines.map(|line| Reference::parse(line).map(|it| (it.repository.clone(), it)));
        named.collect::<Result<_, _>>().map(Self)
    }

    /// The image of an extension, by its digest.
    pub fn find(&self, name: &str) -> Option<&Reference> {
        self.0.get(name)
    }

    /// The names of the extensions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::Digest;

    #[test]
    fn an_extension_is_found_by_its_repository() {
        let digest = Digest::of_bytes(b"");
        let text = format!("ghcr.io/siderolabs/gvisor:20260101.0@{digest}\n\nghcr.io/siderolabs/plain:1\n");

        let catalogue = Catalogue::read(&text).unwrap();

        let found = catalogue.find("siderolabs/gvisor").unwrap();
        assert_eq!((found.host.as_str(), found.version()), ("ghcr.io", digest.to_string()));
        assert_eq!(catalogue.names().collect::<Vec<_>>(), ["siderolabs/gvisor"]);
        assert!(Catalogue::read("no reference@sha256:1").is_err());
        assert_eq!(
            catalogue_reference(&TalosVersion::parse("1.13.9").unwrap()),
            "ghcr.io/siderolabs/extensions:v1.13.9"
        );
        assert!(is_official("siderolabs/gvisor") && !is_official("ghcr.io/siderolabs/gvisor:1"));
    }
}
