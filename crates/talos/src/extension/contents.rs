//! The allowed paths in the root file system of an extension.

use super::tree::{FileEntry, FileKind, ROOT, Tree};
use super::verdict::{Remark, Verdict};
use crate::release;
use ichor_values::TalosVersion;

/// The allowed path prefixes, with the minor release of Talos that first accepts them.
///
/// Talos only compares the beginning of the path: `/usr/local-old` is accepted like `/usr/local`.
const ALLOWED: [(&str, u16, ExpectedKind); 19] = [
    ("/etc/cri/conf.d", 11, ExpectedKind::Folder),
    ("/usr/lib/firmware", 11, ExpectedKind::Folder),
    ("/usr/lib/modules", 11, ExpectedKind::Folder),
    ("/usr/lib/ld-linux-x86-64.so.2", 11, ExpectedKind::File),
    ("/usr/lib/ld-linux-aarch64.so.1", 12, ExpectedKind::File),
    ("/usr/bin/ldconfig", 11, ExpectedKind::File),
    ("/etc/ld.so.conf", 13, ExpectedKind::File),
    ("/etc/ld.so.cache", 13, ExpectedKind::File),
    ("/usr/bin/nvidia-modprobe", 13, ExpectedKind::File),
    ("/usr/bin/nvidia-pcc", 13, ExpectedKind::File),
    ("/usr/bin/nvidia-smi", 13, ExpectedKind::File),
    ("/usr/bin/nvidia-ctk", 13, ExpectedKind::File),
    ("/usr/bin/nvidia-cdi-hook", 13, ExpectedKind::File),
    ("/usr/bin/nvme", 13, ExpectedKind::File),
    ("/usr/lib/udev/rules.d", 11, ExpectedKind::Folder),
    ("/usr/local", 11, ExpectedKind::Folder),
    ("/usr/share/glvnd", 11, ExpectedKind::Folder),
    ("/usr/share/egl", 11, ExpectedKind::Folder),
    ("/etc/vulkan", 11, ExpectedKind::Folder),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedKind {
    Folder,
    File,
}

/// Judges every entry of the root file system.
pub(super) fn check_contents(tree: &Tree, talos: &TalosVersion, verdict: &mut Verdict) {
    let mut has_modules = false;
    for (path, entry) in tree.below(ROOT) {
        let on_node = match &path[ROOT.len()..] {
            "" => "/",
            on_node => on_node,
        };
        if let Some(problem) = refusal(path, on_node, entry, talos) {
            verdict.problem(problem);
            continue;
        }
        verdict.warn_all(warnings(path, on_node, entry));
        if !has_modules && on_node.starts_with("/usr/lib/modules/") && on_node.contains(".ko") {
            has_modules = true;
            let fix = "take modules from the build of the Talos release they are for";
            verdict.warn(Remark::for_file(
                path,
                "a kernel loads only modules that are signed by its own build",
                fix,
            ));
        }
    }
}

fn refusal(path: &str, on_node: &str, entry: &FileEntry, talos: &TalosVersion) -> Option<Remark> {
    match entry.kind {
        FileKind::Folder => return None,
        FileKind::Special(name) => {
            let message = format!("a {name}: an extension has files, folders and links");
            return Some(Remark::for_file(
                path,
                message,
                "remove it; services find the node's devices in /dev",
            ));
        }
        FileKind::File | FileKind::Link(_) => {}
    }
    let fitting = || ALLOWED.iter().filter(|(start, ..)| on_node.starts_with(start));
    if fitting().any(|(_, since, _)| release::at_least(talos, *since)) {
        return None;
    }
    if on_node == "/" {
        return Some(Remark::for_file(
            path,
            "not a folder",
            "make it the folder that holds the extension's files",
        ));
    }
    let message = format!("{on_node} is not an allowed path for an extension");
    let fix = match fitting().map(|(_, since, _)| since).min() {
        Some(since) => format!("Talos accepts it since 1.{since}"),
        None => "put it below rootfs/usr/local: what a service uses belongs to \
                 rootfs/usr/local/lib/containers/NAME"
            .to_owned(),
    };
    Some(Remark::for_file(path, message, fix))
}

fn warnings(path: &str, on_node: &str, entry: &FileEntry) -> Vec<Remark> {
    if entry.kind == FileKind::Folder {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    let mut warn = |message: &str, fix: &str| warnings.push(Remark::for_file(path, message, fix));
    if entry.kind == FileKind::File && entry.mode & 0o002 != 0 {
        warn("world-writable: Talos intends to reject that, but checks the wrong bits", "chmod o-w");
    }
    if entry.kind == FileKind::File && entry.mode & 0o6000 != 0 {
        warn("its set-user or set-group bit does nothing: services may not gain privileges", "chmod ug-s");
    }
    let inside = |start: &str| {
        on_node.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let starts = ALLOWED.iter().filter(|(start, ..)| on_node.starts_with(start));
    let mut folders =
        starts.filter(|(_, _, shape)| *shape == ExpectedKind::Folder).map(|(start, ..)| *start).peekable();
    if let Some(start) = folders.peek().copied()
        && !folders.any(inside)
    {
        let message =
            format!("Talos accepts it because it begins like {start}, although it is outside of it");
        warn(&message, &format!("put it into {start}"));
    }
    for (folder, ending, who) in
        [("/etc/cri/conf.d/", ".part", "Talos joins"), ("/usr/lib/udev/rules.d/", ".rules", "udev reads")]
    {
        let name = on_node.strip_prefix(folder).filter(|name| !name.contains('/'));
        if name.is_some_and(|name| !name.ends_with(ending)) {
            warn(
                &format!("{who} only the files in here that end in {ending}"),
                &format!("give it that ending, such as 20-name{ending}"),
            );
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(path: &str, entry: FileEntry, talos: &str) -> Verdict {
        let mut tree = Tree::default();
        tree.add(ROOT, FileEntry { kind: FileKind::Folder, mode: 0o755 });
        tree.add(format!("rootfs{path}"), entry);
        let mut verdict = Verdict::default();
        check_contents(&tree, &TalosVersion::parse(talos).unwrap(), &mut verdict);
        verdict
    }

    fn file(mode: u32) -> FileEntry {
        FileEntry { kind: FileKind::File, mode }
    }

    #[test]
    fn a_path_may_come_with_a_release() {
        for (path, since) in
            [("/usr/lib/ld-linux-aarch64.so.1", 12), ("/usr/bin/nvme", 13), ("/etc/ld.so.conf.d/x", 13)]
        {
            for minor in 11..=14 {
                let verdict = judged(path, file(0o644), &format!("1.{minor}"));
                assert_eq!(verdict.is_valid(), minor >= since, "{path} on 1.{minor}");
                let says = verdict.problems.iter().all(|it| it.fix().contains(&format!("since 1.{since}")));
                assert!(says, "{:?}", verdict.problems);
            }
        }
    }

    #[test]
    fn links_are_judged_by_their_own_path_and_folders_ignored() {
        let link = FileEntry { kind: FileKind::Link("/usr/local/x".to_owned()), mode: 0o777 };
        assert!(!judged("/bin", link.clone(), "1.12").is_valid());
        assert_eq!(judged("/usr/local/y", link, "1.12"), Verdict::default());
        assert_eq!(
            judged("/var/lib", FileEntry { kind: FileKind::Folder, mode: 0o1777 }, "1.12"),
            Verdict::default()
        );
        for name in ["device", "pipe", "socket"] {
            let special = FileEntry { kind: FileKind::Special(name), mode: 0o644 };
            assert!(judged("/usr/local/x", special, "1.12").problems[0].issue.message.contains(name));
        }
    }

    #[test]
    fn files_without_effect_are_reported() {
        for (path, mode, said) in [
            ("/usr/localx", 0o644, "begins like /usr/local"),
            ("/usr/lib/modules-old/x", 0o644, "begins like /usr/lib/modules"),
            ("/usr/local/x", 0o646, "world-writable"),
            ("/usr/local/x", 0o4755, "set-user"),
            ("/usr/local/x", 0o2755, "set-user"),
            ("/etc/cri/conf.d/20-x.toml", 0o644, ".part"),
            ("/usr/lib/udev/rules.d/99-x.rule", 0o644, ".rules"),
            ("/usr/lib/modules/6.1/x.ko.xz", 0o644, "signed"),
        ] {
            let verdict = judged(path, file(mode), "1.13");
            assert!(verdict.is_valid(), "{path}");
            let warnings = &verdict.warnings;
            assert!(warnings.len() == 1 && warnings[0].issue.message.contains(said), "{path}: {warnings:?}");
        }
        for path in
            ["/usr/local/x", "/etc/cri/conf.d/20-x.part", "/etc/cri/conf.d/hosts/x", "/usr/bin/ldconfig"]
        {
            assert_eq!(judged(path, file(0o755), "1.13"), Verdict::default(), "{path}");
        }
    }
}
