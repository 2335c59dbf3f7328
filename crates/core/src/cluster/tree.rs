//! YAML as a tree that remembers where everything stood.
//!
//! One [`Forest`] holds the trees of all files of a cluster: [`Forest::parse`] adds a file, [`Forest::join`] lays two
//! files of the same shape over each other, and [`Tree`] is a handle to look at the result. Nothing here knows a key.
//!
//! Scalars stay text. What `no`, `010` or `1.10` mean is decided by the key that reads them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::problem::Problem;
use super::source::Place;

/// Deeper nesting than any cluster file has.
const DEEPEST: usize = 64;
/// What aliases and merge keys may add beyond the values that stand in the file.
const LARGEST_EXPANSION: u64 = 1_000_000;

/// All values of all files of a cluster.
///
/// A cluster of a hundred thousand nodes has millions of values, and fresh memory costs more than anything done with
/// them: a value is 24 bytes, and texts stay where they were read.
#[derive(Debug, Default)]
pub struct Forest<'s> {
    values: Vec<(Place, Kind)>,
    children: Vec<u32>,
    /// The files, in the order they were parsed.
    files: Vec<&'s str>,
    /// Texts that do not stand in a file as they are: with escapes, folded lines, or from a table.
    texts: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A part of a file.
    Slice { file: u16, plain: bool, from: u32, length: u32 },
    /// One of the texts.
    Text { plain: bool, text: u32 },
    /// Its items.
    List { from: u32, to: u32 },
    /// Key, value, key, value.
    Map { from: u32, to: u32 },
}

/// A value, looked at.
#[derive(Debug, Clone, Copy)]
pub enum View<'f> {
    /// `null`, `~` or nothing at all.
    Null,
    /// The text of a scalar.
    Scalar(&'f str),
    /// The items of a list.
    List(Items<'f>),
    /// Keys and values of a map.
    Map(Entries<'f>),
}

/// A handle to one value of a [`Forest`].
#[derive(Debug, Clone, Copy)]
pub struct Tree<'f> {
    forest: &'f Forest<'f>,
    id: u32,
}

/// The items of a list, to be counted or walked.
#[derive(Debug, Clone, Copy)]
pub struct Items<'f> {
    forest: &'f Forest<'f>,
    ids: &'f [u32],
}

/// The entries of a map, to be walked or searched.
#[derive(Debug, Clone, Copy)]
pub struct Entries<'f> {
    forest: &'f Forest<'f>,
    ids: &'f [u32],
}

impl<'f> Items<'f> {
    /// How many there are.
    pub fn len(self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.ids.is_empty()
    }

    /// Each item in order.
    pub fn iter(self) -> impl Iterator<Item = Tree<'f>> {
        self.ids.iter().map(move |&id| Tree { forest: self.forest, id })
    }
}

impl<'f> Entries<'f> {
    /// Key and value of each entry, in order.
    pub fn iter(self) -> impl Iterator<Item = (Tree<'f>, Tree<'f>)> {
        self.ids.chunks_exact(2).map(move |pair| {
            (Tree { forest: self.forest, id: pair[0] }, Tree { forest: self.forest, id: pair[1] })
        })
    }

    /// The value under `key`.
    pub fn get(self, key: &str) -> Option<Tree<'f>> {
        self.iter().find(|(name, _)| name.text() == key).map(|(_, value)| value)
    }
}

impl<'f> Tree<'f> {
    /// Where it stands.
    pub fn place(self) -> Place {
        self.forest.values[self.id as usize].0
    }

