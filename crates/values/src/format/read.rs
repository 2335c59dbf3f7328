//! Reading a JSON value into a type, with every unknown key reported.
//!
//! Serde stops at the first unknown key, or ignores all of them. This deserializer ignores and remembers them: a derived
//! type passes it the known keys. Errors name the path and never repeat a value, which may be a secret.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::nearest::nearest;

/// The result of reading a value.
#[derive(Debug)]
pub struct DecodeOutcome<T> {
    /// The value, or the first thing in it that is wrong; unknown keys are not.
    pub value: Result<T, InvalidValue>,
    /// Keys that the type does not know, in their order.
    pub unknown: Vec<UnknownKey>,
}

/// A key that the type does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// Its path, such as `bgp.neighbors[0].asm`.
    pub path: String,
    /// The closest known key at this place.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: unknown key", self.path)?;
        self.nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean `{nearest}`?"))
    }
}

/// A value that the type cannot hold. It is not repeated: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidValue {
    path: Option<String>,
    reason: String,
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_deref() {
            None | Some("") => f.write_str(&self.reason),
            Some(path) => write!(f, "{path}: {}", self.reason),
        }
    }
}

impl std::error::Error for InvalidValue {}

impl InvalidValue {
    /// An error about the complete value.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { path: None, reason: reason.into() }
    }

    /// The same at a path, unless it has one already.
    fn at(mut self, path: &str) -> Self {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }
}

impl de::Error for InvalidValue {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Bool(_) => "true or false",
            Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
            Unexpected::Str(_) | Unexpected::Char(_) => "a string",
            Unexpected::Unit | Unexpected::Option => "null",
            Unexpected::Seq => "a list",
            Unexpected::Map => "an object",
            _ => "something else",
        };
        Self::new(format!("want {}, found {found}", want(wanted)))
    }

    fn invalid_value(_: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new(format!("want {}", want(wanted)))
    }

    fn invalid_length(length: usize, wanted: &dyn Expected) -> Self {
        Self::new(format!("want {}, found {length} items", want(wanted)))
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        let known: Vec<_> = known.iter().map(|word| format!("`{word}`")).collect();
        Self::new(format!("want one of {}", known.join(", ")))
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(format!("the key `{key}` is missing"))
    }
}

/// The type that serde expects, in the words of JSON.
fn want(wanted: &dyn Expected) -> String {
    let wanted = wanted.to_string();
    match wanted.as_str() {
        "u8" => "a whole number up to 255".to_owned(),
        "u16" => "a whole number up to 65535".to_owned(),
        "u32" => "a whole number up to 4294967295".to_owned(),
        "a nonzero u32" => "a whole number from 1 to 4294967295".to_owned(),
        "u64" => "a whole number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        text if text.starts_with("struct ") || text == "a map" => "an object".to_owned(),
        _ => wanted,
    }
}

/// Reads a value, and reports every key that the type does not know.
pub fn read<'v, T: Deserialize<'v>>(value: &'v Value) -> DecodeOutcome<T> {
    let unknown = RefCell::new(Vec::new());
    let value = T::deserialize(JsonNode { value, path: String::new(), unknown: &unknown });
    DecodeOutcome { value: value.map_err(|error| error.at("")), unknown: unknown.into_inner() }
}

/// A value and where it is.
struct JsonNode<'v, 'u> {
    value: &'v Value,
    path: String,
    unknown: &'u RefCell<Vec<UnknownKey>>,
}

impl<'v, 'u> JsonNode<'v, 'u> {
    fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The values of an object, without the keys in `skip`.
    fn entries(&self, map: &'v Map<String, Value>, known: Option<&[&str]>) -> JsonEntries<'v, 'u> {
        let is_known = |key: &str| known.is_none_or(|known| known.contains(&key));
        let entries = map.iter().filter(|(key, _)| is_known(key));
        let nodes = entries.map(|(key, value)| {
            (key.as_str(), JsonNode { value, path: self.key(key), unknown: self.unknown })
        });
        let mut nodes: Vec<_> = nodes.collect();
        nodes.reverse();
        JsonEntries { nodes, value: None }
    }

    fn items(&self, items: &'v [Value]) -> JsonItems<'v, 'u> {
        let nodes = items.iter().enumerate().map(|(nth, value)| JsonNode {
            value,
            path: format!("{}[{nth}]", self.path),
            unknown: self.unknown,
        });
        let mut nodes: Vec<_> = nodes.collect();
        nodes.reverse();
        JsonItems(nodes)
    }

