//! YAML, all of it that makes sense in a cluster file, by `saphyr-parser`.
//!
//! [`parse`] follows the parser's events, expands anchors and merge keys, and rejects tags, duplicate keys, a second
//! document, and excessive nesting and expansion.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::file_issue::FileIssue;
use super::source::Location;
use super::tree::{DEEPEST, Forest, NodeKind};

/// The most values that aliases and merge keys may add to those written in the file.
const LARGEST_EXPANSION: u64 = 1_000_000;

/// Adds the values of `text` to `forest` and returns its root; none if it is not YAML.
pub(super) fn parse<'s>(
    forest: &mut Forest<'s>,
    file: u16,
    text: &'s str,
    problems: &mut Vec<FileIssue>,
) -> Option<u32> {
    TreeBuilder {
        forest,
        problems,
        file,
        whole: text,
        text: text.strip_prefix('\u{feff}').unwrap_or(text),
        lines: LineCounter::default(),
        open: Vec::new(),
        pending: Vec::new(),
        anchors: HashMap::new(),
        added: 0,
    }
    .grow()
}

/// A list or map whose end has not come yet.
struct OpenCollection {
    place: Location,
    anchor: usize,
    is_map: bool,
    /// The index of its first child among the pending ones.
    from: usize,
    weight: u64,
}

/// The starts of lines, tracked through a text from start to end.
#[derive(Debug, Default)]
struct LineCounter {
    /// Lines before the current one, and the byte it starts at.
    passed: usize,
    start: usize,
}

impl LineCounter {
    /// The byte at which `span` starts. Spans must come in their order.
    fn byte(&mut self, text: &str, span: Span) -> usize {
        while self.passed + 1 < span.start.line() {
            // A lone carriage return ends a line as well; the caller compares the text and detects the mismatch.
            let Some(end) = text[self.start..].find('\n') else { break };
            self.passed += 1;
            self.start += end + 1;
        }
        let line = &text.as_bytes()[self.start..];
        let column = span.start.col();
        match line.get(..column) {
            Some(before) if before.is_ascii() => self.start + column,
            _ => self.start + text[self.start..].char_indices().nth(column).map_or(line.len(), |(at, _)| at),
        }
    }
}

/// The state of one [`parse`].
struct TreeBuilder<'a, 's> {
    forest: &'a mut Forest<'s>,
    problems: &'a mut Vec<FileIssue>,
    file: u16,
    /// The text, and the text after its byte order mark.
    whole: &'s str,
    text: &'s str,
    lines: LineCounter,
    open: Vec<OpenCollection>,
    /// Children of the open collections, the innermost last.
    pending: Vec<u32>,
    /// The value of each anchor, and its number of values.
    anchors: HashMap<usize, (u32, u64)>,
    /// Values that aliases and merge keys added.
    added: u64,
}

