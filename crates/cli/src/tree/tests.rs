use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use tempfile::TempDir;

use super::*;
use crate::chain::chain;

fn inputs() -> BuildInputs {
    BuildInputs { sha256: "1".to_owned(), secrets: Vec::new() }
}

fn write(folder: &TempDir, artifacts: &[Artifact]) -> WriteSummary {
    Tree::open(folder.path().to_owned()).write(artifacts, &Scope::Whole, Some(inputs())).unwrap()
}

fn is_unchanged(folder: &TempDir) -> bool {
    Tree::open(folder.path().to_owned()).unchanged().is_some()
}

fn artifact(node: &str) -> Artifact {
    Artifact::public(format!("nodes/{node}/machine.yaml"), "x")
}

#[test]
fn unchanged_files_are_not_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts =
        |text: &str| [Artifact::private("nodes/a/machine.yaml", text), Artifact::public("b", "b")];
    let stamp = |name: &str| {
        let file = fs::metadata(folder.path().join(name)).unwrap();
        (file.ino(), file.mtime_nsec())
    };
    let written = |text: &str| write(&folder, &artifacts(text)).written;

    assert_eq!(written("one"), 2);
    let (before, listed) = (stamp("b"), stamp(manifest::NAME));
    assert_eq!(written("one"), 0);
    assert_eq!(stamp(manifest::NAME), listed);
    assert_eq!(written("two"), 1);

    assert_eq!(stamp("b"), before);
    let machine = folder.path().join("nodes/a/machine.yaml");
    assert_eq!(fs::metadata(&machine).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read(&machine).unwrap(), b"two");
    assert!(!folder.path().join(DRAFTS).exists());
}

#[test]
fn only_obsolete_files_of_ichor_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&folder, &[artifact("a"), artifact("b")]);
    fs::write(path("nodes/b/mine.txt"), "mine").unwrap();

    let done = write(&folder, &[artifact("c")]);

    assert_eq!(done.removed, 2);
    assert!(!path("nodes/a").exists() && !path("nodes/b/machine.yaml").exists());
    assert!(path("nodes/b/mine.txt").exists() && path("nodes/c/machine.yaml").exists());
}

#[test]
fn a_scope_is_written_without_touching_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let part = |artifacts: &[Artifact], inputs| {
        let scope = Scope::Folders(vec!["nodes/a/".to_owned()]);
        Tree::open(folder.path().to_owned()).write(artifacts, &scope, Some(inputs)).unwrap()
    };
    let old = Artifact::public("nodes/a/old", "x");
    write(&folder, &[artifact("a"), artifact("b"), old]);

    let done = part(&[artifact("a")], inputs());

    assert_eq!((done.written, done.removed), (0, 1));
    let manifest = Tree::open(folder.path().to_owned()).manifest;
    let paths: Vec<&str> = manifest.files().iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["nodes/a/machine.yaml", "nodes/b/machine.yaml"]);
    assert_eq!(manifest.inputs, Some(inputs()));
    part(&[artifact("a")], BuildInputs { sha256: "2".to_owned(), secrets: Vec::new() });
    assert_eq!(Tree::open(folder.path().to_owned()).manifest.inputs, None, "files of two builds");
}

#[test]
fn a_manifest_path_outside_of_the_folder_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::write(&outside, "x").unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    let list =
        r#"{"inputs": null, "files": [{"path": "../outside", "sha256": "", "size": 1, "private": false}]}"#;
    fs::write(root.join(manifest::NAME), list).unwrap();

    Tree::open(root).write(&[], &Scope::Whole, None).unwrap();

    assert!(outside.exists());
}

#[test]
fn a_manifest_of_a_newer_format_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(manifest::NAME);
    let newer = r#"{"version": "3.0", "inputs": null, "entries": []}"#;
    fs::write(&path, newer).unwrap();

    let refused =
        Tree::open(folder.path().to_owned()).write(&[artifact("a")], &Scope::Whole, None).unwrap_err();

    let refused = chain(&refused);
    assert!(refused.contains("format version 3.0") && refused.contains("up to 2.0"), "{refused}");
    assert_eq!(fs::read_to_string(path).unwrap(), newer);
}

#[test]
fn a_manifest_without_a_version_is_read() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, &[artifact("a"), artifact("b")]);
    let path = folder.path().join(manifest::NAME);
    let list = fs::read_to_string(&path).unwrap();
    let first = list.replacen("\"version\": \"2.0\",\n", "", 1);
    let first = first.replace("\"size_bytes\"", "\"size\"").replace("\"secret_keys\"", "\"secrets\"");
    assert!(!first.contains("version") && first.contains("\"size\"") && first.contains("\"secrets\""));
    fs::write(&path, first).unwrap();

    let done = write(&folder, &[artifact("a")]);

    assert_eq!((done.written, done.removed), (0, 1));
}

#[test]
fn a_foreign_file_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let foreign_file = folder.path().join("nodes/a/machine.yaml");
    fs::create_dir_all(foreign_file.parent().unwrap()).unwrap();
    fs::write(&foreign_file, "mine").unwrap();

    let refused = Tree::open(folder.path().to_owned())
        .write(&[artifact("a"), artifact("b")], &Scope::Whole, None)
        .unwrap_err();

    assert!(refused.to_string().contains("refusing to overwrite"), "{refused}");
    assert_eq!(fs::read(&foreign_file).unwrap(), b"mine");
    assert!(!folder.path().join("nodes/b").exists());
}

#[test]
fn every_change_to_a_file_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes/a/machine.yaml");
    write(&folder, &[artifact("a"), artifact("b")]);
    assert!(is_unchanged(&folder));

    let changes: [&dyn Fn(); 4] = [
        &|| fs::write(&path, "y").unwrap(),
        &|| fs::write(&path, "xy").unwrap(),
        &|| fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap(),
        &|| fs::remove_file(&path).unwrap(),
    ];
    for (nth, change) in changes.iter().enumerate() {
        change();
        assert!(!is_unchanged(&folder), "{nth}");
        assert_eq!(write(&folder, &[artifact("a"), artifact("b")]).written, 1, "{nth}");
        assert!(is_unchanged(&folder), "{nth}");
    }
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "y").unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    assert!(!is_unchanged(&folder), "the same length and the same time");
    fs::write(&path, "x").unwrap();
    assert!(is_unchanged(&folder), "changed and changed back");
}

#[test]
fn a_second_writer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lock = Tree::open(folder.path().to_owned()).lock().unwrap();

    let refused = Tree::open(folder.path().to_owned()).write(&[], &Scope::Whole, None).unwrap_err();

    assert!(refused.to_string().contains("another run is writing"), "{refused}");
    drop(lock);
    write(&folder, &[]);
}

#[test]
fn a_concurrent_build_is_taken_into_account() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Tree::open(folder.path().to_owned());
    write(&folder, &[artifact("a"), artifact("b")]);

    let done = opened.write(&[artifact("b")], &Scope::Whole, None).unwrap();

    assert_eq!((done.written, done.removed), (0, 1));
}
