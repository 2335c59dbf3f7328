//! System extensions: the verdict of Talos' validator, and what Talos silently ignores.
//!
//! A [`Tree`] is the unpacked image. [`check_extension`] validates all of it: the entries at the top, the manifest, the contents of
//! the root file system, and its services. [`judge_service`] validates a service definition alone. Both return
//! a [`Verdict`]: problems are rejected by Talos, warnings are accepted but likely mistakes.
//!
//! Talos' validator does not read service definitions. The node does, and leaves out those it cannot use: in a tree, that is a
//! warning.
//!
//! Not here: walking through folders, and making extensions.

mod caution;
mod compatibility;
mod contents;
mod layers;
mod manifest;
mod metadata;
mod reader;
mod service;
mod services;
mod tree;
mod verdict;

pub use layers::{LAYERS, Layer, manifest};
pub use metadata::ExtensionMetadata;
pub use tree::{FileEntry, FileKind, Tree};
pub use verdict::{Remark, Verdict};

use ichor_values::TalosVersion;

/// Judges an unpacked extension as a release does.
pub fn check_extension(tree: &Tree, talos: &TalosVersion) -> Verdict {
    let mut verdict = Verdict::default();
    let (mut has_manifest, mut has_root) = (false, false);
    for path in tree.top() {
        match path {
            tree::MANIFEST => has_manifest = true,
            tree::ROOT => has_root = true,
            other => verdict.problem(unexpected(other)),
        }
    }
    if has_manifest {
        manifest::check_manifest(tree, talos, &mut verdict);
    } else {
        let fix = "write one with `version: v1alpha1` and `metadata`";
        verdict.problem(Remark::for_file(tree::MANIFEST, "missing: every extension says what it is", fix));
    }
    if has_root {
        contents::check_contents(tree, talos, &mut verdict);
        services::check_services(tree, talos, &mut verdict);
    } else {
        let fix = "put the files of the extension into it, at the paths they have on the node";
        verdict.problem(Remark::for_file(tree::ROOT, "missing: there is nothing to add to the node", fix));
    }
    verdict
}

/// The metadata of an unpacked extension; none if its manifest cannot be read.
pub fn metadata(tree: &Tree, talos: &TalosVersion) -> Option<ExtensionMetadata> {
    manifest::metadata(tree, talos)
}

/// The names of the services in an unpacked extension, with the files that define them. Files the node cannot use are skipped.
pub fn services(tree: &Tree, talos: &TalosVersion) -> Vec<(String, String)> {
    services::names(tree, talos)
}

/// Whether a node reads the file at a path of its root file system as a service definition.
pub fn is_definition(path: &str) -> bool {
    let name = tree::DEFINITIONS
        .strip_prefix("rootfs/")
        .and_then(|folder| path.strip_prefix(folder)?.strip_prefix('/'));
    name.is_some_and(|name| !name.contains('/') && tree::ending(name) == "yaml")
}

/// The name of the service that a node starts for a definition; none if it cannot use it.
pub fn service_name(file: &str, bytes: &[u8], talos: &TalosVersion) -> Option<String> {
    let definition = service::Definition::read(file, bytes, talos);
    Some(definition.service.filter(|_| definition.problems.is_empty())?.name)
}

/// Validates the text of a service definition as a release does; `file` is its name in messages.
pub fn judge_service(file: &str, bytes: &[u8], talos: &TalosVersion) -> Verdict {
    let mut verdict = Verdict::default();
    let definition = service::Definition::read(file, bytes, talos);
    definition.problems.into_iter().for_each(|problem| verdict.problem(problem));
    definition.warnings.into_iter().for_each(|warning| verdict.warn(warning));
    if let Some(service) = definition.service {
        let stem = file.rsplit('/').next().unwrap_or(file);
        verdict.warn_all(services::name_warning(file, stem, &service));
    }
    verdict
}

fn unexpected(path: &str) -> Remark {
    let message = "unexpected: an extension has only manifest.yaml and rootfs at its top";
    Remark::for_file(path, message, "remove it; files for the node go below rootfs/")
}