    fn note_unknown(&self, map: &Map<String, Value>, known: &[&'static str]) {
        let strange = map.keys().filter(|key| !known.contains(&key.as_str()));
        let unknown =
            |key: &String| UnknownKey { path: self.key(key), nearest: nearest(key, known.iter().copied()) };
        self.unknown.borrow_mut().extend(strange.map(unknown));
    }
}

impl<'v> Deserializer<'v> for JsonNode<'v, '_> {
    type Error = InvalidValue;

    fn deserialize_any<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(self.items(items)),
            Value::Object(map) => visitor.visit_map(self.entries(map, None)),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
        }
    }

    fn deserialize_option<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, InvalidValue> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'v>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InvalidValue> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'v>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidValue> {
        let Value::Object(map) = self.value else { return self.deserialize_any(visitor) };
        self.note_unknown(map, known);
        visitor.visit_map(self.entries(map, Some(known)))
    }

    fn deserialize_enum<V: Visitor<'v>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidValue> {
        match self.value {
            Value::String(word) => visitor.visit_enum(JsonVariant { word, content: None }),
            Value::Object(map) if map.len() == 1 => {
                let mut entries = self.entries(map, None);
                let (word, content) = entries.nodes.pop().expect("it has one entry");
                visitor.visit_enum(JsonVariant { word, content: Some(content) })
            }
            _ => Err(<InvalidValue as de::Error>::unknown_variant("", known)),
        }
    }

    forward_to_deserialize_any! {
        <V: Visitor<'v>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// The items of a list that are left, the last one first.
struct JsonItems<'v, 'u>(Vec<JsonNode<'v, 'u>>);

impl<'v> SeqAccess<'v> for JsonItems<'v, '_> {
    type Error = InvalidValue;

    fn next_element_seed<T: DeserializeSeed<'v>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, InvalidValue> {
        self.0.pop().map(|node| inside(node, seed)).transpose()
    }
}

/// The entries of an object that are left, the last one first.
struct JsonEntries<'v, 'u> {
    nodes: Vec<(&'v str, JsonNode<'v, 'u>)>,
    value: Option<JsonNode<'v, 'u>>,
}

impl<'v> MapAccess<'v> for JsonEntries<'v, '_> {
    type Error = InvalidValue;

    fn next_key_seed<K: DeserializeSeed<'v>>(&mut self, seed: K) -> Result<Option<K::Value>, InvalidValue> {
        let Some((key, value)) = self.nodes.pop() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'v>>(&mut self, seed: T) -> Result<T::Value, InvalidValue> {
        inside(self.value.take().expect("a value follows each key"), seed)
    }
}

/// An enum variant with its content.
struct JsonVariant<'v, 'u> {
    word: &'v str,
    content: Option<JsonNode<'v, 'u>>,
}

impl<'v, 'u> EnumAccess<'v> for JsonVariant<'v, 'u> {
    type Error = InvalidValue;
    type Variant = JsonContent<'v, 'u>;

    fn variant_seed<T: DeserializeSeed<'v>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Self::Variant), InvalidValue> {
        let form = seed.deserialize(StrDeserializer::new(self.word))?;
        Ok((form, JsonContent(self.content)))
    }
}

/// The content of a variant.
struct JsonContent<'v, 'u>(Option<JsonNode<'v, 'u>>);

impl<'v> VariantAccess<'v> for JsonContent<'v, '_> {
    type Error = InvalidValue;

    fn unit_variant(self) -> Result<(), InvalidValue> {
        if self.0.is_none() { Ok(()) } else { Err(InvalidValue::new("want this word alone")) }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'v>>(self, seed: T) -> Result<T::Value, InvalidValue> {
        inside(self.0.ok_or_else(|| InvalidValue::new("want an object with this key"))?, seed)
    }

    fn tuple_variant<V: Visitor<'v>>(self, _: usize, visitor: V) -> Result<V::Value, InvalidValue> {
        self.0.ok_or_else(|| InvalidValue::new("want an object with this key"))?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'v>>(
        self,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidValue> {
        let node = self.0.ok_or_else(|| InvalidValue::new("want an object with this key"))?;
        let path = node.path.clone();
        node.deserialize_struct("", known, visitor).map_err(|error| error.at(&path))
    }
}

fn inside<'v, T: DeserializeSeed<'v>>(node: JsonNode<'v, '_>, seed: T) -> Result<T::Value, InvalidValue> {
    let path = node.path.clone();
    seed.deserialize(node).map_err(|error| error.at(&path))
}

#[cfg(test)]
mod tests;
