//! The texts a cluster file is made of, and places in them.

use std::sync::OnceLock;

/// The location of a value: file, line, column and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// Index of the file among the [`Sources`].
    pub file: u16,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Length in characters on that line; 0 marks a single position.
    pub length: u16,
}

/// A text: the cluster file itself, an included file or a CSV table.
#[derive(Debug)]
pub struct Source {
    /// The name a person knows it by.
    pub name: String,
    /// Its text.
    pub text: String,
    starts: OnceLock<Vec<usize>>,
}

impl Source {
    /// A text under its name.
    pub fn new(name: String, text: String) -> Self {
        Self { name, text, starts: OnceLock::new() }
    }

    /// Line `number`, counted from 1, without its end.
    ///
    /// The index of lines is made once: a file with a hundred thousand mistakes has each of them quoted.
    pub fn line(&self, number: u32) -> Option<&str> {
        let starts = self.starts.get_or_init(|| {
            std::iter::once(0).chain(self.text.match_indices('\n').map(|(at, _)| at + 1)).collect()
        });
        let start = *starts.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
        self.text[start..].lines().next().or(Some(""))
    }
}

/// Every text of one cluster, in the order they were read.
#[derive(Debug, Default)]
pub struct Sources(pub Vec<Source>);

impl Sources {
    /// The text `place` is in.
    pub fn source(&self, place: Location) -> Option<&Source> {
        self.0.get(usize::from(place.file))
    }

    /// `file:line:column`, the way editors jump to it.
    pub fn locate(&self, place: Location) -> String {
        let name = self.source(place).map_or("?", |source| source.name.as_str());
        format!("{name}:{}:{}", place.line, place.column)
    }

    /// The line `place` is on.
    pub fn line(&self, place: Location) -> Option<&str> {
        self.source(place)?.line(place.line)
    }
}
