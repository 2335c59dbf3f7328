//! The types of Talos' documents, for the growth of random ones: the tables of the crate, read once more.

use std::collections::HashMap;
use std::sync::LazyLock;

const FILES: [&str; 6] = [
    include_str!("../../../../src/types/machine.types"),
    include_str!("../../../../src/types/network.types"),
    include_str!("../../../../src/types/kubernetes.types"),
    include_str!("../../../../src/types/storage.types"),
    include_str!("../../../../src/types/runtime.types"),
    include_str!("../../../../src/types/security.types"),
];

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Scalar(&'static str),
    Struct(&'static str),
    List(Box<Kind>),
    Map(Box<Kind>),
}

/// A field of a struct.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) keep: bool,
    since: u16,
    until: u16,
}

/// A kind of document.
pub(super) struct Document {
    pub(super) name: &'static str,
    pub(super) since: u16,
}

/// All types.
pub(super) struct Types {
    structs: HashMap<&'static str, Vec<Line>>,
    pub(super) documents: Vec<Document>,
}

enum Line {
    Field(Field),
    Inline(&'static str),
}

pub(super) static TYPES: LazyLock<Types> = LazyLock::new(Types::parse);

impl Types {
    /// The fields of a struct in a release.
    pub(super) fn fields(&self, name: &str, minor: u16) -> Vec<&Field> {
        let lines = self.structs[name].iter().flat_map(|line| match line {
            Line::Field(field) => vec![field],
            Line::Inline(other) => self.fields(other, minor),
        });
        lines.filter(|field| (field.since..=field.until).contains(&minor)).collect()
    }

    /// The struct of a document.
    pub(super) fn of_document(&self, kind: Option<&str>) -> Kind {
        let found = self.documents.iter().find(|document| Some(document.name) == kind);
        Kind::Struct(found.map_or("Root", |document| document.name))
    }

    fn parse() -> Self {
        let lines = || FILES.iter().flat_map(|file| file.lines());
        let lines = || lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let name = |line: &'static str| line.split_whitespace().nth(1).expect("a name");
        let names: Vec<_> = lines().filter(|line| !line.starts_with(' ')).map(name).collect();
        let mut types = Types { structs: HashMap::new(), documents: Vec::new() };
        let mut current = "";
        for line in lines() {
            if line.starts_with(' ') {
                types
                    .structs
                    .get_mut(current)
                    .expect("fields follow their struct")
                    .push(parse_line(line, &names));
                continue;
            }
            current = name(line);
            types.structs.insert(current, Vec::new());
            if line.starts_with("kind ") {
                types.documents.push(Document { name: current, since: bound(line, ">=").unwrap_or(11) });
            }
        }
        types
    }
}

fn parse_line(line: &'static str, names: &[&'static str]) -> Line {
    let mut words = line.split_whitespace();
    let (name, kind) = (words.next().expect("a name"), words.next().expect("a type"));
    if name == ".." {
        return Line::Inline(kind);
    }
    let (since, until) = (bound(line, ">=").unwrap_or(0), bound(line, "<=").unwrap_or(u16::MAX));
    Line::Field(Field { name, kind: parse_kind(kind, names), keep: line.contains(" keep"), since, until })
}

fn parse_kind(word: &'static str, names: &[&'static str]) -> Kind {
    if let Some(inner) = word.strip_prefix('*') {
        parse_kind(inner, names)
    } else if let Some(inner) = word.strip_prefix("[]") {
        Kind::List(Box::new(parse_kind(inner, names)))
    } else if let Some(inner) = word.strip_prefix("{}") {
        Kind::Map(Box::new(parse_kind(inner, names)))
    } else if names.contains(&word) {
        Kind::Struct(word)
    } else {
        Kind::Scalar(word)
    }
}

fn bound(line: &str, sign: &str) -> Option<u16> {
    line.split_whitespace().find_map(|word| word.strip_prefix(sign)?.parse().ok())
}
