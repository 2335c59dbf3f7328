//! Issues for programs.

use ichor_core::bringup::Blocker;
use ichor_core::rules::Finding;
use ichor_image::inspect::Mistake;
use ichor_values::{FileIssue, Issue, Place, Sources};
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

/// The keys that a format has for the parts of an issue; a part without one is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IssueKeys {
    severity: Option<&'static str>,
    subject: Option<&'static str>,
    message: &'static str,
    help: Option<&'static str>,
}

impl IssueKeys {
    /// What keeps a file from being understood.
    const PROBLEM: Self =
        Self { severity: None, subject: Some("path"), message: "message", help: Some("want") };
    /// What a rule finds.
    const FINDING: Self =
        Self { severity: Some("severity"), subject: Some("path"), message: "message", help: Some("fix") };
    /// What is wrong with boot media as a whole.
    const MISTAKE: Self = Self { subject: None, ..Self::FINDING };
    /// What is in the way of a node of `up`, whose name is told beside it.
    const REFUSED: Self = Self { subject: None, ..Self::IN_THE_WAY };
    /// What is wrong under a key path, where nothing is advised.
    pub(crate) const AT_PATH: Self =
        Self { severity: None, subject: Some("path"), message: "message", help: None };
    /// What is in the way of a node, a hypervisor or etcd.
    pub(crate) const IN_THE_WAY: Self =
        Self { severity: None, subject: Some("at"), message: "reason", help: Some("remedy") };
    /// What is in the way of a node.
    pub(crate) const OF_NODE: Self =
        Self { severity: None, subject: Some("node"), message: "reason", help: Some("remedy") };
}

/// An issue under the keys of a format, with the place of its subject.
fn located(issue: &Issue, keys: IssueKeys, place: Map<String, Value>) -> Map<String, Value> {
    let mut object = Map::new();
    object.extend(keys.severity.map(|key| (key.to_owned(), json!(issue.severity.to_string()))));
    object.extend(keys.subject.map(|key| (key.to_owned(), json!(issue.subject))));
    object.extend(place);
    object.insert(keys.message.to_owned(), json!(issue.message));
    object.extend(keys.help.map(|key| (key.to_owned(), json!(issue.help))));
    object
}

/// An issue under the keys of a format.
pub(crate) fn issue(issue: &Issue, keys: IssueKeys) -> Value {
    Value::Object(located(issue, keys, Map::new()))
}

/// What is wrong with boot media.
pub(crate) fn mistake(mistake: &Mistake) -> Value {
    let mut object = Map::from_iter([("rule".to_owned(), json!(mistake.rule.id))]);
    object.extend(located(&mistake.issue, IssueKeys::MISTAKE, Map::new()));
    Value::Object(object)
}

/// What blocks a node, or the cluster where there is none.
pub(crate) fn refused(node: Option<&str>, blocker: &Blocker) -> Value {
    let at = blocker.at;
    let mut object = Map::from_iter([
        ("node".to_owned(), json!(node)),
        ("address".to_owned(), json!(at.map(|at| at.address))),
        ("stage".to_owned(), json!(at.map(|at| at.stage))),
    ]);
    object.extend(located(&blocker.issue, IssueKeys::REFUSED, Map::new()));
    Value::Object(object)
}

/// One problem.
pub(crate) fn problem(sources: &Sources, problem: &FileIssue) -> Value {
    let mut object = located(&problem.issue, IssueKeys::PROBLEM, place(sources, problem.place));
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
    object.extend(located(&finding.issue, IssueKeys::FINDING, place(sources, finding.place)));
    object.insert("silenced".to_owned(), json!(finding.silenced));
    Value::Object(object)
}

/// A reference to a secret that gives nothing.
pub(crate) fn unresolved(sources: &Sources, reference: &FileIssue) -> Value {
    Value::Object(located(&reference.issue, IssueKeys::AT_PATH, place(sources, reference.place)))
}
