//! Extensions: what Talos says of them before anything is written.

use ichor_image::build::extension::Extension;
use ichor_image::media::Content;
use ichor_image::oci::{Digest, FileTree, TreeEntry};
use ichor_values::TalosVersion;

/// The image of an extension, unpacked.
pub fn root(name: &str, files: &[(&str, &[u8])]) -> FileTree {
    let mut root = FileTree::default();
    let manifest = format!(
        "version: v1alpha1\nmetadata:\n  name: {name}\n  version: v1.0\n  author: us\n  description: it\n  compatibility:\n    talos:\n      version: '>= v1.11.0'\n"
    );
    root.put("manifest.yaml", TreeEntry::file(0o644, manifest.into_bytes()));
    root.put("rootfs", TreeEntry::folder());
    for (path, bytes) in files {
        root.put(&format!("rootfs/{path}"), TreeEntry::file(0o755, *bytes));
    }
    root
}

pub fn talos(version: &str) -> TalosVersion {
    TalosVersion::parse(version).unwrap()
}

/// An extension that Talos takes.
pub fn extension(name: &str, files: &[(&str, &[u8])]) -> Extension {
    Extension::from_tree(root(name, files), &talos("v1.13.9")).unwrap().0
}

pub fn sum(bytes: &[u8]) -> String {
    Digest::of_bytes(bytes).hex().to_owned()
}

#[test]
fn extensions_that_talos_rejects_are_rejected() {
    let mut root = root("frr", &[("etc/passwd", b"x"), ("bin/sh", b"x")]);
    let error = Extension::from_tree(root.clone(), &talos("v1.13.9")).unwrap_err();
    assert!(error.to_string().starts_with("Talos v1.13.9 rejects the extension: rootfs/bin/sh"), "{error}");
    assert!(error.to_string().contains("(and 1 more;"), "{error}");

    root.remove("manifest.yaml");
    assert!(Extension::from_tree(root, &talos("v1.13.9")).unwrap_err().to_string().contains("manifest.yaml"));
}

#[test]
fn an_extension_for_another_release_is_rejected() {
    let error = Extension::from_tree(root("frr", &[]), &talos("v1.10.0")).unwrap_err();

    assert!(error.to_string().contains(">= v1.11.0"), "{error}");
}

#[test]
fn configurations_are_embedded_since_1_12() {
    let config = Content::from(b"version: v1alpha1\n");
    let error = Extension::embedded(&config, &talos("v1.11.6")).unwrap_err();
    assert!(
        error.to_string().contains("Talos v1.11.6 does not support an embedded configuration"),
        "{error}"
    );

    for (version, mode) in [("v1.12.11", 0), ("v1.13.9", 0o400), ("v1.14.0-rc.1", 0o400)] {
        let extension = Extension::embedded(&config, &talos(version)).unwrap();

        let entry = extension.root.get("rootfs/usr/local/etc/talos/config.yaml").unwrap();
        assert_eq!((entry.mode, entry.memory()), (mode, Some(&b"version: v1alpha1\n"[..])));
        assert_eq!(extension.metadata.version, sum(b"version: v1alpha1\n"));
        // It is an extension like any other.
        let (again, warnings) = Extension::from_tree(extension.root.clone(), &talos(version)).unwrap();
        assert_eq!((again.metadata, warnings), (extension.metadata, Vec::new()));
    }
}
