//! A value of a document, together with the keys that lead to it.
//!
//! A rule walks down with [`Field::get`] and [`Field::items`], reads typed values, and passes the field to
//! [`DocumentIssues`](super::DocumentIssues) as the place of an issue. A missing field reads as the zero of its type, as in Go.

use serde_json::Value;

/// A value and its path.
#[derive(Clone, Debug)]
#[must_use]
pub(crate) struct Field<'v> {
    value: Option<&'v Value>,
    path: String,
}

impl<'v> Field<'v> {
    /// A complete document.
    pub fn root(value: &'v Value) -> Self {
        Self { value: Some(value), path: String::new() }
    }

    /// The value under a key.
    pub(crate) fn get(&self, key: &str) -> Self {
        let value = self.value.and_then(|value| value.get(key));
        Self { value, path: join(&self.path, key) }
    }

    /// The value at the end of several keys.
    pub fn at<const N: usize>(&self, keys: [&str; N]) -> Self {
        keys.into_iter().fold(self.clone(), |field, key| field.get(key))
    }

    /// Whether there is something, even if it is empty.
    pub(crate) fn is_set(&self) -> bool {
        self.value.is_some_and(|value| !value.is_null())
    }

    /// Whether it holds nothing: no text, no items, no keys.
    pub(crate) fn is_empty(&self) -> bool {
        match self.value {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Object(entries)) => entries.is_empty(),
            Some(Value::Bool(_) | Value::Number(_)) => false,
        }
    }

    /// The value itself.
    pub fn value(&self) -> Option<&'v Value> {
        self.value
    }

    /// The text; empty if missing.
    pub fn text(&self) -> &'v str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    /// The boolean; `false` if missing.
    pub(crate) fn flag(&self) -> bool {
        self.value.and_then(Value::as_bool).unwrap_or_default()
    }

    /// The number; zero if missing.
    pub fn number(&self) -> i64 {
        self.value.and_then(Value::as_i64).unwrap_or_default()
    }

    /// The items of a list, those that are null too.
    pub(crate) fn items(&self) -> impl Iterator<Item = Field<'v>> + use<'v> {
        let path = self.path.clone();
        let items = self.value.and_then(Value::as_array).into_iter().flatten().enumerate();
        items.map(move |(nth, value)| Field { value: Some(value), path: format!("{path}[{nth}]") })
    }

    /// The entries of a map.
    pub fn entries(&self) -> impl Iterator<Item = (&'v str, Field<'v>)> + use<'v> {
        let path = self.path.clone();
        let entries = self.value.and_then(Value::as_object).into_iter().flatten();
        entries.map(move |(key, value)| (key.as_str(), Field { value: Some(value), path: join(&path, key) }))
    }
}

impl From<&Field<'_>> for String {
    fn from(field: &Field<'_>) -> Self {
        field.path.clone()
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_has_its_key_path() {
        let value = json!({"machine": {"registries": {"mirrors": {"docker.io": {"endpoints": ["a", "b"]}}}}});
        let mirrors = Field::root(&value).at(["machine", "registries", "mirrors"]);

        let (_, mirror) = mirrors.entries().next().unwrap();
        let last = mirror.get("endpoints").items().last().unwrap();

        assert_eq!(String::from(&last), "machine.registries.mirrors.docker.io.endpoints[1]");
        assert_eq!(last.text(), "b");
    }

    #[test]
    fn a_missing_field_is_zero() {
        let value = json!({"a": null, "b": {}});
        let root = Field::root(&value);

        assert!(!root.get("a").is_set() && root.get("b").is_set() && root.get("b").is_empty());
        assert_eq!(
            (root.get("c").text(), root.get("c").number(), root.at(["c", "d"]).flag()),
            ("", 0, false)
        );
        assert_eq!(root.get("c").items().count(), 0);
    }
}
