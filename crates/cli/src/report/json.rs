//! Problems and findings for programs.

use ichor_core::rules::Finding;
use ichor_values::Problem;
use ichor_values::{Place, Sources};
use serde_json::{Map, Value, json};

fn place(sources: &Sources, place: Place) -> Map<String, Value> {
    let mut object = Map::new();
    if let Some(source) = sources.source(place).filter(|_| place != Place::default()) {
        object.insert("file".to_owned(), json!(source.name));
        object.insert("line".to_owned(), json!(place.line));
        object.insert("column".to_owned(), json!(place.column));
    }
    object
}

/// One problem.
pub(crate) fn problem(sources: &Sources, problem: &Problem) -> Value {
    let mut object = Map::new();
    object.insert("path".to_owned(), json!(problem.path));
    object.extend(place(sources, problem.place));
    object.insert("message".to_owned(), json!(problem.message));
    object.insert("want".to_owned(), json!(problem.want));
    if let Some((at, note)) = &problem.also {
        let mut also = place(sources, *at);
        also.insert("message".to_owned(), json!(note));
        object.insert("also".to_owned(), Value::Object(also));
    }
    Value::Object(object)
}

/// One finding.
pub(crate) fn finding(sources: &Sources, finding: &Finding) -> Value {
    let mut object = Map::new();
    object.insert("rule".to_owned(), json!(finding.rule.id));
    object.insert("severity".to_owned(), json!(finding.rule.severity.to_string()));
    object.insert("path".to_owned(), json!(finding.path));
    object.extend(place(sources, finding.place));
    object.insert("message".to_owned(), json!(finding.message));
    object.insert("fix".to_owned(), json!(finding.rule.fix));
    object.insert("silenced".to_owned(), json!(finding.silenced));
    Value::Object(object)
}

/// A reference to a secret that gives nothing.
pub(crate) fn unresolved(sources: &Sources, path: &str, at: Place, reason: &str) -> Value {
    let mut object = Map::new();
    object.insert("path".to_owned(), json!(path));
    object.extend(place(sources, at));
    object.insert("message".to_owned(), json!(reason));
    Value::Object(object)
}
