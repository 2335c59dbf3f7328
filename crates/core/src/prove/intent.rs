//! What the cluster file intends, and whether it comes of it.

use super::ProofModel;
use super::sentence::crowd;
use super::study::FailureAnalysis;
use super::tally::Examples;
use crate::plan::backend::LimitationKind;
use crate::plan::{NodePlan, Plan};
use crate::routing::protected::forbidden;
use ichor_bgp::model::PrefixFilter;

/// Something that is meant to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Its name.
    pub id: &'static str,
    /// What is meant.
    pub says: &'static str,
    /// Where it does not hold.
    pub broken: Examples,
    /// What else is to be known about it: where it holds by luck, or cannot be looked into.
    pub remarks: Examples,
}

impl Intent {
    fn of(id: &'static str, says: &'static str, broken: Examples) -> Self {
        Self { id, says, broken, remarks: Examples::default() }
    }

    fn with(self, remarks: Examples) -> Self {
        Self { remarks, ..self }
    }
}

/// The whole answer.
#[derive(Clone, Debug)]
pub struct Proof {
    /// What is meant, and whether it holds.
    pub intents: Vec<Intent>,
    /// What was found.
    pub study: FailureAnalysis,
}

impl Proof {
    /// Puts together what was found. What there is nobody to hold for is left out.
    pub fn of(plan: &Plan, subject: &ProofModel, study: FailureAnalysis) -> Self {
        let mut intents = vec![
            Intent::of("sessions", "every session comes up", subject.down())
                .with(limitation_remarks(plan, subject)),
        ];
        let speaks = subject.network.nodes.iter().any(|model| model.workload.is_some());
        if speaks {
            let mut heard = speaker_problems(subject);
            heard.join(study.outdone.clone());
            intents.push(Intent::of("speakers", "every speaker's session comes up", heard));
        }
        if subject.destinations.is_empty() {
            intents.push(no_destinations());
        } else {
            intents.extend(reachability_intents(subject, &study));
        }
        if speaks {
            intents.push(Intent::of(
                "guarded",
                "no default route and no prefix of the fabric is accepted from the speaker",
                import_leaks(plan, subject),
            ));
            let silent = Intent::of("silent", "nothing is announced to the speaker", Examples::default());
            intents.push(silent.with(template_remarks(plan)));
        }
        Self { intents, study }
    }

    /// Whether everything that is meant holds, also after every set of failures as far as a way is left.
    pub fn holds(&self) -> bool {
        self.intents.iter().all(|intent| intent.broken.is_empty())
            && self.study.outcomes.values().all(|outcome| outcome.broken.is_empty())
    }

    /// Whether something hangs by a single thread, or cannot be known.
    pub fn has_warnings(&self) -> bool {
        self.intents.iter().any(|intent| !intent.remarks.is_empty())
            || self.study.outcomes.values().any(|outcome| !outcome.alone.is_empty())
    }
}

/// What is meant for all that is announced.
fn reachability_intents(subject: &ProofModel, study: &FailureAnalysis) -> Vec<Intent> {
    let mut restful = study.restless.clone();
    restful.join(study.dropped.clone());
    let reached = Intent::of(
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
        Intent::of("together", them, study.apart.clone()).with(study.led.clone()),
        Intent::of("delivered", "BGP converges, and no packet is dropped or loops", restful),
        Intent::of("transit", "no node provides transit", study.through.clone()),
    ];
    let reached = Some(reached).filter(|_| !subject.network.routers.is_empty());
    reached.into_iter().chain(others).collect()
}

/// In place of what would hold of everything, because there is nothing.
fn no_destinations() -> Intent {
    let mut remarks = Examples::default();
    remarks.add(|| {
        "nothing is announced: no node advertises an address, and no speaker has a pool to announce from"
            .to_owned()
    });
    Intent::of("announced", "announced prefixes are reached", Examples::default()).with(remarks)
}

/// Says the same of all nodes that share it, once.
fn shared<'a>(said: impl IntoIterator<Item = (String, &'a str)>) -> Examples {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (words, node) in said {
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, nodes)) => nodes.push(node),
            None => groups.push((words, vec![node])),
        }
    }
    let mut tally = Examples::default();
    for (words, nodes) in groups {
        tally.add_group(nodes.len(), || format!("{}: {words}", crowd(nodes)));
    }
    tally
}

fn speaker_problems(subject: &ProofModel) -> Examples {
    let nodes = subject.network.nodes.iter().zip(&subject.speaker_faults);
    group_by_text(nodes.filter_map(|(model, fault)| Some((fault.clone()?, model.name.as_str()))))
}

/// What nodes ask of their backend that it cannot do. A release without the backend keeps sessions down, which is told there.
fn limitation_remarks(plan: &Plan, subject: &ProofModel) -> Examples {
    let told = |node: &NodePlan| {
        let model = subject.network.nodes.iter().find(|model| model.nth == node.nth);
        model.is_some_and(|model| !model.fabric.neighbors.is_empty())
    };
    let routing = plan.nodes.iter().filter_map(|node| Some((node, node.routing.as_deref()?)));
    group_by_text(routing.flat_map(|(node, routing)| {
        let lacks =
            routing.lacks.iter().filter(move |lack| lack.kind != LimitationKind::Release || !told(node));
        lacks.map(move |lack| {
            let words = format!("{} does not support {}: {}", routing.backend.value, lack.what, lack.why);
            (words, node.name.as_str())
        })
    }))
}

/// Nodes that are told by a template of the file's own: what it says is not known.
fn template_remarks(plan: &Plan) -> Examples {
    let has_template = |node: &&NodePlan| node.routing.as_deref().is_some_and(|it| it.template.is_some());
    let own = plan.nodes.iter().filter(has_template);
    let words = "a custom template is used, which is not analysed";
    group_by_text(own.map(|node| (words.to_owned(), node.name.as_str())))
}

/// Tries to get through every speaker's filter what must not pass.
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
                format!("{} would accept {probe} from the speaker", crowd(nodes.iter().copied()))
            });
        }
    }
    tally
}
