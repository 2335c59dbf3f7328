//! The services in the root file system of an extension: the definitions that the node finds, and their programs.
//!
//! Talos' validator ignores them. The node reads them, and logs the ones it cannot use: everything here is a warning.

use std::collections::{BTreeMap, BTreeSet};

use super::service::{Definition, ServiceDefinition};
use super::tree::{DEFINITIONS, FileKind, ROOT, Tree, ending};
use super::verdict::{Remark, Verdict};
use ichor_values::TalosVersion;

/// The folder of containers' root file systems, in the tree.
const CONTAINERS: &str = "rootfs/usr/local/lib/containers";

/// Judges all services.
pub(super) fn check_services(tree: &Tree, talos: &TalosVersion, verdict: &mut Verdict) {
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    let mut started = BTreeSet::new();
    for path in tree.definitions() {
        let Some(bytes) = tree.definition_file(path).and_then(|file| tree.text(&file)) else {
            verdict.warn(Remark::for_file(
                path,
                "not a file: the node starts no service by it",
                "put the definition there",
            ));
            continue;
        };
        let definition = Definition::read(path, bytes, talos);
        let unused = definition.problems.iter().cloned().map(|mut problem| {
            problem.issue.message.push_str("; the node does not start this service");
            problem
        });
        verdict.warn_all(unused);
        verdict.warn_all(definition.warnings.iter().cloned());
        let Some(service) = &definition.service else { continue };
        let file = path.rsplit('/').next().unwrap_or(path);
        verdict.warn_all(name_warning(path, file, service));
        verdict.warn_all(container(tree, path, service).map(|remark| definition.locate(remark)));
        verdict.warn_all(mounts(tree, path, service).into_iter().map(|remark| definition.locate(remark)));
        started.insert(service.name.clone());
        match names.get(&service.name) {
            _ if !definition.problems.is_empty() => {}
            Some(first) => {
                let message =
                    format!("a second service `{}`: the node takes the one of {first}", service.name);
                verdict.warn(Remark::for_file(path, message, "give it a name of its own"));
            }
            None => drop(names.insert(service.name.clone(), path)),
        }
    }
    strays(tree, verdict);
    orphans(tree, &started, verdict);
}

/// The names of services that the node starts, with their files.
pub(super) fn names(tree: &Tree, talos: &TalosVersion) -> Vec<(String, String)> {
    let name = |path: &str| {
        let bytes = tree.text(&tree.definition_file(path)?)?;
        Some((super::service_name(path, bytes, talos)?, path.to_owned()))
    };
    tree.definitions().filter_map(name).collect()
}

/// A file whose name is not that of its service.
pub(super) fn name_warning(path: &str, file: &str, service: &ServiceDefinition) -> Option<Remark> {
    let wanted = format!("{}.yaml", service.name);
    let is_named = service.name.is_empty() || file == wanted;
    (!is_named).then(|| {
        let message = format!(
            "the service is named `{}` regardless of the file name, and the node runs it as `ext-{}`",
            service.name, service.name
        );
        Remark::for_file(
            path,
            message,
            format!("rename it to {wanted}, so that file and service have the same name"),
        )
    })
}

/// Whether there is a container, and a program to start in it.
fn container(tree: &Tree, path: &str, service: &ServiceDefinition) -> Option<Remark> {
    // An invalid name leads to no folder, and is a problem of its own.
    if service.name.is_empty() || service.name.contains('/') {
        return None;
    }
    let folder = format!("{CONTAINERS}/{}", service.name);
    let root = tree.resolve(ROOT, folder.strip_prefix("rootfs/")?);
    let is_folder = |path: &String| tree.get(path).is_some_and(|entry| entry.kind == FileKind::Folder);
    let Some(root) = root.filter(is_folder) else {
        let message = format!("its container has no root file system: folder {folder} is missing");
        return Some(Remark::for_file(path, message, "put the files of the container there"));
    };
    // A name without slashes is searched in the PATH of the container.
    if !service.entrypoint.contains('/') {
        return None;
    }
    let entry = tree.resolve(&root, &service.entrypoint).and_then(|program| tree.get(&program));
    let (message, fix) = match entry {
        Some(entry) if entry.kind == FileKind::File && entry.mode & 0o111 != 0 => return None,
        Some(entry) if entry.kind == FileKind::File => ("may not be executed", "chmod +x"),
        Some(_) => ("is not a file", "name the program that is to be started"),
        None => ("is not in its container", "put the program there, or name another one"),
    };
    let message = format!("`{}` {message}: {root}{}", service.entrypoint, slashed(&service.entrypoint));
    Some(Remark::for_file(path, message, fix).at(0, "container.entrypoint"))
}

fn slashed(path: &str) -> String {
    format!("/{}", path.trim_start_matches('/'))
}

/// Mounts whose source only an extension could provide.
fn mounts(tree: &Tree, path: &str, service: &ServiceDefinition) -> Vec<Remark> {
    let missing = service.mounts.iter().filter(|mount| {
        mount.source.starts_with("/usr/local/") && tree.resolve(ROOT, &mount.source).is_none()
    });
    let remark = |key: &str, source: &str| {
        let message =
            format!("{source} is not in this extension, and the node cannot make it: /usr is read-only");
        let fix = "put it into rootfs, or make sure that another extension brings it";
        Remark::for_file(path, message, fix).at(0, format!("{key}.source"))
    };
    missing.map(|mount| remark(&mount.key, &mount.source)).collect()
}

