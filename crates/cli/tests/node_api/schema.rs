//! The messages of Talos' API as its release defines them, and the generic decoding of bytes with them.
//!
//! The part `talos-api-RELEASE` prints them from Talos' descriptors; the lines for the calls that ichor makes are in `data`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// `optional` or `repeated`.
    pub cardinality: String,
    /// Such as `string`.
    pub kind: String,
    /// The message or enumeration; empty for others.
    pub of: String,
}

/// The calls and messages of a release.
#[derive(Debug, Default)]
pub struct Schema {
    /// Request and response of each call.
    pub calls: BTreeMap<String, (String, String)>,
    pub messages: BTreeMap<String, BTreeMap<u32, Field>>,
    /// The values of enumerations.
    pub values: BTreeMap<String, BTreeMap<i64, String>>,
}

impl Schema {
    /// Reads lines of the part.
    pub fn parse(text: &str) -> Self {
        let mut schema = Self::default();
        for line in text.lines() {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            match words[0].as_str() {
                "rpc" => {
                    schema.calls.insert(words[1].clone(), (words[2].clone(), words[3].clone()));
                }
                "field" => {
                    let field = Field {
                        name: words[3].clone(),
                        cardinality: words[4].clone(),
                        kind: words[5].clone(),
                        of: words.get(6).cloned().unwrap_or_default(),
                    };
                    let fields = schema.messages.entry(words[1].clone()).or_default();
                    fields.insert(words[2].parse().unwrap(), field);
                }
                "value" => {
                    let values = schema.values.entry(words[1].clone()).or_default();
                    values.insert(words[2].parse().unwrap(), words[3].clone());
                }
                other => panic!("{other}: {line}"),
            }
        }
        schema
    }

    /// The lines that these calls and messages need.
    pub fn excerpt(text: &str, calls: &BTreeSet<&str>, messages: &[&str]) -> String {
        let schema = Self::parse(text);
        let named = calls.iter().filter_map(|call| schema.calls.get(*call));
        let mut open: Vec<String> =
            named.flat_map(|(request, response)| [request.clone(), response.clone()]).collect();
        open.extend(messages.iter().map(|name| (*name).to_owned()));
        let mut needed = BTreeSet::new();
        while let Some(name) = open.pop() {
            if needed.insert(name.clone()) {
                let fields = schema.messages.get(&name).into_iter().flat_map(BTreeMap::values);
                open.extend(fields.map(|field| field.of.clone()).filter(|of| !of.is_empty()));
            }
        }
        let is_needed = |line: &&str| {
            let words: Vec<_> = line.split(' ').collect();
            if words[0] == "rpc" { calls.contains(words[1]) } else { needed.contains(words[1]) }
        };
        let lines: Vec<_> = text.lines().filter(is_needed).collect();
        lines.join("\n") + "\n"
    }

