//! YAML as a tree that keeps the location of every value.
//!
//! A [`Forest`] contains the trees of all files of a cluster: [`Forest::parse`] adds a file, [`Forest::join`] merges two
//! files of the same shape, and [`Tree`] is a handle to read the result. This module has no keys, and leaves
//! YAML to [`crate::parse`].
//!
//! Scalars stay text. The key that reads `no`, `010` or `1.10` decides its type.

use super::file_issue::FileIssue;
use super::source::Location;
use crate::parse;

/// Deeper nesting than any cluster file has.
pub(super) const DEEPEST: usize = 64;

/// All values of all files of a cluster.
///
/// A cluster of a hundred thousand nodes has millions of values, and fresh memory costs more than anything done with
/// them: a value is 24 bytes, and texts stay where they were read.
#[derive(Debug, Default)]
pub struct Forest<'s> {
    pub(super) values: Vec<(Location, NodeKind)>,
    children: Vec<u32>,
    /// The files, in the order they were parsed.
    files: Vec<&'s str>,
    /// Texts that are not in a file verbatim: with escapes, folded lines, or from a table.
    texts: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum NodeKind {
    /// A part of a file.
    Slice { file: u16, plain: bool, from: u32, length: u32 },
    /// A text of the arena.
    Text { plain: bool, text: u32 },
    /// Its items.
    List { from: u32, to: u32 },
    /// Key, value, key, value.
    Map { from: u32, to: u32 },
}

/// The content of a value.
#[derive(Debug, Clone, Copy)]
pub enum View<'f> {
    /// `null`, `~` or empty.
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
    /// The number of entries.
    pub(crate) fn len(self) -> usize {
        self.ids.len()
    }

    /// Each item in order.
    pub fn iter(self) -> impl Iterator<Item = Tree<'f>> {
        self.ids.iter().map(move |&id| Tree { forest: self.forest, id })
    }
}

impl<'f> Entries<'f> {
    /// The number of items.
    pub fn len(self) -> usize {
        self.ids.len() / 2
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.ids.is_empty()
    }

    /// Key and value of each entry, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = (Tree<'f>, Tree<'f>)> {
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
    /// Its location.
    pub fn place(self) -> Location {
        self.forest.values[self.id as usize].0
    }

    /// Its content.
    pub fn view(self) -> View<'f> {
        let forest = self.forest;
        match forest.values[self.id as usize].1 {
            NodeKind::List { from, to } => View::List(Items { forest, ids: forest.slice(from, to) }),
            NodeKind::Map { from, to } => View::Map(Entries { forest, ids: forest.slice(from, to) }),
            NodeKind::Slice { .. } | NodeKind::Text { .. } if self.is_null() => View::Null,
            NodeKind::Slice { .. } | NodeKind::Text { .. } => View::Scalar(self.text()),
        }
    }

    /// Whether it is `null`, `~` or empty.
    pub(crate) fn is_null(self) -> bool {
        match self.forest.values[self.id as usize].1 {
            NodeKind::Slice { plain: true, length: 0 | 1 | 4, .. } | NodeKind::Text { plain: true, .. } => {
                matches!(self.text(), "" | "~" | "null" | "Null" | "NULL")
            }
            _ => false,
        }
    }

    /// Its text if it is a scalar, else empty.
    pub fn text(self) -> &'f str {
        match self.forest.values[self.id as usize].1 {
            NodeKind::Slice { file, from, length, .. } => {
                &self.forest.files[usize::from(file)][from as usize..(from + length) as usize]
            }
            NodeKind::Text { text, .. } => &self.forest.texts[text as usize],
            NodeKind::List { .. } | NodeKind::Map { .. } => "",
        }
    }

    /// Whether the text was written without quotes.
    pub(crate) fn is_plain(self) -> bool {
        matches!(
            self.forest.values[self.id as usize].1,
            NodeKind::Slice { plain: true, .. } | NodeKind::Text { plain: true, .. }
        )
    }

    /// Whether it is one word.
    pub(crate) fn is_scalar(self) -> bool {
        matches!(self.forest.values[self.id as usize].1, NodeKind::Slice { .. } | NodeKind::Text { .. })
    }
}

impl<'s> Forest<'s> {
    pub(super) fn slice(&self, from: u32, to: u32) -> &[u32] {
        &self.children[from as usize..to as usize]
    }

    pub(super) fn add(&mut self, place: Location, kind: NodeKind) -> u32 {
        self.values.push((place, kind));
        u32::try_from(self.values.len() - 1).expect("a file under 4 GiB has fewer values")
    }

    pub(super) fn hang(&mut self, ids: impl IntoIterator<Item = u32>) -> (u32, u32) {
        let from = u32::try_from(self.children.len()).expect("fewer links than values and expansions");
        self.children.extend(ids);
        (from, u32::try_from(self.children.len()).expect("as above"))
    }

