//! Talos' own verdicts on secrets bundles, and what holds for any text that is taken for secrets.

use std::error::Error;
use std::fs;
use std::path::Path;

use ichor_talos::secrets::{Bundle, Hidden, from_config};
use ichor_talos::sops::{EncryptedDataKey, KeyProvider, SopsDocument, seal};
use ichor_values::Moment;
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng as _;
use serde_json::Value;

#[test]
fn bundles_are_accepted_and_rejected_as_by_talos() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/secrets-check");
    let verdicts: Vec<Value> = serde_json::from_str(&fs::read_to_string(folder.join("verdicts.json"))?)?;
    for case in &verdicts {
        let name = case["file"].as_str().ok_or("a case without a file")?;
        let read = Bundle::read(&fs::read_to_string(folder.join(name))?);
        for (release, verdict) in case["verdict"].as_object().ok_or("a case without a verdict")? {
            assert_eq!(read.is_ok(), verdict == "ok", "{name} for {release}: {read:?}");
        }
    }
    assert!(verdicts.len() > 10);
    Ok(())
}

/// ichor's warnings in a case that Talos accepts.
fn warned(case: &str, now: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/secrets-check");
    let bundle = Bundle::read(&fs::read_to_string(folder.join(case)).unwrap()).unwrap();
    let warnings = bundle.warnings(Moment::parse(now).unwrap());
    warnings.iter().map(|warning| format!("{} {}", warning.subject, warning.message)).collect()
}

#[test]
fn values_that_talos_accepts_silently_are_warnings() {
    let now = "2026-06-01T00:00:00Z";

    assert_eq!(warned("001-ok.yaml", now), [""; 0]);
    assert_eq!(
        warned("003-cluster-id-not-base64.yaml", now),
        ["cluster.id is not 32 bytes in base64, and Talos will not get far with it"]
    );
    assert_eq!(
        warned("007-bootstraptoken-bad-format.yaml", now),
        [
            "secrets.bootstraptoken is not a token: want 6 and 16 lower case letters or digits with a dot between them"
        ]
    );
    assert_eq!(
        warned("013-k8s-key-of-other-cluster.yaml", now),
        ["certs.k8s.key does not belong to the certificate beside it"]
    );
    assert_eq!(
        warned("015-os-is-ecdsa-of-k8s.yaml", now),
        ["certs.os.crt is the same as certs.k8s.crt: a holder of one is trusted as the other"]
    );
}

#[test]
fn the_expiry_of_certificates_is_a_warning() {
    let first = |now| warned("001-ok.yaml", now).first().cloned();

    assert_eq!(first("2035-10-01T00:00:00Z"), None);
    assert_eq!(
        first("2035-10-02T00:00:00Z").as_deref(),
        Some("certs.etcd.crt ends on 2035-12-30T00:00:00Z, in 89 days")
    );
    assert_eq!(
        first("2036-01-01T00:00:00Z").as_deref(),
        Some("certs.etcd.crt ended on 2035-12-30T00:00:00Z")
    );
    assert_eq!(
        first("2025-01-01T00:00:00Z").as_deref(),
        Some("certs.etcd.crt is not valid before 2026-01-01T00:00:00Z")
    );
}

/// Opens everything, to a key that fits nothing but the file below.
struct Any;

impl KeyProvider for Any {
    fn open(&self, _: &str) -> Option<Vec<u8>> {
        Some(vec![7; 32])
    }
}

/// A file that this key opens.
fn sealed() -> String {
    let document = serde_json::json!({"a": {"b": "text", "list": [1, 2.5, true, ""]}, "c": null});
    let recipients = vec![("age1me".to_owned(), "armored\n".to_owned())];
    let envelope = EncryptedDataKey { data_key: [7; 32], recipients };
    let now = Moment::parse("2026-01-01T00:00:00Z").unwrap();
    seal(document.as_object().unwrap(), &envelope, &mut ChaCha20Rng::seed_from_u64(1), now).unwrap()
}

/// A text with some bytes of it changed.
fn changed(text: String) -> impl Strategy<Value = String> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), prop::char::range(' ', '~')), 1..4);
    edits.prop_map(move |edits| {
        let mut letters: Vec<char> = text.chars().collect();
        for (at, letter) in edits {
            let at = at.index(letters.len());
            letters[at] = letter;
        }
        letters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_a_bundle_or_has_problems(text in ".{0,200}") {
        if let Err(problems) = Bundle::read(&text) {
            prop_assert!(!problems.0.is_empty());
        }
        prop_assert!(from_config(&text).is_err());
    }

    #[test]
    fn any_text_survives_as_a_token(token in "\\PC{1,12}|[ -~]{1,12}|[\u{7f}-\u{9f}\u{2028}\u{feff}a\n\t\"\\\\]{1,6}") {
        let mut bundle = Bundle::read(include_str!("../data/secrets-check/001-ok.yaml")).unwrap();
        bundle.trustd_token = Hidden::new(token);

        prop_assert_eq!(Bundle::read(&bundle.write()), Ok(bundle));
    }

    #[test]
    fn a_changed_bundle_reads_or_has_problems(
        text in changed(include_str!("../data/secrets-check/001-ok.yaml").to_owned()),
    ) {
        match Bundle::read(&text) {
            Ok(bundle) => prop_assert_eq!(Bundle::read(&bundle.write()).unwrap(), bundle),
            Err(problems) => prop_assert!(!problems.0.is_empty()),
        }
    }

    #[test]
    fn a_changed_sops_file_gives_what_was_sealed_or_nothing(text in changed(sealed())) {
        let was = SopsDocument::read(&sealed()).unwrap().open(&Any).unwrap();

        if let Ok(opened) = SopsDocument::read(&text).and_then(|file| file.open(&Any)) {
            // Keys above null and the names of empty texts are not in the MAC; SOPS has it so.
            prop_assert_eq!(leaves(&opened), leaves(&was));
        }
    }

    #[test]
    fn any_text_is_a_sops_file_or_an_error(text in ".{0,200}") {
        if let Ok(file) = SopsDocument::read(&text) {
            let _ = file.open(&Any);
        }
    }
}

/// Every value that is not nothing, in order.
fn leaves(documents: &[Value]) -> Vec<String> {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            Value::Object(entries) => entries.values().for_each(|value| walk(value, found)),
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            leaf => found.push(leaf.to_string()),
        }
    }
    let mut found = Vec::new();
    for document in documents {
        walk(document, &mut found);
    }
    found
}