    /// Decodes a message; the error names the field that is not as defined.
    ///
    /// Fields that are not `read` are added to `unread` instead.
    pub fn decode(
        &self,
        name: &str,
        bytes: &[u8],
        read: &BTreeSet<(String, u32)>,
        unread: &mut BTreeSet<String>,
    ) -> Result<Value, String> {
        let nothing = BTreeMap::new();
        let fields = self.messages.get(name).unwrap_or(&nothing);
        let mut decoded = Map::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let key = varint(&mut rest).ok_or_else(|| format!("{name}: no key"))?;
            let number = u32::try_from(key >> 3).map_err(|error| error.to_string())?;
            let wire = WireValue::read(key & 7, &mut rest)
                .ok_or_else(|| format!("{name}: field {number} is cut off"))?;
            let field = fields.get(&number).ok_or_else(|| format!("{name} has no field {number}"))?;
            let mut inner = BTreeSet::new();
            let values = self.values(field, wire, read, &mut inner);
            let values = values.map_err(|error| format!("{name}.{}: {error}", field.name))?;
            if !read.contains(&(name.to_owned(), number)) {
                unread.insert(format!("{name}.{}", field.name));
                continue;
            }
            unread.append(&mut inner);
            if field.cardinality == "repeated" {
                let list = decoded.entry(field.name.clone()).or_insert_with(|| json!([]));
                list.as_array_mut().unwrap().extend(values);
            } else {
                decoded.insert(field.name.clone(), values.into_iter().next_back().unwrap_or_default());
            }
        }
        if let (Some(url), Some(value)) = (decoded.get("type_url"), decoded.get("value")) {
            let inner = url.as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default();
            if self.messages.contains_key(inner) {
                let value = self.decode(inner, &unhex(value.as_str().unwrap()), read, unread)?;
                decoded.insert("value".to_owned(), value);
            }
        }
        Ok(Value::Object(decoded))
    }

    /// The values of a field; several if they are packed.
    fn values(
        &self,
        field: &Field,
        wire: WireValue<'_>,
        read: &BTreeSet<(String, u32)>,
        unread: &mut BTreeSet<String>,
    ) -> Result<Vec<Value>, String> {
        let wrong = |wire: &WireValue<'_>| Err(format!("{wire:?} is not a {}", field.kind));
        let number = |kind: &str, number: u64| match kind {
            "bool" => json!(number != 0),
            "int32" | "int64" => json!(number.cast_signed()),
            "enum" => {
                let name = self.values.get(&field.of).and_then(|values| values.get(&number.cast_signed()));
                name.map_or_else(|| json!(number), |name| json!(name))
            }
            _ => json!(number),
        };
        Ok(vec![match (field.kind.as_str(), wire) {
            ("string", WireValue::Bytes(bytes)) => {
                json!(std::str::from_utf8(bytes).map_err(|error| error.to_string())?)
            }
            ("bytes", WireValue::Bytes(bytes)) => json!(hex(bytes)),
            ("message", WireValue::Bytes(bytes)) => self.decode(&field.of, bytes, read, unread)?,
            ("double", WireValue::Fixed64(bits)) => json!(f64::from_bits(bits)),
            ("fixed64", WireValue::Fixed64(bits)) => json!(bits),
            ("float", WireValue::Fixed32(bits)) => json!(f32::from_bits(bits)),
            ("bool" | "int32" | "int64" | "uint32" | "uint64" | "enum", WireValue::Varint(value)) => {
                number(&field.kind, value)
            }
            ("bool" | "int32" | "int64" | "uint32" | "uint64" | "enum", WireValue::Bytes(mut packed))
                if field.cardinality == "repeated" =>
            {
                let mut values = Vec::new();
                while !packed.is_empty() {
                    let value = varint(&mut packed).ok_or("a packed list is cut off")?;
                    values.push(number(&field.kind, value));
                }
                return Ok(values);
            }
            (_, wire) => return wrong(&wire),
        }])
    }
}

/// A value as the wire has it.
#[derive(Debug)]
enum WireValue<'b> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'b [u8]),
    Fixed32(u32),
}

impl<'b> WireValue<'b> {
    fn read(kind: u64, rest: &mut &'b [u8]) -> Option<Self> {
        let mut take = |length: usize| -> Option<&'b [u8]> {
            let (taken, after) = rest.split_at_checked(length)?;
            *rest = after;
            Some(taken)
        };
        Some(match kind {
            1 => Self::Fixed64(u64::from_le_bytes(take(8)?.try_into().ok()?)),
            5 => Self::Fixed32(u32::from_le_bytes(take(4)?.try_into().ok()?)),
            0 => Self::Varint(varint(rest)?),
            2 => {
                let length = usize::try_from(varint(rest)?).ok()?;
                let (taken, after) = rest.split_at_checked(length)?;
                *rest = after;
                Self::Bytes(taken)
            }
            _ => return None,
        })
    }
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The bytes of a text of [`hex`].
pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.bytes().map(|digit| char::from(digit).to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}
