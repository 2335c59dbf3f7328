//! The types of Talos' configuration, by release.
//!
//! They are in the `.types` files beside this one, in a notation of one line for one field:
//!
//! ```text
//! kind VLANConfig named >=12      a document; `named`: there may be several, distinguished by `name`;
//!     name   string  keep         `>=12`: since Talos 1.12; `<=12`: until 1.12
//!     vlanID u16
//!     ..     CommonLinkConfig     the fields of another struct
//!
//! struct CommonLinkConfig
//!     up     *bool                optional: a `false` that is written is not the same as none
//!     routes []RouteConfig        a list
//!     labels {}string             a map
//! ```
//!
//! `keep` fields are written even when empty; `always` ones are set, if only to an empty value, where their struct is.
//! When a patch is merged, a list of `replace` replaces the old one instead of being appended to it, and the items
//! of a list `by=KEY` are merged with the item that has the same key, or with `replace` replace it.
//! `control-plane` kinds are rejected on workers.

pub mod scalar;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use scalar::Scalar;

use ichor_values::TalosVersion;

const FILES: [&str; 6] = [
    include_str!("machine.types"),
    include_str!("network.types"),
    include_str!("kubernetes.types"),
    include_str!("storage.types"),
    include_str!("runtime.types"),
    include_str!("security.types"),
];

/// The struct of the document with `machine` and `cluster`.
const ROOT: &str = "Root";

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldType {
    /// A word or number.
    Scalar(Scalar),
    /// A struct, by its place in the table.
    Struct(usize),
    /// An optional value, which is written even if it is empty.
    Optional(Box<FieldType>),
    /// A list.
    List(Box<FieldType>),
    /// A map with any keys.
    Map(Box<FieldType>),
    /// An untyped map.
    Tree,
    /// Arguments of a command: a map of words or lists of words.
    Arguments,
}

/// A field of a struct.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the notation")]
pub(crate) struct TypeField {
    /// Its key.
    pub name: &'static str,
    /// Its type.
    pub kind: FieldType,
    /// Whether it is written even when it is empty.
    pub(crate) keep: bool,
    /// Whether a patch replaces an existing list.
    pub(crate) replace: bool,
    /// Whether it is set whenever its struct is, if only to nothing.
    pub(crate) always: bool,
    /// Whether it came from another struct.
    pub(crate) inlined: bool,
    /// The keys that identify the items of a list, each used where the ones before it are not set.
    pub by: Vec<&'static str>,
    since: u16,
    until: u16,
}

/// The fields of a map, in the order Talos writes them.
#[derive(Debug, Default)]
pub(crate) struct Struct {
    fields: Vec<TypeField>,
}

impl Struct {
    /// The fields that a release has.
    pub(crate) fn fields(&self, minor: u16) -> impl Iterator<Item = &TypeField> {
        self.fields.iter().filter(move |field| (field.since..=field.until).contains(&minor))
    }

    /// The field of this name in a release.
    pub(crate) fn field(&self, name: &str, minor: u16) -> Option<&TypeField> {
        self.fields(minor).find(|field| field.name == name)
    }
}

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentKind {
    /// Its name.
    pub name: &'static str,
    /// The minor release of Talos that first has it, or 11: older ones are not distinguished.
    pub since: u16,
    /// Whether there may be several, each with a name.
    pub(crate) named: bool,
    /// Whether a worker refuses it.
    pub control_plane: bool,
    structure: usize,
}

/// All types.
#[derive(Debug)]
pub(crate) struct Types {
    structs: Vec<Struct>,
    kinds: Vec<DocumentKind>,
    root: usize,
}

static TYPES: LazyLock<Types> = LazyLock::new(|| Types::parse(&FILES));

impl Types {
    /// The types of all releases.
    pub(crate) fn get() -> &'static Types {
        &TYPES
    }

    /// The kinds of documents.
    pub(crate) fn kinds(&self) -> &[DocumentKind] {
        &self.kinds
    }

    /// The fields of a document; those with `machine` and `cluster` where it has no kind.
    pub(crate) fn of_document(&self, kind: Option<DocumentKind>) -> usize {
        kind.map_or(self.root, |kind| kind.structure)
    }

    /// A struct by its place in the table.
    pub(crate) fn structure(&self, place: usize) -> &Struct {
        &self.structs[place]
    }

    fn parse(files: &[&'static str]) -> Types {
        let lines = || files.iter().flat_map(|file| file.lines()).filter(|line| !line.starts_with('#'));
        let mut places: HashMap<&str, usize> = HashMap::new();
        for line in lines().filter(|line| !line.is_empty() && !line.starts_with(' ')) {
            let name = line.split(' ').nth(1).expect("a struct has a name");
            let place = places.len();
            assert_eq!(places.insert(name, place), None, "`{name}` is there once");
        }
        let mut types =
            Types { structs: Vec::with_capacity(places.len()), kinds: Vec::new(), root: places[ROOT] };
        let mut inlined = Vec::new();
        for line in lines().filter(|line| !line.is_empty()) {
            let mut words = line.split_whitespace();
            let first = words.next().expect("a line has a word");
            let second = words.next().expect("a line has two words");
            if line.starts_with(' ') {
                let place = types.structs.len() - 1;
                let structure = types.structs.last_mut().expect("fields follow their struct");
                if first == ".." {
                    inlined.push((place, structure.fields.len(), places[second]));
                } else {
                    structure.fields.push(field(first, kind_of(second, &places), words));
                }
                continue;
            }
            let structure = types.structs.len();
            types.structs.push(Struct::default());
            if first == "kind" {
                types.kinds.push(kind(second, structure, words));
            }
        }
        for (place, nth, from) in inlined {
            let fields = types.structs[from].fields.clone();
            let fields = fields.into_iter().map(|field| TypeField { inlined: true, ..field });
            types.structs[place].fields.splice(nth..nth, fields);
        }
        types
    }
}

