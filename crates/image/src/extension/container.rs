//! The root file system of the service's container: the daemon, its dependencies and the agent.

use super::elf::Elf;
use super::libraries;
use super::packages::{Package, Packages};
use super::recipe::{DaemonProgram, DaemonRecipe, FOLDERS};
use super::{ExtensionBuildError, ExtensionRequest, RELEASE, accounts};
use crate::oci::{EntryKind, FileTree, TreeEntry};

/// The path of the agent in the container.
pub(super) const AGENT: &str = "usr/bin/ichor-agent";

/// Folders that are mounted over, or written to where something is mounted.
const MOUNT_POINTS: [&str; 6] = ["dev", "etc", "proc", "run", "sys", "var/lib"];

/// The root file system of a container, and the origin of its files.
#[derive(Debug, Default)]
pub(super) struct Container {
    pub root: FileTree,
    /// Programs of the daemon, as paths of the input.
    pub(crate) programs: Vec<String>,
    /// Libraries, as paths of the input.
    pub(crate) libraries: Vec<String>,
    /// The package of the daemon.
    pub daemon: Option<Package>,
    /// All packages of which there is a file, each with its files.
    pub(crate) packages: Vec<(Package, Vec<String>)>,
    /// Files of no package.
    pub(crate) strays: Vec<String>,
}

/// Extracts the daemon and its dependencies from the input.
pub(super) fn build_container(
    order: &ExtensionRequest<'_>,
    recipe: &DaemonRecipe,
    packages: &Packages,
) -> Result<Container, ExtensionBuildError> {
    check_agent(order)?;
    let mut container = Container::default();
    let programs = programs(order, recipe, &mut container.root)?;
    let needs = libraries::find_libraries(order, &programs)?;
    container.programs = programs.into_iter().map(|(path, _)| path).collect();
    container.libraries = needs.libraries.into_iter().collect();
    let copied = needs.links.iter().chain(&container.programs).chain(&container.libraries);
    for path in copied {
        if let Some(entry) = order.input.get(path) {
            // The container has `no_new_privs`, so setuid bits have no effect.
            let mode = if entry.mode & 0o111 == 0 { 0o644 } else { 0o755 };
            let mode = if matches!(entry.kind, EntryKind::Link(_)) { entry.mode } else { mode };
            // A label would be one of another system's policy.
            container.root.put(path, TreeEntry { mode, kind: entry.kind.clone(), label: None });
        }
    }
    container.root.put(AGENT, TreeEntry::file(0o755, order.agent));
    add_runtime_files(recipe, &mut container.root);
    assign_packages(packages, &mut container);
    if let Some(daemon) = &container.daemon {
        let release = format!("{} {}\n", order.backend, daemon.upstream());
        container.root.put(RELEASE.trim_start_matches('/'), TreeEntry::file(0o644, release.into_bytes()));
    }
    Ok(container)
}

fn check_agent(order: &ExtensionRequest<'_>) -> Result<(), ExtensionBuildError> {
    let path = "the agent".to_owned();
    let elf = Elf::read(order.agent)
        .map_err(|source| ExtensionBuildError::Program { path: path.clone(), source })?;
    if elf.arch() != Some(order.arch) {
        return Err(ExtensionBuildError::Machine { path, got: elf.machine(), want: order.arch });
    }
    match elf.interpreter.or_else(|| elf.needed.first().cloned()) {
        Some(needed) => Err(ExtensionBuildError::AgentNotStatic(needed)),
        None => Ok(()),
    }
}

/// The programs of the daemon, with links in the folder where the agent expects them.
fn programs(
    order: &ExtensionRequest<'_>,
    recipe: &DaemonRecipe,
    root: &mut FileTree,
) -> Result<Vec<(String, Elf)>, ExtensionBuildError> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for program in recipe.programs {
        let Some(path) = find_program(order.input, program) else {
            if program.always {
                missing.push(program.name.to_owned());
            }
            continue;
        };
        let bytes = order.input.read(&path).expect("found a moment ago");
        let shown = format!("/{path}");
        let elf = Elf::read(bytes)
            .map_err(|source| ExtensionBuildError::Program { path: shown.clone(), source })?;
        if elf.arch() != Some(order.arch) {
            return Err(ExtensionBuildError::Machine { path: shown, got: elf.machine(), want: order.arch });
        }
        let usual = format!("{}/{}", program.folder, program.name);
        if usual != path {
            root.put(&usual, TreeEntry::link(shown));
        }
        found.push((path, elf));
    }
    if missing.is_empty() {
        return Ok(found);
    }
    let folders = FOLDERS.map(|folder| format!("/{folder}")).join(", ");
    Err(ExtensionBuildError::Programs { missing, folders, origin: order.origin.to_owned() })
}

fn find_program(input: &FileTree, program: &DaemonProgram) -> Option<String> {
    let folders = [program.folder].into_iter().chain(FOLDERS);
    let mut paths = folders.filter_map(|folder| input.follow(&format!("{folder}/{}", program.name)));
    paths.find_map(|walk| {
        let is_file = matches!(input.get(&walk.target)?.kind, EntryKind::File(_));
        is_file.then_some(walk.target)
    })
}

/// Adds the files that every machine has.
fn add_runtime_files(recipe: &DaemonRecipe, root: &mut FileTree) {
    for folder in MOUNT_POINTS.iter().chain(recipe.folders) {
        if root.get(folder).is_none() {
            root.put(folder, TreeEntry::folder());
        }
    }
    for folder in ["tmp", "var/tmp"] {
        root.put(folder, TreeEntry { mode: 0o1777, ..TreeEntry::folder() });
    }
    root.put("var/run", TreeEntry::link("/run"));
    for (path, text) in accounts::files(recipe) {
        root.put(path, TreeEntry::file(0o644, text.into_bytes()));
    }
    for (path, text) in recipe.files {
        root.put(path, TreeEntry::file(0o644, text.as_bytes()));
    }
}

/// Sorts the files by their packages.
fn assign_packages(packages: &Packages, container: &mut Container) {
    container.daemon = container.programs.iter().find_map(|path| packages.owner(path)).cloned();
    for path in container.programs.iter().chain(&container.libraries) {
        match packages.owner(path) {
            None => container.strays.push(path.clone()),
            Some(package) => match container.packages.iter_mut().find(|(known, _)| known == package) {
                Some((_, files)) => files.push(path.clone()),
                None => container.packages.push((package.clone(), vec![path.clone()])),
            },
        }
    }
    container.packages.sort();
    container.packages.iter_mut().for_each(|(_, files)| files.sort());
    container.strays.sort();
}