    /// What it is.
    pub fn view(self) -> View<'f> {
        let forest = self.forest;
        match forest.values[self.id as usize].1 {
            Kind::List { from, to } => View::List(Items { forest, ids: forest.slice(from, to) }),
            Kind::Map { from, to } => View::Map(Entries { forest, ids: forest.slice(from, to) }),
            Kind::Slice { plain, .. } | Kind::Text { plain, .. } => match self.text() {
                "" | "~" | "null" | "Null" | "NULL" if plain => View::Null,
                text => View::Scalar(text),
            },
        }
    }

    /// Its text if it is a scalar, else nothing.
    pub fn text(self) -> &'f str {
        match self.forest.values[self.id as usize].1 {
            Kind::Slice { file, from, length, .. } => {
                &self.forest.files[usize::from(file)][from as usize..(from + length) as usize]
            }
            Kind::Text { text, .. } => &self.forest.texts[text as usize],
            Kind::List { .. } | Kind::Map { .. } => "",
        }
    }

    /// Whether the text was written without quotes.
    pub fn is_plain(self) -> bool {
        matches!(
            self.forest.values[self.id as usize].1,
            Kind::Slice { plain: true, .. } | Kind::Text { plain: true, .. }
        )
    }

    /// Whether it is one word.
    pub fn is_scalar(self) -> bool {
        matches!(self.forest.values[self.id as usize].1, Kind::Slice { .. } | Kind::Text { .. })
    }
}

impl<'s> Forest<'s> {
    fn slice(&self, from: u32, to: u32) -> &[u32] {
        &self.children[from as usize..to as usize]
    }

    fn add(&mut self, place: Place, kind: Kind) -> u32 {
        self.values.push((place, kind));
        u32::try_from(self.values.len() - 1).expect("a file under 4 GiB has fewer values")
    }

    fn hang(&mut self, ids: impl IntoIterator<Item = u32>) -> (u32, u32) {
        let from = u32::try_from(self.children.len()).expect("fewer links than values and expansions");
        self.children.extend(ids);
        (from, u32::try_from(self.children.len()).expect("as above"))
    }

    /// Adds a scalar that stands at `place`.
    pub fn scalar(&mut self, place: Place, text: String, plain: bool) -> u32 {
        self.texts.push(text);
        let text = u32::try_from(self.texts.len() - 1).expect("fewer texts than values");
        self.add(place, Kind::Text { plain, text })
    }

    /// Adds a scalar as the parser gave it: by its place in the newest file where it stands there as it is.
    fn parsed(&mut self, place: Place, text: Cow<'s, str>, plain: bool) -> u32 {
        let (file, whole) = (self.files.len() - 1, self.files[self.files.len() - 1]);
        let offset = |part: &str| (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize);
        match text {
            Cow::Borrowed(part) if offset(part).is_some_and(|from| from + part.len() <= whole.len()) => {
                let from =
                    offset(part).and_then(|from| u32::try_from(from).ok()).expect("a file under 4 GiB");
                let length = u32::try_from(part.len()).expect("a file under 4 GiB");
                let file = u16::try_from(file).expect("no more files than a place can name");
                self.add(place, Kind::Slice { file, plain, from, length })
            }
            text => self.scalar(place, text.into_owned(), plain),
        }
    }

    /// Adds a list of what was added before.
    pub fn list(&mut self, place: Place, items: impl IntoIterator<Item = u32>) -> u32 {
        let (from, to) = self.hang(items);
        self.add(place, Kind::List { from, to })
    }

    /// Adds a map of keys and values that were added before.
    pub fn map(&mut self, place: Place, entries: impl IntoIterator<Item = (u32, u32)>) -> u32 {
        let (from, to) = self.hang(entries.into_iter().flat_map(|(key, value)| [key, value]));
        self.add(place, Kind::Map { from, to })
    }

