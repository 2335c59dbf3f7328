//! The differences between two configurations, as Talos understands them: order, comments and spelling are ignored.

use serde::Serialize;
use serde_json::Value;

use super::load::LoadError;
use super::{document, encode, load, secret_value};
use ichor_values::TalosVersion;

/// A difference between two configurations. Secrets are redacted, whether or not they are the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The key, after the kind and name of its document: `machine.type`, `HostnameConfig: hostname`.
    pub path: String,
    /// The actual value; none where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// The expected value; none where the actual one is superfluous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
}

/// The documents of a configuration in normal form, or why it cannot be loaded; an empty list if it has none.
pub fn documents(text: &str, talos: &TalosVersion) -> Result<Vec<Value>, LoadError> {
    Ok(encode::encode(&load::load(text, talos)?, talos))
}

/// The differences between the actual documents and the expected ones.
pub fn between(actual: &[Value], expected: &[Value]) -> Vec<Difference> {
    let mut found = Vec::new();
    for wanted in expected {
        let title = title(wanted);
        match actual.iter().find(|it| self::title(it) == title) {
            Some(has) => {
                let shown = (&secret_value::redact(has), &secret_value::redact(wanted));
                walk((has, wanted), shown, &title, title.is_empty(), &mut found);
            }
            None => {
                let expected = Some(secret_value::redact(wanted));
                found.push(Difference { path: complete_value(wanted), actual: None, expected });
            }
        }
    }
    let extra = actual.iter().filter(|it| !expected.iter().any(|wanted| title(wanted) == title(it)));
    found.extend(extra.map(|it| Difference {
        path: complete_value(it),
        actual: Some(secret_value::redact(it)),
        expected: None,
    }));
    found
}

/// The title of a document; empty for the one with `machine` and `cluster`.
fn title(of: &Value) -> String {
    match (document::kind(of), document::name(of)) {
        (Some(kind), Some(name)) => format!("{kind} {name}"),
        (Some(kind), None) => kind.to_owned(),
        (None, _) => String::new(),
    }
}

/// The title of a complete document, by its name.
fn complete_value(of: &Value) -> String {
    let title = title(of);
    if title.is_empty() { "machine and cluster".to_owned() } else { title }
}

/// Walks through two values, and beside them through the same without their secrets; `inside` is whether `at` is a key already.
fn walk(
    (actual, expected): (&Value, &Value),
    (actual_shown, expected_shown): (&Value, &Value),
    at: &str,
    inside: bool,
    found: &mut Vec<Difference>,
) {
    let present = |value: &Value| (!value.is_null()).then(|| value.clone());
    match (actual, expected) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = other.keys().chain(one.keys().filter(|key| !other.contains_key(*key)));
            for key in keys {
                let place = match (at, inside) {
                    ("", _) => key.clone(),
                    (title, false) => format!("{title}: {key}"),
                    (path, true) => format!("{path}.{key}"),
                };
                let pair = (child(actual, key), child(expected, key));
                walk(pair, (child(actual_shown, key), child(expected_shown, key)), &place, true, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for nth in 0..one.len() {
                let shown = (item(actual_shown, nth), item(expected_shown, nth));
                walk((&one[nth], &other[nth]), shown, &format!("{at}[{nth}]"), true, found);
            }
        }
        _ if actual == expected => {}
        _ => {
            let (actual, expected) = (present(actual_shown), present(expected_shown));
            found.push(Difference { path: at.to_owned(), actual, expected });
        }
    }
}

/// The value under a key. A string that replaces a redacted map represents every value below it.
fn child<'v>(value: &'v Value, key: &str) -> &'v Value {
    match value {
        Value::Object(map) => map.get(key).unwrap_or(&Value::Null),
        other => other,
    }
}

fn item(value: &Value, nth: usize) -> &Value {
    match value {
        Value::Array(items) => items.get(nth).unwrap_or(&Value::Null),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WANTED: &str = "machine:\n  type: worker\n  token: abc.def\n  ca: {crt: \"\", key: \"\"}\n  certSANs: [a, b]\n  nodeLabels: {x: y}\n\
                          cluster:\n  controlPlane: {endpoint: https://10.0.0.1:6443}\n---\napiVersion: v1alpha1\n\
                          kind: HostnameConfig\nhostname: a\n";

    fn differences(active: &str) -> Vec<Difference> {
        let talos = TalosVersion::parse("v1.13.9").unwrap();
        between(&documents(active, &talos).unwrap(), &documents(WANTED, &talos).unwrap())
    }

    #[test]
    fn order_and_spelling_are_ignored() {
        let active = WANTED
            .replace("  type: worker\n  token: abc.def\n", "  token: \"abc.def\"\n  type: worker # it is\n");

        assert_eq!(differences(&active), []);
    }

    #[test]
    fn values_are_shown_and_secrets_are_not() {
        let active = WANTED
            .replace("token: abc.def", "token: xyz.uvw")
            .replace("hostname: a", "hostname: b")
            .replace("[a, b]", "[a, c]");

        let found = differences(&active);

        let places: Vec<_> = found.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(places, ["machine.token", "machine.certSANs[1]", "HostnameConfig: hostname"]);
        assert_eq!((&found[1].actual, &found[1].expected), (&Some(json!("c")), &Some(json!("b"))));
        assert_eq!(found[0].actual, found[0].expected, "secrets are redacted");
        let all = serde_json::to_string(&found).unwrap();
        assert!(!all.contains("abc.def") && !all.contains("xyz.uvw"), "{all}");
    }

    #[test]
    fn lists_of_different_length_and_documents_are_shown_completely() {
        let active = WANTED.replace("[a, b]", "[a]").replace(
            "kind: HostnameConfig\nhostname: a\n",
            "kind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n",
        );

        let found = differences(&active);

        assert_eq!(found[0].path, "machine.certSANs");
        assert_eq!((&found[0].actual, &found[0].expected), (&Some(json!(["a"])), &Some(json!(["a", "b"]))));
        assert_eq!((found[1].path.as_str(), found[1].actual.is_none()), ("HostnameConfig", true));
        assert_eq!((found[2].path.as_str(), found[2].expected.is_none()), ("WatchdogTimerConfig", true));
    }

    #[test]
    fn a_value_on_one_side_only_is_shown() {
        let found = differences(&WANTED.replace("  nodeLabels: {x: y}\n", "  sysctls: {a: b}\n"));

        let places: Vec<_> =
            found.iter().map(|it| (it.path.as_str(), it.actual.is_some(), it.expected.is_some())).collect();
        assert_eq!(places, [("machine.nodeLabels", false, true), ("machine.sysctls", true, false)]);
    }
}
