//! What each backend can do, by Talos release and carrier.
//!
//! An [`Ask`] is all that one node wants of its BGP; [`lacks`] says what of it a backend cannot do, and why.

mod native;

use super::{NeighborPlan, NodePlan, Peer, RoutingPlan, WorkloadPlan, announced};
use crate::cluster::section::{PolicyIn, PolicyOut, Role, Routing, Rung};
use crate::model::Cluster;
use ichor_bgp::setting::{Carrier, Isolation};
use ichor_talos::release;
use ichor_values::Backend;
use ichor_values::key::{Key, List};
use ichor_values::{SoftwareVersion, TalosVersion, Toggle};

/// What kind of thing is lacking, where that has a rule of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LackKind {
    /// The Talos release is too old for it.
    Release,
    /// Session passwords.
    Password,
    /// Anycast that follows the API's health.
    Health,
    /// BFD in a routing domain of its own.
    BfdDomain,
    /// BFD with a neighbour that accepts nodes by a range.
    BfdRange,
    /// Several routers that shall not reach each other through the node.
    Transit,
    /// Routes whose next hop cannot be used.
    NextHop,
    /// Timers.
    Timers,
    /// Anything else.
    Other,
}

/// Something a backend cannot do that the file asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lack {
    /// What kind of thing it is.
    pub kind: LackKind,
    /// The key below `routing` that asks for it; for [`LackKind::Health`] the whole path.
    pub key: &'static str,
    /// What is asked for.
    pub what: &'static str,
    /// Why it cannot be done.
    pub(crate) why: &'static str,
}

/// Everything one node asks of its backend.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The cluster, for the routers it knows.
    pub cluster: &'a Cluster,
    /// The node's Talos release.
    pub talos: &'a TalosVersion,
    /// What is written about routing.
    pub routing: &'a Routing,
    /// Its sessions with the fabric.
    pub neighbors: &'a [NeighborPlan],
    /// Its speaker.
    pub workload: Option<&'a WorkloadPlan>,
    /// Whether it has an anycast address that follows the API's health.
    pub health: bool,
    /// Whether links whose addresses are announced have others too.
    pub(crate) more: bool,
}

/// Everything of `ask` that `backend` cannot do when `carrier` brings it.
pub fn lacks(backend: Backend, carrier: Option<Carrier>, ask: &Ask<'_>) -> Vec<Lack> {
    let mut lacks = Lacks(Vec::new());
    match backend {
        Backend::Native => native::note(&mut lacks, ask),
        Backend::Frr => lacks.frr(ask),
        Backend::Bird => lacks.bird(ask),
        Backend::Gobgp => lacks.gobgp(ask),
    }
    if carrier == Some(Carrier::Official) && backend != Backend::Native {
        lacks.official(backend, ask);
    }
    if backend == Backend::Native || carrier == Some(Carrier::Official) {
        lacks.agent(ask);
    }
    lacks.files(backend, ask);
    lacks.0
}

/// Whether an extension is Talos' official BIRD.
pub(crate) fn is_bird2(extension: &str) -> bool {
    extension == "bird2" || extension.ends_with("/bird2")
}

impl RoutingPlan {
    /// Whether Talos' official BIRD is what routes.
    pub(crate) fn is_bird2(&self) -> bool {
        let carrier = self.carrier.as_ref().map(|carrier| carrier.value);
        self.backend.value == Backend::Bird && carrier == Some(Carrier::Official)
    }
}

/// The programs of a backend that take options.
pub fn daemons(backend: Backend) -> &'static [&'static str] {
    match backend {
        Backend::Native => &[],
        Backend::Frr => &["zebra", "bgpd", "bfdd", "staticd", "mgmtd"],
        Backend::Bird => &["bird"],
        Backend::Gobgp => &["gobgpd"],
    }
}

impl<'a> Ask<'a> {
    /// What a planned node asks, if it routes.
    pub fn of(cluster: &'a Cluster, node: &'a NodePlan) -> Option<Self> {
        let plan = node.routing.as_deref()?;
        let routing = node.settings.routing.get()?;
        Some(Self {
            cluster,
            talos: &node.talos.value,
            routing,
            neighbors: &plan.neighbors,
            workload: plan.workload.as_ref(),
            health: watches_health(&node.settings, node.role),
            more: announced::has_more(&node.settings, node.role, routing),
        })
    }

    fn policy_in(&self) -> Option<&PolicyIn> {
        self.routing.policy.get()?.r#in.get()
    }

    fn policy_out(&self) -> Option<&PolicyOut> {
        self.routing.policy.get()?.out.get()
    }

    fn limits_prefixes(&self) -> bool {
        self.policy_in().is_some_and(|policy| policy.max_prefixes.is_set())
    }

