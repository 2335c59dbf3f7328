//! YAML as it is typed: scalars and keys are raw words, and a key may be there twice.

use ichor_talos::document;
use serde_json::Value;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Word(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

/// The way to a value: numbers of entries and items.
pub(super) type Place = Vec<usize>;

impl Tree {
    /// The documents of a text that go-yaml can read.
    pub(super) fn read(text: &str) -> Option<Vec<Tree>> {
        Some(document::read(text).ok()?.iter().map(Tree::from_value).collect())
    }

    fn from_value(value: &Value) -> Self {
        match value {
            Value::Array(items) => Tree::List(items.iter().map(Tree::from_value).collect()),
            Value::Object(entries) => {
                Tree::Map(entries.iter().map(|(key, value)| (word(key), Tree::from_value(value))).collect())
            }
            Value::String(text) => Tree::Word(word(text)),
            other => Tree::Word(other.to_string()),
        }
    }

    /// The text of documents.
    pub(super) fn write_all(documents: &[Tree]) -> String {
        documents.iter().map(Tree::write_one).collect::<Vec<_>>().join("---\n")
    }

    fn write_one(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0, false);
        text.trim_start().to_owned()
    }

    /// Writes it after a key or dash; a collection after a dash begins on its line.
    fn write(&self, text: &mut String, column: usize, after_dash: bool) {
        match self {
            Tree::Word(word) => text.push_str(&format!(" {word}\n")),
            Tree::List(items) if items.is_empty() => text.push_str(" []\n"),
            Tree::Map(entries) if entries.is_empty() => text.push_str(" {}\n"),
            Tree::List(items) => {
                text.push('\n');
                for item in items {
                    text.push_str(&format!("{}-", " ".repeat(column)));
                    item.write(text, column + 2, true);
                }
            }
            Tree::Map(entries) => {
                text.push_str(if after_dash { " " } else { "\n" });
                for (nth, (key, value)) in entries.iter().enumerate() {
                    let indent = if after_dash && nth == 0 { 0 } else { column };
                    text.push_str(&format!("{}{key}:", " ".repeat(indent)));
                    value.write(text, column + 2, false);
                }
            }
        }
    }

    pub(super) fn children(&self) -> Vec<&Tree> {
        match self {
            Tree::Word(_) => Vec::new(),
            Tree::List(items) => items.iter().collect(),
            Tree::Map(entries) => entries.iter().map(|(_, value)| value).collect(),
        }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Tree> {
        let Tree::Map(entries) = self else { return None };
        entries.iter().find(|(found, _)| found == key).map(|(_, value)| value)
    }

    pub(super) fn word(&self) -> Option<&str> {
        if let Tree::Word(word) = self { Some(word) } else { None }
    }

    /// The value at a place.
    pub(super) fn at(&mut self, place: &[usize]) -> &mut Tree {
        let Some((first, rest)) = place.split_first() else { return self };
        match self {
            Tree::List(items) => items[*first].at(rest),
            Tree::Map(entries) => entries[*first].1.at(rest),
            Tree::Word(_) => panic!("a word has no children"),
        }
    }

    /// Removes the value at a place that is not the document.
    pub(super) fn remove(&mut self, place: &[usize]) {
        let (last, parents) = place.split_last().expect("not the document");
        match self.at(parents) {
            Tree::List(items) => drop(items.remove(*last)),
            Tree::Map(entries) => drop(entries.remove(*last)),
            Tree::Word(_) => panic!("a word has no children"),
        }
    }

    /// Every place below, from the outside in.
    pub(super) fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        let mut queue = vec![(Vec::new(), self)];
        while let Some((place, tree)) = queue.pop() {
            for (nth, child) in tree.children().into_iter().enumerate() {
                let place = [&place[..], &[nth]].concat();
                places.push(place.clone());
                queue.push((place, child));
            }
        }
        places.sort_by_key(Vec::len);
        places
    }
}

/// The text of a word.
pub(super) fn text(word: &str) -> String {
    let read = document::read(word).ok().and_then(|mut read| read.pop());
    read.as_ref().and_then(Value::as_str).unwrap_or(word).to_owned()
}

/// A text as a word: plain if that is certainly a text.
pub(super) fn word(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./$".contains(&byte))
        && document::read(text).is_ok_and(|read| read == [Value::from(text)]);
    if plain { text.to_owned() } else { document::one_line(&Value::from(text)) }
}

#[test]
fn a_tree_is_written_as_it_was_read() {
    let text = "a: b\nlist:\n  - x: 1\n    \"y z\":\n      - \"0x1\"\n  - {}\n---\nkind: c\n";
    let trees = Tree::read(text).unwrap();

    assert_eq!(Tree::read(&Tree::write_all(&trees)).unwrap(), trees);
    assert_eq!(trees[0].places().len(), 7);
}
