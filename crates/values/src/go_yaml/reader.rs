//! YAML as go-yaml passes it to Talos: nodes with their scalars as written, and their positions.
//!
//! [`parse`] reads a stream whose keys must be unique scalars; [`first`] reads one document and leaves checking its keys
//! to the caller.
//!
//! Not here: the value of a scalar, which depends on the expected type (`ichor_talos::load` for configurations, `typed` for
//! smaller files), and the cluster file, which is another language.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::Value;

use crate::Any;

use super::emit;
use crate::go_yaml::scalar as word;
use crate::go_yaml::scalar::ScalarValue;

/// The longest stream that is read.
const LONGEST: usize = 16 << 20;

/// The deepest nesting of values.
const DEEPEST: usize = 200;

/// The most nodes that aliases may add to those written in the stream.
const LARGEST_EXPANSION: usize = 100_000;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    /// Its line, counted from 1; 0 where it was not read from a text.
    pub line: u32,
    /// Whether it is an alias of an anchor.
    pub alias: bool,
    /// Its content.
    pub body: YamlValue,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlValue {
    /// A word whose meaning depends on how it looks.
    Plain(String),
    /// Text, whatever it looks like.
    Text(String),
    /// A list.
    List(Vec<YamlNode>),
    /// A map, in the order it is written.
    Map(Vec<(YamlNode, YamlNode)>),
}

/// Why a stream could not be read. The text of the stream is not repeated: it may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct SyntaxError {
    /// The line, counted from 1.
    pub line: u32,
    /// The problem.
    pub reason: String,
}

