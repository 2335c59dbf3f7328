//! Test configurations for rules: small valid ones, with some parts replaced.

use serde_json::{Map, Value, json};

use super::{DocumentIssue, Mode, Setting, validate};
use crate::config::{Config, Document};
use crate::kind;
use ichor_values::{Severity, TalosVersion};

/// The base64 of a PEM text with the outline of a certificate.
pub(crate) const CERTIFICATE: &str =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BWXdBREFBQXdBPQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==";

/// The issues of a control plane's document on metal.
pub fn control_plane(talos: &str, parts: &[(&str, Value)]) -> Vec<String> {
    judge(talos, Mode::Metal, &[with(machine_document("controlplane", "a2V5"), parts)])
}

/// The issues of a worker's document on metal.
pub(crate) fn worker(talos: &str, parts: &[(&str, Value)]) -> Vec<String> {
    judge(talos, Mode::Metal, &[with(machine_document("worker", ""), parts)])
}

/// A valid document with `machine` and `cluster`.
pub(crate) fn machine_document(role: &str, key: &str) -> Value {
    json!({
        "machine": {
            "type": role,
            "ca": {"crt": CERTIFICATE, "key": key},
            "install": {"disk": "/dev/sda"},
            "features": {"hostDNS": {"enabled": true, "forwardKubeDNSToHost": true}},
        },
        "cluster": {
            "id": "aWQ=",
            "secret": "c2VjcmV0",
            "controlPlane": {"endpoint": "https://10.0.0.10:6443"},
            "secretboxEncryptionSecret": "c2VjcmV0",
        },
    })
}

/// A document with parts put at their paths.
pub fn with(mut document: Value, parts: &[(&str, Value)]) -> Value {
    for (path, part) in parts {
        let mut at = &mut document;
        for key in path.split('.') {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[key];
        }
        *at = part.clone();
    }
    document
}

/// The issues of documents: severity and path of each, with the number of the document unless it is 0.
pub fn judge(talos: &str, mode: Mode, documents: &[Value]) -> Vec<String> {
    let document = |value: &Value| {
        let kind = value.get("kind").and_then(Value::as_str);
        Document { kind: kind.map(|kind| kind::find(kind).expect("a kind")), value: value.clone() }
    };
    let config = Config { documents: documents.iter().map(document).collect() };
    let talos = TalosVersion::parse(talos).expect("a version");
    validate(&config, Setting { talos: &talos, mode }).iter().map(line).collect()
}

fn line(DocumentIssue { document, issue }: &DocumentIssue) -> String {
    let weight = match issue.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "advice",
    };
    match document {
        0 => format!("{weight} {}", issue.subject),
        nth => format!("{weight} {nth}:{}", issue.subject),
    }
}
