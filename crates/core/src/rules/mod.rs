//! Findings about a cluster file that ichor can plan.
//!
//! A [`Rule`] has a stable id, a severity, the failure it prevents, a fix, and a function that looks at the [`Context`]. Rules on one
//! subject share a file, subjects that belong together a folder; the list of a folder is its `GROUPS`. [`check`] applies
//! all of them to one cluster, [`clash::across`] compares several.
//!
//! Rules say what is wrong of nodes by a `roll`, and under which key by a `rung`. What they know of patches and other
//! files comes from [`attachment`](crate::plan::attachment) and [`patch`]; [`check`] applies `silence` last.

mod address;
mod api;
pub mod clash;
mod identity;
mod machine;
mod patch;
pub(crate) mod roll;
mod routing;
mod silence;
mod tunnel;

use std::fmt;

use crate::cluster::section::NodeSettings;
use crate::model::Cluster;
use crate::plan::attachment::Attachments;
use crate::plan::{NodePlan, Plan};
use ichor_talos::document;
use ichor_talos::secret_value;
pub use ichor_values::Severity;
use ichor_values::{Explanation, Issue, Location};

/// One thing that can be wrong.
pub struct Rule {
    /// Its id: stable, in lower case with dashes.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub summary: &'static str,
    /// What fails, for whom and when, if the problem stays.
    pub failure: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// Looks for it.
    pub check: fn(&RuleContext<'_>, &mut Findings),
}

impl Rule {
    /// What it says of itself.
    pub(crate) fn explanation(&self) -> Explanation {
        let Self { id, severity, summary, failure, fix, check: _ } = *self;
        Explanation { id, severity, summary, failure, fix }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// What rules look at.
#[derive(Debug)]
pub struct RuleContext<'c> {
    /// The file, resolved.
    pub cluster: &'c Cluster,
    /// What was decided.
    pub plan: &'c Plan,
    /// The files it names.
    pub attachments: &'c Attachments,
}

impl NodePlan {
    /// The node's keys as the file has them: rules report what is written, and where.
    #[expect(clippy::disallowed_methods, reason = "rules alone look at the file")]
    pub(in crate::rules) fn written(&self) -> &NodeSettings {
        self.file_keys()
    }
}

/// Collects what one rule finds.
#[derive(Debug, Default)]
pub struct Findings {
    found: Vec<(String, Location, String)>,
}

impl Findings {
    /// Reports the rule at `path`, which stands at `place`, with what is wrong there.
    pub fn at(&mut self, path: impl Into<String>, place: Location, message: impl Into<String>) {
        self.found.push((path.into(), place, message.into()));
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// What is wrong here. The subject is the key path; severity and help are the rule's.
    pub issue: Issue,
    /// The place to mark.
    pub place: Location,
    /// Why it is accepted, when the file says so.
    pub silenced: Option<String>,
}

impl Finding {
    fn new(
        rule: &'static Rule,
        path: impl Into<String>,
        place: Location,
        message: impl Into<String>,
    ) -> Self {
        Self { rule, issue: rule.explanation().issue(path, message), place, silenced: None }
    }
}

/// A subject and its rules.
pub(crate) type RuleGroup = (&'static str, &'static [Rule]);

/// The rules by folder and subject, in the order of the reference.
pub(crate) const GROUPS: [&[RuleGroup]; 9] = [
    identity::GROUPS,
    address::GROUPS,
    api::GROUPS,
    routing::GROUPS,
    machine::GROUPS,
    patch::GROUPS,
    tunnel::GROUPS,
    clash::GROUPS,
    silence::GROUPS,
];

/// Every rule, in the order of the reference.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    GROUPS.into_iter().flatten().flat_map(|(_, rules)| rules.iter())
}

/// What all that can be wrong says of itself, by subject: the rules, and what inspecting boot media reports.
pub fn explanations() -> Vec<(&'static str, Vec<Explanation>)> {
    let groups = GROUPS.into_iter().flatten();
    let rules = groups.map(|(subject, rules)| (*subject, rules.iter().map(Rule::explanation).collect()));
    rules.chain([("Boot media", ichor_image::inspect::rules::ALL.to_vec())]).collect()
}

/// The rule of this id.
pub(crate) fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

/// Where `cluster` has secrets written out that must not be quoted when a line is shown.
pub fn secret_places(cluster: &Cluster) -> Vec<Location> {
    let mut places = Vec::new();
    for layer in crate::model::layer::all_layers(cluster) {
        let args = layer.settings.kernel.get().into_iter().flat_map(|kernel| kernel.args.items());
        let secret = args.filter(|arg| secret_value::in_kernel_arg(arg.value.as_str()).is_some());
        places.extend(secret.map(|arg| arg.place));
        if let Some(schematic) = layer.settings.image.get().and_then(|image| image.schematic.at())
            && !secret_value::in_schematic(&document::from_any(schematic.value)).is_empty()
        {
            places.push(schematic.place);
        }
    }
    places
}

/// Applies every rule: the worst first, then in the order of the file.
pub fn check(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in all() {
        let mut found = Findings::default();
        (rule.check)(context, &mut found);
        let found = found.found.into_iter();
        findings.extend(found.map(|(path, place, message)| Finding::new(rule, path, place, message)));
    }
    silence::apply(context.cluster, &mut findings);
    findings.sort_by(|a, b| b.issue.severity.cmp(&a.issue.severity).then(a.place.cmp(&b.place)));
    findings
}
