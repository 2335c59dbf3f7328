//! Issues as JSON.
//!
//! Every issue has the keys `severity`, `subject`, `message` and `help`, and if known its location in a file and the
//! rule that reports it.

use ichor_core::bringup::Blocker;
use ichor_core::rules::Finding;
use ichor_image::inspect::MediaProblem;
use ichor_values::{FileIssue, Issue, Location, Sources};
use serde_json::{Map, Value, json};

/// The location in a source file: `file`, `line` and `column`; empty if unknown.
pub(crate) fn location(sources: &Sources, place: Location) -> Map<String, Value> {
    let mut object = Map::new();
    if let Some(source) = sources.source(place).filter(|_| place != Location::default()) {
        object.insert("file".to_owned(), json!(source.name));
        object.insert("line".to_owned(), json!(place.line));
        object.insert("column".to_owned(), json!(place.column));
    }
    object
}

/// An issue with the location of its subject.
fn located(issue: &Issue, place: Map<String, Value>) -> Map<String, Value> {
    let subject = Some(&issue.subject).filter(|subject| !subject.is_empty());
    let mut object = Map::new();
    object.insert("severity".to_owned(), json!(issue.severity.to_string()));
    object.insert("subject".to_owned(), json!(subject));
    object.extend(place);
    object.insert("message".to_owned(), json!(issue.message));
    object.insert("help".to_owned(), json!(issue.help));
    object
}

/// An issue without a location.
pub(crate) fn issue(issue: &Issue) -> Value {
    Value::Object(located(issue, Map::new()))
}

/// A mistake in boot media.
pub(crate) fn mistake(mistake: &MediaProblem) -> Value {
    let mut object = Map::from_iter([("rule".to_owned(), json!(mistake.rule.id))]);
    object.extend(located(&mistake.issue, Map::new()));
    Value::Object(object)
}

/// The blocker of a node, or of the cluster without `node`.
pub(crate) fn refused(node: Option<&str>, blocker: &Blocker) -> Value {
    let at = blocker.at;
    json!({
        "node": node,
        "address": at.map(|at| at.address),
        "address_stage": at.map(|at| at.stage),
        "message": blocker.issue.message,
        "help": blocker.issue.help,
    })
}

/// A problem of a cluster file.
pub(crate) fn problem(sources: &Sources, problem: &FileIssue) -> Value {
    let mut object = located(&problem.issue, location(sources, problem.place));
    if let Some((at, note)) = &problem.also {
        let mut related = location(sources, *at);
        related.insert("message".to_owned(), json!(note));
        object.insert("related".to_owned(), Value::Object(related));
    }
    Value::Object(object)
}

/// A finding of a rule.
pub(crate) fn finding(sources: &Sources, finding: &Finding) -> Value {
    let mut object = Map::from_iter([("rule".to_owned(), json!(finding.rule.id))]);
    object.extend(located(&finding.issue, location(sources, finding.place)));
    object.insert("silenced".to_owned(), json!(finding.silenced));
    Value::Object(object)
}

/// A reference to a secret that does not resolve.
pub(crate) fn unresolved(sources: &Sources, reference: &FileIssue) -> Value {
    Value::Object(located(&reference.issue, location(sources, reference.place)))
}
