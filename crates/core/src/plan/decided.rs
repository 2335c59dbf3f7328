//! A decided value and where it came from.

use super::derive::Rule;
use ichor_values::Place;
use ichor_values::key::Key;

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From a line of the file.
    Written(Place),
    /// From a rule, with the place of its base where it has one.
    Derived(Rule, Option<Place>),
    /// From nothing: what holds when nobody says otherwise, and why.
    Default(&'static str),
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

impl<T> Decided<T> {
    pub(super) fn written(value: T, place: Place) -> Self {
        Self { value, origin: Origin::Written(place) }
    }

    pub(super) fn default(value: T, reason: &'static str) -> Self {
        Self { value, origin: Origin::Default(reason) }
    }

    pub(super) fn derived(value: T, rule: Rule, base: Option<Place>) -> Self {
        Self { value, origin: Origin::Derived(rule, base) }
    }

    /// The place it was written at, if it was.
    pub fn place(&self) -> Option<Place> {
        match self.origin {
            Origin::Written(place) => Some(place),
            Origin::Derived(_, base) => base,
            Origin::Default(_) => None,
        }
    }

    /// Whether the file itself contains the value.
    pub fn is_written(&self) -> bool {
        matches!(self.origin, Origin::Written(_))
    }
}

impl<T: Clone> Decided<T> {
    /// The value of a key that has no default; none where the key is unset.
    pub(super) fn of(key: &Key<T>) -> Option<Self> {
        key.at().map(|at| Self::written(at.value.clone(), at.place))
    }

    /// The value of a key, or its default and the reason for it.
    pub(super) fn or(key: &Key<T>, default: T, reason: &'static str) -> Self {
        Self::of(key).unwrap_or_else(|| Self::default(default, reason))
    }
}

impl Decided<String> {
    /// The text of a key, or its default and the reason for it.
    pub(super) fn text<T: ToString>(key: &Key<T>, default: &str, reason: &'static str) -> Self {
        match key.at() {
            Some(at) => Self::written(at.value.to_string(), at.place),
            None => Self::default(default.to_owned(), reason),
        }
    }
}
