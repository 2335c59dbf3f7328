//! A YAML document as go-yaml sees it before it has a type.
//!
//! [`first`] reads one document into [`Node`]s with their lines. [`Typed`] then turns nodes into what a Go type would take,
//! and collects everything that does not fit: a number is taken as text, `on` as a boolean, and nothing at all as the empty
//! value, but text is never taken as a number.
//!
//! Not here: what a scalar without quotes means ([`word`]), and documents without a type
//! ([`document`](super::document)).

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::word::{self, Word};
use super::yaml::SyntaxError;

/// How deep a document may be nested.
const DEEPEST: usize = 100;

/// How many values aliases may make of it.
const MOST: usize = 100_000;

/// The longest document that is read.
const LONGEST: usize = 16 << 20;

/// A value with its line.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Counted from 1.
    pub line: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Text, and what it means.
    Scalar(String, Word),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// The first document of a text; none where there is nothing but comments.
pub(super) fn first(text: &str) -> Result<Option<Node>, SyntaxError> {
    if text.len() > LONGEST {
        return Err(SyntaxError { line: 0, reason: format!("longer than {} MiB", LONGEST >> 20) });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Reader { open: Vec::new(), anchors: HashMap::new(), count: 0 }.read(text)
}

/// A list or map whose end has not come yet.
struct Open {
    line: usize,
    anchor: usize,
    is_map: bool,
    items: Vec<Node>,
}

struct Reader {
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    count: usize,
}

impl Reader {
    fn read(mut self, text: &str) -> Result<Option<Node>, SyntaxError> {
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| SyntaxError {
                line: u32::try_from(error.marker().line()).unwrap_or(u32::MAX),
                reason: format!("not YAML: {}", error.info()),
            })?;
            let line = span.start.line();
            let (node, anchor) = match event {
                Event::Scalar(text, style, anchor, tag) => {
                    (scalar(line, text.into_owned(), style, tag.as_deref()), anchor)
                }
                Event::Alias(anchor) => (self.alias(line, anchor)?, 0),
                Event::SequenceStart(anchor, _) => {
                    self.begin(line, anchor, false)?;
                    continue;
                }
                Event::MappingStart(anchor, _) => {
                    self.begin(line, anchor, true)?;
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let Some(open) = self.open.pop() else { continue };
                    (Node { line: open.line, kind: closed(open.is_map, open.items) }, open.anchor)
                }
                Event::DocumentEnd => return Ok(None),
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) => continue,
            };
            self.grow(line, 1)?;
            if anchor != 0 {
                let size = size(&node);
                self.anchors.insert(anchor, (node.clone(), size));
            }
            match self.open.last_mut() {
                Some(open) => open.items.push(node),
                None => return Ok(Some(node)),
            }
        }
        Ok(None)
    }

    fn begin(&mut self, line: usize, anchor: usize, is_map: bool) -> Result<(), SyntaxError> {
        if self.open.len() == DEEPEST {
            return Err(at(line, format!("nested deeper than {DEEPEST} levels")));
        }
        self.open.push(Open { line, anchor, is_map, items: Vec::new() });
        Ok(())
    }

    fn alias(&mut self, line: usize, anchor: usize) -> Result<Node, SyntaxError> {
        let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
            return Err(at(line, "an alias of something it stands in".to_owned()));
        };
        self.grow(line, size)?;
        Ok(node)
    }

    fn grow(&mut self, line: usize, by: usize) -> Result<(), SyntaxError> {
        self.count += by;
        if self.count > MOST {
            return Err(at(line, format!("more than {MOST} values")));
        }
        Ok(())
    }
}

fn at(line: usize, reason: String) -> SyntaxError {
    SyntaxError { line: u32::try_from(line).unwrap_or(u32::MAX), reason }
}

fn closed(is_map: bool, items: Vec<Node>) -> Kind {
    if !is_map {
        return Kind::List(items);
    }
    let mut entries = Vec::with_capacity(items.len() / 2);
    let mut items = items.into_iter();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        entries.push((key, value));
    }
    Kind::Map(entries)
}

fn size(node: &Node) -> usize {
    1 + match &node.kind {
        Kind::Scalar(..) => 0,
        Kind::List(items) => items.iter().map(size).sum(),
        Kind::Map(entries) => entries.iter().map(|(key, value)| size(key) + size(value)).sum(),
    }
}

fn scalar(line: usize, text: String, style: ScalarStyle, tag: Option<&Tag>) -> Node {
    let plain = match tag.filter(|tag| tag.is_yaml_core_schema()).map(|tag| tag.suffix.as_str()) {
        Some("str" | "binary") => false,
        Some(_) => true,
        None => style == ScalarStyle::Plain && tag.is_none(),
    };
    let word = if plain { word::read(&text) } else { Word::Text };
    Node { line, kind: Kind::Scalar(text, word) }
}

