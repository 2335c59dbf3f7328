//! Intents of the cluster file, and whether they are satisfied.

use super::ProofModel;
use super::analysis::FailureAnalysis;
use super::examples::Examples;
use super::text::summarize_names;
use crate::plan::backend::LimitationKind;
use crate::plan::{NodePlan, Plan};
use crate::routing::protected::forbidden;
use ichor_bgp::model::PrefixFilter;

/// A property that must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// ID.
    pub id: &'static str,
    /// Description.
    pub description: &'static str,
    /// Violations.
    pub broken: Examples,
    /// Warnings: where it holds without redundancy, or cannot be analysed.
    pub remarks: Examples,
}

impl Intent {
    fn new(id: &'static str, description: &'static str, broken: Examples) -> Self {
        Self { id, description, broken, remarks: Examples::default() }
    }

    fn with_remarks(self, remarks: Examples) -> Self {
        Self { remarks, ..self }
    }
}

/// The result of an analysis.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The intents and their violations.
    pub intents: Vec<Intent>,
    /// Reachability, without and with failures.
    pub study: FailureAnalysis,
}

impl Proof {
    /// Combines all results. Intents that do not apply are omitted.
    pub fn new(plan: &Plan, subject: &ProofModel, study: FailureAnalysis) -> Self {
        let mut intents = vec![
            Intent::new("sessions", "every session comes up", subject.down_sessions())
                .with_remarks(limitation_remarks(plan, subject)),
        ];
        let has_speakers = subject.network.nodes.iter().any(|model| model.workload.is_some());
        if has_speakers {
            let mut problems = speaker_problems(subject);
            problems.join(study.overridden_speakers.clone());
            intents.push(Intent::new("speakers", "every speaker's session comes up", problems));
        }
        if subject.destinations.is_empty() {
            intents.push(no_destinations());
        } else {
            intents.extend(reachability_intents(subject, &study));
        }
        if has_speakers {
            intents.push(Intent::new(
                "guarded",
                "no default route and no prefix of the fabric is accepted from the speaker",
                import_leaks(plan, subject),
            ));
            let no_export = Intent::new("silent", "nothing is announced to the speaker", Examples::default());
            intents.push(no_export.with_remarks(template_remarks(plan)));
        }
        Self { intents, study }
    }

    /// Whether every intent is satisfied, and every failure leaves what is still connected reachable.
    pub fn holds(&self) -> bool {
        self.intents.iter().all(|intent| intent.broken.is_empty())
            && self.study.outcomes.values().all(|outcome| outcome.broken.is_empty())
    }

    /// Whether something has no redundancy, or cannot be analysed.
    pub fn has_warnings(&self) -> bool {
        self.intents.iter().any(|intent| !intent.remarks.is_empty())
            || self.study.outcomes.values().any(|outcome| !outcome.alone.is_empty())
    }
}

/// The intents for announced prefixes.
fn reachability_intents(subject: &ProofModel, study: &FailureAnalysis) -> Vec<Intent> {
    let mut undelivered = study.unstable.clone();
    undelivered.join(study.dropped.clone());
    let reached = Intent::new(
        "reached",
        "every router reaches every loopback, service and anycast address",
        study.unreached.clone(),
    );
    let them = if subject.network.routers.is_empty() {
        "every node reaches every loopback, service and anycast address"
    } else {
        "every node reaches them"
    };
    let others = [
        Intent::new("together", them, study.unreached_by_nodes.clone())
            .with_remarks(study.default_only.clone()),
        Intent::new("delivered", "BGP converges, and no packet is dropped or loops", undelivered),
        Intent::new("transit", "no node provides transit", study.transit.clone()),
    ];
    let reached = Some(reached).filter(|_| !subject.network.routers.is_empty());
    reached.into_iter().chain(others).collect()
}

/// Replaces the reachability intents if nothing is announced, because they would be satisfied vacuously.
fn no_destinations() -> Intent {
    let mut remarks = Examples::default();
    remarks.add(|| {
        "nothing is announced: no node advertises an address, and no speaker has a pool to announce from"
            .to_owned()
    });
    Intent::new("announced", "announced prefixes are reached", Examples::default()).with_remarks(remarks)
}

/// One example for all nodes with the same text.
fn group_by_text<'a>(texts: impl IntoIterator<Item = (String, &'a str)>) -> Examples {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (words, node) in texts {
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, nodes)) => nodes.push(node),
            None => groups.push((words, vec![node])),
        }
    }
    let mut tally = Examples::default();
    for (words, nodes) in groups {
        tally.add_group(nodes.len(), || format!("{}: {words}", summarize_names(nodes)));
    }
    tally
}

fn speaker_problems(subject: &ProofModel) -> Examples {
    let nodes = subject.network.nodes.iter().zip(&subject.speaker_faults);
    group_by_text(nodes.filter_map(|(model, fault)| Some((fault.clone()?, model.name.as_str()))))
}

/// Requested features that backends do not support. A Talos release without the backend is reported with the sessions that it
/// keeps down.
fn limitation_remarks(plan: &Plan, subject: &ProofModel) -> Examples {
    let has_sessions = |node: &NodePlan| {
        let model = subject.network.nodes.iter().find(|model| model.nth == node.nth);
        model.is_some_and(|model| !model.fabric.neighbors.is_empty())
    };
    let routing = plan.nodes.iter().filter_map(|node| Some((node, node.routing.as_deref()?)));
    group_by_text(routing.flat_map(|(node, routing)| {
        let lacks = routing
            .limitations
            .iter()
            .filter(move |lack| lack.kind != LimitationKind::Release || !has_sessions(node));
        lacks.map(move |lack| {
            let words = format!("{} does not support {}: {}", routing.backend.value, lack.what, lack.why);
            (words, node.name.as_str())
        })
    }))
}

/// Nodes with a custom template, whose content is not analysed.
fn template_remarks(plan: &Plan) -> Examples {
    let has_template = |node: &&NodePlan| node.routing.as_deref().is_some_and(|it| it.template.is_some());
    let own = plan.nodes.iter().filter(has_template);
    let words = "a custom template is used, which is not analysed";
    group_by_text(own.map(|node| (words.to_owned(), node.name.as_str())))
}

/// Forbidden prefixes that the filter toward a speaker would accept.
fn import_leaks(plan: &Plan, subject: &ProofModel) -> Examples {
    let probes = forbidden(plan);
    let speaking = subject.network.nodes.iter().filter_map(|model| Some((model, model.workload.as_ref()?)));
    let mut filters: Vec<(Vec<&str>, &PrefixFilter)> = Vec::new();
    for (model, workload) in speaking {
        match filters.iter_mut().find(|(_, known)| **known == workload.filter) {
            Some((nodes, _)) => nodes.push(model.name.as_str()),
            None => filters.push((vec![model.name.as_str()], &workload.filter)),
        }
    }
    let mut tally = Examples::default();
    for (nodes, filter) in filters {
        for probe in probes.iter().filter(|probe| filter.admits(**probe)) {
            tally.add_group(nodes.len(), || {
                format!("{} would accept {probe} from the speaker", summarize_names(nodes.iter().copied()))
            });
        }
    }
    tally
}
