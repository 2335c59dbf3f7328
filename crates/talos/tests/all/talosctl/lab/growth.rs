//! Random values of a type, and random documents.

use super::random::Random;
use super::tree::Tree;
use super::types::{Field, Kind, TYPES};
use super::words;

/// A random document that the release has, or hardly ever one that it does not have.
pub(super) fn document(random: &mut Random, minor: u16) -> Tree {
    let of_release: Vec<_> = TYPES.documents.iter().filter(|document| document.since <= minor).collect();
    let name =
        if random.chance(3) { random.pick(&TYPES.documents).name } else { random.pick(&of_release).name };
    named_document(random, name, minor)
}

/// A random document of a kind.
pub(super) fn named_document(random: &mut Random, name: &'static str, minor: u16) -> Tree {
    let mut entries = vec![word_entry("apiVersion", "v1alpha1"), word_entry("kind", name)];
    if let Tree::Map(fields) = value(random, &Kind::Struct(name), "", minor, 0) {
        entries.extend(fields);
    }
    Tree::Map(entries)
}

fn word_entry(key: &str, word: &str) -> (String, Tree) {
    (key.to_owned(), Tree::Word(word.to_owned()))
}

/// A random value of a type; its key says what a text could be.
pub(super) fn value(random: &mut Random, kind: &Kind, key: &str, minor: u16, depth: usize) -> Tree {
    if random.chance(1) {
        return Tree::Word(words::any(random));
    }
    match kind {
        Kind::Struct(name) => {
            let fields = TYPES.fields(name, minor);
            let few = if fields.len() > 12 { 8 } else { 40 };
            let fields = fields
                .into_iter()
                .filter(|field| random.chance(if field.keep { 96 } else { few / (depth + 1) }));
            let fields: Vec<_> = fields.collect();
            Tree::Map(fields.into_iter().map(|field| entry(random, field, minor, depth)).collect())
        }
        Kind::List(item) => {
            let count = *random.pick(&[0, 1, 1, 1, 2, 2, 3]);
            Tree::List((0..count).map(|_| value(random, item, key, minor, depth + 1)).collect())
        }
        Kind::Map(inner) => {
            let count = *random.pick(&[0, 1, 1, 2]);
            let entries =
                (0..count).map(|_| (words::key(random), value(random, inner, key, minor, depth + 1)));
            Tree::Map(entries.collect())
        }
        Kind::Scalar("args") => {
            let inner = if random.chance(70) {
                Kind::Scalar("string")
            } else {
                Kind::List(Box::new(Kind::Scalar("string")))
            };
            value(random, &Kind::Map(Box::new(inner)), "", minor, depth)
        }
        Kind::Scalar("tree") => tree(random, depth),
        Kind::Scalar(name) => Tree::Word(words::likely(random, name, key)),
    }
}

/// A field and a random value of it.
pub(super) fn entry(random: &mut Random, field: &Field, minor: u16, depth: usize) -> (String, Tree) {
    (field.name.to_owned(), value(random, &field.kind, field.name, minor, depth + 1))
}

/// An untyped map.
fn tree(random: &mut Random, depth: usize) -> Tree {
    let count = *random.pick(&[0, 1, 2]);
    let entries = (0..count).map(|_| {
        let inner = if depth < 4 && random.chance(30) {
            tree(random, depth + 1)
        } else if random.chance(20) {
            Tree::List(vec![Tree::Word(words::any(random))])
        } else {
            Tree::Word(words::any(random))
        };
        (words::key(random), inner)
    });
    Tree::Map(entries.collect())
}