    /// The value `id`, to be looked at.
    pub fn tree<'f>(&'f self, id: u32) -> Tree<'f>
    where
        's: 'f,
    {
        Tree { forest: self, id }
    }

    /// Adds the values of one file and returns its root, or none where the text is not YAML; says what is wrong with it.
    ///
    /// An empty text is an empty map.
    pub fn parse(&mut self, file: u16, text: &'s str, problems: &mut Vec<Problem>) -> Option<u32> {
        self.files.push(text);
        self.values.reserve(text.len() / 8);
        Growth {
            forest: self,
            problems,
            file,
            text,
            open: Vec::new(),
            pending: Vec::new(),
            anchors: HashMap::new(),
            added: 0,
        }
        .grow()
    }

    /// Adds the YAML of one table cell; everything in it stands at `place`.
    pub fn parse_cell(&mut self, place: Place, text: &str, problems: &mut Vec<Problem>) -> Option<u32> {
        let mut cell = Forest::default();
        let root = cell.parse(place.file, text, problems);
        for problem in problems.iter_mut() {
            problem.place = place;
        }
        Some(self.graft(cell.tree(root?), place))
    }

    /// Copies a tree of another forest.
    fn graft(&mut self, tree: Tree<'_>, place: Place) -> u32 {
        match tree.view() {
            View::Null | View::Scalar(_) => self.scalar(place, tree.text().to_owned(), tree.is_plain()),
            View::List(items) => {
                let items: Vec<_> = items.iter().map(|item| self.graft(item, place)).collect();
                self.list(place, items)
            }
            View::Map(entries) => {
                let entries: Vec<_> = entries
                    .iter()
                    .map(|(key, value)| (self.graft(key, place), self.graft(value, place)))
                    .collect();
                self.map(place, entries)
            }
        }
    }

    /// The map `root` with another value under `key`, or without it.
    pub fn replace(&mut self, root: u32, key: &str, value: Option<u32>) -> u32 {
        let (place, Kind::Map { from, to }) = self.values[root as usize] else { return root };
        let mut entries = self.slice(from, to).to_vec();
        let Some(at) = entries.chunks_exact(2).position(|pair| self.tree(pair[0]).text() == key) else {
            return root;
        };
        match value {
            Some(value) => entries[at * 2 + 1] = value,
            None => drop(entries.drain(at * 2..at * 2 + 2)),
        }
        let (from, to) = self.hang(entries);
        self.add(place, Kind::Map { from, to })
    }

    /// Lays `other` over `base`: maps are joined key by key, lists one after the other; a scalar in both is a problem.
    pub fn join(&mut self, base: u32, other: u32, path: &str, problems: &mut Vec<Problem>) -> u32 {
        let (place, there) = (self.values[base as usize].0, self.values[other as usize].0);
        let ids = |forest: &Self, from: u32, to: u32| forest.slice(from, to).to_vec();
        match (self.values[base as usize].1, self.values[other as usize].1) {
            (Kind::Map { from, to }, Kind::Map { from: from2, to: to2 }) => {
                let mut entries = ids(self, from, to);
                for pair in ids(self, from2, to2).chunks_exact(2) {
                    let key = self.tree(pair[0]).text().to_owned();
                    let same = entries.chunks_exact(2).position(|old| self.tree(old[0]).text() == key);
                    match same {
                        Some(at) => {
                            let path = if path.is_empty() { key } else { format!("{path}.{key}") };
                            entries[at * 2 + 1] = self.join(entries[at * 2 + 1], pair[1], &path, problems);
                        }
                        None => entries.extend(pair),
                    }
                }
                let (from, to) = self.hang(entries);
                self.add(place, Kind::Map { from, to })
            }
            (Kind::List { from, to }, Kind::List { from: from2, to: to2 }) => {
                let items = [ids(self, from, to), ids(self, from2, to2)].concat();
                self.list(place, items)
            }
            _ => {
                problems.push(
                    Problem::new(path, there, "set in two files")
                        .want("keep it in one of them")
                        .also(place, "first set here"),
                );
                base
            }
        }
    }
}

/// A list or map whose end has not come yet.
struct Open {
    place: Place,
    anchor: usize,
    is_map: bool,
    /// Where its children start among the pending ones.
    from: usize,
    weight: u64,
}

/// The state of one [`Forest::parse`].
struct Growth<'a, 's> {
    forest: &'a mut Forest<'s>,
    problems: &'a mut Vec<Problem>,
    file: u16,
    text: &'s str,
    open: Vec<Open>,
    /// Children of what is open, the innermost last.
    pending: Vec<u32>,
    /// What each anchor names, and how many values that is.
    anchors: HashMap<usize, (u32, u64)>,
    /// Values that aliases and merge keys added.
    added: u64,
}

