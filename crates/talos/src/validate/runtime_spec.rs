//! Overrides of the OCI runtime specification that containers start with.
//!
//! Talos takes what Go's JSON reader can decode into the specification's types: keys in any case, unknown keys ignored,
//! null anywhere. The types are in `runtime_spec.txt`, one per line with its keys: `[T]` is a list, `{T}` a map, `@13`
//! marks a key that Talos has from 1.13 on, `!13` one that it has until then.

use serde_json::Value;

use super::field::Field;
use super::{DocumentIssues, Setting};

const TYPES: &str = include_str!("runtime_spec.txt");

/// Judges overrides.
pub(crate) fn validate(overrides: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    of_type("Spec", overrides, setting, issues);
}

fn of_type(kind: &str, field: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    if !field.is_set() {
        return;
    }
    if let Some(inner) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
        expect(field, field.value().is_some_and(Value::is_array), "a list", issues);
        field.items().for_each(|item| of_type(inner, &item, setting, issues));
    } else if let Some(inner) = kind.strip_prefix('{').and_then(|kind| kind.strip_suffix('}')) {
        expect(field, field.value().is_some_and(Value::is_object), "a map", issues);
        field.entries().for_each(|(_, entry)| of_type(inner, &entry, setting, issues));
    } else if let Some(keys) = TYPES.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' ')) {
        expect(field, field.value().is_some_and(Value::is_object), "a map", issues);
        for (key, entry) in field.entries() {
            if let Some(kind) = kind_of(key, keys, setting) {
                of_type(kind, &entry, setting, issues);
            }
        }
    } else if let Some((fits, want)) = field.value().and_then(|value| scalar(kind, value)) {
        expect(field, fits, want, issues);
    }
}

fn expect(field: &Field<'_>, fits: bool, want: &'static str, issues: &mut DocumentIssues) {
    if !fits {
        issues.error(field, format!("the runtime specification wants {want}"));
    }
}

/// The type of a key, where the release has it.
fn kind_of<'t>(key: &str, keys: &'t str, setting: Setting<'_>) -> Option<&'t str> {
    keys.split(' ').find_map(|known| {
        let (name, kind) = known.split_once(':')?;
        let kind = match (kind.strip_suffix("@13"), kind.strip_suffix("!13")) {
            (Some(kind), _) => Some(kind).filter(|_| setting.at_least(13))?,
            (_, Some(kind)) => Some(kind).filter(|_| !setting.at_least(13))?,
            _ => kind,
        };
        name.eq_ignore_ascii_case(key).then_some(kind)
    })
}

/// Whether a value is of a simple type, and the name of that; none for the type that accepts any value.
fn scalar(kind: &str, value: &Value) -> Option<(bool, &'static str)> {
    Some(match kind {
        "string" => (value.is_string(), "a text"),
        "bool" => (value.is_boolean(), "true or false"),
        "int32" => (number(value).is_some_and(|n| i32::try_from(n).is_ok()), "a whole number"),
        "int64" => (number(value).is_some_and(|n| i64::try_from(n).is_ok()), "a whole number"),
        "uint16" => (number(value).is_some_and(|n| u16::try_from(n).is_ok()), "a whole number up to 65535"),
        "uint32" => {
            (number(value).is_some_and(|n| u32::try_from(n).is_ok()), "a whole number up to 4294967295")
        }
        "uint64" => (number(value).is_some_and(|n| u64::try_from(n).is_ok()), "a whole number, not negative"),
        _ => return None,
    })
}

/// An integer. `1.0` is one, since Go writes it as `1` before it reads it.
fn number(value: &Value) -> Option<i128> {
    let integer = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    integer.or_else(|| {
        let float = value.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e21)?;
        format!("{float:.0}").parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::validate::Mode;
    use ichor_values::TalosVersion;

    fn paths(overrides: &Value, talos: &str) -> Vec<String> {
        let talos = TalosVersion::parse(talos).unwrap();
        let mut issues = DocumentIssues::default();
        validate(&Field::root(overrides), Setting { talos: &talos, mode: Mode::Metal }, &mut issues);
        issues.found.into_iter().map(|found| found.issue.subject).collect()
    }

    #[test]
    fn specifications_that_match_are_accepted() {
        let overrides = json!({"process": {"rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "Soft": 1024.0}]},
            "annotations": {"a": "b"}, "unknown": [1], "linux": null});

        assert_eq!(paths(&overrides, "1.12"), Vec::<String>::new());
    }

    #[test]
    fn a_mismatch_is_reported_with_its_path() {
        let overrides = json!({"process": {"rlimits": [{"hard": "1024"}, {"soft": -1}], "args": "sh"}, "hostname": 1,
            "linux": {"resources": {"blockIO": {"weight": 65536}}}});

        let want = [
            "process.rlimits[0].hard",
            "process.rlimits[1].soft",
            "process.args",
            "hostname",
            "linux.resources.blockIO.weight",
        ];
        assert_eq!(paths(&overrides, "1.12"), want);
    }

    #[test]
    fn a_key_counts_in_the_releases_that_have_it() {
        let overrides = json!({"freebsd": 1, "linux": {"intelRdt": {"enableCMT": 1}}});

        assert_eq!(paths(&overrides, "1.12"), ["linux.intelRdt.enableCMT"]);
        assert_eq!(paths(&overrides, "1.13"), ["freebsd"]);
    }
}
