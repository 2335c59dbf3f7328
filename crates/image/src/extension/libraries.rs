//! The libraries that programs need, found as their loader would find them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::elf::Elf;
use super::{ExtensionBuildError, ExtensionRequest};
use crate::oci::FileTree;
use ichor_values::Arch;

/// The library cache that glibc's loader reads before its own folders.
const CACHE: &str = "etc/ld.so.cache";

/// The libraries of programs: paths in the input, with links on the way.
#[derive(Debug, Default)]
pub(super) struct RequiredLibraries {
    /// Libraries and loaders.
    pub(crate) libraries: BTreeSet<String>,
    /// Links that lead to them.
    pub links: BTreeSet<String>,
}

struct LibrarySearch<'s> {
    root: &'s FileTree,
    arch: Arch,
    needs: RequiredLibraries,
    missing: BTreeMap<String, String>,
    queue: VecDeque<ElfObject>,
}

/// A program or library whose needs are to be found.
struct ElfObject {
    path: String,
    elf: Elf,
    /// Search paths inherited from the files that load it.
    inherited: Vec<String>,
    musl: bool,
}

/// Finds the dependencies of the programs at these paths.
pub(super) fn find_libraries(
    order: &ExtensionRequest<'_>,
    programs: &[(String, Elf)],
) -> Result<RequiredLibraries, ExtensionBuildError> {
    let mut search = LibrarySearch {
        root: order.input,
        arch: order.arch,
        needs: RequiredLibraries::default(),
        missing: BTreeMap::new(),
        queue: VecDeque::new(),
    };
    for (path, elf) in programs {
        let musl = elf.interpreter.as_ref().is_some_and(|loader| loader.contains("/ld-musl-"));
        if let Some(loader) = &elf.interpreter
            && !search.add(loader, &[], musl)
        {
            search.missing.entry(loader.clone()).or_insert_with(|| path.clone());
        }
        let object = ElfObject { path: path.clone(), elf: elf.clone(), inherited: Vec::new(), musl };
        search.queue.push_back(object);
    }
    while let Some(object) = search.queue.pop_front() {
        search.object(&object);
    }
    if search.missing.is_empty() {
        return Ok(search.needs);
    }
    let missing = search.missing.iter().map(|(library, by)| format!("{library} (needed by /{by})")).collect();
    Err(ExtensionBuildError::Libraries { missing, origin: order.origin.to_owned() })
}

impl LibrarySearch<'_> {
    fn object(&mut self, object: &ElfObject) {
        let own = |folders: &[String]| -> Vec<String> {
            let origin =
                object.path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("/{folder}"));
            folders.iter().map(|it| it.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)).collect()
        };
        // ld.so(8): RPATH applies only without RUNPATH, and only RPATH is inherited.
        let handed_down: Vec<_> = if object.elf.runpath.is_empty() {
            own(&object.elf.rpath).into_iter().chain(object.inherited.iter().cloned()).collect()
        } else {
            Vec::new()
        };
        let mut folders = handed_down.clone();
        folders.extend(own(&object.elf.runpath));
        let known = folders.len();
        folders.extend(self.usual(object.musl));
        let usual = folders.len();
        if !object.musl && self.root.read(CACHE).is_some() {
            folders.extend(self.configured_folders());
        }
        for library in &object.elf.needed {
            let candidates: Vec<_> = if library.contains('/') {
                vec![library.clone()]
            } else {
                folders.iter().map(|folder| format!("{folder}/{library}")).collect()
            };
            match candidates.iter().position(|path| self.add(path, &handed_down, object.musl)) {
                Some(nth) if nth >= usual && usual >= known => self.pass(CACHE),
                Some(_) => {}
                None => drop(self.missing.entry(library.clone()).or_insert_with(|| object.path.clone())),
            }
        }
    }

    /// Takes the library that a path leads to, if there is one for these machines.
    fn add(&mut self, path: &str, handed_down: &[String], musl: bool) -> bool {
        let Some(walk) = self.root.follow(path) else { return false };
        let Some(bytes) = self.root.read(&walk.target) else { return false };
        let Ok(elf) = Elf::read(bytes) else { return false };
        if elf.arch() != Some(self.arch) {
            return false;
        }
        self.needs.links.extend(walk.links);
        if self.needs.libraries.insert(walk.target.clone()) {
            let inherited = handed_down.to_vec();
            self.queue.push_back(ElfObject { path: walk.target, elf, inherited, musl });
        }
        true
    }

    /// Skips a file that is not a library.
    fn pass(&mut self, path: &str) {
        if let Some(walk) = self.root.follow(path) {
            self.needs.links.extend(walk.links);
            self.needs.libraries.insert(walk.target);
        }
    }

    /// The loader's default folders: glibc of Debian and of others, and musl.
    fn usual(&self, musl: bool) -> Vec<String> {
        let triple = match self.arch {
            Arch::Amd64 => "x86_64-linux-gnu",
            Arch::Arm64 => "aarch64-linux-gnu",
        };
        if musl {
            return ["/lib", "/usr/local/lib", "/usr/lib"].map(str::to_owned).to_vec();
        }
        let multiarch = [format!("/lib/{triple}"), format!("/usr/lib/{triple}")];
        multiarch.into_iter().chain(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(str::to_owned)).collect()
    }

    /// The folders of glibc's configuration.
    fn configured_folders(&self) -> Vec<String> {
        let parts = self.root.below("etc/ld.so.conf.d").map(|(path, _)| path.to_owned());
        let files = ["etc/ld.so.conf".to_owned()].into_iter().chain(parts);
        let texts = files.filter_map(|path| String::from_utf8(self.root.read(&path)?.to_vec()).ok());
        let lines =
            texts.flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>());
        lines.filter(|line| line.starts_with('/')).collect()
    }
}
