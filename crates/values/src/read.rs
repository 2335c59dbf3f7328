//! Converts trees to typed values and collects every problem.
//!
//! [`Read`] converts a value of a tree, or reports to the [`Reader`] why it cannot. It also has the
//! value looks like ([`Shape`]), from which the JSON Schema and the reference are made, and prints it again
//! ([`Printed`]).

use std::collections::BTreeMap;
use std::fmt::Display;

use super::file_issue::FileIssue;
use super::key::{AdditiveList, HasName, Key, List, Map, MergeOver, NamedList, Spanned};
use super::nearest::nearest;
use super::print::Printed;
use super::schema::{FieldShape, RecordShape, Shape};
use super::source::Location;
use super::tree::{Entries, Tree, View};
use crate::{Secret, ValueError};

/// A step of a key path.
#[derive(Clone, Copy, Debug)]
enum PathStep<'f> {
    Key(&'f str),
    /// An item of a list, by its number and, where it has one, its name.
    Item(usize, Option<&'f str>),
}

/// Collects problems while values are read, and knows the key path of the value being read.
#[derive(Debug, Default)]
pub struct Reader<'f> {
    steps: Vec<PathStep<'f>>,
    /// The problems found.
    pub problems: Vec<FileIssue>,
}

impl<'f> Reader<'f> {
    /// The key path of the value being read, such as `nodes.solcp01.macs[1]`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.steps {
            match step {
                PathStep::Key(name) | PathStep::Item(_, Some(name)) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(name);
                }
                PathStep::Item(number, None) => path += &format!("[{number}]"),
            }
        }
        path
    }

    /// Reports a problem with the value being read.
    pub(crate) fn problem(&mut self, place: Location, message: impl Display, want: impl Display) {
        let want = want.to_string();
        let mut problem = FileIssue::new(self.path(), place, message.to_string());
        problem.issue.help = (!want.is_empty()).then_some(want);
        self.problems.push(problem);
    }

    /// Reads the value of `key`.
    pub fn key<T: Read>(&mut self, tree: Tree<'f>) -> Key<T> {
        if tree.is_null() {
            return Key::cleared(tree.place());
        }
        T::read(tree, self).map_or_else(|| Key::cleared(tree.place()), |value| Key::set(value, tree.place()))
    }

    fn item<T: Read>(&mut self, number: usize, tree: Tree<'f>) -> Option<Spanned<T>> {
        self.steps.push(PathStep::Item(number, item_name(tree)));
        let item = if tree.is_null() {
            self.problem(tree.place(), "an empty item", T::shape().want());
            None
        } else {
            T::read(tree, self).map(|value| Spanned { value, place: tree.place() })
        };
        self.steps.pop();
        item
    }

    /// Reads every item of a list.
    pub(crate) fn items<T: Read>(&mut self, tree: Tree<'f>) -> Option<Vec<Spanned<T>>> {
        let View::List(items) = tree.view() else {
            self.wrong(tree, &format!("a list of {}", T::shape().plural()));
            return None;
        };
        // Room for all of them at once: a list of nodes that grows is copied again and again.
        let mut read = Vec::with_capacity(items.len());
        read.extend(items.iter().enumerate().filter_map(|(number, item)| self.item(number, item)));
        Some(read)
    }

    /// Reads a map into a record: every key it knows, and a problem for each it does not.
    pub fn record<R: Record>(&mut self, tree: Tree<'f>) -> Option<R> {
        let View::Map(entries) = tree.view() else {
            self.wrong(tree, R::shape_of().want);
            return None;
        };
        let mut record = R::default();
        for (key, value) in entries.iter() {
            let name = key.text();
            self.steps.push(PathStep::Key(name));
            if !record.set(name, value, self) {
                self.report_unknown_key::<R>(key, value, entries);
            }
            self.steps.pop();
        }
        Some(record)
    }

    fn report_unknown_key<R: Record>(&mut self, key: Tree<'f>, value: Tree<'f>, entries: Entries<'f>) {
        let fields = R::fields();
        // Keys that are not set yet are likelier candidates. A map too wide to be a record is not checked.
        let narrow = entries.len() <= 64;
        let missing = fields.iter().filter(|field| narrow && entries.get(field.name).is_none());
        let names: Vec<_> = fields.iter().map(|field| field.name).collect();
        let near = nearest(key.text(), missing.map(|field| field.name))
            .or_else(|| nearest(key.text(), names.iter().copied()));
        let message = match near {
            Some(near) => format!("unknown key; did you mean `{near}`?"),
            None => "unknown key".to_owned(),
        };
        let mut problem = FileIssue::new(self.path(), key.place(), message);
        if near.is_none() {
            problem.issue.help = Some(format!("one of {}", names.join(", ")));
        }
        let secret = near.is_some_and(|near| {
            fields.iter().any(|f| f.name == near && matches!((f.shape)(), Shape::Secret))
        });
        if secret {
            problem.hidden = Some(value.place());
        }
        self.problems.push(problem);
    }

    /// Reports a value of the wrong kind.
    pub fn wrong(&mut self, tree: Tree<'f>, want: &str) {
        let found = match tree.view() {
            View::Null => "missing value",
            View::Scalar(_) => "unexpected single value",
            View::List(_) => "unexpected list",
            View::Map(_) => "unexpected map",
        };
        self.problem(tree.place(), found, format!("want {want}"));
    }
}

