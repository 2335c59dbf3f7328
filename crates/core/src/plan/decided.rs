//! A decided value and its origin.

use super::derive::Derivation;
use ichor_values::Location;
use ichor_values::key::Key;

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of the file.
    Written(Location),
    /// A rule, with the place of its base if it has one.
    Derived(Derivation, Option<Location>),
    /// A default, and its reason.
    Default(&'static str),
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided<T> {
    /// The value.
    pub value: T,
    /// Its origin.
    pub origin: Origin,
}

impl<T> Decided<T> {
    pub(super) fn written(value: T, place: Location) -> Self {
        Self { value, origin: Origin::Written(place) }
    }

    pub(super) fn default(value: T, reason: &'static str) -> Self {
        Self { value, origin: Origin::Default(reason) }
    }

    pub(super) fn derived(value: T, rule: Derivation, base: Option<Location>) -> Self {
        Self { value, origin: Origin::Derived(rule, base) }
    }

    /// Where it is written, if it is.
    pub fn place(&self) -> Option<Location> {
        match self.origin {
            Origin::Written(place) => Some(place),
            Origin::Derived(_, base) => base,
            Origin::Default(_) => None,
        }
    }

    /// Whether the file contains the value.
    pub fn is_written(&self) -> bool {
        matches!(self.origin, Origin::Written(_))
    }
}

impl<T: Clone> Decided<T> {
    /// The value of a key without a default; none if the key is unset.
    pub(super) fn from_key(key: &Key<T>) -> Option<Self> {
        key.at().map(|at| Self::written(at.value.clone(), at.place))
    }

    /// The value of a key, or its default and the reason for it.
    pub(super) fn from_key_or(key: &Key<T>, default: T, reason: &'static str) -> Self {
        Self::from_key(key).unwrap_or_else(|| Self::default(default, reason))
    }
}

impl Decided<String> {
    /// The text of a key, or its default and the reason for it.
    pub(super) fn text_or<T: ToString>(key: &Key<T>, default: &str, reason: &'static str) -> Self {
        match key.at() {
            Some(at) => Self::written(at.value.to_string(), at.place),
            None => Self::default(default.to_owned(), reason),
        }
    }
}