/// Definitions that the node ignores.
fn strays(tree: &Tree, verdict: &mut Verdict) {
    let is_yaml = |name: &str| ["yaml", "yml"].contains(&ending(name).to_lowercase().as_str());
    let fix = format!("call it NAME.yaml and put it into {DEFINITIONS}");
    for (path, _) in tree.below(ROOT).filter(|(_, entry)| entry.kind != FileKind::Folder) {
        let Some((folder, name)) = path.rsplit_once('/') else { continue };
        let in_container = folder.strip_prefix(CONTAINERS).is_some_and(|rest| rest.starts_with('/'));
        let is_near = folder.ends_with("/containers") || folder.ends_with("/container");
        let message = if folder == DEFINITIONS {
            if ending(name) == "yaml" {
                continue;
            }
            "the node reads only files in this folder that end in .yaml, and ignores this one"
        } else if !in_container && is_yaml(name) && (is_near || folder.starts_with(DEFINITIONS)) {
            "the node does not search this folder for service definitions"
        } else {
            continue;
        };
        verdict.warn(Remark::for_file(path, message, fix.clone()));
    }
}

/// Containers that nothing starts.
fn orphans(tree: &Tree, started: &BTreeSet<String>, verdict: &mut Verdict) {
    for (name, path) in tree.children(CONTAINERS) {
        let is_folder = tree.get(path).is_some_and(|entry| entry.kind == FileKind::Folder);
        if is_folder && !started.contains(name) {
            let fix = format!("put a definition with `name: {name}` into {DEFINITIONS}");
            verdict.warn(Remark::for_file(path, "a container that no service definition starts", fix));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::FileEntry;
    use super::*;

    const DEFINITION: &str = "name: frr\ncontainer: {entrypoint: /bin/x}\nrestart: always\n";

    /// The warnings about a root file system with these files, those with a text being definitions.
    fn warnings(files: &[(&str, u32, &str)]) -> Vec<String> {
        let mut tree = Tree::default();
        for (path, mode, text) in files {
            let path = format!("rootfs/{path}");
            let folders = path.match_indices('/').map(|(at, _)| path[..at].to_owned()).collect::<Vec<_>>();
            for folder in folders {
                tree.add(folder, FileEntry { kind: FileKind::Folder, mode: 0o755 });
            }
            tree.add(path.clone(), FileEntry { kind: FileKind::File, mode: *mode });
            tree.fill(path, text.as_bytes().to_vec());
        }
        let mut verdict = Verdict::default();
        check_services(&tree, &TalosVersion::parse("1.13").unwrap(), &mut verdict);
        assert!(verdict.is_valid(), "the validator does not look at services");
        verdict.warnings.into_iter().map(|it| format!("{}: {}", it.file, it.issue.message)).collect()
    }

    fn assert_one(files: &[(&str, u32, &str)], file: &str, message: &str) {
        let warnings = warnings(files);
        let fits = |it: &String| it.starts_with(&format!("rootfs/{file}: ")) && it.contains(message);
        assert!(warnings.len() == 1 && fits(&warnings[0]), "{message}: {warnings:?}");
    }

    const AT: &str = "usr/local/etc/containers/frr.yaml";
    const PROGRAM: (&str, u32, &str) = ("usr/local/lib/containers/frr/bin/x", 0o755, "");

    #[test]
    fn a_service_with_all_it_needs_has_no_warning() {
        assert_eq!(warnings(&[(AT, 0o644, DEFINITION), PROGRAM]), [""; 0]);
        assert_eq!(warnings(&[("usr/local/bin/x", 0o755, "")]), [""; 0]);
    }

    #[test]
    fn the_program_of_a_service_definition_must_exist() {
        let good = (AT, 0o644, DEFINITION);
        assert_one(&[good], AT, "no root file system");
        assert_one(&[good, (PROGRAM.0, 0o644, "")], AT, "may not be executed");
        assert_one(&[good, ("usr/local/lib/containers/frr/bin/y", 0o755, "")], AT, "is not in its container");
        assert_one(&[good, ("usr/local/lib/containers/frr/bin/x/y", 0o755, "")], AT, "is not a file");
        let mount =
            DEFINITION.replace("/bin/x", "/bin/x, mounts: [{source: /usr/local/no, destination: /no}]");
        assert_one(&[(AT, 0o644, &mount), PROGRAM], AT, "/usr is read-only");
    }

    #[test]
    fn services_that_talos_does_not_start_are_reported() {
        let good = (AT, 0o644, DEFINITION);
        assert_one(
            &[(AT, 0o644, "x"), good, PROGRAM][..1],
            AT,
            "takes a map, not a word; the node does not start",
        );
        assert_one(
            &[good, PROGRAM, ("usr/local/lib/containers/b/x", 0o644, "")],
            "usr/local/lib/containers/b",
            "no service",
        );
        for path in [
            "usr/local/etc/containers/b.yml",
            "usr/local/etc/containers/b.YAML",
            "usr/local/etc/containers/d/b.yaml",
            "usr/local/lib/containers/b.yaml",
            "usr/local/etc/container/b.yaml",
        ] {
            assert_one(&[good, PROGRAM, (path, 0o644, DEFINITION)], path, "the node");
        }
        let twice = warnings(&[good, PROGRAM, ("usr/local/etc/containers/g.yaml", 0o644, DEFINITION)]);
        assert!(twice.iter().any(|it| it.contains("a second service `frr`")), "{twice:?}");
        assert!(twice.iter().any(|it| it.contains("regardless of the file name")), "{twice:?}");
    }
}
