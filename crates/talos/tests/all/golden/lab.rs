//! `scripts/golden` records the answers; its program runs here on a copy of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichor_testbed::parts;

/// The files below a folder, by their path in it.
fn files(top: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(top).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Runs the program on a copy of `data`, and returns what is in the copy then.
fn record(data: &BTreeMap<PathBuf, Vec<u8>>) -> BTreeMap<PathBuf, Vec<u8>> {
    let copy = tempfile::tempdir().unwrap();
    for (path, content) in data {
        let path = copy.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let output = Command::new(parts::path("golden-1.14/golden")).arg(copy.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    files(copy.path())
}

fn differences(one: &BTreeMap<PathBuf, Vec<u8>>, other: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let mut all: Vec<_> = one.keys().chain(other.keys()).cloned().collect();
    all.sort();
    all.dedup();
    all.retain(|path| one.get(path) != other.get(path));
    all
}

#[test]
fn every_recorded_answer_is_current() {
    let data = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"));

    let recorded = record(&data);

    assert!(data.len() > 500, "{}", data.len());
    assert_eq!(differences(&data, &recorded), <[PathBuf; 0]>::default(), "run scripts/golden");
}

#[test]
fn a_wrong_answer_is_replaced() {
    let mut data = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"));
    let right = data.clone();
    let edits = [
        ("clusters/single-v1.14/worker.yaml", "kubelet", "cubelet"),
        ("extensions/cases.json", "\"v1.14.1\": \"ok", "\"v1.14.1\": \"INVALID"),
        ("kubernetes-compat.txt", "v1.14.1 1.37.0 accepted", "v1.14.1 1.37.0 refused"),
        ("nocloud/009-v2-onlink/differs-on-v1.14.1.yaml", "src: \"\"", "src: 10.0.0.11"),
        ("releases.txt", "v1.14.1 1.37.0", "v1.14.1 1.36.0"),
        ("secrets-check/verdicts.json", "\"v1.14.1\": \"ok", "\"v1.14.0-rc.1\": \"ok"),
    ];
    for (path, from, to) in edits {
        let content = data.get_mut(Path::new(path)).unwrap();
        let text = String::from_utf8(content.clone()).unwrap();
        assert!(text.contains(from), "{path}: {from}");
        *content = text.replace(from, to).into_bytes();
    }

    let recorded = record(&data);

    assert_eq!(differences(&right, &data).len(), edits.len());
    assert_eq!(differences(&right, &recorded), <[PathBuf; 0]>::default());
}