impl<'s> TreeBuilder<'_, 's> {
    fn grow(mut self) -> Option<u32> {
        let mut root = None;
        let mut documents = 0;
        for event in Parser::new_from_str(self.text) {
            let (event, span) = match event {
                Ok(event) => event,
                Err(error) => {
                    self.syntax(&error);
                    return None;
                }
            };
            let place = self.place(span);
            let done = match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents == 2 {
                        self.problem(
                            place,
                            "a second document",
                            "one document per file; use `include` to split a cluster",
                        );
                        return None;
                    }
                    None
                }
                Event::Scalar(text, style, anchor, tag) => {
                    self.refuse(place, tag.as_deref());
                    Some((self.scalar(place, span, text, style), anchor, 1))
                }
                Event::Alias(anchor) => Some(self.alias(place, anchor)?),
                Event::SequenceStart(anchor, tag) => {
                    self.refuse(place, tag.as_deref());
                    self.begin(place, anchor, false)?;
                    None
                }
                Event::MappingStart(anchor, tag) => {
                    self.refuse(place, tag.as_deref());
                    self.begin(place, anchor, true)?;
                    None
                }
                Event::SequenceEnd | Event::MappingEnd => Some(self.end(span)?),
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => None,
            };
            if let Some((id, anchor, weight)) = done {
                if anchor != 0 {
                    self.anchors.insert(anchor, (id, weight));
                }
                match self.open.last_mut() {
                    Some(open) => {
                        self.pending.push(id);
                        open.weight += weight;
                    }
                    None => root = Some(id),
                }
            }
        }
        let empty = Location { file: self.file, line: 1, column: 1, length: 0 };
        Some(root.unwrap_or_else(|| self.forest.map(empty, [])))
    }

    /// Adds a scalar by its position if it is in the file verbatim: the parser copies every text, into far more memory
    /// than it needs.
    fn scalar(&mut self, place: Location, span: Span, text: Cow<'s, str>, style: ScalarStyle) -> u32 {
        let plain = style == ScalarStyle::Plain;
        let quote = usize::from(matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted));
        let from = self.lines.byte(self.text, span) + quote;
        if self.text.get(from..).is_some_and(|rest| rest.starts_with(text.as_ref())) {
            let skipped = self.whole.len() - self.text.len();
            // The parser counts blanks and a comment after a closing quote as part of the scalar.
            let length = u16::try_from(text.chars().count() + 2 * quote).unwrap_or(u16::MAX);
            let place = Location { length, ..place };
            self.forest.slice_of(place, from + skipped, text.len(), plain)
        } else {
            self.forest.scalar(place, text.into_owned(), plain)
        }
    }

    fn begin(&mut self, place: Location, anchor: usize, is_map: bool) -> Option<()> {
        if self.open.len() == DEEPEST {
            self.problem(place, &format!("nested deeper than {DEEPEST} levels"), "a flatter file");
            return None;
        }
        self.open.push(OpenCollection { place, anchor, is_map, from: self.pending.len(), weight: 1 });
        Some(())
    }

    fn end(&mut self, span: Span) -> Option<(u32, usize, u64)> {
        let &OpenCollection { mut place, anchor, is_map, from, weight } = self.open.last()?;
        if span.start.line() == place.line as usize {
            let columns = span.end.col() + 1;
            place.length = u16::try_from(columns.saturating_sub(place.column as usize)).unwrap_or(u16::MAX);
        }
        if is_map {
            self.check_keys(from)?;
        }
        self.open.pop();
        let (from, to) = self.forest.hang(self.pending.drain(from..));
        let kind = if is_map { NodeKind::Map { from, to } } else { NodeKind::List { from, to } };
        Some((self.forest.add(place, kind), anchor, weight))
    }

    /// Checks the keys of the map whose entries are pending, and adds the entries of merge keys after its own.
    fn check_keys(&mut self, from: usize) -> Option<()> {
        let entries = &self.pending[from..];
        let mut merges = false;
        let mut twice = Vec::new();
        let mut seen: HashMap<&str, u32> = HashMap::new();
        for (nth, pair) in entries.chunks_exact(2).enumerate() {
            let key = self.forest.tree(pair[0]);
            if !key.is_scalar() {
                let place = key.place();
                self.problem(place, "a key must be a word", "plain text before the colon");
                return None;
            }
            if key.is_plain() && key.text() == "<<" {
                merges = true;
                continue;
            }
            // A map of ordinary size is searched faster than a table of its keys is made.
            let first = if entries.len() > 64 {
                seen.insert(key.text(), pair[0])
            } else {
                entries[..nth * 2]
                    .chunks_exact(2)
                    .map(|old| old[0])
                    .find(|&old| self.forest.tree(old).text() == key.text())
            };
            twice.extend(first.map(|first| (pair[0], first)));
        }
        drop(seen);
        for (second, first) in twice {
            let (second, first) = (self.forest.tree(second), self.forest.tree(first));
            let path = [self.path(), second.text().to_owned()].join(".");
            self.problems.push(
                FileIssue::new(path.trim_start_matches('.'), second.place(), "key written twice")
                    .want("one of the two; the other would be lost")
                    .also(first.place(), "first written here"),
            );
        }
        if merges { self.merge(from) } else { Some(()) }
    }

    fn merge(&mut self, from: usize) -> Option<()> {
        let mut merged: Vec<u32> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        let mut sources = Vec::new();
        for pair in self.pending.drain(from..).collect::<Vec<_>>().chunks_exact(2) {
            let key = self.forest.tree(pair[0]);
            if !(key.is_plain() && key.text() == "<<") {
                names.insert(key.text().to_owned());
                merged.extend(pair);
                continue;
            }
            match &self.forest.values[pair[1] as usize].1 {
                NodeKind::List { from, to } => sources.extend_from_slice(self.forest.slice(*from, *to)),
                _ => sources.push(pair[1]),
            }
        }
        for id in sources {
            let (place, NodeKind::Map { from, to }) = self.forest.values[id as usize] else {
                let place = self.forest.values[id as usize].0;
                self.problem(place, "`<<` takes a map", "an alias of a map, or a list of such aliases");
                continue;
            };
            for pair in self.forest.slice(from, to).to_vec().chunks_exact(2) {
                self.added += 1;
                if names.insert(self.forest.tree(pair[0]).text().to_owned()) {
                    merged.extend(pair);
                }
            }
            self.check_expansion(place)?;
        }
        self.pending.extend(merged);
        Some(())
    }

    fn alias(&mut self, place: Location, anchor: usize) -> Option<(u32, usize, u64)> {
        let Some(&(id, weight)) = self.anchors.get(&anchor) else {
            self.problem(
                place,
                "an alias of a value that contains it",
                "an alias of a value that is complete",
            );
            return None;
        };
        self.added = self.added.saturating_add(weight);
        self.check_expansion(place)?;
        Some((id, 0, weight))
    }

    fn check_expansion(&mut self, place: Location) -> Option<()> {
        if self.added > LARGEST_EXPANSION {
            let message = format!("aliases and merge keys add more than {LARGEST_EXPANSION} values");
            self.problem(place, &message, "values written out, or `defaults` and `groups`");
            return None;
        }
        Some(())
    }

    fn refuse(&mut self, place: Location, tag: Option<&Tag>) {
        if let Some(tag) = tag {
            let name = if tag.is_yaml_core_schema() { format!("!!{}", tag.suffix) } else { tag.to_string() };
            self.problem(place, &format!("the tag `{name}` has no meaning here"), "the value without a tag");
        }
    }

    fn syntax(&mut self, error: &ScanError) {
        let mark = error.marker();
        let place = Location {
            file: self.file,
            line: u32::try_from(mark.line()).unwrap_or(u32::MAX),
            column: u32::try_from(mark.col() + 1).unwrap_or(u32::MAX),
            length: 1,
        };
        // The parser may stop at the end of the line before.
        let lines = self.text.lines().enumerate().skip(mark.line().saturating_sub(1)).take(2);
        let mut tabs = lines.filter_map(|(nth, line)| {
            let indent = &line[..line.len() - line.trim_start().len()];
            Some((u32::try_from(nth + 1).ok()?, u32::try_from(indent.find('\t')? + 1).ok()?))
        });
        if let Some((line, column)) = tabs.next() {
            let place = Location { line, column, ..place };
            self.problem(place, "a tab in the indentation", "spaces: YAML does not allow tabs here");
        } else {
            self.problem(
                place,
                &format!("not YAML: {}", error.info()),
                "see the marked line and the one before it: often its indentation is off, or a quote, colon or bracket is missing",
            );
        }
    }

    fn problem(&mut self, place: Location, message: &str, want: &str) {
        self.problems.push(FileIssue::new(self.path(), place, message).want(want));
    }

    /// The key path of the current value, as far as the tree knows it.
    fn path(&self) -> String {
        let mut path = String::new();
        for (nth, open) in self.open.iter().enumerate() {
            let to = self.open.get(nth + 1).map_or(self.pending.len(), |next| next.from);
            let children = &self.pending[open.from..to];
            if !open.is_map {
                path += &format!("[{}]", children.len());
            } else if children.len() % 2 == 1 {
                let key = self.forest.tree(children[children.len() - 1]).text();
                path += &format!("{}{key}", if path.is_empty() { "" } else { "." });
            }
        }
        path
    }

    fn place(&self, span: Span) -> Location {
        let length = if span.start.line() == span.end.line() { span.len() } else { 0 };
        Location {
            file: self.file,
            line: u32::try_from(span.start.line()).unwrap_or(u32::MAX),
            column: u32::try_from(span.start.col() + 1).unwrap_or(u32::MAX),
            length: u16::try_from(length).unwrap_or(u16::MAX),
        }
    }
}
