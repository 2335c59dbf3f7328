//! Patches, against what Talos' own code makes of them. `talos/patches/README.md` says where the cases are from.

use std::fs;
use std::path::{Path, PathBuf};

use ichor_talos::patch;
use ichor_talos::patch::Patch;
use ichor_talos::{document, load};
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit::emit_all;
use serde_json::Value;

const RELEASES: [&str; 4] = ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.1"];

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/patches");
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    cases
}

fn text(case: &Path, file: &str) -> Option<String> {
    fs::read_to_string(case.join(file)).ok()
}

/// The result, or none where the patch fails.
fn expected(case: &Path, release: &str) -> Option<Vec<Value>> {
    let read = |text: String| document::read(&text).unwrap();
    if text(case, &format!("differs-on-{release}.error.txt")).is_some() {
        return None;
    }
    text(case, &format!("differs-on-{release}.yaml")).or_else(|| text(case, "expected.yaml")).map(read)
}

fn patched(case: &Path, talos: &TalosVersion) -> Result<Vec<Value>, String> {
    let mut patches = Vec::new();
    for nth in 1.. {
        let name = format!("patch-{nth}.yaml");
        let Some(text) = text(case, &name) else { break };
        patches.push(Patch::read(&name, &text, talos).map_err(|error| error.to_string())?);
    }
    let documents = patch::apply(&text(case, "base.yaml").unwrap(), &patches, talos)
        .map_err(|error| error.to_string())?;
    Ok(document::read(&emit_all(&documents)).unwrap())
}

#[test]
fn every_patch_gives_what_talos_makes_of_it() {
    let mut wrong = Vec::new();
    for case in cases() {
        for release in RELEASES {
            let talos = TalosVersion::parse(release).unwrap();
            let name = format!("{} on {release}", case.file_name().unwrap().to_string_lossy());
            match (patched(&case, &talos), expected(&case, release)) {
                (Ok(got), Some(want)) if got == want => {
                    let loads = text(&case, "case.json").unwrap().contains(r#""result_loads": "ok""#);
                    if release == "v1.12.4" && load::load_values(&got, &talos).is_ok() != loads {
                        wrong.push(format!("{name}: loading the result"));
                    }
                }
                (Err(_), None) => {}
                (got, want) => wrong.push(format!("{name}:\n{got:#?}\nwanted {want:#?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