fn kind<'a>(name: &'static str, structure: usize, words: impl Iterator<Item = &'a str>) -> DocumentKind {
    let mut kind = DocumentKind { name, since: 11, named: false, control_plane: false, structure };
    for word in words {
        match word {
            "named" => kind.named = true,
            "control-plane" => kind.control_plane = true,
            _ => kind.since = parse_bound(word, ">=").expect("a release"),
        }
    }
    kind
}

fn field(name: &'static str, kind: FieldType, words: impl Iterator<Item = &'static str>) -> TypeField {
    let mut field = TypeField {
        name,
        kind,
        keep: false,
        replace: false,
        always: false,
        inlined: false,
        by: Vec::new(),
        since: 0,
        until: u16::MAX,
    };
    for word in words {
        if word == "keep" {
            field.keep = true;
        } else if word == "replace" {
            field.replace = true;
        } else if word == "always" {
            field.always = true;
        } else if let Some(keys) = word.strip_prefix("by=") {
            field.by = keys.split(',').collect();
        } else if let Some(minor) = parse_bound(word, ">=") {
            field.since = minor;
        } else {
            field.until = parse_bound(word, "<=").expect("a release");
        }
    }
    field
}

fn parse_bound(word: &str, sign: &str) -> Option<u16> {
    word.strip_prefix(sign)?.parse().ok()
}

fn kind_of(word: &'static str, places: &HashMap<&str, usize>) -> FieldType {
    let inner = |word| Box::new(kind_of(word, places));
    if let Some(word) = word.strip_prefix('*') {
        FieldType::Optional(inner(word))
    } else if let Some(word) = word.strip_prefix("[]") {
        FieldType::List(inner(word))
    } else if let Some(word) = word.strip_prefix("{}") {
        FieldType::Map(inner(word))
    } else if let Some(&place) = places.get(word) {
        FieldType::Struct(place)
    } else {
        match word {
            "tree" => FieldType::Tree,
            "args" => FieldType::Arguments,
            _ => FieldType::Scalar(Scalar::by_name(word).unwrap_or_else(|| panic!("`{word}` is a type"))),
        }
    }
}

/// The minor release whose types apply to a version: the nearest known one.
pub(crate) fn minor(talos: &TalosVersion) -> u16 {
    talos.minor().1.clamp(11, 14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_files_is_understood() {
        let types = Types::get();

        let vlan = types.kinds().iter().find(|kind| kind.name == "VLANConfig").unwrap();
        let fields = types.structure(types.of_document(Some(*vlan)));
        let names: Vec<_> = fields.fields(12).map(|field| field.name).collect();

        let own = ["name", "vlanID", "vlanMode", "parent"];
        assert_eq!(names, [&own[..], &["up", "mtu", "addresses", "routes", "multicast"]].concat());
        assert!(vlan.named && vlan.since == 12);
        assert!(types.structure(types.of_document(None)).field("machine", 11).unwrap().keep);
    }

    #[test]
    fn inlined_fields_stay_at_their_place() {
        let types = Types::get();
        let probe = types.kinds().iter().find(|kind| kind.name == "TCPProbeConfig").unwrap();

        let fields = types.structure(types.of_document(Some(*probe))).fields(14);

        let names: Vec<_> = fields.map(|field| field.name).collect();
        assert_eq!(names, ["name", "interval", "failureThreshold", "endpoint", "timeout"]);
    }

    #[test]
    fn a_field_may_change_its_type() {
        let types = Types::get();
        let FieldType::Optional(machine) = &types.structure(types.root).field("machine", 12).unwrap().kind
        else {
            panic!()
        };
        let FieldType::Struct(machine) = **machine else { panic!() };
        let FieldType::Optional(kubelet) = &types.structure(machine).field("kubelet", 12).unwrap().kind
        else {
            panic!()
        };
        let FieldType::Struct(kubelet) = **kubelet else { panic!() };

        let of = |minor| types.structure(kubelet).field("extraArgs", minor).unwrap().kind.clone();

        assert!(matches!(of(12), FieldType::Map(_)));
        assert_eq!(of(13), FieldType::Arguments);
    }
}