impl YamlNode {
    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.word() == Some(ScalarValue::Null)
    }

    /// Its text, if it is a word.
    pub fn text(&self) -> Option<&str> {
        match &self.body {
            YamlValue::Plain(text) | YamlValue::Text(text) => Some(text),
            YamlValue::List(_) | YamlValue::Map(_) => None,
        }
    }

    /// Its value without a target type, if it is a scalar.
    pub fn word(&self) -> Option<ScalarValue> {
        match &self.body {
            YamlValue::Plain(text) => Some(word::read(text)),
            YamlValue::Text(_) => Some(ScalarValue::Text),
            YamlValue::List(_) | YamlValue::Map(_) => None,
        }
    }

    /// Whether it is a key that brings in other maps.
    pub fn is_merge(&self) -> bool {
        matches!(&self.body, YamlValue::Plain(text) if text == "<<")
    }

    /// The maps that a merge key brings in, if this is its value.
    pub fn sources(&self) -> &[YamlNode] {
        match &self.body {
            YamlValue::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    /// Its entries, if it is a map.
    pub fn entries(&self) -> Option<&[(YamlNode, YamlNode)]> {
        match &self.body {
            YamlValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key, if it is a map that has it.
    pub fn get(&self, key: &str) -> Option<&YamlNode> {
        self.entries()?.iter().find(|(found, _)| found.text() == Some(key)).map(|(_, value)| value)
    }

    /// The line of the value at a path of keys such as `a.b[0].c`, or of its last parent that exists.
    pub fn line_at(&self, path: &str) -> u32 {
        let path = path.trim_start_matches('.');
        if let Some((nth, rest)) = path.strip_prefix('[').and_then(|path| path.split_once(']')) {
            let item = match &self.body {
                YamlValue::List(items) => nth.parse().ok().and_then(|nth: usize| items.get(nth)),
                _ => None,
            };
            return item.map_or(self.line, |item| item.line_at(rest));
        }
        let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        let step = self.entries().into_iter().flatten().filter_map(|(key, value)| {
            let rest = path.strip_prefix(key.text()?).filter(|rest| ends(rest))?;
            Some((key, value, rest))
        });
        // A key may contain dots: the longest match wins.
        match step.min_by_key(|(_, _, rest)| rest.len()).filter(|_| !path.is_empty()) {
            Some((key, _, "")) => key.line,
            Some((_, value, rest)) => value.line_at(rest),
            None => self.line,
        }
    }

    /// go-yaml rejects duplicate keys, and Talos keys that are not scalars.
    pub fn check_keys(&self) -> Result<(), SyntaxError> {
        match &self.body {
            YamlValue::Plain(_) | YamlValue::Text(_) => Ok(()),
            YamlValue::List(items) => items.iter().try_for_each(YamlNode::check_keys),
            YamlValue::Map(entries) => {
                let mut lines: HashMap<&str, u32> = HashMap::new();
                for (key, value) in entries {
                    let Some(text) = key.text() else {
                        return Err(SyntaxError {
                            line: key.line,
                            reason: "a key must be a word".to_owned(),
                        });
                    };
                    if let Some(first) = lines.insert(text, key.line) {
                        let reason = format!("the key `{text}` stands twice; first on line {first}");
                        return Err(SyntaxError { line: key.line, reason });
                    }
                    value.check_keys()?;
                }
                Ok(())
            }
        }
    }

    fn size(&self) -> usize {
        match &self.body {
            YamlValue::Plain(_) | YamlValue::Text(_) => 1,
            YamlValue::List(items) => 1 + items.iter().map(YamlNode::size).sum::<usize>(),
            YamlValue::Map(entries) => {
                1 + entries.iter().map(|(key, value)| key.size() + value.size()).sum::<usize>()
            }
        }
    }
}

impl From<&Value> for YamlNode {
    fn from(value: &Value) -> Self {
        let body = match value {
            Value::Null => YamlValue::Plain(String::new()),
            Value::Bool(value) => YamlValue::Plain(value.to_string()),
            Value::Number(number) => YamlValue::Plain(number.to_string()),
            Value::String(text) => YamlValue::Text(text.clone()),
            Value::Array(items) => YamlValue::List(items.iter().map(YamlNode::from).collect()),
            Value::Object(entries) => {
                if let Some(text) = emit::octal_text(value) {
                    return YamlNode { line: 0, alias: false, body: YamlValue::Plain(text) };
                }
                let key =
                    |key: &str| YamlNode { line: 0, alias: false, body: YamlValue::Text(key.to_owned()) };
                YamlValue::Map(
                    entries.iter().map(|(name, value)| (key(name), YamlNode::from(value))).collect(),
                )
            }
        };
        YamlNode { line: 0, alias: false, body }
    }
}

impl From<&Any> for YamlNode {
    fn from(any: &Any) -> Self {
        let body = match any {
            Any::Null => YamlValue::Plain(String::new()),
            Any::Scalar(text, true) => YamlValue::Plain(text.clone()),
            Any::Scalar(text, false) => YamlValue::Text(text.clone()),
            Any::List(items) => YamlValue::List(items.iter().map(YamlNode::from).collect()),
            Any::Map(entries) => {
                let key =
                    |key: &str| YamlNode { line: 0, alias: false, body: YamlValue::Text(key.to_owned()) };
                YamlValue::Map(entries.iter().map(|(name, any)| (key(name), YamlNode::from(any))).collect())
            }
        };
        YamlNode { line: 0, alias: false, body }
    }
}

/// Reads a stream: one node for each document, those that are empty as well.
pub fn parse(text: &str) -> Result<Vec<YamlNode>, SyntaxError> {
    let documents = Stream::read(text, usize::MAX)?;
    documents.iter().try_for_each(YamlNode::check_keys)?;
    Ok(documents)
}

/// Reads the first document and ignores the rest; none if there are only comments. Keys may be duplicated in it.
pub fn first(text: &str) -> Result<Option<YamlNode>, SyntaxError> {
    Ok(Stream::read(text, 1)?.pop())
}

/// go-yaml knows one version of YAML, and one other directive.
fn check_directives(text: &str) -> Result<(), SyntaxError> {
    let head = text.lines().zip(1..).take_while(|(line, _)| line.is_empty() || line.starts_with(['#', '%']));
    for (directive, line) in head.filter(|(line, _)| line.starts_with('%')) {
        let mut words = directive.split_whitespace();
        if !matches!((words.next(), words.next()), (Some("%YAML"), Some("1.1")) | (Some("%TAG"), _)) {
            let reason = format!("the directive `{directive}`: Talos reads YAML 1.1, and `%TAG` beside it");
            return Err(SyntaxError { line, reason });
        }
    }
    Ok(())
}

#[derive(Default)]
struct Stream {
    documents: Vec<YamlNode>,
    open: Vec<OpenNode>,
    anchors: HashMap<usize, YamlNode>,
    added: usize,
}

/// A list or map whose end has not come yet.
struct OpenNode {
    line: u32,
    anchor: usize,
    is_map: bool,
    /// Whether it is inside brackets, where indentation has no meaning.
    in_flow: bool,
    children: Vec<YamlNode>,
}

impl Stream {
    /// The first `count` documents.
    fn read(text: &str, count: usize) -> Result<Vec<YamlNode>, SyntaxError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.len() > LONGEST {
            return Err(SyntaxError { line: 1, reason: format!("longer than {} MiB", LONGEST >> 20) });
        }
        check_directives(text)?;
        let mut stream = Stream::default();
        // Tabs are only checked for if the text has any.
        let lines: Vec<&str> = if text.contains('\t') { text.lines().collect() } else { Vec::new() };
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| SyntaxError {
                line: u32::try_from(error.marker().line()).unwrap_or(u32::MAX),
                reason: error.info().to_owned(),
            })?;
            let line = u32::try_from(span.start.line()).unwrap_or(u32::MAX);
            let start = lines.get(span.start.line().saturating_sub(1)).map_or("", |line| *line);
            let at = start.char_indices().nth(span.start.col()).map_or(start.len(), |(at, _)| at);
            let in_flow = stream.open.last().is_some_and(|open| open.in_flow);
            if !in_flow && start[..at].contains('\t') && start[..at].trim().is_empty() {
                return Err(SyntaxError {
                    line,
                    reason: "a tab in the indentation: YAML wants spaces".to_owned(),
                });
            }
            let in_flow = in_flow || start[at..].starts_with(['{', '[']);
            match event {
                Event::Scalar(text, style, anchor, tag) => {
                    let body = scalar(text.into_owned(), style, tag.as_deref(), line)?;
                    stream.add(YamlNode { line, alias: false, body }, anchor);
                }
                Event::Alias(anchor) => stream.alias(anchor, line)?,
                Event::SequenceStart(anchor, _) => stream.begin(anchor, false, in_flow, line)?,
                Event::MappingStart(anchor, _) => stream.begin(anchor, true, in_flow, line)?,
                Event::SequenceEnd | Event::MappingEnd => stream.end(),
                Event::DocumentStart(_) => stream.anchors.clear(),
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            }
            if stream.documents.len() == count {
                break;
            }
        }
        Ok(stream.documents)
    }

    fn add(&mut self, node: YamlNode, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            Some(open) => open.children.push(node),
            None => self.documents.push(node),
        }
    }

    fn alias(&mut self, anchor: usize, line: u32) -> Result<(), SyntaxError> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(SyntaxError { line, reason: "an alias of a value that contains it".to_owned() });
        };
        self.added += node.size();
        if self.added > LARGEST_EXPANSION {
            return Err(SyntaxError {
                line,
                reason: format!("aliases add more than {LARGEST_EXPANSION} values"),
            });
        }
        let node = YamlNode { line, alias: true, body: node.body.clone() };
        self.add(node, 0);
        Ok(())
    }

    fn begin(&mut self, anchor: usize, is_map: bool, in_flow: bool, line: u32) -> Result<(), SyntaxError> {
        if self.open.len() == DEEPEST {
            return Err(SyntaxError { line, reason: format!("nested deeper than {DEEPEST} levels") });
        }
        self.open.push(OpenNode { line, anchor, is_map, in_flow, children: Vec::new() });
        Ok(())
    }

    fn end(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let body =
            if open.is_map { YamlValue::Map(entries(open.children)) } else { YamlValue::List(open.children) };
        self.add(YamlNode { line: open.line, alias: false, body }, open.anchor);
    }
}