    fn isolates(&self, isolation: Isolation) -> bool {
        self.workload.is_some_and(|workload| workload.isolation.value == isolation)
    }

    fn is_unnumbered(&self) -> bool {
        self.neighbors.iter().any(|neighbor| matches!(neighbor.peer, Peer::Link(_)))
    }

    fn has_passwords_on_some_ports(&self) -> bool {
        let on_ports = || self.neighbors.iter().filter(|neighbor| matches!(neighbor.peer, Peer::Link(_)));
        on_ports().any(|neighbor| neighbor.password.is_some())
            && on_ports().any(|neighbor| neighbor.password.is_none())
    }

    fn wants_bfd(&self) -> bool {
        self.neighbors.iter().any(|neighbor| neighbor.bfd.is_some()) || self.wants_speaker_bfd()
    }

    fn wants_speaker_bfd(&self) -> bool {
        self.workload.is_some_and(|workload| workload.bfd.is_some())
    }

    /// Whether BFD is on toward a router that accepts the node by a range.
    fn wants_bfd_with_range(&self) -> bool {
        self.neighbors.iter().any(|neighbor| {
            let router = neighbor.router.as_ref().filter(|_| neighbor.bfd.is_some());
            matches!(neighbor.peer, Peer::Address(_))
                && router
                    .and_then(|name| self.cluster.router(name.as_str()))
                    .is_some_and(|router| router.value.listen.is_set())
        })
    }

    fn major(&self) -> Option<u16> {
        self.routing.version.get().map(SoftwareVersion::minor).map(|(major, _)| major)
    }
}

/// Whether a node has an anycast address that follows the API's health: only control planes have one.
pub(crate) fn watches_health(settings: &Rung, role: Role) -> bool {
    let api = settings.network.get().and_then(|network| network.api.get());
    role == Role::Controlplane && api.is_some_and(|api| api.health.is_set() && any(&api.anycast))
}

fn any<T>(list: &Key<List<T>>) -> bool {
    list.items().next().is_some()
}

struct Lacks(Vec<Lack>);

impl Lacks {
    fn note(&mut self, asked: bool, key: &'static str, what: &'static str, why: &'static str) {
        self.kind(LackKind::Other, asked, key, what, why);
    }

    fn kind(
        &mut self,
        kind: LackKind,
        asked: bool,
        key: &'static str,
        what: &'static str,
        why: &'static str,
    ) {
        if asked {
            self.0.push(Lack { kind, key, what, why });
        }
    }

    fn frr(&mut self, ask: &Ask<'_>) {
        self.note(
            ask.isolates(Isolation::None) && ask.major() != Some(8),
            "workload.isolation",
            "a speaker without isolation",
            "only FRR 8 keeps every path that way",
        );
    }

    fn bird(&mut self, ask: &Ask<'_>) {
        self.one_namespace(ask, "BIRD runs in one network namespace");
        self.note(
            any(&ask.routing.aggregates),
            "aggregates",
            "aggregates",
            "BIRD 2 makes none, and a static route in place of one stays when its parts are gone",
        );
        self.note(
            ask.has_passwords_on_some_ports(),
            "neighbors",
            "passwords on some ports only",
            "BIRD listens on all ports with one password, or with none",
        );
        self.note(
            ask.wants_speaker_bfd() && ask.isolates(Isolation::None),
            "workload.bfd",
            "BFD with a speaker without isolation",
            "the BFD of both ends wants the same port, and one takes the packets of the other",
        );
    }

    fn gobgp(&mut self, ask: &Ask<'_>) {
        let old = ask.major().is_some_and(|major| major < 4);
        self.note(
            old && ask.is_unnumbered(),
            "neighbors",
            "sessions without addresses",
            "GoBGP before 4 announces them with the next hop `::`, which FRR drops",
        );
        self.note(old && ask.wants_bfd(), "neighbors", "BFD", "GoBGP has it from 4 on");
        if !old {
            self.bfd_with_range(ask);
        }
        let zero = ask.policy_in().is_some_and(|policy| policy.local_preference.value() == Some(0));
        let why = "gobgpd takes 0 for none";
        self.note(zero, "policy.in.local_preference", "a local preference of 0", why);
        self.note(any(&ask.routing.aggregates), "aggregates", "aggregates", "gobgpd makes none");
        self.note(
            !old && ask.wants_speaker_bfd(),
            "workload.bfd",
            "BFD with the speaker",
            "both ends are in one namespace, where only one program gets the packets of BFD's port",
        );
        self.one_namespace(ask, "gobgpd runs in one network namespace");
        self.note(
            ask.isolates(Isolation::Vrf),
            "workload.isolation",
            "a speaker in a VRF",
            "gobgpd listens in the default domain only",
        );
    }

