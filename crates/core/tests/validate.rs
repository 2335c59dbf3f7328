//! Configurations in `talos/validate/` are judged as Talos judged them.

use std::error::Error;
use std::fs;
use std::path::Path;

use ichor_core::cluster::value::TalosVersion;
use ichor_core::talos::config::Config;
use ichor_core::talos::load::{LoadError, load};
use ichor_core::talos::validate::{Mode, Setting, is_refused, validate};
use serde_json::Value;

#[test]
fn every_configuration_is_judged_as_talos_does() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/talos/validate");
    let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(folder.join("verdicts.json"))?)?;
    let mut wrong = Vec::new();
    for case in &cases {
        let file = case["file"].as_str().ok_or("a case has a file")?;
        let text = fs::read_to_string(folder.join("configs").join(file))?;
        for (release, modes) in case["verdicts"].as_object().ok_or("a case has verdicts")? {
            let talos = TalosVersion::parse(release)?;
            let config = load(&text, &talos);
            for (mode, verdict) in modes.as_object().ok_or("a release has modes")? {
                let want = (verdict["valid"] == true, verdict.get("load_error").is_some());
                let (got, said) = judge(&config, &talos, mode);
                if got != want {
                    wrong.push(format!("{file} {release} {mode}: want {want:?}, got {got:?}: {said}"));
                }
            }
        }
    }

    assert_eq!(cases.len(), 118);
    assert!(wrong.is_empty(), "(valid, load error):\n{}", wrong.join("\n"));
    Ok(())
}

/// Whether a configuration is valid, whether it could not be read, and what was said of it.
fn judge(config: &Result<Config, LoadError>, talos: &TalosVersion, mode: &str) -> ((bool, bool), String) {
    let config = match config {
        Ok(config) => config,
        Err(error) => return ((false, true), error.to_string()),
    };
    let (place, strict) = mode.split_once('-').map_or((mode, false), |(place, _)| (place, true));
    let mode = match place {
        "metal" => Mode::Metal,
        "cloud" => Mode::Cloud,
        _ => Mode::Container,
    };
    let flaws = validate(config, Setting { talos, mode });
    let said: Vec<_> = flaws.iter().map(|flaw| format!("{}: {}", flaw.path, flaw.message)).collect();
    ((!is_refused(config, &flaws, strict), false), said.join("; "))
}
