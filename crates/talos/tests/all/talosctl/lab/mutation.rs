//! Random changes of documents: something dropped, repeated, added, or given another value.

use super::growth;
use super::random::Random;
use super::tree::{Place, Tree};
use super::types::{Kind, TYPES};
use super::words;

/// Changes something.
pub(super) fn mutate(random: &mut Random, documents: &mut Vec<Tree>, minor: u16) {
    match random.below(20) {
        0 if documents.len() > 1 => drop(documents.remove(random.below(documents.len()))),
        1 if !documents.is_empty() => documents.push(random.pick(documents).clone()),
        2..=4 => documents.push(growth::document(random, minor)),
        _ if documents.is_empty() => {}
        _ => {
            let nth = random.below(documents.len());
            change(random, &mut documents[nth], minor);
        }
    }
}

/// Changes something in a document.
pub(super) fn change(random: &mut Random, document: &mut Tree, minor: u16) {
    let typed = typed_places(document, minor);
    let (place, key, kind) = random.pick(&typed).clone();
    let is_identity = ["apiVersion", "kind"].contains(&key.as_str());
    if place.is_empty() || random.chance(25) || (is_identity && random.chance(90)) {
        return extend(random, document, &typed, minor);
    }
    match random.below(10) {
        0..=2 => document.remove(&place),
        3..=6 => {
            let kind = kind.unwrap_or(Kind::Scalar("string"));
            *document.at(&place) = growth::value(random, &kind, &key, minor, 1);
        }
        7 => {
            let wrong = *random.pick(&["bool", "u32", "string", "prefix"]);
            let wrong = [Kind::Scalar(wrong), Kind::List(Box::new(Kind::Scalar(wrong)))];
            let wrong = random.pick(&wrong).clone();
            *document.at(&place) = growth::value(random, &wrong, &key, minor, 1);
        }
        8 => *document.at(&place) = Tree::Word(words::any(random)),
        _ => repeat(random, document, &place),
    }
}

/// Adds a field or an item somewhere.
fn extend(random: &mut Random, document: &mut Tree, typed: &[Typed], minor: u16) {
    let (place, key, kind) = random.pick(typed).clone();
    match (document.at(&place), kind) {
        (Tree::Map(entries), Some(Kind::Struct(name))) => {
            let fields = TYPES.fields(name, minor);
            let left: Vec<_> =
                fields.into_iter().filter(|field| entries.iter().all(|(key, _)| key != field.name)).collect();
            if random.chance(4) || left.is_empty() {
                entries.push((words::key(random), Tree::Word(words::any(random))));
            } else {
                let field = random.pick(&left);
                entries.push(growth::entry(random, field, minor, 0));
            }
        }
        (Tree::List(items), Some(Kind::List(item))) => {
            items.push(growth::value(random, &item, &key, minor, 1));
        }
        (Tree::Map(entries), _) => entries.push((words::key(random), Tree::Word(words::any(random)))),
        (Tree::List(items), _) => items.push(Tree::Word(words::any(random))),
        (word, _) => *word = Tree::Word(words::any(random)),
    }
}

fn repeat(random: &mut Random, document: &mut Tree, place: &[usize]) {
    let (last, parents) = place.split_last().expect("not the document");
    match document.at(parents) {
        Tree::List(items) => items.push(items[*last].clone()),
        // Twice the same key is an error of the syntax, so mostly it gets another one.
        Tree::Map(entries) => {
            let key = if random.chance(20) { entries[*last].0.clone() } else { words::key(random) };
            entries.push((key, entries[*last].1.clone()));
        }
        Tree::Word(_) => {}
    }
}

/// A place, its nearest key, and its type.
type Typed = (Place, String, Option<Kind>);

/// Every place of a document, the document first.
fn typed_places(document: &Tree, minor: u16) -> Vec<Typed> {
    let kind = TYPES.of_document(document.get("kind").and_then(Tree::word));
    let mut places = vec![(Vec::new(), String::new(), Some(kind.clone()))];
    collect(document, (Vec::new(), String::new(), Some(kind)), minor, &mut places);
    places
}

fn collect(tree: &Tree, parent: Typed, minor: u16, places: &mut Vec<Typed>) {
    let (place, key, kind) = parent;
    for (nth, child) in tree.children().into_iter().enumerate() {
        let key = if let Tree::Map(entries) = tree { entries[nth].0.clone() } else { key.clone() };
        let kind = match (&kind, tree) {
            (Some(Kind::Struct(name)), Tree::Map(_)) => TYPES
                .fields(name, minor)
                .into_iter()
                .find(|field| field.name == key)
                .map(|field| field.kind.clone()),
            (Some(Kind::List(inner)), Tree::List(_)) | (Some(Kind::Map(inner)), Tree::Map(_)) => {
                Some((**inner).clone())
            }
            _ => None,
        };
        let typed = ([&place[..], &[nth]].concat(), key, kind);
        places.push(typed.clone());
        collect(child, typed, minor, places);
    }
}

/// The documents with one thing less, larger things first.
pub(super) fn reductions(documents: &[Tree]) -> Vec<Vec<Tree>> {
    let mut found = Vec::new();
    if documents.len() > 1 {
        found.extend((0..documents.len()).map(|nth| without(documents, nth, &[])));
    }
    for (nth, document) in documents.iter().enumerate() {
        found.extend(document.places().iter().map(|place| without(documents, nth, place)));
    }
    found
}

fn without(documents: &[Tree], nth: usize, place: &[usize]) -> Vec<Tree> {
    let mut documents = documents.to_vec();
    if place.is_empty() {
        documents.remove(nth);
    } else {
        documents[nth].remove(place);
    }
    documents
}
