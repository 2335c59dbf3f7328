//! Loading of a cluster file and its includes.

use std::collections::HashSet;
use std::fmt::Display;

use typed_arena::Arena;

use super::section::File;
use super::table;
use ichor_values::read::Reader;
use ichor_values::tree::{Forest, Tree, View};
use ichor_values::{FileIssue, Location, Source, Sources};

/// The newest supported format of the file.
const FORMAT: u32 = 1;
/// Maximum number of files, beyond any real cluster.
const MOST_FILES: usize = 10_000;

/// Maximum depth of includes, beyond any real cluster.
const DEEPEST_INCLUDE: usize = 64;

/// Access to the files that a cluster file refers to.
pub trait Files {
    /// Reads the file at `path`.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError>;
    /// Finds the files that match `pattern`, in a fixed order.
    fn find(&mut self, pattern: &str) -> Result<Vec<String>, FileError>;
}

/// A file cannot be read or searched for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct FileError {
    reason: String,
}

impl FileError {
    /// Wraps the error of the I/O layer.
    pub fn new(reason: impl Display) -> Self {
        Self { reason: reason.to_string() }
    }
}

/// The result of loading a cluster file.
#[derive(Debug)]
pub struct LoadResult {
    /// Every text that was read, for quoting in problems.
    pub sources: Sources,
    /// The file as far as it could be read; none if the text is not YAML.
    pub file: Option<File>,
    /// Problems of single values.
    pub problems: Vec<FileIssue>,
}

/// Loads the cluster file `name` and its includes.
pub fn load(name: &str, files: &mut dyn Files) -> LoadResult {
    let texts = Arena::new();
    let mut loading = ClusterLoader {
        files,
        texts: &texts,
        names: Vec::new(),
        forest: Forest::default(),
        problems: Vec::new(),
        chain: Vec::new(),
        seen: HashSet::new(),
    };
    let root = loading.load_file(name, None);
    let ClusterLoader { forest, mut problems, names, .. } = loading;
    let file = root.and_then(|root| {
        let tree = forest.tree(root);
        if let Some(problem) = check_format(tree) {
            problems = vec![problem];
            return None;
        }
        let mut reader = Reader::default();
        let file = reader.record(tree);
        problems.extend(reader.problems);
        file
    });
    drop(forest);
    let sources =
        names.into_iter().zip(texts.into_vec()).map(|(name, text)| Source::new(name, text)).collect();
    LoadResult { sources: Sources(sources), file, problems }
}

fn check_format(tree: Tree<'_>) -> Option<FileIssue> {
    let View::Map(entries) = tree.view() else { return None };
    let version = entries.get("version")?;
    let number: u32 = version.text().parse().ok().filter(|&number| number > FORMAT)?;
    Some(
        FileIssue::new("version", version.place(), format!("format {number} is newer than this ichor")).want(
            format!(
                "use an ichor that supports format {number}; this one, {}, supports format {FORMAT}",
                env!("CARGO_PKG_VERSION")
            ),
        ),
    )
}

fn not_paths(place: Location) -> FileIssue {
    FileIssue::new("include", place, "not a path").want("want a list of paths, such as [sites/*.yaml]")
}

