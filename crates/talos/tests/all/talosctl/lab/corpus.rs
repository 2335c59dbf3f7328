//! The configurations of the golden cases, from which random ones begin.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use ichor_talos::load;
use ichor_values::TalosVersion;

use super::tree::Tree;

/// The configurations that a release can read.
pub(super) fn configurations(talos: &TalosVersion) -> Vec<Vec<Tree>> {
    let readable = texts().iter().filter(|text| load::load(text, talos).is_ok());
    let trees: Vec<_> =
        readable.filter_map(|text| Tree::read(text)).filter(|trees| !trees.is_empty()).collect();
    assert!(trees.len() > 30, "the cases are not where they were");
    trees
}

fn texts() -> &'static [String] {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let mut texts = Vec::new();
        for folder in ["validate", "patches", "clusters"] {
            collect(&data.join(folder), &mut texts);
        }
        texts
    })
}

/// The configurations in a folder and those below it, in the order of their names.
fn collect(folder: &Path, texts: &mut Vec<String>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let other = ["secrets.yaml", "patch", "expected", "differs"];
        if path.is_dir() {
            collect(&path, texts);
        } else if path.extension().is_some_and(|it| it == "yaml")
            && !other.iter().any(|word| name.contains(word))
        {
            texts.extend(fs::read_to_string(&path));
        }
    }
}