    /// Adds a scalar located at `place`.
    pub fn scalar(&mut self, place: Location, text: String, plain: bool) -> u32 {
        self.texts.push(text);
        let text = u32::try_from(self.texts.len() - 1).expect("fewer texts than values");
        self.add(place, NodeKind::Text { plain, text })
    }

    /// Adds a scalar that is in the newest file verbatim, from byte `from` on.
    pub(super) fn slice_of(&mut self, place: Location, from: usize, length: usize, plain: bool) -> u32 {
        let file = u16::try_from(self.files.len() - 1).expect("no more files than a place can name");
        let from = u32::try_from(from).expect("a file under 4 GiB");
        let length = u32::try_from(length).expect("a file under 4 GiB");
        self.add(place, NodeKind::Slice { file, plain, from, length })
    }

    /// Adds a list of earlier values.
    pub fn list(&mut self, place: Location, items: impl IntoIterator<Item = u32>) -> u32 {
        let (from, to) = self.hang(items);
        self.add(place, NodeKind::List { from, to })
    }

    /// Adds a map of earlier values: key, value, key, value.
    pub fn map(&mut self, place: Location, entries: impl IntoIterator<Item = u32>) -> u32 {
        let (from, to) = self.hang(entries);
        self.add(place, NodeKind::Map { from, to })
    }

    /// A handle to the value `id`.
    pub fn tree<'f>(&'f self, id: u32) -> Tree<'f>
    where
        's: 'f,
    {
        Tree { forest: self, id }
    }

    /// Adds the values of one file and returns its root; if the text is not YAML, adds the problem and returns none.
    ///
    /// An empty text is an empty map.
    pub fn parse(&mut self, file: u16, text: &'s str, problems: &mut Vec<FileIssue>) -> Option<u32> {
        self.open(text);
        parse::parse(self, file, text, problems)
    }

    /// Makes `text` the file that slices are taken from, and room for its values.
    pub(super) fn open(&mut self, text: &'s str) {
        self.files.push(text);
        self.values.reserve(text.len() / 8);
    }

    /// Adds the YAML of one table cell; everything in it is located at `place`.
    pub fn parse_cell(&mut self, place: Location, text: &str, problems: &mut Vec<FileIssue>) -> Option<u32> {
        let mut cell = Forest::default();
        let root = cell.parse(place.file, text, problems);
        for problem in problems.iter_mut() {
            problem.place = place;
        }
        Some(self.graft(cell.tree(root?), place))
    }

    /// Copies a tree of another forest.
    fn graft(&mut self, tree: Tree<'_>, place: Location) -> u32 {
        match tree.view() {
            View::Null | View::Scalar(_) => self.scalar(place, tree.text().to_owned(), tree.is_plain()),
            View::List(items) => {
                let items: Vec<_> = items.iter().map(|item| self.graft(item, place)).collect();
                self.list(place, items)
            }
            View::Map(entries) => {
                let parts = entries.iter().flat_map(|(key, value)| [key, value]);
                let entries: Vec<_> = parts.map(|part| self.graft(part, place)).collect();
                self.map(place, entries)
            }
        }
    }

    /// The map `root` with another value under `key`, or without it.
    pub fn replace(&mut self, root: u32, key: &str, value: Option<u32>) -> u32 {
        let (place, NodeKind::Map { from, to }) = self.values[root as usize] else { return root };
        let mut entries = self.slice(from, to).to_vec();
        let Some(at) = entries.chunks_exact(2).position(|pair| self.tree(pair[0]).text() == key) else {
            return root;
        };
        match value {
            Some(value) => entries[at * 2 + 1] = value,
            None => drop(entries.drain(at * 2..at * 2 + 2)),
        }
        let (from, to) = self.hang(entries);
        self.add(place, NodeKind::Map { from, to })
    }

    /// Lays `other` over `base`: maps are joined key by key, lists are appended; a scalar in both is a problem.
    pub fn join(&mut self, base: u32, other: u32, path: &str, problems: &mut Vec<FileIssue>) -> u32 {
        let (place, there) = (self.values[base as usize].0, self.values[other as usize].0);
        let ids = |forest: &Self, from: u32, to: u32| forest.slice(from, to).to_vec();
        match (self.values[base as usize].1, self.values[other as usize].1) {
            (NodeKind::Map { from, to }, NodeKind::Map { from: from2, to: to2 }) => {
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
                self.add(place, NodeKind::Map { from, to })
            }
            (NodeKind::List { from, to }, NodeKind::List { from: from2, to: to2 }) => {
                let items = [ids(self, from, to), ids(self, from2, to2)].concat();
                self.list(place, items)
            }
            _ => {
                problems.push(
                    FileIssue::new(path, there, "set in two files")
                        .want("keep it in one of them")
                        .also(place, "first set here"),
                );
                base
            }
        }
    }
}