/// The parent folder of `path`.
fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Resolves `path` relative to the folder of `from`, and `.` and `..` textually.
pub fn resolve_path(from: &str, path: &str) -> String {
    let joined = match parent_folder(from) {
        _ if path.starts_with('/') => path.to_owned(),
        "" if from.starts_with('/') => format!("/{path}"),
        "" => path.to_owned(),
        folder => format!("{folder}/{path}"),
    };
    let mut steps: Vec<&str> = Vec::new();
    for step in joined.split('/') {
        match step {
            "." | "" => {}
            ".." if steps.last().is_some_and(|last| *last != "..") => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    format!("{}{}", if joined.starts_with('/') { "/" } else { "" }, steps.join("/"))
}

struct ClusterLoader<'a> {
    files: &'a mut dyn Files,
    texts: &'a Arena<String>,
    names: Vec<String>,
    forest: Forest<'a>,
    problems: Vec<FileIssue>,
    /// The chain of includes being read, outermost first.
    chain: Vec<String>,
    seen: HashSet<String>,
}

impl<'a> ClusterLoader<'a> {
    /// Loads one file with its includes and its table of nodes, and returns its root.
    fn load_file(&mut self, name: &str, included_at: Option<Location>) -> Option<u32> {
        let path = resolve_path("", name);
        if self.chain.contains(&path) {
            let chain = [self.chain.join(" → "), path].join(" → ");
            let place = included_at.unwrap_or_default();
            self.problems.push(
                FileIssue::new("include", place, "the file includes itself")
                    .want(format!("want includes without a cycle: {chain}")),
            );
            return None;
        }
        if self.chain.len() == DEEPEST_INCLUDE {
            let message = format!("includes nested deeper than {DEEPEST_INCLUDE} files");
            self.problems.push(
                FileIssue::new("include", included_at.unwrap_or_default(), message)
                    .want("want a flatter set of files"),
            );
            return None;
        }
        if !self.seen.insert(path.clone()) {
            return None;
        }
        let (number, text) = self.read_text(name, included_at.map(|place| ("include", place)))?;
        let root = self.forest.parse(number, text, &mut self.problems)?;
        let View::Map(entries) = self.forest.tree(root).view() else {
            let place = self.forest.tree(root).place();
            self.problems.push(
                FileIssue::new("", place, "not a cluster file").want("want a map with `cluster` and `nodes`"),
            );
            return None;
        };
        let include = entries.get("include");
        let mut patterns: Vec<(String, Location)> = Vec::new();
        match include.map(Tree::view) {
            Some(View::List(items)) => {
                for item in items.iter() {
                    match item.view() {
                        View::Scalar(pattern) => patterns.push((pattern.to_owned(), item.place())),
                        _ => self.problems.push(not_paths(item.place())),
                    }
                }
            }
            Some(View::Null) | None => {}
            Some(View::Scalar(_) | View::Map(_)) => {
                self.problems.extend(include.map(|include| not_paths(include.place())));
            }
        }
        let mut root = self.remove_include(root);
        root = self.insert_table(name, root);
        self.chain.push(path);
        for (pattern, place) in patterns {
            for file in self.find_matches(&resolve_path(name, &pattern), place) {
                if let Some(other) = self.load_file(&file, Some(place)) {
                    root = self.forest.join(root, other, "", &mut self.problems);
                }
            }
        }
        self.chain.pop();
        Some(root)
    }

    /// Reads the text of a file and assigns its number.
    fn read_text(&mut self, name: &str, included_at: Option<(&str, Location)>) -> Option<(u16, &'a str)> {
        let bytes = match self.files.read(name) {
            Ok(bytes) => bytes,
            Err(reason) => {
                let (path, place) = included_at.unwrap_or_default();
                self.problems
                    .push(FileIssue::new(path, place, format!("cannot read {name}: {reason}")).unreadable());
                return None;
            }
        };
        if self.names.len() >= MOST_FILES {
            let (path, place) = included_at.unwrap_or_default();
            self.problems.push(FileIssue::new(path, place, format!("more than {MOST_FILES} files")));
            return None;
        }
        let number = u16::try_from(self.names.len()).expect("fewer than MOST_FILES");
        self.names.push(name.to_owned());
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let before = &error.as_bytes()[..good];
                let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
                let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
                let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
                let place = Location {
                    file: number,
                    line: u32::try_from(line).unwrap_or(u32::MAX),
                    column: u32::try_from(column).unwrap_or(u32::MAX),
                    length: 1,
                };
                self.problems.push(FileIssue::new("", place, "not UTF-8").want("want a file saved as UTF-8"));
                self.texts.alloc(String::from_utf8_lossy(error.as_bytes()).into_owned());
                return None;
            }
        };
        Some((number, self.texts.alloc(text)))
    }

    fn find_matches(&mut self, pattern: &str, place: Location) -> Vec<String> {
        match self.files.find(pattern) {
            Ok(files) if files.is_empty() => {
                self.problems.push(
                    FileIssue::new("include", place, "matches no file")
                        .want(format!("want an existing file; searched for {pattern}"))
                        .unreadable(),
                );
                Vec::new()
            }
            Ok(files) => files,
            Err(reason) => {
                self.problems.push(
                    FileIssue::new("include", place, format!("cannot search for {pattern}: {reason}"))
                        .unreadable(),
                );
                Vec::new()
            }
        }
    }

    fn remove_include(&mut self, root: u32) -> u32 {
        self.forest.replace(root, "include", None)
    }

    /// Replaces `nodes: {csv: FILE}` with the rows of the table.
    fn insert_table(&mut self, name: &str, root: u32) -> u32 {
        let View::Map(entries) = self.forest.tree(root).view() else { return root };
        let Some(View::Map(nodes)) = entries.get("nodes").map(Tree::view) else { return root };
        let Some(csv) = nodes.get("csv") else { return root };
        let (path, place) = (resolve_path(name, csv.text()), csv.place());
        let Some((number, text)) = self.read_text(&path, Some(("nodes.csv", place))) else { return root };
        let rows = table::read_rows(number, text, &mut self.forest, &mut self.problems);
        self.forest.replace(root, "nodes", Some(rows))
    }
}
