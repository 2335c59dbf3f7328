//! References to secrets. A secret itself is never written in a cluster file.

use super::{EnvName, FilePath, Text};
use crate::file_issue::FileIssue;
use crate::key::{List, MergeOver};
use crate::print::Printed;
use crate::read::{Read, Reader, Reference};
use crate::schema::Shape;
use crate::source::Location;
use crate::tree::{Tree, View};

/// The source of a secret that a command needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Secret {
    /// An environment variable.
    Env(EnvName),
    /// A file that contains only the secret.
    File(FilePath),
    /// A key of a SOPS file.
    Sops {
        /// The file.
        file: FilePath,
        /// The key path in it.
        key: Text,
    },
    /// The output of a command.
    Command(List<Text>),
}

const WANT: &str = "want {env: NAME}, {file: PATH}, {sops: FILE, key: a.b} or {command: [pass, show, NAME]}";

impl Read for Secret {
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
        let View::Map(entries) = tree.view() else {
            let problem =
                FileIssue::new(reader.path(), tree.place(), "a secret is never written in the file");
            reader.problems.push(problem.want(WANT).hide(tree.place()));
            return None;
        };
        let keys: Vec<_> = entries.iter().map(|(key, _)| key.text()).collect();
        let get = |key: &str| entries.get(key).expect("looked up by its own name");
        match keys.as_slice() {
            ["env"] => match EnvName::parse(get("env").text()) {
                Ok(name) => Some(Self::Env(name)),
                // The text may be the secret itself.
                Err(error) => {
                    let place = get("env").place();
                    reader
                        .problems
                        .push(FileIssue::new(reader.path(), place, error.to_string()).want(WANT).hide(place));
                    None
                }
            },
            ["file"] => FilePath::read(get("file"), reader).map(Self::File),
            ["command"] => List::read(get("command"), reader).map(Self::Command),
            ["sops", "key"] | ["key", "sops"] => {
                let (file, key) = (FilePath::read(get("sops"), reader), Text::read(get("key"), reader));
                Some(Self::Sops { file: file?, key: key? })
            }
            _ => {
                let problem = FileIssue::new(reader.path(), tree.place(), "not a reference to a secret");
                reader.problems.push(problem.want(WANT).hide(tree.place()));
                None
            }
        }
    }

    fn shape() -> Shape {
        Shape::Secret
    }

    fn print(&self) -> Printed {
        let entry = |key: &str, value: Printed| (key.to_owned(), value);
        Printed::Map(match self {
            Self::Env(name) => vec![entry("env", name.print())],
            Self::File(path) => vec![entry("file", path.print())],
            Self::Sops { file, key } => vec![entry("sops", file.print()), entry("key", key.print())],
            Self::Command(words) => vec![entry("command", words.print())],
        })
    }

    fn secrets<'s>(&'s self, path: &str, place: Location, found: &mut Vec<Reference<'s>>) {
        found.push(Reference { path: path.to_owned(), place, secret: self });
    }
}

impl MergeOver for Secret {}