    fn one_namespace(&mut self, ask: &Ask<'_>, why: &'static str) {
        self.note(ask.isolates(Isolation::Netns), "workload.isolation", "a network namespace", why);
    }

    /// Talos' own BGP is GoBGP 4 too.
    fn bfd_with_range(&mut self, ask: &Ask<'_>) {
        self.kind(
            LackKind::BfdRange,
            ask.wants_bfd_with_range(),
            "neighbors",
            "BFD with a router that accepts nodes by a range",
            "GoBGP 4 tears the session down again and again",
        );
    }

    fn official(&mut self, backend: Backend, ask: &Ask<'_>) {
        self.note(
            backend != Backend::Bird,
            "carrier",
            "an official extension for it",
            "Talos' only routing extension is bird2",
        );
        let old = backend == Backend::Bird && !release::at_least(ask.talos, 12);
        self.kind(
            LackKind::Release,
            old,
            "carrier",
            "the official bird2 extension",
            "Talos has it from 1.12 on",
        );
        let graceful = matches!(ask.routing.graceful_restart.get(), Some(Toggle::On(_)));
        self.note(
            backend == Backend::Bird && graceful,
            "graceful_restart",
            "graceful restart",
            "without the agent BIRD is stopped for good, and neighbours drop its routes at once",
        );
        let options = ask.routing.daemons.entries().any(|(name, _)| name.as_str() == "bird");
        self.note(
            backend == Backend::Bird && options,
            "daemons",
            "options for this daemon",
            "the official extension starts it with options of its own",
        );
        let no_link = ask.workload.is_some() && !release::at_least(ask.talos, 14);
        self.kind(
            LackKind::Release,
            no_link,
            "workload",
            "the link to the speaker",
            "without the agent it is a VethConfig, which Talos has from 1.14 on",
        );
    }

    fn agent(&mut self, ask: &Ask<'_>) {
        self.kind(
            LackKind::Health,
            ask.health,
            "network.api.health",
            "anycast that follows the API's health",
            "it needs the agent",
        );
        let serves = ask.routing.agent.get().is_some_and(|agent| agent.status.is_set());
        self.note(serves, "agent.status", "the agent's status", "there is no agent");
    }

