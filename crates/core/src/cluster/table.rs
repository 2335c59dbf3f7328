//! Nodes from a CSV table.
//!
//! The first row names key paths (`name`, `macs[0]`, `vm.cores`, `labels."topology.kubernetes.io/zone"`), every further
//! row is a node. A cell has the value of its key; an empty cell leaves the key unset.

use ichor_values::tree::Forest;
use ichor_values::{FileIssue, Location};

/// One step of a column's key path.
#[derive(Clone, Debug, PartialEq)]
enum PathStep {
    Key(String),
    Item(usize),
}

/// A value being built from the cells of a row.
enum RowValue {
    Leaf(u32),
    Map(Vec<(String, Location, RowValue)>),
    List(Vec<RowValue>),
}

/// Adds the rows of the table `text` to `forest` as a list of maps, and returns the list.
pub fn read_rows<'s>(
    file: u16,
    text: &'s str,
    forest: &mut Forest<'s>,
    problems: &mut Vec<FileIssue>,
) -> u32 {
    let start = Location { file, line: 1, column: 1, length: 0 };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let mut columns: Option<Vec<(Vec<PathStep>, String)>> = None;
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
        let places = cell_places(
            file,
            u32::try_from(line).unwrap_or(u32::MAX),
            text.get(offset..).unwrap_or_default(),
        );
        let place = |nth: usize| {
            places
                .get(nth)
                .copied()
                .unwrap_or(Location { line: u32::try_from(line).unwrap_or(u32::MAX), ..start })
        };
        let Some(columns) = &columns else {
            columns = Some(read_header(&record, &place, problems));
            continue;
        };
        if record.len() != columns.len() {
            let message = format!("{} cells in a table of {} columns", record.len(), columns.len());
            problems.push(
                FileIssue::new("nodes", place(0), message).want("want as many cells as the first row has"),
            );
            continue;
        }
        nodes.push(read_row(&record, columns, &place, forest, problems));
    }
    forest.list(start, nodes)
}

fn read_header(
    record: &csv::StringRecord,
    place: &dyn Fn(usize) -> Location,
    problems: &mut Vec<FileIssue>,
) -> Vec<(Vec<PathStep>, String)> {
    let mut columns: Vec<(Vec<PathStep>, String)> = Vec::new();
    for (nth, name) in record.iter().enumerate() {
        let path = parse_key_path(name.trim()).unwrap_or_default();
        if path.is_empty() {
            let problem = FileIssue::new("nodes", place(nth), "not a key path");
            problems.push(problem.want("want a key path such as name, macs[0] or vm.cores"));
        } else if columns.iter().any(|(other, _)| *other == path) {
            problems.push(
                FileIssue::new("nodes", place(nth), "duplicate column").want("want each key path once"),
            );
        }
        columns.push((path, name.trim().to_owned()));
    }
    columns
}

fn read_row<'s>(
    record: &csv::StringRecord,
    columns: &[(Vec<PathStep>, String)],
    place: &dyn Fn(usize) -> Location,
    forest: &mut Forest<'s>,
    problems: &mut Vec<FileIssue>,
) -> u32 {
    let mut root = RowValue::Map(Vec::new());
    for (nth, (cell, (path, name))) in record.iter().zip(columns).enumerate() {
        let cell = cell.trim();
        if cell.is_empty() || path.is_empty() {
            continue;
        }
        let leaf = read_cell(cell, place(nth), forest, problems);
        if !insert_value(&mut root, path, leaf, place(nth)) {
            problems.push(FileIssue::new(
                "nodes",
                place(nth),
                format!("`{name}` conflicts with another column"),
            ));
        }
    }
    build_tree(root, place(0), forest)
}

/// Reads a cell: a YAML list or map if it is in brackets, else a scalar.
fn read_cell<'s>(cell: &str, place: Location, forest: &mut Forest<'s>, problems: &mut Vec<FileIssue>) -> u32 {
    if cell.starts_with(['[', '{']) {
        let mut own = Vec::new();
        if let Some(id) = forest.parse_cell(place, cell, &mut own) {
            return id;
        }
        problems.extend(own);
    }
    forest.scalar(place, cell.to_owned(), true)
}

fn insert_value(branch: &mut RowValue, path: &[PathStep], leaf: u32, place: Location) -> bool {
    let Some((step, rest)) = path.split_first() else { return false };
    let fresh = || match rest.first() {
        None => RowValue::Leaf(leaf),
        Some(PathStep::Key(_)) => RowValue::Map(Vec::new()),
        Some(PathStep::Item(_)) => RowValue::List(Vec::new()),
    };
    let next = match (branch, step) {
        (RowValue::Map(entries), PathStep::Key(key)) => {
            match entries.iter().position(|(name, ..)| name == key) {
                Some(at) => &mut entries[at].2,
                None => {
                    entries.push((key.clone(), place, fresh()));
                    let at = entries.len() - 1;
                    &mut entries[at].2
                }
            }
        }
        (RowValue::List(items), PathStep::Item(_)) => {
            // Cells left empty leave no gap: the item goes to the end.
            items.push(fresh());
            let at = items.len() - 1;
            &mut items[at]
        }
        _ => return false,
    };
    rest.is_empty() || insert_value(next, rest, leaf, place)
}

fn build_tree(branch: RowValue, place: Location, forest: &mut Forest<'_>) -> u32 {
    match branch {
        RowValue::Leaf(id) => id,
        RowValue::List(items) => {
            let items: Vec<_> = items.into_iter().map(|item| build_tree(item, place, forest)).collect();
            forest.list(place, items)
        }
        RowValue::Map(entries) => {
            let mut parts = Vec::new();
            for (key, at, value) in entries {
                let value = build_tree(value, at, forest);
                parts.extend([forest.scalar(at, key, false), value]);
            }
            forest.map(place, parts)
        }
    }
}

/// Splits a key path such as `macs[0]` into steps; a key with dots is quoted.
fn parse_key_path(path: &str) -> Option<Vec<PathStep>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('[') {
            let (number, tail) = tail.split_once(']')?;
            steps.push(PathStep::Item(number.parse().ok()?));
            rest = tail.strip_prefix('.').unwrap_or(tail);
        } else if let Some(tail) = rest.strip_prefix('"') {
            let (key, tail) = tail.split_once('"')?;
            steps.push(PathStep::Key(key.to_owned()));
            rest = tail.strip_prefix('.').unwrap_or(tail);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            steps.push(PathStep::Key(rest[..end].to_owned()));
            rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
        }
    }
    Some(steps)
}

/// The places of the cells in the row at the start of `text`.
fn cell_places(file: u16, line: u32, text: &str) -> Vec<Location> {
    let mut places = Vec::new();
    let (mut from, mut quoted) = (1, false);
    let mut column = 1;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' | '\n' if !quoted => {
                places.push(Location {
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
    places.push(Location {
        file,
        line,
        column: from,
        length: u16::try_from(column - from).unwrap_or(u16::MAX),
    });
    places
}
