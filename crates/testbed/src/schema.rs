//! The JSON Schemas in `docs/schemas`, against which tests validate every document that ichor writes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of the schemas.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

/// The names of all schemas, sorted.
pub fn names() -> Vec<String> {
    let files =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = |file: String| {
        file.strip_suffix(".schema.json").unwrap_or_else(|| panic!("{file}: not a schema")).to_owned()
    };
    let mut names: Vec<_> = files.map(name).collect();
    names.sort();
    names
}

/// The schema of a name.
pub fn read(name: &str) -> Value {
    let path = folder().join(format!("{name}.schema.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every difference between documents and their schema; empty if they are valid.
pub fn errors<'d>(name: &str, documents: impl IntoIterator<Item = &'d Value>) -> Vec<String> {
    let schema = read(name);
    let validator = jsonschema::options().should_validate_formats(true).build(&schema);
    let validator = validator.unwrap_or_else(|error| panic!("{name}: not a JSON Schema: {error}"));
    let errors = documents.into_iter().flat_map(|document| {
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path()))
    });
    errors.collect()
}

/// Asserts that a document is valid.
pub fn assert_valid(name: &str, document: &Value) {
    let errors = errors(name, [document]);
    assert!(errors.is_empty(), "not valid for docs/schemas/{name}.schema.json: {errors:#?}\n{document:#}");
}
