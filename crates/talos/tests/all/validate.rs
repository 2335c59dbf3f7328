//! Configurations in `talos/validate/` are judged as Talos judged them.

use std::error::Error;
use std::fs;
use std::path::Path;

use ichor_talos::load::load;
use ichor_talos::validate::{Mode, Setting, is_refused, validate};
use ichor_values::TalosVersion;
use serde_json::{Map, Value};

#[test]
fn every_configuration_is_judged_as_talos_does() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/validate");
    let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(folder.join("verdicts.json"))?)?;
    let mut wrong = Vec::new();
    for case in &cases {
        let file = case["file"].as_str().ok_or("a case has a file")?;
        let text = fs::read_to_string(folder.join("configs").join(file))?;
        for (release, modes) in case["verdicts"].as_object().ok_or("a case has verdicts")? {
            let differences = differences(&text, release, modes.as_object().ok_or("a release has modes")?)?;
            wrong.extend(differences.into_iter().map(|difference| format!("{file} {release} {difference}")));
        }
    }

    assert_eq!(cases.len(), 118);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// The differences from a release's verdict on a text, by mode.
fn differences(text: &str, release: &str, modes: &Map<String, Value>) -> Result<Vec<String>, String> {
    let talos = TalosVersion::parse(release).map_err(|error| error.to_string())?;
    let config = load(text, &talos);
    let judge = |mode: &str| {
        let Ok(config) = &config else { return (false, true) };
        let (place, strict) = mode.split_once('-').map_or((mode, false), |(place, _)| (place, true));
        let mode = match place {
            "metal" => Mode::Metal,
            "cloud" => Mode::Cloud,
            _ => Mode::Container,
        };
        let flaws = validate(config, Setting { talos: &talos, mode });
        (!is_refused(config, &flaws, strict), false)
    };
    let mismatches = modes.iter().filter_map(|(mode, verdict)| {
        let want = (verdict["valid"] == true, verdict.get("load_error").is_some());
        let got = judge(mode);
        (got != want).then(|| format!("{mode}: (valid, load error) is {got:?}, should be {want:?}"))
    });
    Ok(mismatches.collect())
}
