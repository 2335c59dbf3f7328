//! Values that can be written in more than one form.

use crate::key::{MergeOver, Spanned};
use crate::print::{Printed, is_word};
use crate::read::{Read, Reader, Record, Scalar};
use crate::schema::Shape;
use crate::source::Location;
use crate::tree::{Tree, View};

/// A word, or a map with details.
#[derive(Clone, Debug, PartialEq)]
pub enum WordOrRecord<W, R> {
    /// The word.
    Word(W),
    /// The map.
    Record(R),
}

impl<W: Scalar + MergeOver, R: Record + Read> Read for WordOrRecord<W, R> {
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
        match tree.view() {
            View::Map(_) => reader.record(tree).map(Self::Record),
            _ => W::read(tree, reader).map(Self::Word),
        }
    }

    fn shape() -> Shape {
        Shape::OneOf(vec![W::shape(), R::shape()])
    }

    fn print(&self) -> Printed {
        match self {
            Self::Word(word) => word.print(),
            Self::Record(record) => record.print(),
        }
    }

    fn lookup(&self, steps: &[&str]) -> Option<(Printed, Location)> {
        match self {
            Self::Word(_) => None,
            Self::Record(record) => record.lookup(steps),
        }
    }
}

impl<W: Clone, R: MergeOver> MergeOver for WordOrRecord<W, R> {
    const MERGES: bool = true;

    fn merge_over(&self, base: &Self) -> Self {
        match (self, base) {
            (Self::Record(record), Self::Record(below)) => Self::Record(record.merge_over(below)),
            _ => self.clone(),
        }
    }
}

/// Off, on, or on with settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Toggle<R> {
    /// `false`.
    Off,
    /// `true`, or a map with settings.
    On(R),
}

impl<R> Toggle<R> {
    /// The settings when it is on.
    pub fn settings(&self) -> Option<&R> {
        match self {
            Self::Off => None,
            Self::On(settings) => Some(settings),
        }
    }
}

impl<R: Record + Read> Read for Toggle<R> {
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
        match tree.view() {
            View::Map(_) => reader.record(tree).map(Self::On),
            _ => bool::read(tree, reader).map(|on| if on { Self::On(R::default()) } else { Self::Off }),
        }
    }

    fn shape() -> Shape {
        Shape::OneOf(vec![bool::shape(), R::shape()])
    }

    fn print(&self) -> Printed {
        match self {
            Self::Off => false.print(),
            Self::On(settings) if settings.entries().is_empty() => true.print(),
            Self::On(settings) => settings.print(),
        }
    }

    fn lookup(&self, steps: &[&str]) -> Option<(Printed, Location)> {
        self.settings()?.lookup(steps)
    }
}

impl<R: MergeOver> MergeOver for Toggle<R> {
    const MERGES: bool = true;

    fn merge_over(&self, base: &Self) -> Self {
        match (self, base) {
            (Self::On(settings), Self::On(below)) => Self::On(settings.merge_over(below)),
            _ => self.clone(),
        }
    }
}

/// A list of exactly two.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair<T>(pub Spanned<T>, pub Spanned<T>);

impl<T: Read> Read for Pair<T> {
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
        let items = reader.items::<T>(tree)?;
        let View::List(written) = tree.view() else { return None };
        if written.len() != 2 {
            let count =
                if written.len() == 1 { "1 item".to_owned() } else { format!("{} items", written.len()) };
            reader.problem(tree.place(), count, "want exactly two");
        }
        let [first, second] = items.as_slice() else { return None };
        Some(Self(first.clone(), second.clone()))
    }

    fn shape() -> Shape {
        Shape::Exactly(2, Box::new(T::shape()))
    }

    fn print(&self) -> Printed {
        Printed::List(vec![self.0.value.print(), self.1.value.print()])
    }
}

impl<T: Clone> MergeOver for Pair<T> {}

/// A value that ichor passes on without reading it: a fragment of a Talos document.
#[derive(Clone, Debug, PartialEq)]
pub enum Any {
    /// `null`.
    Null,
    /// Text, and whether it is unquoted, so that Talos may parse it as a number or boolean.
    Scalar(String, bool),
    /// A list.
    List(Vec<Any>),
    /// A map in its own order.
    Map(Vec<(String, Any)>),
}

impl Any {}

impl Read for Any {
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
        Some(match tree.view() {
            View::Null => Self::Null,
            View::Scalar(text) => Self::Scalar(text.to_owned(), tree.is_plain() && is_word(text)),
            View::List(items) => {
                Self::List(items.iter().map(|item| Self::read(item, reader)).collect::<Option<_>>()?)
            }
            View::Map(entries) => {
                let pairs = entries
                    .iter()
                    .map(|(key, value)| Some((key.text().to_owned(), Self::read(value, reader)?)));
                Self::Map(pairs.collect::<Option<_>>()?)
            }
        })
    }

    fn shape() -> Shape {
        Shape::Any
    }

    fn print(&self) -> Printed {
        match self {
            Self::Null => Printed::Null,
            Self::Scalar(text, true) => Printed::Scalar(text.clone()),
            Self::Scalar(text, false) => Printed::Quoted(text.clone()),
            Self::List(items) => Printed::List(items.iter().map(Read::print).collect()),
            Self::Map(entries) => {
                Printed::Map(entries.iter().map(|(key, value)| (key.clone(), value.print())).collect())
            }
        }
    }
}

impl MergeOver for Any {
    const MERGES: bool = true;

    fn merge_over(&self, base: &Self) -> Self {
        let (Self::Map(entries), Self::Map(below)) = (self, base) else { return self.clone() };
        let mut merged = below.clone();
        for (key, value) in entries {
            match merged.iter_mut().find(|(name, _)| name == key) {
                Some((_, old)) => *old = value.merge_over(old),
                None => merged.push((key.clone(), value.clone())),
            }
        }
        Self::Map(merged)
    }
}