/// What nodes are to Go's types, and everything that does not fit.
#[derive(Debug, Default)]
pub(super) struct Typed {
    /// Each with its line.
    pub faults: Vec<String>,
}

impl Typed {
    fn fault(&mut self, node: &Node, what: impl std::fmt::Display) {
        self.faults.push(format!("line {}: {what}", node.line));
    }

    /// A text. None for nothing at all, which is left out of lists.
    pub(super) fn text(&mut self, node: &Node, path: &str) -> Option<String> {
        match &node.kind {
            Kind::Scalar(_, Word::Null | Word::Merge) => None,
            Kind::Scalar(text, Word::Time(_)) => {
                self.fault(node, format_args!("`{path}` takes text, and {text} without quotes is a date"));
                None
            }
            Kind::Scalar(text, _) => Some(text.clone()),
            kind => {
                self.fault(node, format_args!("`{path}` takes text, not {}", kind.name()));
                None
            }
        }
    }

    /// A boolean.
    pub(super) fn flag(&mut self, node: &Node, path: &str) -> Option<bool> {
        match &node.kind {
            Kind::Scalar(_, Word::Null | Word::Merge) => return None,
            Kind::Scalar(_, Word::Bool(flag)) => return Some(*flag),
            Kind::Scalar(text, Word::Text) => match text.as_str() {
                "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Some(true),
                "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Some(false),
                _ => {}
            },
            _ => {}
        }
        self.fault(node, format_args!("`{path}` takes true or false"));
        None
    }

    /// A whole number between two.
    pub(super) fn number(&mut self, node: &Node, path: &str, range: (i128, i128)) -> Option<i128> {
        let number = match &node.kind {
            Kind::Scalar(_, Word::Null | Word::Merge) => return None,
            Kind::Scalar(_, Word::Int(number)) => Some(i128::from(*number)),
            Kind::Scalar(_, Word::Uint(number)) => Some(i128::from(*number)),
            Kind::Scalar(_, Word::Float(number)) if number.fract() == 0.0 && number.abs() < 1e19 =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
                Some(*number as i128)
            }
            _ => None,
        };
        let fitting = number.filter(|number| (range.0..=range.1).contains(number));
        if fitting.is_none() {
            self.fault(node, format_args!("`{path}` takes a whole number from {} to {}", range.0, range.1));
        }
        fitting
    }

    /// The items of a list; none for nothing at all.
    pub(super) fn items<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n [Node]> {
        match &node.kind {
            Kind::List(items) => return Some(items),
            Kind::Scalar(_, Word::Null | Word::Merge) => {}
            kind => self.fault(node, format_args!("`{path}` takes a list, not {}", kind.name())),
        }
        None
    }

    /// The entries of a map, with what merge keys bring; none for nothing at all.
    pub(super) fn entries<'n>(&mut self, node: &'n Node, path: &str) -> Option<Vec<(String, &'n Node)>> {
        let Kind::Map(written) = &node.kind else {
            if !matches!(node.kind, Kind::Scalar(_, Word::Null | Word::Merge)) {
                self.fault(node, format_args!("`{path}` takes a map, not {}", node.kind.name()));
            }
            return None;
        };
        let mut entries: Vec<(String, &Node)> = Vec::new();
        let mut merges = Vec::new();
        for (key, value) in written {
            if matches!(key.kind, Kind::Scalar(_, Word::Merge)) {
                merges.push(value);
                continue;
            }
            let Some(name) = self.text(key, path) else { continue };
            if entries.iter().any(|(known, _)| *known == name) {
                self.fault(key, format_args!("`{name}` is written twice"));
            }
            entries.push((name, value));
        }
        if merges.len() > 1 {
            self.fault(node, "`<<` is written twice");
        }
        for source in merges.into_iter().flat_map(sources) {
            if !matches!(source.kind, Kind::Map(_)) {
                self.fault(source, "`<<` takes a map");
                continue;
            }
            for (name, value) in self.entries(source, path).unwrap_or_default() {
                if !entries.iter().any(|(known, _)| *known == name) {
                    entries.push((name, value));
                }
            }
        }
        Some(entries)
    }

    /// The entries of a map that knows its keys; unknown ones are faults.
    pub(super) fn known<'n>(
        &mut self,
        node: &'n Node,
        path: &str,
        names: &[&str],
    ) -> Option<Vec<(String, &'n Node)>> {
        let entries = self.entries(node, path)?;
        for (name, value) in entries.iter().filter(|(name, _)| !names.contains(&name.as_str())) {
            let near = crate::cluster::nearest::nearest(name, names.iter().copied());
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let at = [path, name].join(".");
            self.fault(value, format_args!("unknown key `{}`{hint}", at.trim_start_matches('.')));
        }
        Some(entries)
    }
}

fn sources(merged: &Node) -> &[Node] {
    match &merged.kind {
        Kind::List(items) => items,
        _ => std::slice::from_ref(merged),
    }
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Kind::Scalar(..) => "a word",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }
}