    fn files(&mut self, backend: Backend, ask: &Ask<'_>) {
        let mut templates = ask.routing.template.entries().peekable();
        let given = templates.peek().is_some();
        let own = backend != Backend::Native && templates.any(|(of, _)| *of == backend);
        self.note(given && !own, "template", "a template", "there is none for this backend in the file");
        let known = daemons(backend);
        let strange = ask.routing.daemons.entries().any(|(name, _)| !known.contains(&name.as_str()));
        self.note(strange, "daemons", "options for this daemon", "it does not run one of that name");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{FileError, Files, load};
    use crate::{model, plan};

    struct One(&'static str);

    impl Files for One {
        fn read(&mut self, _: &str) -> Result<Vec<u8>, FileError> {
            Ok(format!("cluster: {{name: sol, id: 101, talos: v1.14.0}}\n{}", self.0).into_bytes())
        }

        fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
            Ok(Vec::new())
        }
    }

    /// The backend of the first node, and what it lacks.
    fn decided(text: &'static str) -> (Backend, Vec<&'static str>) {
        let loaded = load("ichor.yaml", &mut One(text));
        let cluster = model::validate(loaded.file, loaded.problems).unwrap();
        let plan = plan::plan(&cluster);
        let routing = plan.nodes[0].routing.as_deref().unwrap();
        (routing.backend.value, routing.lacks.iter().map(|lack| lack.what).collect())
    }

    #[test]
    fn talos_itself_is_first_where_it_can_do_everything() {
        let plain = decided("routing: {neighbors: [{link: eth0}]}\nnodes: [{name: a, index: 1}]");
        let marked = decided(
            "routing: {neighbors: [{link: eth0}], policy: {out: {prepend: 1}}}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(plain, (Backend::Native, vec![]));
        assert_eq!(marked, (Backend::Frr, vec![]));
    }

    #[test]
    fn health_counts_only_where_the_anycast_address_is() {
        let worker = decided(
            "network: {api: {anycast: [10.0.0.100/32], health: https://127.0.0.1:6443/readyz}}\n\
             routing: {backend: native}\nnodes: [{name: a, index: 1}]",
        );
        let controlplane = decided(
            "network: {api: {anycast: [10.0.0.100/32], health: https://127.0.0.1:6443/readyz}}\n\
             routing: {backend: native}\nnodes: [{name: a, role: controlplane, index: 1}]",
        );

        assert_eq!(worker.1, Vec::<&str>::new());
        assert_eq!(controlplane.1, ["anycast that follows the API's health"]);
    }

    #[test]
    fn a_template_for_another_backend_beside_the_own_is_no_lack() {
        let both = decided(
            "routing: {backend: frr, template: {frr: a.j2, bird: b.j2}}\nnodes: [{name: a, index: 1}]",
        );
        let other = decided("routing: {backend: frr, template: {bird: b.j2}}\nnodes: [{name: a, index: 1}]");

        assert_eq!(both.1, Vec::<&str>::new());
        assert_eq!(other.1, ["a template"]);
    }

    #[test]
    fn gobgp_takes_its_speaker_without_isolation() {
        let plain =
            decided("routing: {backend: gobgp, workload: {speaker: metallb}}\nnodes: [{name: a, index: 1}]");

        assert_eq!(plain, (Backend::Gobgp, vec![]));
    }

    #[test]
    fn gobgp_3_has_neither_unnumbered_sessions_nor_bfd() {
        let old = decided(
            "routing: {backend: gobgp, version: 3.36.0, neighbors: [{link: eth0}]}\nnodes: [{name: a, index: 1}]",
        );
        let new = decided(
            "routing: {backend: gobgp, version: 4.8.0, neighbors: [{link: eth0}]}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(old.1, ["sessions without addresses", "BFD"]);
        assert_eq!(new.1, Vec::<&str>::new());
    }

    #[test]
    fn gobgp_has_no_bfd_with_a_speaker_beside_it_and_no_preference_of_0() {
        let bfd = decided(
            "routing: {backend: gobgp, workload: {speaker: metallb, bfd: true}}\nnodes: [{name: a, index: 1}]",
        );
        let policy = decided(
            "routing: {backend: gobgp, policy: {in: {max_prefixes: 9, local_preference: 0}}}\n\
             nodes: [{name: a, index: 1}]",
        );

        assert_eq!(bfd.1, ["BFD with the speaker"]);
        assert_eq!(policy.1, ["a local preference of 0"]);
    }

    #[test]
    fn only_bird_has_an_official_extension() {
        let frr = decided("routing: {backend: frr, carrier: official}\nnodes: [{name: a, index: 1}]");
        let bird = decided("routing: {backend: bird, carrier: official}\nnodes: [{name: a, index: 1}]");

        assert_eq!(frr.1, ["an official extension for it"]);
        assert_eq!(bird.1, Vec::<&str>::new());
    }

    #[test]
    fn what_only_the_agent_can_do_for_bird_the_official_extension_lacks() {
        let default = decided("routing: {backend: bird, carrier: official}\nnodes: [{name: a, index: 1}]");
        let official = decided(
            "routing: {backend: bird, carrier: official, graceful_restart: {time: 30}, daemons: {bird: [-l]}}\n\
             nodes: [{name: a, index: 1}]",
        );
        let ours = decided(
            "routing: {backend: bird, graceful_restart: {time: 30}, daemons: {bird: [-l]}}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(default.1, Vec::<&str>::new());
        assert_eq!(official.1, ["graceful restart", "options for this daemon"]);
        assert_eq!(ours.1, Vec::<&str>::new());
    }

    #[test]
    fn bird_has_a_password_on_all_ports_or_on_none() {
        let some = decided(
            "routing: {backend: bird, neighbors: [{link: eth0, password: {env: PW}}, {link: eth1}]}\n\
             nodes: [{name: a, index: 1}]",
        );
        let all = decided(
            "routing: {backend: bird, neighbors: [{link: eth0, password: {env: PW}}, {address: 10.0.0.1, asn: 65001}]}\n\
             nodes: [{name: a, index: 1}]",
        );

        assert_eq!(some.1, ["passwords on some ports only"]);
        assert_eq!(all.1, Vec::<&str>::new());
    }

    #[test]
    fn bird_has_bfd_with_a_speaker_only_where_something_is_between_them() {
        let apart = decided(
            "routing: {backend: bird, workload: {speaker: metallb, bfd: true}}\nnodes: [{name: a, index: 1}]",
        );
        let beside = decided(
            "routing: {backend: bird, workload: {speaker: metallb, bfd: true, isolation: none}}\n\
             nodes: [{name: a, index: 1}]",
        );

        assert_eq!(apart.1, Vec::<&str>::new());
        assert_eq!(beside.1, ["BFD with a speaker without isolation"]);
    }

    #[test]
    fn options_for_a_daemon_of_another_backend_are_not_lost_silently() {
        let zebra = decided("routing: {backend: bird, daemons: {zebra: [-n]}}\nnodes: [{name: a, index: 1}]");

        assert_eq!(zebra.1, ["options for this daemon"]);
    }
}
