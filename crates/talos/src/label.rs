//! Labels, annotations and taints of a Kubernetes node, as Talos checks them.
//!
//! Not here: where they stand in a configuration ([`validate`](super::validate)).

use ichor_values::nearest;

/// The most bytes all annotations of a node may have.
pub const MOST_ANNOTATIONS: usize = 256 << 10;

/// Annotations in which Talos keeps its own books.
const OWN: [&str; 3] = ["talos.dev/owned-labels", "talos.dev/owned-annotations", "talos.dev/owned-taints"];

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The longest name without its prefix, and the longest value of a label.
const LONGEST: usize = 63;

/// Whether it is a name, with or without a prefix: `zone`, `example.com/zone`.
pub fn name(text: &str) -> Result<(), String> {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        return Err(format!("{text:?}: what stands before the slash has to be a DNS name in lower case"));
    }
    if is_word(name) { Ok(()) } else { Err(format!("{text:?} is not a name: {WORD}")) }
}

/// Whether it can be the value of a label.
pub fn value(text: &str) -> Result<(), String> {
    if text.is_empty() || is_word(text) {
        Ok(())
    } else {
        Err(format!("{text:?} cannot be a label's value: {WORD}"))
    }
}

/// Whether an annotation of this name may be set.
pub fn annotation(key: &str) -> Result<(), String> {
    if OWN.contains(&key) {
        return Err(format!("{key} is Talos' own: choose another name"));
    }
    name(key)
}

/// Whether it is what a taint is written as: `Effect` or `value:Effect`.
pub fn taint(text: &str) -> Result<(), String> {
    let (word, effect) = text.split_once(':').unwrap_or(("", text));
    if EFFECTS.contains(&effect) {
        return value(word);
    }
    let meant = nearest(effect, EFFECTS).map(|effect| format!("; did you mean `{effect}`?"));
    Err(format!(
        "{effect:?} is no effect of a taint: use one of {}{}",
        EFFECTS.join(", "),
        meant.unwrap_or_default()
    ))
}

const WORD: &str =
    "want at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit";

fn is_word(text: &str) -> bool {
    let inside = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
    text.len() <= LONGEST
        && text.bytes().all(|b| inside(&b))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// Whether it is a DNS subdomain as of RFC 1123. The length of its labels is not looked at, as in Kubernetes.
pub fn is_subdomain(text: &str) -> bool {
    let label = |label: &str| {
        label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_one_prefix() {
        for right in ["zone", "a", "example.com/zone", "node-role.kubernetes.io/worker", "A_b.c-9"] {
            assert_eq!(name(right), Ok(()));
        }
        for wrong in
            ["", "/zone", "a/b/c", "Example.com/zone", "zone_", "-zone", "a b", "x/", "345@.345/label"]
        {
            assert!(name(wrong).is_err(), "{wrong}");
        }
        assert!(name(&"a".repeat(64)).is_err());
    }

    #[test]
    fn a_value_may_be_empty() {
        assert_eq!((value(""), value("rack-1")), (Ok(()), Ok(())));
        assert!(value("rack 1").is_err() && value(&"a".repeat(64)).is_err());
    }

    #[test]
    fn a_taint_needs_an_effect() {
        for right in ["NoSchedule", "yes:NoExecute", ":PreferNoSchedule"] {
            assert_eq!(taint(right), Ok(()), "{right}");
        }
        for wrong in ["", "yes", "yes:", "a:NoExecute:NoSchedule", "a b:NoExecute"] {
            assert!(taint(wrong).is_err(), "{wrong}");
        }
        assert!(taint("NoShedule").unwrap_err().contains("did you mean `NoSchedule`?"));
    }

    #[test]
    fn talos_keeps_its_annotations_to_itself() {
        assert!(annotation("talos.dev/owned-taints").is_err());
        assert_eq!(annotation("example.com/a"), Ok(()));
    }
}
