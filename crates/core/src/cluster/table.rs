//! Nodes from a table.
//!
//! The first row names key paths (`name`, `macs[0]`, `vm.cores`, `labels."topology.kubernetes.io/zone"`), every further
//! row is a node. A cell holds what could stand behind its key; an empty one leaves the key unset.

use ichor_values::tree::Forest;
use ichor_values::{FileIssue, Place};

/// One step of a column's key path.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Item(usize),
}

/// A row on its way to becoming a map.
enum Branch {
    Leaf(u32),
    Map(Vec<(String, Place, Branch)>),
    List(Vec<Branch>),
}

/// Adds the rows of the table `text` to `forest` as a list of maps and returns it.
pub fn rows<'s>(file: u16, text: &'s str, forest: &mut Forest<'s>, problems: &mut Vec<FileIssue>) -> u32 {
    let start = Place { file, line: 1, column: 1, length: 0 };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let mut columns: Option<Vec<(Vec<Step>, String)>> = None;
    let mut nodes = Vec::new();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                problems.push(FileIssue::new("nodes", start, format!("not a CSV table: {error}")));
                break;
            }
        };
        let line = record.position().map_or(1, csv::Position::line);
        let offset = record.position().map_or(0, |position| usize::try_from(position.byte()).unwrap_or(0));
        let places =
            cells(file, u32::try_from(line).unwrap_or(u32::MAX), text.get(offset..).unwrap_or_default());
        let place = |nth: usize| {
            places
                .get(nth)
                .copied()
                .unwrap_or(Place { line: u32::try_from(line).unwrap_or(u32::MAX), ..start })
        };
        let Some(columns) = &columns else {
            columns = Some(header(&record, &place, problems));
            continue;
        };
        if record.len() != columns.len() {
            let message = format!("{} cells in a table of {} columns", record.len(), columns.len());
            problems
                .push(FileIssue::new("nodes", place(0), message).want("as many cells as the first row has"));
            continue;
        }
        nodes.push(row(&record, columns, &place, forest, problems));
    }
    forest.list(start, nodes)
}

fn header(
    record: &csv::StringRecord,
    place: &dyn Fn(usize) -> Place,
    problems: &mut Vec<FileIssue>,
) -> Vec<(Vec<Step>, String)> {
    let mut columns: Vec<(Vec<Step>, String)> = Vec::new();
    for (nth, name) in record.iter().enumerate() {
        let path = steps(name.trim()).unwrap_or_default();
        if path.is_empty() {
            let problem = FileIssue::new("nodes", place(nth), "not a key path");
            problems.push(problem.want("a key path such as name, macs[0] or vm.cores"));
        } else if columns.iter().any(|(other, _)| *other == path) {
            problems.push(FileIssue::new("nodes", place(nth), "a column twice").want("each key path once"));
        }
        columns.push((path, name.trim().to_owned()));
    }
    columns
}

fn row<'s>(
    record: &csv::StringRecord,
    columns: &[(Vec<Step>, String)],
    place: &dyn Fn(usize) -> Place,
    forest: &mut Forest<'s>,
    problems: &mut Vec<FileIssue>,
) -> u32 {
    let mut root = Branch::Map(Vec::new());
    for (nth, (cell, (path, name))) in record.iter().zip(columns).enumerate() {
        let cell = cell.trim();
        if cell.is_empty() || path.is_empty() {
            continue;
        }
        let leaf = value(cell, place(nth), forest, problems);
        if !grow(&mut root, path, leaf, place(nth)) {
            problems.push(FileIssue::new(
                "nodes",
                place(nth),
                format!("`{name}` does not fit beside another column"),
            ));
        }
    }
    plant(root, place(0), forest)
}

/// A cell in brackets is a YAML list or map, any other one word.
fn value<'s>(cell: &str, place: Place, forest: &mut Forest<'s>, problems: &mut Vec<FileIssue>) -> u32 {
    if cell.starts_with(['[', '{']) {
        let mut own = Vec::new();
        if let Some(id) = forest.parse_cell(place, cell, &mut own) {
            return id;
        }
        problems.extend(own);
    }
    forest.scalar(place, cell.to_owned(), true)
}

fn grow(branch: &mut Branch, path: &[Step], leaf: u32, place: Place) -> bool {
    let Some((step, rest)) = path.split_first() else { return false };
    let fresh = || match rest.first() {
        None => Branch::Leaf(leaf),
        Some(Step::Key(_)) => Branch::Map(Vec::new()),
        Some(Step::Item(_)) => Branch::List(Vec::new()),
    };
    let next = match (branch, step) {
        (Branch::Map(entries), Step::Key(key)) => match entries.iter().position(|(name, ..)| name == key) {
            Some(at) => &mut entries[at].2,
            None => {
                entries.push((key.clone(), place, fresh()));
                let at = entries.len() - 1;
                &mut entries[at].2
            }
        },
        (Branch::List(items), Step::Item(_)) => {
            // Cells left empty leave no gap: the item goes to the end.
            items.push(fresh());
            let at = items.len() - 1;
            &mut items[at]
        }
        _ => return false,
    };
    rest.is_empty() || grow(next, rest, leaf, place)
}

fn plant(branch: Branch, place: Place, forest: &mut Forest<'_>) -> u32 {
    match branch {
        Branch::Leaf(id) => id,
        Branch::List(items) => {
            let items: Vec<_> = items.into_iter().map(|item| plant(item, place, forest)).collect();
            forest.list(place, items)
        }
        Branch::Map(entries) => {
            let mut parts = Vec::new();
            for (key, at, value) in entries {
                let value = plant(value, at, forest);
                parts.extend([forest.scalar(at, key, false), value]);
            }
            forest.map(place, parts)
        }
    }
}

/// `macs[0]` as its steps; a key with dots stands in quotes.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('[') {
            let (number, tail) = tail.split_once(']')?;
            steps.push(Step::Item(number.parse().ok()?));
            rest = tail.strip_prefix('.').unwrap_or(tail);
        } else if let Some(tail) = rest.strip_prefix('"') {
            let (key, tail) = tail.split_once('"')?;
            steps.push(Step::Key(key.to_owned()));
            rest = tail.strip_prefix('.').unwrap_or(tail);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            steps.push(Step::Key(rest[..end].to_owned()));
            rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
        }
    }
    Some(steps)
}

/// Where the cells of the row that starts `text` stand.
fn cells(file: u16, line: u32, text: &str) -> Vec<Place> {
    let mut places = Vec::new();
    let (mut from, mut quoted) = (1, false);
    let mut column = 1;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' | '\n' if !quoted => {
                places.push(Place {
                    file,
                    line,
                    column: from,
                    length: u16::try_from(column - from).unwrap_or(u16::MAX),
                });
                from = column + 1;
                if c == '\n' {
                    return places;
                }
            }
            _ => {}
        }
        column += 1;
    }
    places.push(Place { file, line, column: from, length: u16::try_from(column - from).unwrap_or(u16::MAX) });
    places
}
