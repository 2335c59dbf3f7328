//! Talos' own verdicts on secrets bundles.

use std::error::Error;
use std::fs;
use std::path::Path;

use ichor_core::moment::Moment;
use ichor_core::talos::secrets::Bundle;
use serde_json::Value;

#[test]
fn bundles_are_taken_and_refused_as_by_talos() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/talos/secrets-check");
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

/// What ichor warns of in a case that Talos takes.
fn warned(case: &str, now: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/talos/secrets-check");
    let bundle = Bundle::read(&fs::read_to_string(folder.join(case)).unwrap()).unwrap();
    let warnings = bundle.warnings(Moment::parse(now).unwrap());
    warnings.iter().map(|warning| format!("{} {}", warning.path, warning.text)).collect()
}

#[test]
fn what_talos_lets_pass_is_warned_of() {
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
        ["certs.os.crt is the same as certs.k8s.crt: whoever has one is trusted as the other"]
    );
}

#[test]
fn the_end_of_certificates_is_announced() {
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
