//! Talos' own documents, read as Talos reads them.
//!
//! [`read`] turns a YAML stream into values; [`from_any`] does the same with a fragment in the cluster file.
//! Talos reads with go-yaml, for which `on` is text and `0644` is octal: another language than the cluster file's. The
//! other functions look up parts of a value.
//!
//! Not here: the meaning of documents, and which ones a release has ([`kind`](super::kind)).

use serde_json::{Map, Value};

use ichor_values::Any;

use super::types::scalar;
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::SyntaxError;

/// The keys that make a document the one with `machine` and `cluster`.
pub(crate) const MACHINE_KEYS: [&str; 4] = ["machine", "cluster", "debug", "persist"];

/// Reads a YAML stream as go-yaml does. Empty documents are dropped, as Talos does from 1.12 on.
pub fn read(text: &str) -> Result<Vec<Value>, SyntaxError> {
    let nodes = yaml::parse(text)?;
    let nodes = nodes.iter().filter(|node| !node.is_null());
    nodes
        .map(|node| {
            scalar::any(node).map_err(|error| SyntaxError { line: node.line, reason: error.to_string() })
        })
        .collect()
}

/// A value on one line, as every reader of YAML takes it back: JSON, with the letters escaped that YAML forbids or breaks
/// lines at.
pub fn one_line(value: &Value) -> String {
    let mut line = String::new();
    // Outside of its texts, JSON has none of these letters.
    for letter in value.to_string().chars() {
        match u32::from(letter) {
            0x20..=0x7e => line.push(letter),
            code @ ..=0xffff => line.push_str(&format!("\\u{code:04x}")),
            code => line.push_str(&format!("\\U{code:08x}")),
        }
    }
    line
}

/// A fragment of a document in the cluster file.
pub fn from_any(any: &Any) -> Value {
    match any {
        Any::Null => Value::Null,
        Any::Scalar(text, true) => scalar::plain(text),
        Any::Scalar(text, false) => Value::String(text.clone()),
        Any::List(items) => Value::Array(items.iter().map(from_any).collect()),
        Any::Map(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), from_any(value))).collect())
        }
    }
}

/// The kind of a document; none for the one with `machine` and `cluster`.
pub fn kind(document: &Value) -> Option<&str> {
    document.get("kind")?.as_str()
}

/// The name of a document.
pub fn name(document: &Value) -> Option<&str> {
    document.get("name")?.as_str()
}

/// Whether it is the document with `machine` and `cluster`.
pub fn is_machine_config(document: &Value) -> bool {
    MACHINE_KEYS.iter().any(|key| document.get(key).is_some())
}

/// Whether a map of a patch deletes its target instead of setting it.
pub fn deletes(map: &Map<String, Value>) -> bool {
    map.get("$patch").is_some_and(|word| word == "delete")
}

/// The value at a JSON pointer such as `/machine/network`, unless the patch deletes it or a parent.
pub fn value_at<'v>(document: &'v Value, pointer: &str) -> Option<&'v Value> {
    let mut value = document;
    for step in pointer.split('/').skip(1) {
        value = set(value)?.get(step)?;
    }
    set(value)
}

fn set(value: &Value) -> Option<&Value> {
    (!value.is_null() && !value.as_object().is_some_and(deletes)).then_some(value)
}

/// The items of the list at a JSON pointer, without deleted ones, each with its number.
pub fn items<'v>(document: &'v Value, pointer: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    let list = value_at(document, pointer).and_then(Value::as_array);
    list.into_iter().flatten().enumerate().filter(|(_, item)| set(item).is_some())
}

/// The texts of the list at a JSON pointer.
pub fn texts<'v>(document: &'v Value, pointer: &str) -> impl Iterator<Item = &'v str> {
    items(document, pointer).filter_map(|(_, item)| item.as_str())
}

#[cfg(test)]
mod tests {
    use ichor_values::go_yaml::emit::emit;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_are_read_as_go_reads_them() {
        let text = "a: on\nb: yes\nc: 0644\nd: 1.10\ne: true\nf: ~\ng: 12:34:56\nh: '1'\ni: off\nj: -1\n";

        let documents = read(text).unwrap();

        let want = json!({"a": "on", "b": "yes", "c": 420, "d": 1.1, "e": true, "f": null, "g": "12:34:56", "h": "1",
            "i": "off", "j": -1});
        assert_eq!(documents, [want]);
    }

    #[test]
    fn a_scalar_is_read_alike_in_cluster_file_and_patch() {
        for word in
            ["on", "0644", "1.10", "true", "12:34:56", "eth0", "0x1f", "1_000", "10.0.0.1", "-1", "1e3"]
        {
            let from_file = read(&format!("key: {word}")).unwrap().remove(0)["key"].clone();

            assert_eq!(from_any(&Any::Scalar(word.to_owned(), true)), from_file, "{word}");
            assert_eq!(from_any(&Any::Scalar(word.to_owned(), false)), json!(word));
        }
    }

    #[test]
    fn a_stream_is_read_without_its_empty_documents() {
        let documents =
            read("\u{feff}---\nmachine: {}\n---\n# nothing\n---\nkind: LinkConfig\nname: eth0\n").unwrap();

        assert_eq!(documents.len(), 2);
        assert!(is_machine_config(&documents[0]));
        assert_eq!((kind(&documents[1]), name(&documents[1])), (Some("LinkConfig"), Some("eth0")));
    }

    #[test]
    fn an_error_names_the_line_and_not_the_text() {
        let error = read("machine:\n  token: hunter2.secret\n  token: [hunter2\n").unwrap_err();

        assert!(error.line > 1, "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(read("a: 1\na: 2\n").is_err());
    }

    #[test]
    fn a_deleted_key_is_missing() {
        let document = json!({"machine": {"network": {"hostname": {"$patch": "delete"}, "interfaces": [
            {"interface": "eth0", "$patch": "delete"}, {"interface": "eth1"}]}}});

        let left: Vec<_> = items(&document, "/machine/network/interfaces").map(|(nth, _)| nth).collect();

        assert_eq!(value_at(&document, "/machine/network/hostname"), None);
        assert_eq!(left, [1]);
    }

    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            " ",
            "  ",
            "\n",
            "\t",
            "\r",
            "a",
            "b: c",
            ": ",
            " #",
            "'",
            "\"",
            "\\",
            "-",
            "- ",
            "?",
            "[",
            "]",
            "{",
            "}",
            ",",
            "|",
            ">",
            "&a",
            "*a",
            "!",
            "%",
            "@",
            "`",
            "<<",
            "=",
            "~",
            "null",
            "true",
            "on",
            "y",
            "0",
            "1",
            "0o17",
            "0x1f",
            "1_000",
            ".inf",
            ".5",
            "e3",
            "+",
            "12:34",
            "2001-01-01",
            "T1:2:3Z",
            "---",
            "...",
            "\u{85}",
            "\u{a0}",
            "\u{2028}",
            "\u{feff}",
            "\u{7f}",
            "\0",
            "\x1b",
            "ž",
            "🦀",
            "\u{fffe}",
        ]);
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            1 => Just(Value::Null),
            1 => any::<bool>().prop_map(Value::from),
            1 => any::<i64>().prop_map(Value::from),
            8 => hostile().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((hostile(), inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn a_written_document_reads_back(value in values()) {
            let text = emit(&json!({"value": value}));

            prop_assert_eq!(read(&text), Ok(vec![json!({"value": value})]), "{}", text);
        }
    }
}
