//! The possible values of a key, and how the rungs of the override ladder are merged.
//!
//! [`Key`] is one key of a record: unset, cleared by `null`, or set. [`MergeOver`] is the override ladder:
//! maps merge key by key, [`NamedList`] lists by their name, [`AdditiveList`] lists add up, everything else replaces.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::source::Location;

/// A value and its location. Two are equal when their values are.
#[derive(Clone, Copy, Debug)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its location.
    pub place: Location,
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// One key of a record: unset, cleared by `null`, or set.
///
/// One pointer wide, and copied by counting: a node has some two hundred keys, a cluster may have a hundred thousand
/// nodes, and next to none of their keys are set.
#[derive(Debug)]
pub struct Key<T>(Option<Arc<Spanned<Option<T>>>>);

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Key<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: PartialEq> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Key<T> {
    /// Written.
    pub fn set(value: T, place: Location) -> Self {
        Self(Some(Arc::new(Spanned { value: Some(value), place })))
    }

    /// Written as `null`: the values of lower rungs are cleared.
    pub fn cleared(place: Location) -> Self {
        Self(Some(Arc::new(Spanned { value: None, place })))
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()?.value.as_ref()
    }

    /// Where it was set or cleared.
    pub fn place(&self) -> Option<Location> {
        self.0.as_ref().map(|at| at.place)
    }

    /// The value with its place, if there is one.
    pub fn at(&self) -> Option<Spanned<&T>> {
        Some(Spanned { value: self.get()?, place: self.place()? })
    }

    /// Whether it was set to something.
    pub fn is_set(&self) -> bool {
        self.get().is_some()
    }

    /// Whether it was written, be it as `null`.
    pub fn is_written(&self) -> bool {
        self.0.is_some()
    }
}

impl<T: Clone> Key<T> {
    /// The value without its location, if set.
    pub fn into_value(self) -> Option<T> {
        Arc::unwrap_or_clone(self.0?).value
    }
}

impl<T: Copy> Key<T> {
    /// A copy of the value, if there is one.
    pub fn value(&self) -> Option<T> {
        self.get().copied()
    }
}

/// How a higher rung overrides a lower one.
pub trait MergeOver: Clone {
    /// Whether something of the lower rung can shine through.
    const MERGES: bool = false;

    /// The result if `self` is written above `base`.
    #[must_use]
    fn merge_over(&self, _base: &Self) -> Self {
        self.clone()
    }
}

impl<T: MergeOver> MergeOver for Key<T> {
    const MERGES: bool = true;

    fn merge_over(&self, base: &Self) -> Self {
        match (&self.0, self.get(), base.get()) {
            (None, _, _) => base.clone(),
            (Some(at), Some(value), Some(below)) if T::MERGES => Self::set(value.merge_over(below), at.place),
            _ => self.clone(),
        }
    }
}

/// A list that replaces the one below it.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T>(pub Vec<Spanned<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> List<T> {
    /// The values without their places.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|at| &at.value)
    }
}

impl<T: Clone> MergeOver for List<T> {}

/// A value with a name of its own.
pub trait HasName {
    /// The name.
    fn name(&self) -> Option<&str>;
}

/// A list whose items are merged with those of the same name below, new ones after them.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedList<T>(pub Vec<Spanned<T>>);

impl<T> Default for NamedList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: MergeOver + HasName> MergeOver for NamedList<T> {
    const MERGES: bool = true;

    fn merge_over(&self, base: &Self) -> Self {
        // An empty list clears, as it does everywhere.
        if self.0.is_empty() {
            return self.clone();
        }
        let mut items: Vec<Spanned<T>> = base.0.clone();
        for item in &self.0 {
            match items.iter_mut().find(|old| old.value.name() == item.value.name()) {
                Some(old) => *old = Spanned { value: item.value.merge_over(&old.value), place: item.place },
                None => items.push(item.clone()),
            }
        }
        Self(items)
    }
}

/// A list that adds to the one below it, unless it was written as `{only: […]}`.
#[derive(Clone, Debug, PartialEq)]
pub struct AdditiveList<T> {
    /// The items, from the lowest rung up.
    pub(crate) items: Vec<Spanned<T>>,
    /// Whether it starts afresh.
    pub(crate) only: bool,
}

impl<T> AdditiveList<T> {
    /// The values without their places.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|at| &at.value)
    }
}

impl<T: Clone> MergeOver for AdditiveList<T> {
    const MERGES: bool = true;

    fn merge_over(&self, base: &Self) -> Self {
        if self.only || self.items.is_empty() {
            return self.clone();
        }
        Self { items: base.items.iter().chain(self.items.iter()).cloned().collect(), only: base.only }
    }
}

/// A map with names of the user's choosing.
#[derive(Clone, Debug, PartialEq)]
pub struct Map<K, V>(pub BTreeMap<K, Key<V>>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, V> Map<K, V> {
    /// Names and values, without cleared ones.
    pub fn iter(&self) -> impl Iterator<Item = (&K, Spanned<&V>)> {
        self.0.iter().filter_map(|(name, value)| Some((name, value.at()?)))
    }

    /// The value under `name`.
    pub fn get<Q: Ord + ?Sized>(&self, name: &Q) -> Option<Spanned<&V>>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.get(name)?.at()
    }
}

impl<K: Ord + Clone, V: MergeOver> MergeOver for Map<K, V> {
    const MERGES: bool = true;

    fn merge_over(&self, base: &Self) -> Self {
        if self.0.is_empty() {
            return self.clone();
        }
        let mut merged = base.0.clone();
        for (name, value) in &self.0 {
            let below = merged.get(name).cloned().unwrap_or_default();
            merged.insert(name.clone(), value.merge_over(&below));
        }
        Self(merged)
    }
}

/// Walking a key that holds several values, without asking first whether it is set.
macro_rules! items {
    ($list:ident, $field:tt) => {
        impl<T> Key<$list<T>> {
            /// The items, none when it is unset.
            pub fn items(&self) -> impl Iterator<Item = &Spanned<T>> {
                self.get().into_iter().flat_map(|list| &list.$field)
            }

            /// The values without their places.
            pub fn values(&self) -> impl Iterator<Item = &T> {
                self.items().map(|at| &at.value)
            }
        }
    };
}

items!(List, 0);
items!(NamedList, 0);
items!(AdditiveList, items);

impl<K: Ord, V> Key<Map<K, V>> {
    /// Names and values, none when it is unset.
    pub fn entries(&self) -> impl Iterator<Item = (&K, Spanned<&V>)> {
        self.get().into_iter().flat_map(|map| map.iter())
    }
}
