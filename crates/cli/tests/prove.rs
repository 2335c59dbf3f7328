//! `ichor prove` on the command line.

use crate::common::{EXAMPLES, folder, ichor, root};

/// The block after a marker in docs/explanation/proof.md.
fn block(mark: &str) -> String {
    let text = std::fs::read_to_string(root().join("docs/explanation/proof.md")).unwrap();
    let rest = text.split_once(&format!("{mark}\n")).unwrap_or_else(|| panic!("no {mark}")).1;
    rest.split_once("```").unwrap().0.to_owned()
}

fn rack() -> tempfile::TempDir {
    folder(&[("ichor.yaml", &block("```yaml"))])
}

#[test]
fn the_output_in_the_documentation_is_current() {
    let folder = rack();

    for words in ["prove", "prove --to 10.1.254.2 --fail wk1:fab0"] {
        let run = ichor(folder.path(), words);
        assert_eq!(run.stdout.trim_end(), block(&format!("$ ichor {words}")).trim_end());
    }
}

#[test]
fn examples_pass_the_proof_and_fit_a_hundred_columns() {
    for example in EXAMPLES.iter().filter(|example| !["homelab", "edge"].contains(example)) {
        let run = ichor(&root(), &format!("prove examples/{example}/ichor.yaml"));
        let json = ichor(&root(), &format!("prove examples/{example}/ichor.yaml --json")).json();

        assert_eq!(run.code, 0, "{example}: {}", run.all());
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 130), "{example}: {}", run.stdout);
        assert_eq!(json["ok"], true, "{example}");
        assert!(json["failures"]["simulated_count"].as_u64().unwrap() > 10, "{example}");
    }
}

#[test]
fn a_failure_that_loses_destinations_has_exit_status_1() {
    let folder = rack();

    let fine = ichor(folder.path(), "prove --fail leaf1");
    let lost = ichor(folder.path(), "prove --fail wk1:fab0");
    let strict = ichor(folder.path(), "prove --deny warnings");
    let two = ichor(folder.path(), "prove --k 2 --json");

    assert_eq!((fine.code, lost.code, strict.code), (0, 1, 1), "{}{}", fine.all(), lost.all());
    assert!(
        lost.stdout.contains("leaf1 does not reach 10.1.254.2/32 and fd00:1:fe::2/128"),
        "{}",
        lost.stdout
    );
    let losses = two.json()["failures"]["outcomes"].as_array().unwrap().clone();
    assert!(
        losses.iter().any(|loss| loss["failed"] == serde_json::json!(["leaf2", "wk1:fab0"])
            || loss["failed"] == serde_json::json!(["wk1:fab0", "leaf2"])),
        "{losses:#?}"
    );
}

#[test]
fn unknown_names_are_reported_with_a_suggestion() {
    let folder = rack();

    let link = ichor(folder.path(), "prove --fail cp1:fab9");
    let unrouted = ichor(&root(), "prove examples/homelab/ichor.yaml");
    let missing = ichor(folder.path(), "prove nothing.yaml");

    assert_eq!((link.code, link.stderr.contains("did you mean `cp1:fab0`?")), (2, true), "{}", link.stderr);
    assert_eq!(
        (unrouted.code, unrouted.stderr.contains("no fabric to simulate")),
        (2, true),
        "{}",
        unrouted.stderr
    );
    assert_eq!(missing.code, 2);
}

#[test]
fn an_unannounced_address_is_reached_by_default_routes() {
    let folder = rack();

    let run = ichor(folder.path(), "prove --to 192.0.2.1");
    let cut = ichor(folder.path(), "prove --to 192.0.2.1 --fail cp1:fab0 --fail cp1:fab1");
    let json = ichor(folder.path(), "prove --to 192.0.2.1 --json").json();

    assert_eq!((run.code, cut.code), (0, 1), "{}{}", run.all(), cut.all());
    assert!(run.stdout.contains("is not announced") && run.stdout.contains("0.0.0.0/0"), "{}", run.stdout);
    assert!(cut.stdout.contains("cp1    unreachable"), "{}", cut.stdout);
    assert_eq!(json["routes"][2]["next_hops"], serde_json::json!(["leaf1", "leaf2"]));
}
