//! Labels, annotations and taints of a Kubernetes node, as Talos checks them.
//!
//! Not here: the keys of a configuration that have them ([`validate`](super::validate)).

use ichor_values::nearest;

/// The most bytes all annotations of a node may have.
pub(crate) const MOST_ANNOTATIONS: usize = 256 << 10;

/// Annotations in which Talos keeps its own books.
const OWN: [&str; 3] = ["talos.dev/owned-labels", "talos.dev/owned-annotations", "talos.dev/owned-taints"];

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The longest name without its prefix, and the longest value of a label.
const LONGEST: usize = 63;

/// Why Talos does not take a label, annotation or taint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The prefix of a name is not a DNS name.
    #[error("{text:?}: the part before the slash must be a DNS name in lower case")]
    Prefix {
        /// The name with its prefix.
        text: String,
    },
    /// It is not a name.
    #[error("{text:?} is not a name: {WORD}")]
    Name {
        /// The text.
        text: String,
    },
    /// It cannot be a value.
    #[error("{text:?} cannot be a label's value: {WORD}")]
    Value {
        /// The text.
        text: String,
    },
    /// Talos keeps the annotation for itself.
    #[error("{key} is Talos' own: choose another name")]
    Reserved {
        /// The annotation.
        key: String,
    },
    /// A taint without an effect that Kubernetes knows.
    #[error("{effect:?} is not a taint effect: use one of {}{}", EFFECTS.join(", "), did_you_mean(effect))]
    Effect {
        /// The invalid effect.
        effect: String,
    },
}

fn did_you_mean(effect: &str) -> String {
    nearest(effect, EFFECTS).map(|effect| format!("; did you mean `{effect}`?")).unwrap_or_default()
}

/// Whether it is a name, with or without a prefix: `zone`, `example.com/zone`.
pub fn name(text: &str) -> Result<(), LabelError> {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        return Err(LabelError::Prefix { text: text.to_owned() });
    }
    if is_word(name) { Ok(()) } else { Err(LabelError::Name { text: text.to_owned() }) }
}

/// Whether it can be the value of a label.
pub fn value(text: &str) -> Result<(), LabelError> {
    if text.is_empty() || is_word(text) { Ok(()) } else { Err(LabelError::Value { text: text.to_owned() }) }
}

/// Whether an annotation of this name may be set.
pub(crate) fn annotation(key: &str) -> Result<(), LabelError> {
    if OWN.contains(&key) {
        return Err(LabelError::Reserved { key: key.to_owned() });
    }
    name(key)
}

/// Whether it has the form of a taint: `Effect` or `value:Effect`.
pub(crate) fn taint(text: &str) -> Result<(), LabelError> {
    let (word, effect) = text.split_once(':').unwrap_or(("", text));
    if EFFECTS.contains(&effect) {
        return value(word);
    }
    Err(LabelError::Effect { effect: effect.to_owned() })
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

/// Whether it is a DNS subdomain as of RFC 1123. The length of its labels is not checked, as in Kubernetes.
pub(crate) fn is_subdomain(text: &str) -> bool {
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
        assert!(taint("NoShedule").unwrap_err().to_string().contains("did you mean `NoSchedule`?"));
    }

    #[test]
    fn talos_keeps_its_annotations_to_itself() {
        assert!(annotation("talos.dev/owned-taints").is_err());
        assert_eq!(annotation("example.com/a"), Ok(()));
    }
}