impl<'s> Growth<'_, 's> {
    fn grow(mut self) -> Option<u32> {
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(self.text);
        let mut root = None;
        let mut documents = 0;
        for event in Parser::new_from_str(text) {
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
                    Some((self.forest.parsed(place, text, style == ScalarStyle::Plain), anchor, 1))
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
        let empty = Place { file: self.file, line: 1, column: 1, length: 0 };
        Some(root.unwrap_or_else(|| self.forest.map(empty, [])))
    }

    fn begin(&mut self, place: Place, anchor: usize, is_map: bool) -> Option<()> {
        if self.open.len() == DEEPEST {
            self.problem(place, &format!("nested deeper than {DEEPEST} levels"), "a flatter file");
            return None;
        }
        self.open.push(Open { place, anchor, is_map, from: self.pending.len(), weight: 1 });
        Some(())
    }

    fn end(&mut self, span: Span) -> Option<(u32, usize, u64)> {
        let &Open { mut place, anchor, is_map, from, weight } = self.open.last()?;
        if span.start.line() == place.line as usize {
            let columns = span.end.col() + 1;
            place.length = u16::try_from(columns.saturating_sub(place.column as usize)).unwrap_or(u16::MAX);
        }
        if is_map {
            self.check_keys(from)?;
        }
        self.open.pop();
        let (from, to) = self.forest.hang(self.pending.drain(from..));
        let kind = if is_map { Kind::Map { from, to } } else { Kind::List { from, to } };
        Some((self.forest.add(place, kind), anchor, weight))
    }

    /// Checks the keys of the map whose entries are pending, and puts what merge keys bring behind its own entries.
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
                Problem::new(path.trim_start_matches('.'), second.place(), "key written twice")
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
                Kind::List { from, to } => sources.extend_from_slice(self.forest.slice(*from, *to)),
                _ => sources.push(pair[1]),
            }
        }
        for id in sources {
            let (place, Kind::Map { from, to }) = self.forest.values[id as usize] else {
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
            self.bounded(place)?;
        }
        self.pending.extend(merged);
        Some(())
    }

    fn alias(&mut self, place: Place, anchor: usize) -> Option<(u32, usize, u64)> {
        let Some(&(id, weight)) = self.anchors.get(&anchor) else {
            self.problem(place, "an alias of something it stands in", "an alias of a value that is complete");
            return None;
        };
        self.added = self.added.saturating_add(weight);
        self.bounded(place)?;
        Some((id, 0, weight))
    }

    fn bounded(&mut self, place: Place) -> Option<()> {
        if self.added > LARGEST_EXPANSION {
            let message = format!("aliases and merge keys add more than {LARGEST_EXPANSION} values");
            self.problem(place, &message, "values written out, or `defaults` and `groups`");
            return None;
        }
        Some(())
    }

    fn refuse(&mut self, place: Place, tag: Option<&Tag>) {
        if let Some(tag) = tag {
            let name = if tag.is_yaml_core_schema() { format!("!!{}", tag.suffix) } else { tag.to_string() };
            self.problem(place, &format!("the tag `{name}` has no meaning here"), "the value without a tag");
        }
    }

    fn syntax(&mut self, error: &ScanError) {
        let mark = error.marker();
        let place = Place {
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
            let place = Place { line, column, ..place };
            self.problem(place, "a tab in the indentation", "spaces: YAML does not allow tabs here");
        } else {
            self.problem(
                place,
                &format!("not YAML: {}", error.info()),
                "see the marked place; often a quote, colon or bracket is missing before it",
            );
        }
    }

    fn problem(&mut self, place: Place, message: &str, want: &str) {
        self.problems.push(Problem::new(self.path(), place, message).want(want));
    }

    /// The key path of what is being read, as far as the tree knows it.
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

    fn place(&self, span: Span) -> Place {
        let length = if span.start.line() == span.end.line() { span.len() } else { 0 };
        Place {
            file: self.file,
            line: u32::try_from(span.start.line()).unwrap_or(u32::MAX),
            column: u32::try_from(span.start.col() + 1).unwrap_or(u32::MAX),
            length: u16::try_from(length).unwrap_or(u16::MAX),
        }
    }
}
