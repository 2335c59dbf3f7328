//! What the cluster file intends, and whether it comes of it.

use ipnet::IpNet;

use super::Subject;
use super::study::Study;
use super::tally::Tally;
use crate::model::Cluster;
use crate::plan::Plan;
use crate::routing::{Family, Model};

/// Something that is meant to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Its name.
    pub id: &'static str,
    /// What is meant.
    pub says: &'static str,
    /// Where it does not hold.
    pub broken: Tally,
    /// What else is to be known about it: where it holds by luck, or cannot be looked into.
    pub remarks: Tally,
}

/// The whole answer.
#[derive(Clone, Debug)]
pub struct Proof {
    /// What is meant, and whether it holds.
    pub intents: Vec<Intent>,
    /// What was found.
    pub study: Study,
}

impl Proof {
    /// Puts together what was found.
    pub fn of(cluster: &Cluster, plan: &Plan, subject: &Subject, study: Study) -> Self {
        let intent = |id, says, broken: Tally| Intent { id, says, broken, remarks: Tally::default() };
        let mut silent = intent("silent", "nothing is announced to the speaker", Tally::default());
        silent.remarks = templates(plan);
        let mut up = intent("sessions", "every session comes up", subject.down());
        up.remarks = lacks(plan);
        let mut together = intent("together", "every node reaches them too", study.apart.clone());
        together.remarks = study.led.clone();
        let mut heard = speakers(subject);
        heard.join(study.outdone.clone());
        let mut restful = study.restless.clone();
        restful.join(study.dropped.clone());
        let intents = vec![
            up,
            intent("speakers", "every speaker is heard", heard),
            intent(
                "reached",
                "every router reaches every loopback, service and anycast address",
                study.unreached.clone(),
            ),
            together,
            intent(
                "delivered",
                "BGP comes to rest, and no packet is dropped on its way or goes in circles",
                restful,
            ),
            intent("transit", "no way between others leads through a node", study.through.clone()),
            intent(
                "guarded",
                "no default route and no prefix of the fabric is taken from the speaker",
                guarded(cluster, plan, subject),
            ),
            silent,
        ];
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

fn speakers(subject: &Subject) -> Tally {
    let mut tally = Tally::default();
    for (model, fault) in subject.network.nodes.iter().zip(&subject.speaker_faults) {
        if let Some(fault) = fault {
            tally.add(|| format!("{}: {fault}", model.name));
        }
    }
    tally
}

/// What nodes ask of their backend that it cannot do.
fn lacks(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    for (node, routing) in plan.nodes.iter().filter_map(|node| Some((node, node.routing.as_deref()?))) {
        for lack in &routing.lacks {
            tally.add(|| {
                format!("{}: {} cannot have {}: {}", node.name, routing.backend.value, lack.what, lack.why)
            });
        }
    }
    tally
}

/// Nodes that are told by a template of the file's own: what it says is not known.
fn templates(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    for node in &plan.nodes {
        let (Some(decided), Some(routing)) = (node.routing.as_deref(), node.settings.routing.get()) else {
            continue;
        };
        if routing.template.entries().any(|(backend, _)| *backend == decided.backend.value) {
            tally.add(|| format!("{} has a template of its own, which is not looked into", node.name));
        }
    }
    tally
}

/// Tries to get through every speaker's filter what must not pass.
fn guarded(cluster: &Cluster, plan: &Plan, subject: &Subject) -> Tally {
    let prefixes = [&plan.cluster.node, &plan.cluster.loopback];
    let mut probes: Vec<IpNet> = Family::ALL.map(Family::everything).to_vec();
    probes.extend(prefixes.iter().flat_map(|prefixes| prefixes.iter()).map(|(net, _)| net.trunc()));
    probes.extend(
        plan.nodes.iter().flat_map(|node| node.address.iter()).map(|(net, _)| IpNet::from(net.addr())),
    );
    let announced = |model: &Model| model.fabric.announced.iter().map(|own| own.net).collect::<Vec<_>>();
    probes.extend(subject.network.nodes.iter().flat_map(announced));
    let routers =
        cluster.routers().flat_map(|router| router.value.addresses.values().copied().map(IpNet::from));
    probes.extend(routers);
    let mut filters: Vec<(&Model, &crate::routing::Filter)> = Vec::new();
    for model in &subject.network.nodes {
        let Some(workload) = &model.workload else { continue };
        if !filters.iter().any(|(_, known)| **known == workload.filter) {
            filters.push((model, &workload.filter));
        }
    }
    let mut tally = Tally::default();
    for (model, filter) in filters {
        for probe in probes.iter().filter(|probe| filter.admits(**probe)) {
            tally.add(|| format!("{} would take {probe} from its speaker", model.name));
        }
    }
    tally
}
