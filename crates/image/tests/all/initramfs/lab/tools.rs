//! Programs that read and write images, and folders for what they find.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use ichor_image::oci::{EntryKind, FileTree, TreeEntry};

/// Runs a program that must succeed, in a folder, and returns its output.
pub fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output();
    let output =
        output.unwrap_or_else(|error| panic!("{program}: {error}; install it with scripts/tools squashfs"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout + &stderr
}

/// A tree as a folder on disk.
pub fn lay_out(root: &FileTree, folder: &Path) {
    fs::create_dir(folder).unwrap();
    for (path, entry) in root.iter() {
        let at = folder.join(path);
        match &entry.kind {
            EntryKind::Folder => fs::create_dir(&at).unwrap(),
            EntryKind::File(content) => fs::write(&at, content.read().unwrap()).unwrap(),
            EntryKind::Link(target) => symlink(target, &at).unwrap(),
            EntryKind::Special(what) => panic!("{path} is a {what}"),
        }
        if !matches!(entry.kind, EntryKind::Link(_)) {
            fs::set_permissions(&at, Permissions::from_mode(entry.mode)).unwrap();
        }
    }
}

/// A folder on disk as a tree.
pub fn gather(folder: &Path) -> FileTree {
    let mut root = FileTree::default();
    let mut ahead = vec![String::new()];
    while let Some(path) = ahead.pop() {
        for found in fs::read_dir(folder.join(&path)).unwrap().map(Result::unwrap) {
            let name = found.file_name().into_string().unwrap();
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            let meta = found.metadata().unwrap();
            let mode = meta.permissions().mode() & 0o7777;
            let kind = if meta.is_dir() {
                ahead.push(path.clone());
                EntryKind::Folder
            } else if meta.is_symlink() {
                EntryKind::Link(fs::read_link(found.path()).unwrap().to_str().unwrap().to_owned())
            } else {
                EntryKind::File(fs::read(found.path()).unwrap().into())
            };
            root.put(&path, TreeEntry { mode, kind, label: None });
        }
    }
    root
}