fn item_name(tree: Tree<'_>) -> Option<&str> {
    let View::Map(entries) = tree.view() else { return None };
    entries.get("name").map(Tree::text).filter(|name| !name.is_empty())
}

/// A value of a cluster file.
pub trait Read: Sized + MergeOver + PartialEq {
    /// Reads it, or reports why it cannot be read.
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self>;
    /// Its shape.
    fn shape() -> Shape;
    /// The same value, to be written again.
    fn print(&self) -> Printed;
    /// The value at a key path below it, and its location.
    fn lookup(&self, _steps: &[&str]) -> Option<(Printed, Location)> {
        None
    }
    /// Adds every reference to a secret below it, which is at `path`.
    fn secrets<'s>(&'s self, _path: &str, _place: Location, _found: &mut Vec<Reference<'s>>) {}
}

/// A secret that a file refers to.
#[derive(Debug)]
pub struct Reference<'s> {
    /// The key path it is needed at.
    pub path: String,
    /// Its location.
    pub place: Location,
    /// The source of the secret.
    pub secret: &'s Secret,
}

impl Reference<'_> {
    /// Whether it is the password of a BGP session, which not every text can be.
    pub fn is_session_password(&self) -> bool {
        let of_session = self.path.starts_with("fabric.routers") || self.path.contains("routing.neighbors[");
        of_session && self.path.ends_with(".password")
    }
}

/// A value that is written as one word.
pub trait Scalar: Sized + Clone + PartialEq {
    /// Why `text` is not one, in a few words.
    fn parse(text: &str) -> Result<Self, ValueError>;
    /// Its name, the valid form, and its JSON Schema.
    fn form() -> ScalarForm;
    /// The text it is written as.
    fn text(&self) -> String;
}

/// The form of a [`Scalar`].
#[derive(Clone, Debug)]
pub struct ScalarForm {
    /// Its name in the reference.
    pub name: &'static str,
    /// The valid form.
    pub want: &'static str,
    /// The JSON Schema of its text.
    pub schema: serde_json::Value,
}

/// A map with keys that ichor knows. Made by `record!`.
pub trait Record: Default + MergeOver + PartialEq {
    /// Its name and comment.
    fn shape_of() -> &'static RecordShape;
    /// Its keys.
    fn fields() -> Vec<FieldShape>;
    /// Reads the value of one key; false when there is no such key.
    fn set<'f>(&mut self, key: &str, value: Tree<'f>, reader: &mut Reader<'f>) -> bool;
    /// Its keys that are written, to be written again.
    fn entries(&self) -> Vec<(String, Printed)>;
}

impl<T: Scalar + MergeOver> Read for T {
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
        let View::Scalar(text) = tree.view() else {
            reader.wrong(tree, T::form().want);
            return None;
        };
        match T::parse(text) {
            Ok(value) => Some(value),
            Err(error) => {
                reader.problem(tree.place(), error, format!("want {}", T::form().want));
                None
            }
        }
    }

    fn shape() -> Shape {
        Shape::Scalar(T::form())
    }

    fn print(&self) -> Printed {
        Printed::Scalar(self.text())
    }
}

