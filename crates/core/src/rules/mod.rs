//! Findings about a cluster file that ichor can plan.
//!
//! A [`Rule`] has a stable ID, a severity, the failure it prevents, a fix and a function that checks a [`RuleContext`].
//! Rules on one subject share a file, and related subjects a folder, which lists them in `GROUPS`. [`check`] applies all
//! rules to one cluster, [`clash::compare`] compares several clusters.
//!
//! `affected_nodes` lists the nodes of a finding; a layer of the cluster file has its key. Patches and other files come
//! from [`attachment`](crate::plan::attachment) and [`patch`]; [`check`] applies `silence` last.

mod address;
pub(crate) mod affected_nodes;
mod api;
pub mod clash;
mod identity;
mod machine;
mod patch;
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

/// A check of the cluster file.
pub struct Rule {
    /// Stable ID, in lower case with dashes.
    pub id: &'static str,
    /// Severity of its findings.
    pub severity: Severity,
    /// The problem, in one line.
    pub summary: &'static str,
    /// The failure that follows if the problem remains.
    pub failure: &'static str,
    /// The fix.
    pub fix: &'static str,
    /// Reports findings.
    pub check: fn(&RuleContext<'_>, &mut Findings),
}

impl Rule {
    /// The explanation that `ichor explain` prints.
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

/// Inputs of rules.
#[derive(Debug)]
pub struct RuleContext<'c> {
    /// The resolved cluster file.
    pub cluster: &'c Cluster,
    /// Its plan.
    pub plan: &'c Plan,
    /// The files that it names.
    pub attachments: &'c Attachments,
}

impl NodePlan {
    /// The node's keys as written in the file: rules report values together with their locations.
    #[expect(clippy::disallowed_methods, reason = "rules alone look at the file")]
    pub(in crate::rules) fn written(&self) -> &NodeSettings {
        self.file_keys()
    }
}

/// Collects the findings of one rule.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<(String, Location, String)>,
}

impl Findings {
    /// Adds a finding about the key `path`, which is at `place`.
    pub fn add(&mut self, path: impl Into<String>, place: Location, message: impl Into<String>) {
        self.list.push((path.into(), place, message.into()));
    }
}

/// A violation of a rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The problem. Its subject is the key path; severity and help are the rule's.
    pub issue: Issue,
    /// The location to mark.
    pub place: Location,
    /// The reason for which the file silences it.
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

/// Explanations by subject: those of the rules and of the findings about boot media.
pub fn explanations() -> Vec<(&'static str, Vec<Explanation>)> {
    let groups = GROUPS.into_iter().flatten();
    let rules = groups.map(|(subject, rules)| (*subject, rules.iter().map(Rule::explanation).collect()));
    rules.chain([("Boot media", ichor_image::inspect::rules::ALL.to_vec())]).collect()
}

/// The rule with this ID.
pub(crate) fn find_rule(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

/// Locations of clear-text secrets in `cluster`, whose lines must not be quoted.
pub fn secret_locations(cluster: &Cluster) -> Vec<Location> {
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

/// Applies every rule. Findings are sorted by severity, then by location.
pub fn check(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in all() {
        let mut collected = Findings::default();
        (rule.check)(context, &mut collected);
        let collected = collected.list.into_iter();
        findings.extend(collected.map(|(path, place, message)| Finding::new(rule, path, place, message)));
    }
    silence::apply(context.cluster, &mut findings);
    findings.sort_by(|a, b| b.issue.severity.cmp(&a.issue.severity).then(a.place.cmp(&b.place)));
    findings
}