fn entries(children: Vec<YamlNode>) -> Vec<(YamlNode, YamlNode)> {
    let mut entries = Vec::with_capacity(children.len() / 2);
    let mut children = children.into_iter();
    while let (Some(key), Some(value)) = (children.next(), children.next()) {
        entries.push((key, value));
    }
    entries
}

fn scalar(text: String, style: ScalarStyle, tag: Option<&Tag>, line: u32) -> Result<YamlValue, SyntaxError> {
    let plain = style == ScalarStyle::Plain;
    match tag.filter(|tag| tag.is_yaml_core_schema()).map(|tag| tag.suffix.as_str()) {
        Some("str" | "binary") => Ok(YamlValue::Text(text)),
        Some("int" | "float" | "bool" | "null" | "timestamp" | "merge") => Ok(YamlValue::Plain(text)),
        Some(other) => Err(SyntaxError { line, reason: format!("the tag `!!{other}` has no meaning here") }),
        None if plain && tag.is_none() => Ok(YamlValue::Plain(text)),
        None => Ok(YamlValue::Text(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_documents_are_null_and_no_document_is_none() {
        assert_eq!(parse("# nothing\n").unwrap(), []);
        let documents = parse("a: 1\n---\n---\nb: 2\n").unwrap();
        assert_eq!(documents.iter().map(YamlNode::is_null).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn aliases_are_expanded_up_to_a_limit() {
        let documents = parse("a: &x {b: 1}\nc: *x\n").unwrap();
        assert!(documents[0].get("c").unwrap().alias);
        assert_eq!(documents[0].get("c").unwrap().body, documents[0].get("a").unwrap().body);

        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for nth in 1..9 {
            let before = format!("*a{}, ", nth - 1).repeat(10);
            bomb += &format!("a{nth}: &a{nth} [{before}]\n");
        }
        assert!(parse(&bomb).unwrap_err().reason.contains("aliases"));
    }

    #[test]
    fn yaml_that_go_rejects_is_rejected() {
        for text in ["a:\n \tb: 1\n", "a:\n\tb: 1\n", "%YAML 1.2\n---\na: 1\n", "%FOO\n---\na: 1\n"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        for text in
            ["a: {b: 1,\n  \tc: 2}\n", "a: |\n  x\n  \ty\n", "%YAML 1.1\n---\na: 1\n", "a: 1 \t# why\n"]
        {
            assert!(parse(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_repeated_key_is_rejected() {
        let error = parse("a: 1\nb: 2\na: 3\n").unwrap_err();
        assert_eq!((error.line, error.reason.contains("line 1")), (3, true));
        assert!(parse("? [a]\n: 1\n").is_err());
    }

    #[test]
    fn only_the_first_document_is_read() {
        let first = first("a: 1\na: 2\n---\n: [\n").unwrap().unwrap();
        assert_eq!(first.entries().unwrap().len(), 2);
        assert_eq!(super::first("# nothing\n"), Ok(None));
    }
}