/// Lists that differ only in how rungs are merged.
macro_rules! read_list {
    ($list:ident: $bound:ident) => {
        impl<T: Read + $bound> Read for $list<T> {
            fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
                reader.items(tree).map(Self)
            }

            fn shape() -> Shape {
                Shape::List(Box::new(T::shape()))
            }

            fn print(&self) -> Printed {
                print_items(&self.0)
            }

            fn lookup(&self, steps: &[&str]) -> Option<(Printed, Location)> {
                lookup_item(&self.0, steps)
            }

            fn secrets<'s>(&'s self, path: &str, _: Location, found: &mut Vec<Reference<'s>>) {
                for (nth, item) in self.0.iter().enumerate() {
                    item.value.secrets(&format!("{path}[{nth}]"), item.place, found);
                }
            }
        }
    };
}

read_list!(List: MergeOver);
read_list!(NamedList: HasName);

/// The item with this number or name.
fn lookup_item<T: Read>(items: &[Spanned<T>], steps: &[&str]) -> Option<(Printed, Location)> {
    let (step, rest) = steps.split_first()?;
    let item = match step.parse::<usize>() {
        Ok(number) => items.get(number)?,
        Err(_) => items
            .iter()
            .find(|item| item.value.print().at("name") == Some(&Printed::Scalar((*step).to_owned())))?,
    };
    if rest.is_empty() { Some((item.value.print(), item.place)) } else { item.value.lookup(rest) }
}

fn print_items<T: Read>(items: &[Spanned<T>]) -> Printed {
    Printed::List(items.iter().map(|item| item.value.print()).collect())
}

impl<T: Read> Read for AdditiveList<T> {
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
        if let View::Map(entries) = tree.view()
            && let Some(only) = entries.get("only")
            && entries.len() == 1
        {
            reader.steps.push(PathStep::Key("only"));
            let items = reader.items(only);
            reader.steps.pop();
            return items.map(|items| Self { items, only: true });
        }
        reader.items(tree).map(|items| Self { items, only: false })
    }

    fn shape() -> Shape {
        Shape::Sum(Box::new(T::shape()))
    }

    fn print(&self) -> Printed {
        let items = print_items(&self.items);
        if self.only { Printed::Map(vec![("only".to_owned(), items)]) } else { items }
    }

    fn lookup(&self, steps: &[&str]) -> Option<(Printed, Location)> {
        lookup_item(&self.items, steps)
    }
}

impl<K: Scalar + Ord, V: Read> Read for Map<K, V> {
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
        let View::Map(entries) = tree.view() else {
            reader.wrong(tree, &format!("a map of {} to {}", K::form().name, V::shape().words()));
            return None;
        };
        let mut map = BTreeMap::new();
        for (key, value) in entries.iter() {
            reader.steps.push(PathStep::Key(key.text()));
            match K::parse(key.text()) {
                Ok(name) => {
                    map.insert(name, reader.key(value));
                }
                Err(error) => reader.problem(key.place(), error, format!("want {}", K::form().want)),
            }
            reader.steps.pop();
        }
        Some(Self(map))
    }

    fn shape() -> Shape {
        Shape::Map(Box::new(V::shape()))
    }

    fn print(&self) -> Printed {
        Printed::Map(self.0.iter().map(|(name, value)| (name.text(), value.print())).collect())
    }

    fn lookup(&self, steps: &[&str]) -> Option<(Printed, Location)> {
        // A name may hold dots: the longest run of steps that is one counts.
        (1..=steps.len()).rev().find_map(|length| {
            let name = K::parse(&steps[..length].join(".")).ok()?;
            self.0.get(&name)?.lookup(&steps[length..])
        })
    }

    fn secrets<'s>(&'s self, path: &str, _: Location, found: &mut Vec<Reference<'s>>) {
        for (name, value) in self.iter() {
            value.value.secrets(&format!("{path}.{}", name.text()), value.place, found);
        }
    }
}

impl<T: Read> Key<T> {
    /// The same value, to be written again.
    pub fn print(&self) -> Printed {
        self.get().map_or(Printed::Null, Read::print)
    }

    /// Adds every reference to a secret below this key.
    pub fn secrets<'s>(&'s self, path: &str, found: &mut Vec<Reference<'s>>) {
        if let (Some(value), Some(place)) = (self.get(), self.place()) {
            value.secrets(path, place, found);
        }
    }

    /// The value at a key path below this one, and its location.
    pub fn lookup(&self, steps: &[&str]) -> Option<(Printed, Location)> {
        if steps.is_empty() { Some((self.print(), self.place()?)) } else { self.get()?.lookup(steps) }
    }
}
