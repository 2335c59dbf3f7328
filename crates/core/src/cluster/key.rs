//! What can stand behind a key, and how the rungs of the override ladder lie over each other.
//!
//! [`Key`] is one key of a record: unset, cleared by `null`, or set. [`Over`] is the override ladder:
//! maps merge key by key, [`Named`] lists by their name, [`Sum`] lists add up, everything else replaces.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::source::Place;

/// A value and where it stands. Two are equal when their values are.
#[derive(Clone, Copy, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub place: Place,
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// One key of a record.
#[derive(Clone, Copy, Debug, Default)]
pub enum Key<T> {
    /// Not written.
    #[default]
    Unset,
    /// Written as `null`: what lower rungs say no longer counts.
    Cleared(Place),
    /// Written.
    Set(At<T>),
}

impl<T: PartialEq> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unset, Self::Unset) | (Self::Cleared(_), Self::Cleared(_)) => true,
            (Self::Set(a), Self::Set(b)) => a == b,
            _ => false,
        }
    }
}

impl<T> Key<T> {
    /// The value, if there is one.
    pub fn get(&self) -> Option<&T> {
        self.at().map(|at| &at.value)
    }

    /// The value with its place, if there is one.
    pub fn at(&self) -> Option<&At<T>> {
        match self {
            Self::Set(at) => Some(at),
            Self::Unset | Self::Cleared(_) => None,
        }
    }

    /// Where it was set.
    pub fn place(&self) -> Option<Place> {
        self.at().map(|at| at.place)
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        matches!(self, Self::Set(_))
    }
}

impl<T: Clone> Key<T> {
    /// A copy of the value, if there is one.
    pub fn value(&self) -> Option<T> {
        self.get().cloned()
    }
}

/// How a higher rung lies over a lower one.
pub trait Over: Clone {
    /// What counts when `self` is written above `base`.
    #[must_use]
    fn over(&self, base: &Self) -> Self;
}

impl<T: Over> Over for Key<T> {
    fn over(&self, base: &Self) -> Self {
        match (self, base) {
            (Self::Unset, _) => base.clone(),
            (Self::Set(at), Self::Set(below)) => {
                Self::Set(At { value: at.value.over(&below.value), place: at.place })
            }
            _ => self.clone(),
        }
    }
}

impl<T: Over> Over for Arc<T> {
    fn over(&self, base: &Self) -> Self {
        Arc::new(self.as_ref().over(base))
    }
}

/// A record that stands in a list itself, not behind a pointer: there may be a hundred thousand of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inline<R>(pub R);

impl<R> std::ops::Deref for Inline<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.0
    }
}

impl<R: Over> Over for Inline<R> {
    fn over(&self, base: &Self) -> Self {
        Self(self.0.over(&base.0))
    }
}

/// A list that replaces the one below it.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T>(pub Arc<[At<T>]>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl<T> List<T> {
    /// The values without their places.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|at| &at.value)
    }
}

impl<T: Clone> Over for List<T> {
    fn over(&self, _: &Self) -> Self {
        self.clone()
    }
}

/// Something with a name of its own.
pub trait HasName {
    /// The name.
    fn name(&self) -> Option<&str>;
}

/// A list whose items are merged with those of the same name below, new ones after them.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Arc<[At<T>]>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl<T: Over + HasName> Over for Named<T> {
    fn over(&self, base: &Self) -> Self {
        // An empty list clears, as it does everywhere.
        if self.0.is_empty() {
            return self.clone();
        }
        let mut items: Vec<At<T>> = base.0.to_vec();
        for item in self.0.iter() {
            match items.iter_mut().find(|old| old.value.name() == item.value.name()) {
                Some(old) => *old = At { value: item.value.over(&old.value), place: item.place },
                None => items.push(item.clone()),
            }
        }
        Self(items.into())
    }
}

/// A list that adds to the one below it, unless it was written as `{only: […]}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum<T> {
    /// What is there, from the lowest rung up.
    pub items: Arc<[At<T>]>,
    /// Whether it starts afresh.
    pub only: bool,
}

impl<T> Sum<T> {
    /// The values without their places.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|at| &at.value)
    }
}

impl<T: Clone> Over for Sum<T> {
    fn over(&self, base: &Self) -> Self {
        if self.only || self.items.is_empty() {
            return self.clone();
        }
        Self { items: base.items.iter().chain(self.items.iter()).cloned().collect(), only: base.only }
    }
}

/// A map with names of the user's choosing.
#[derive(Clone, Debug, PartialEq)]
pub struct Map<K, V>(pub Arc<BTreeMap<K, Key<V>>>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Ord, V> Map<K, V> {
    /// Names and values, without what was cleared.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &At<V>)> {
        self.0.iter().filter_map(|(name, value)| Some((name, value.at()?)))
    }

    /// The value under `name`.
    pub fn get<Q: Ord + ?Sized>(&self, name: &Q) -> Option<&At<V>>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.get(name)?.at()
    }
}

impl<K: Ord + Clone, V: Over> Over for Map<K, V> {
    fn over(&self, base: &Self) -> Self {
        if self.0.is_empty() {
            return self.clone();
        }
        let mut merged = base.0.as_ref().clone();
        for (name, value) in self.0.iter() {
            let below = merged.get(name).cloned().unwrap_or_default();
            merged.insert(name.clone(), value.over(&below));
        }
        Self(Arc::new(merged))
    }
}
