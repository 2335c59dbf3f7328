//! The licences of an extension's contents, and where their sources are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ExtensionRequest;
use super::container::Container;
use super::packages::Package;
use crate::oci::{EntryKind, FileTree};

/// Texts that many packages refer to.
const COMMON: &str = "/usr/share/common-licenses/";

/// The names licences have, in upper case.
const NAMES: [&str; 4] = ["COPYRIGHT", "COPYING", "LICENSE", "LICENCE"];

/// The licence files of the extension, and the missing ones.
pub(super) struct Licences {
    pub files: BTreeMap<String, Arc<[u8]>>,
    pub missing: Vec<String>,
}

/// Gathers the licences of every package in the container.
pub(super) fn gather_licences(
    order: &ExtensionRequest<'_>,
    container: &Container,
    version: &str,
) -> Licences {
    let folder = format!("rootfs/usr/local/share/doc/{}", order.name);
    let mut licences = Licences { files: BTreeMap::new(), missing: Vec::new() };
    let mut common = BTreeSet::new();
    for (package, _) in &container.packages {
        let texts = texts(order.input, package);
        if texts.is_empty() {
            licences.missing.push(package.name.clone());
        }
        for (name, text) in texts {
            common.extend(referenced_licences(text));
            licences.files.insert(format!("{folder}/{}/{name}", package.name), text.into());
        }
    }
    for name in common {
        match order.input.read(&format!("{COMMON}{name}")) {
            Some(text) => {
                drop(licences.files.insert(format!("{folder}/common-licenses/{name}"), text.into()));
            }
            None => licences.missing.push(format!("{COMMON}{name}")),
        }
    }
    let note = sources_note(order, container, version).into_bytes();
    licences.files.insert(format!("{folder}/SOURCES"), note.into());
    licences
}

/// The texts of a package's licence.
fn texts<'i>(input: &'i FileTree, package: &Package) -> Vec<(String, &'i [u8])> {
    let folders = ["usr/share/doc", "usr/share/licenses"].map(|top| format!("{top}/{}", package.name));
    let mut texts = Vec::new();
    for folder in folders {
        let Some(walk) = input.follow(&folder) else { continue };
        for (path, entry) in input.below(&walk.target) {
            let name = path.rsplit('/').next().unwrap_or(path);
            let is_licence = NAMES.iter().any(|it| name.to_uppercase().starts_with(it));
            // Some packages of one source share their texts by links.
            let is_text = matches!(entry.kind, EntryKind::File(_) | EntryKind::Link(_));
            let text = input.read(path).filter(|_| is_licence && is_text);
            texts.extend(text.map(|text| (name.to_owned(), text)));
        }
    }
    texts
}

/// The names of the common texts that a text refers to.
fn referenced_licences(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let is_letter = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    let names = text.split(COMMON).skip(1).map(|rest| {
        let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        rest[..end].trim_end_matches('.').to_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}

fn sources_note(order: &ExtensionRequest<'_>, container: &Container, version: &str) -> String {
    let mut note = format!(
        "{} {version} for {}, taken from {}.\n\nThe licences are beside this file. The sources are here:\n\n",
        order.name, order.arch, order.origin
    );
    for (package, _) in &container.packages {
        let licence = package.licence.as_ref().map(|licence| format!(" ({licence})")).unwrap_or_default();
        note.push_str(&format!("{} {}{licence}\n  {}\n", package.name, package.version, package.sources()));
    }
    if !container.strays.is_empty() {
        note.push_str(&format!(
            "of no package: /{}\n  where {} is from\n",
            container.strays.join(", /"),
            order.origin
        ));
    }
    note.push_str("ichor-agent (MPL-2.0)\n  where ichor is from\n");
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_common_licences_are_detected() {
        let text = b"see `/usr/share/common-licenses/GPL-2', and /usr/share/common-licenses/LGPL-2.1.";
        assert_eq!(referenced_licences(text), ["GPL-2", "LGPL-2.1"]);
        assert_eq!(referenced_licences(b"/usr/share/common-licenses/../../etc"), [""; 0]);
    }
}
