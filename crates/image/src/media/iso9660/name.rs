//! The names that ECMA-119 knows: capital letters, digits and `_`, one dot, and a version.

use std::collections::BTreeSet;

use super::tree::IsoNode;

/// The longest name and extension together (ECMA-119 10.1, level 2). The name of a folder may be one longer, and need not be.
const LONGEST: usize = 30;

/// An identifier for each file and folder of a folder, no two of them the same.
pub(super) fn identifiers<'t>(nodes: impl Iterator<Item = &'t IsoNode>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let identifier = |node: &IsoNode| {
        if node.is_folder() { folder(&node.name, &mut taken) } else { file(&node.name, &mut taken) }
    };
    nodes.map(identifier).collect()
}

/// Capital letters.
fn plain_characters(text: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    text.chars().map(plain).collect()
}

/// The identifier of a folder: it has neither extension nor version.
fn folder(name: &str, taken: &mut BTreeSet<String>) -> String {
    unique_name(&plain_characters(name), "", taken)
}

fn file(name: &str, taken: &mut BTreeSet<String>) -> String {
    let (stem, extension) = split(name);
    let mut extension = plain_characters(extension);
    extension.truncate(LONGEST / 2);
    unique_name(&plain_characters(stem), &format!(".{extension}"), taken) + ";1"
}

/// An unused name: the stem, truncated if it is too long and with a number if necessary, and the suffix.
fn unique_name(stem: &str, end: &str, taken: &mut BTreeSet<String>) -> String {
    let room = LONGEST - end.len().saturating_sub(1);
    let cut = |number: &str| &stem[..stem.len().min(room - number.len())];
    let mut chosen = format!("{}{end}", cut(""));
    for nth in 1.. {
        if taken.insert(chosen.clone()) {
            break;
        }
        let number = format!("_{nth}");
        chosen = format!("{}{number}{end}", cut(&number));
    }
    chosen
}

/// The parts before and after the last dot. A name that starts with its only dot has no extension.
pub(super) fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some(("", _)) | None => (name, ""),
        Some(parts) => parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::iso9660::tree::IsoTree;
    use crate::oci::{FileTree, TreeEntry};

    /// The plain names of some names in the order of these.
    fn plain(entries: &[(&str, TreeEntry)]) -> Vec<String> {
        let mut root = FileTree::default();
        for (name, entry) in entries {
            root.put(name, entry.clone());
        }
        let tree = IsoTree::of_root(&root).unwrap();
        identifiers(tree.inside(0).iter().map(|node| &tree.nodes[*node]))
    }

    #[test]
    fn plain_names_are_unique() {
        let long = "a".repeat(40);
        let names =
            [".hidden", "a.b.c", &long, &(long.clone() + "b"), "config.yaml", "user-data", "user_data"];

        let plain = plain(&names.map(|name| (name, TreeEntry::file(0o644, b""))));

        let (thirty, numbered) = ("A".repeat(30), "A".repeat(28) + "_1");
        let expected = ["_HIDDEN", "A_B.C", &thirty, &numbered, "CONFIG.YAML", "USER_DATA", "USER_DATA_1"];
        let expected =
            expected.map(|name| if name.contains('.') { name.to_owned() } else { name.to_owned() + "." });
        assert_eq!(plain, expected.map(|name| name + ";1"));
    }

    #[test]
    fn folders_have_neither_extension_nor_version() {
        let plain = plain(&[("i386-pc", TreeEntry::folder()), ("i386.pc", TreeEntry::folder())]);

        assert_eq!(plain, ["I386_PC", "I386_PC_1"]);
    }
}
