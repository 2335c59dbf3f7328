//! Official extensions and the Talos releases that have them.

use crate::plan::{ImagePlan, NodePlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::catalogue::{self, Availability};
use ichor_talos::document;
use ichor_values::{Location, TalosVersion};

pub(super) const RULES: &[Rule] = &[UNKNOWN_EXTENSION];

const UNKNOWN_EXTENSION: Rule = Rule {
    id: "unknown-extension",
    severity: Severity::Error,
    summary: "a node's Talos release does not have an official extension",
    failure: "The Image Factory accepts a schematic with any name. The error appears when the first machine pulls its \
              installer or boots its image, for example in the middle of an upgrade.",
    fix: "correct the name, remove the extension, or use a Talos release that has it; silence the finding if your own \
          Image Factory has the extension",
    check: |context, findings| check_extensions(context, catalogue::covers, unavailable, findings),
};

/// Reports written official extensions of nodes whose release `concerns` the caller, with the message of `problem`.
fn check_extensions(
    context: &RuleContext<'_>,
    concerns: fn(&TalosVersion) -> bool,
    problem: fn(&str, &TalosVersion) -> Option<String>,
    findings: &mut Findings,
) {
    let mut problems = NodesByProblem::new(context.plan);
    let is_made = |node: &NodePlan| matches!(node.boot.image.value, ImagePlan::Made(_));
    for (node, kind) in context.plan.by_class() {
        let talos = &node.talos.value;
        if !is_made(node) || !concerns(talos) {
            continue;
        }
        for (key, place, name) in official_extensions(node) {
            if let Some(message) = problem(&name, talos) {
                problems.add_message(key, Some(place), message, &kind.nodes);
            }
        }
    }
    problems.report(context, findings);
}

/// The official extensions that the file names for a node, with their key and location.
fn official_extensions(node: &NodePlan) -> Vec<(&'static str, Location, String)> {
    let written = node.written();
    let own =
        written.extensions.items().map(|name| ("extensions", name.place, name.value.as_str().to_owned()));
    let mut all: Vec<_> = own.collect();
    if let Some(schematic) = written.image.get().and_then(|image| image.schematic.at()) {
        let schematic_names = document::from_any(schematic.value);
        let listed = document::items(&schematic_names, "/customization/systemExtensions/officialExtensions");
        let names = listed.filter_map(|(_, name)| name.as_str());
        all.extend(names.map(|name| ("image.schematic", schematic.place, name.to_owned())));
    }
    // Other names are those of images, which `extension-not-official` rejects for the Image Factory.
    all.retain(|(_, _, name)| {
        name.strip_prefix("siderolabs/").is_some_and(|name| !name.contains(['/', ':']))
    });
    all
}

fn suggestion(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean siderolabs/{near}?")).unwrap_or_default()
}

/// The problem with an extension for a release that the catalogue covers.
fn unavailable(name: &str, talos: &TalosVersion) -> Option<String> {
    Some(match catalogue::availability(name, talos) {
        Availability::Available => return None,
        Availability::From(first) => format!("{name} exists from Talos {first} on, not for {talos}"),
        Availability::Until(last) => format!("{name} exists up to Talos {last}, not for {talos}"),
        Availability::Unknown(near) => format!("Talos {talos} has no extension {name}{}", suggestion(near)),
    })
}

/// The problem with an extension for a release newer than the catalogue, which may have extensions that ichor does not know.
fn unverified(name: &str, talos: &TalosVersion) -> Option<String> {
    match catalogue::availability(name, talos) {
        Availability::Available | Availability::From(_) => None,
        Availability::Until(last) => {
            Some(format!("{name} exists up to Talos {last}, and perhaps not for {talos}"))
        }
        Availability::Unknown(near) => Some(format!(
            "no release that ichor knows has the extension {name}, perhaps {talos} has it{}",
            suggestion(near)
        )),
    }
}

/// Reports extensions that cannot be verified, because the release is newer than the catalogue.
pub(super) fn check_unverified(context: &RuleContext<'_>, findings: &mut Findings) {
    check_extensions(context, |talos| !catalogue::covers(talos), unverified, findings);
}
