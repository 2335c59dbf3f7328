//! The releases of Talos and the official extensions that exist.
//!
//! `catalogue.txt` has the newest known release of each minor release, and the extensions of the Image Factory by release. A
//! release that is newer than the catalogue may exist and may have further extensions: callers report it and do not reject it.
//!
//! Not here: the minor releases that ichor writes configurations for ([`release`](super::release)).

use ichor_values::{TalosVersion, nearest};

const CATALOGUE: &str = include_str!("catalogue.txt");

/// The prefix of official extensions in a schematic.
const PREFIX: &str = "siderolabs/";

/// Whether a release has an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It has the extension.
    Available,
    /// The extension appears in a later release.
    From(TalosVersion),
    /// The extension was removed after an earlier release.
    Until(TalosVersion),
    /// No known release has it; the closest name among those that this release has.
    Unknown(Option<&'static str>),
}

/// The newest known release of the same minor release.
pub fn newest_release(talos: &TalosVersion) -> Option<TalosVersion> {
    let mut releases = lines().filter_map(|line| version(line.strip_prefix("release ")?));
    releases.find(|known| known.minor() == talos.minor())
}

/// Whether the catalogue lists what this release has. Without a patch number, a release is the newest of its minor release.
pub fn covers(talos: &TalosVersion) -> bool {
    newest_release(talos).is_some_and(|newest| talos.patch().is_none() || *talos <= newest)
}

/// Whether a release has the extension `name`, such as `siderolabs/gvisor`. For a release newer than the catalogue, this is what
/// the newest known one has.
pub fn availability(name: &str, talos: &TalosVersion) -> Availability {
    let all: Vec<_> = lines().filter_map(ExtensionEntry::parse).collect();
    let entry = name.strip_prefix(PREFIX).and_then(|name| all.iter().find(|entry| entry.name == name));
    let available = all.iter().filter(|entry| !entry.is_before(talos) && !entry.is_after(talos));
    match entry {
        Some(entry) if entry.is_before(talos) => {
            Availability::From(entry.first.clone().expect("a first release"))
        }
        Some(entry) if entry.is_after(talos) => {
            Availability::Until(entry.last.clone().expect("a last release"))
        }
        Some(_) => Availability::Available,
        None => {
            let name = name.strip_prefix(PREFIX).unwrap_or(name);
            Availability::Unknown(nearest(name, available.map(|entry| entry.name)))
        }
    }
}

/// An extension and the releases that have it.
struct ExtensionEntry {
    name: &'static str,
    first: Option<TalosVersion>,
    last: Option<TalosVersion>,
}

impl ExtensionEntry {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next().filter(|word| *word != "release")?;
        let (first, last) = (words.next().and_then(version), words.next().and_then(version));
        Some(Self { name, first, last })
    }

    /// Whether `talos` is older than the first release with the extension. A pre-release counts as its release.
    fn is_before(&self, talos: &TalosVersion) -> bool {
        self.first.as_ref().is_some_and(|first| match talos.patch() {
            Some(_) => numbers(talos) < numbers(first),
            None => talos.minor() < first.minor(),
        })
    }

    /// Whether `talos` is newer than the last release with the extension.
    fn is_after(&self, talos: &TalosVersion) -> bool {
        self.last.as_ref().is_some_and(|last| match talos.patch() {
            Some(_) => numbers(talos) > numbers(last),
            None => talos.minor() > last.minor(),
        })
    }
}

fn numbers(talos: &TalosVersion) -> ((u16, u16), Option<u16>) {
    (talos.minor(), talos.patch())
}

fn lines() -> impl Iterator<Item = &'static str> {
    CATALOGUE.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn version(text: &str) -> Option<TalosVersion> {
    TalosVersion::parse(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release;

    fn talos(text: &str) -> TalosVersion {
        TalosVersion::parse(text).unwrap()
    }

    #[test]
    fn every_line_is_a_release_or_an_extension_with_its_releases() {
        for line in lines() {
            let versions: Vec<_> = line.split(' ').skip(1).filter(|word| *word != "-").collect();
            assert!(versions.iter().all(|word| version(word).is_some()), "{line}");
            assert!(versions.len() <= 2 && !line.contains("  ") && !line.contains('/'), "{line}");
        }
        let names: Vec<_> = lines().filter_map(ExtensionEntry::parse).map(|entry| entry.name).collect();
        assert!(names.len() > 80 && names.is_sorted(), "{names:?}");
    }

    #[test]
    fn every_supported_minor_release_has_a_newest_release() {
        let (oldest, newest) = release::known_releases();
        for minor in oldest..=newest {
            assert!(newest_release(&talos(&format!("1.{minor}"))).is_some(), "1.{minor}");
        }
    }

    #[test]
    fn a_release_above_the_newest_known_is_not_covered() {
        for known in ["v1.11.6", "v1.12.4", "v1.13.9", "1.13", "v1.14.0-rc.1", "v1.14.1"] {
            assert!(covers(&talos(known)), "{known}");
        }
        for unknown in ["v1.11.7", "v1.13.99", "v1.13.10-rc.0", "v1.15.0", "1.15", "v1.10.9"] {
            assert!(!covers(&talos(unknown)), "{unknown}");
        }
    }

    #[test]
    fn extensions_are_available_from_their_first_release_to_their_last() {
        let of = |name: &str, release: &str| availability(name, &talos(release));

        assert_eq!(of("siderolabs/gvisor", "v1.11.0"), Availability::Available);
        assert_eq!(of("siderolabs/gpio-pinctrl", "v1.12.1"), Availability::From(talos("v1.12.2")));
        assert_eq!(of("siderolabs/gpio-pinctrl", "v1.12.2"), Availability::Available);
        assert_eq!(of("siderolabs/gpio-pinctrl", "1.12"), Availability::Available);
        assert_eq!(of("siderolabs/gpio-pinctrl", "1.11"), Availability::From(talos("v1.12.2")));
        assert_eq!(of("siderolabs/bird2", "v1.12.0-rc.0"), Availability::Available);
        assert_eq!(of("siderolabs/i915-ucode", "v1.13.9"), Availability::Until(talos("v1.8.4")));
        assert_eq!(of("siderolabs/gvisor", "v1.15.0"), Availability::Available);
    }

    #[test]
    fn an_unknown_extension_has_a_suggestion_that_the_release_has() {
        let of = |name: &str, release: &str| availability(name, &talos(release));

        assert_eq!(
            of("siderolabs/qemu-gest-agent", "v1.13.9"),
            Availability::Unknown(Some("qemu-guest-agent"))
        );
        assert_eq!(of("gvisor", "v1.13.9"), Availability::Unknown(Some("gvisor")));
        assert_eq!(of("siderolabs/birb2", "v1.11.6"), Availability::Unknown(None));
        assert_eq!(of("ghcr.io/me/frr", "v1.13.9"), Availability::Unknown(None));
    }
}
