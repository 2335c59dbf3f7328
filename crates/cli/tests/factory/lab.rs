//! IDs computed by the package of Image Factory 1.4.0, as released and with a later go-yaml. Needs `scripts/lab-parts schematic-id`.

use std::path::Path;
use std::process::Command;

use ichor_testbed::lab::output_text;
use ichor_testbed::parts;
use serde_json::Value;

use super::{Judgement, judgements, schematics};
use crate::common::ichor;

/// What a build of the package answers for each file.
fn ask(build: &str, folder: &Path, names: &[String]) -> Vec<Value> {
    let mut command = Command::new(parts::path(&format!("schematic-id/{build}")));
    let output = command.args(names).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", output_text(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn ids_and_warnings_are_those_of_two_releases_of_the_package() {
    let (folder, names) = schematics();
    let [released, later] = ["released", "later"].map(|build| ask(build, folder.path(), &names));

    let run = ichor(folder.path(), &format!("schematic id {}", names.join(" ")));

    let ours = judgements(&run, &names);
    let theirs = released.iter().zip(&later).map(|(released, later)| {
        let id = |answer: &Value| answer["id"].as_str().unwrap().to_owned();
        let older_id = Some(id(released)).filter(|older| *older != id(later));
        Judgement { id: id(later), older_id, is_unreadable: later["reads_back"] == false }
    });
    for ((name, ours), theirs) in names.iter().zip(&ours).zip(theirs) {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(*ours, theirs, "{text}");
    }
    let count = |holds: fn(&Judgement) -> bool| ours.iter().filter(|it| holds(it)).count();
    assert!(count(|it| it.older_id.is_some()) > 30 && count(|it| it.is_unreadable) > 5, "{ours:?}");
}
