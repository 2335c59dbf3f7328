//! Limitations of each backend, by Talos release and carrier.
//!
//! [`RequestedFeatures`] are the features that one node uses; [`limitations`] returns those that a backend does not support.

mod native;

use super::{NeighborAddress, NeighborPlan, NodePlan, RoutingPlan, WorkloadPlan, announced};
use crate::cluster::section::{NodeSettings, PolicyIn, PolicyOut, Role, Routing};
use crate::model::Cluster;
use ichor_bgp::setting::{Carrier, Isolation};
use ichor_talos::release;
use ichor_values::Backend;
use ichor_values::key::{Key, List};
use ichor_values::{SoftwareVersion, TalosVersion, Toggle};

/// Kind of a limitation, if it has its own rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitationKind {
    /// The Talos release is too old.
    Release,
    /// Session passwords.
    Password,
    /// Anycast that depends on the API's health.
    Health,
    /// BFD in a VRF.
    BfdDomain,
    /// BFD with a neighbour that has a listen range.
    BfdRange,
    /// Several routers without transit through the node.
    Transit,
    /// Routes with an unusable next hop.
    NextHop,
    /// Timers.
    Timers,
    /// Anything else.
    Other,
}

/// A feature that the file uses and a backend does not support.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limitation {
    /// Kind of the limitation.
    pub kind: LimitationKind,
    /// The key below `routing` that requests it; for [`LimitationKind::Health`] the full path.
    pub key: &'static str,
    /// The feature.
    pub what: &'static str,
    /// Why it is not supported.
    pub(crate) why: &'static str,
}

/// The features that one node requests of its backend.
#[derive(Clone, Copy, Debug)]
pub struct RequestedFeatures<'a> {
    /// The cluster, for its routers.
    pub cluster: &'a Cluster,
    /// The node's Talos release.
    pub talos: &'a TalosVersion,
    /// Its `routing` section.
    pub routing: &'a Routing,
    /// Its sessions with the fabric.
    pub neighbors: &'a [NeighborPlan],
    /// Its speaker.
    pub workload: Option<&'a WorkloadPlan>,
    /// Whether it has an anycast address that follows the API's health.
    pub health: bool,
    /// Whether announced links have other addresses.
    pub(crate) has_other_addresses: bool,
}

/// The requested features that `backend` does not support if `carrier` provides it.
pub fn limitations(
    backend: Backend,
    carrier: Option<Carrier>,
    features: &RequestedFeatures<'_>,
) -> Vec<Limitation> {
    let mut limitations = LimitationList(Vec::new());
    match backend {
        Backend::Native => native::add_limitations(&mut limitations, features),
        Backend::Frr => limitations.check_frr(features),
        Backend::Bird => limitations.check_bird(features),
        Backend::Gobgp => limitations.check_gobgp(features),
    }
    if carrier == Some(Carrier::Official) && backend != Backend::Native {
        limitations.check_official_extension(backend, features);
    }
    if backend == Backend::Native || carrier == Some(Carrier::Official) {
        limitations.check_agent(features);
    }
    limitations.check_files(backend, features);
    limitations.0
}

/// Whether an extension is Talos' official BIRD.
pub(crate) fn is_bird2(extension: &str) -> bool {
    extension == "bird2" || extension.ends_with("/bird2")
}

impl RoutingPlan {
    /// Whether Talos' official BIRD extension is the backend.
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

impl<'a> RequestedFeatures<'a> {
    /// The features of a planned node, if it has routing.
    pub fn from_node(cluster: &'a Cluster, node: &'a NodePlan) -> Option<Self> {
        let plan = node.routing.as_deref()?;
        let routing = node.settings.routing.get()?;
        Some(Self {
            cluster,
            talos: &node.talos.value,
            routing,
            neighbors: &plan.neighbors,
            workload: plan.workload.as_ref(),
            health: watches_health(&node.settings, node.role),
            has_other_addresses: announced::has_other_addresses(&node.settings, node.role, routing),
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
        self.neighbors.iter().any(|neighbor| matches!(neighbor.peer, NeighborAddress::Link(_)))
    }

    fn has_passwords_on_some_ports(&self) -> bool {
        let on_ports =
            || self.neighbors.iter().filter(|neighbor| matches!(neighbor.peer, NeighborAddress::Link(_)));
        on_ports().any(|neighbor| neighbor.password.is_some())
            && on_ports().any(|neighbor| neighbor.password.is_none())
    }

    fn wants_bfd(&self) -> bool {
        self.neighbors.iter().any(|neighbor| neighbor.bfd.is_some()) || self.wants_speaker_bfd()
    }

    fn wants_speaker_bfd(&self) -> bool {
        self.workload.is_some_and(|workload| workload.bfd.is_some())
    }

    /// Whether BFD is enabled with a router that has a listen range.
    fn wants_bfd_with_range(&self) -> bool {
        self.neighbors.iter().any(|neighbor| {
            let router = neighbor.router.as_ref().filter(|_| neighbor.bfd.is_some());
            matches!(neighbor.peer, NeighborAddress::Address(_))
                && router
                    .and_then(|name| self.cluster.router(name.as_str()))
                    .is_some_and(|router| router.value.listen.is_set())
        })
    }

    fn major(&self) -> Option<u16> {
        self.routing.version.get().map(SoftwareVersion::minor).map(|(major, _)| major)
    }
}

/// Whether a node has an anycast address that depends on the API's health: only control planes have one.
pub(crate) fn watches_health(settings: &NodeSettings, role: Role) -> bool {
    let api = settings.network.get().and_then(|network| network.api.get());
    role == Role::Controlplane && api.is_some_and(|api| api.health.is_set() && has_items(&api.anycast))
}

fn has_items<T>(list: &Key<List<T>>) -> bool {
    list.items().next().is_some()
}

struct LimitationList(Vec<Limitation>);

impl LimitationList {
    fn add(&mut self, requested: bool, key: &'static str, what: &'static str, why: &'static str) {
        self.add_kind(LimitationKind::Other, requested, key, what, why);
    }

    fn add_kind(
        &mut self,
        kind: LimitationKind,
        requested: bool,
        key: &'static str,
        what: &'static str,
        why: &'static str,
    ) {
        if requested {
            self.0.push(Limitation { kind, key, what, why });
        }
    }

    fn check_frr(&mut self, features: &RequestedFeatures<'_>) {
        self.add(
            features.isolates(Isolation::None) && features.major() != Some(8),
            "workload.isolation",
            "a speaker without isolation",
            "only FRR 8 keeps all paths in this setup",
        );
    }

    fn check_bird(&mut self, features: &RequestedFeatures<'_>) {
        self.check_namespace(features, "BIRD runs in one network namespace");
        self.add(
            has_items(&features.routing.aggregates),
            "aggregates",
            "aggregates",
            "BIRD 2 has no aggregation, and a static route instead would stay after its parts are withdrawn",
        );
        self.add(
            features.has_passwords_on_some_ports(),
            "neighbors",
            "passwords on some ports only",
            "BIRD listens on all ports with one password, or with none",
        );
        self.add(
            features.wants_speaker_bfd() && features.isolates(Isolation::None),
            "workload.bfd",
            "BFD with a speaker without isolation",
            "both ends use the same BFD port, and one receives the packets of the other",
        );
    }

    fn check_gobgp(&mut self, features: &RequestedFeatures<'_>) {
        let old = features.major().is_some_and(|major| major < 4);
        self.add(
            old && features.is_unnumbered(),
            "neighbors",
            "unnumbered sessions",
            "GoBGP before 4 announces routes with the next hop `::`, which FRR drops",
        );
        self.add(old && features.wants_bfd(), "neighbors", "BFD", "GoBGP supports it from 4 on");
        if !old {
            self.check_bfd_with_range(features);
        }
        let zero = features.policy_in().is_some_and(|policy| policy.local_preference.value() == Some(0));
        let why = "gobgpd treats 0 as unset";
        self.add(zero, "policy.in.local_preference", "a local preference of 0", why);
        self.add(
            has_items(&features.routing.aggregates),
            "aggregates",
            "aggregates",
            "gobgpd has no aggregation",
        );
        self.add(
            !old && features.wants_speaker_bfd(),
            "workload.bfd",
            "BFD with the speaker",
            "both ends are in one namespace, where only one program receives BFD packets",
        );
        self.check_namespace(features, "gobgpd runs in one network namespace");
        self.add(
            features.isolates(Isolation::Vrf),
            "workload.isolation",
            "a speaker in a VRF",
            "gobgpd listens in the default VRF only",
        );
    }

    fn check_namespace(&mut self, features: &RequestedFeatures<'_>, why: &'static str) {
        self.add(features.isolates(Isolation::Netns), "workload.isolation", "a network namespace", why);
    }

    /// This includes Talos' own BGP, which is GoBGP 4.
    fn check_bfd_with_range(&mut self, features: &RequestedFeatures<'_>) {
        self.add_kind(
            LimitationKind::BfdRange,
            features.wants_bfd_with_range(),
            "neighbors",
            "BFD with a router that has a listen range",
            "with GoBGP 4 the session flaps",
        );
    }

    fn check_official_extension(&mut self, backend: Backend, features: &RequestedFeatures<'_>) {
        self.add(
            backend != Backend::Bird,
            "carrier",
            "an official extension for this backend",
            "Talos' only official routing extension is bird2",
        );
        let old = backend == Backend::Bird && !release::at_least(features.talos, 12);
        self.add_kind(
            LimitationKind::Release,
            old,
            "carrier",
            "the official bird2 extension",
            "Talos supports it from 1.12 on",
        );
        let graceful = matches!(features.routing.graceful_restart.get(), Some(Toggle::On(_)));
        self.add(
            backend == Backend::Bird && graceful,
            "graceful_restart",
            "graceful restart",
            "without the agent BIRD does not restart gracefully, and neighbours drop its routes at once",
        );
        let options = features.routing.daemons.entries().any(|(name, _)| name.as_str() == "bird");
        self.add(
            backend == Backend::Bird && options,
            "daemons",
            "options for this daemon",
            "the official extension starts the daemon with its own options",
        );
        let no_link = features.workload.is_some() && !release::at_least(features.talos, 14);
        self.add_kind(
            LimitationKind::Release,
            no_link,
            "workload",
            "the link to the speaker",
            "without the agent it needs a VethConfig, which Talos supports from 1.14 on",
        );
    }

    fn check_agent(&mut self, features: &RequestedFeatures<'_>) {
        self.add_kind(
            LimitationKind::Health,
            features.health,
            "network.api.health",
            "anycast that depends on the API's health",
            "it needs ichor's agent",
        );
        let serves = features.routing.agent.get().is_some_and(|agent| agent.status.is_set());
        self.add(serves, "agent.status", "the agent's status", "the agent does not run");
    }

    fn check_files(&mut self, backend: Backend, features: &RequestedFeatures<'_>) {
        let mut templates = features.routing.template.entries().peekable();
        let given = templates.peek().is_some();
        let own = backend != Backend::Native && templates.any(|(of, _)| *of == backend);
        self.add(given && !own, "template", "a template", "the file has no template for this backend");
        let known = daemons(backend);
        let unknown = features.routing.daemons.entries().any(|(name, _)| !known.contains(&name.as_str()));
        self.add(unknown, "daemons", "options for this daemon", "the backend has no daemon of this name");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{FileError, Files, load};
    use crate::{model, plan};

    struct TestCluster(&'static str);

    impl Files for TestCluster {
        fn read(&mut self, _: &str) -> Result<Vec<u8>, FileError> {
            Ok(format!("cluster: {{name: sol, id: 101, talos: v1.14.0}}\n{}", self.0).into_bytes())
        }

        fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
            Ok(Vec::new())
        }
    }

    /// The backend of the first node, and the features it does not support.
    fn backend_and_limitations(text: &'static str) -> (Backend, Vec<&'static str>) {
        let loaded = load("ichor.yaml", &mut TestCluster(text));
        let cluster = model::validate(loaded.file, loaded.problems).unwrap();
        let plan = plan::plan(&cluster);
        let routing = plan.nodes[0].routing.as_deref().unwrap();
        (routing.backend.value, routing.limitations.iter().map(|lack| lack.what).collect())
    }

    #[test]
    fn native_is_the_default_if_it_supports_everything() {
        let plain =
            backend_and_limitations("routing: {neighbors: [{link: eth0}]}\nnodes: [{name: a, index: 1}]");
        let marked = backend_and_limitations(
            "routing: {neighbors: [{link: eth0}], policy: {out: {prepend: 1}}}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(plain, (Backend::Native, vec![]));
        assert_eq!(marked, (Backend::Frr, vec![]));
    }

    #[test]
    fn api_health_is_a_limitation_only_on_control_planes() {
        let worker = backend_and_limitations(
            "network: {api: {anycast: [10.0.0.100/32], health: https://127.0.0.1:6443/readyz}}\n\
             routing: {backend: native}\nnodes: [{name: a, index: 1}]",
        );
        let controlplane = backend_and_limitations(
            "network: {api: {anycast: [10.0.0.100/32], health: https://127.0.0.1:6443/readyz}}\n\
             routing: {backend: native}\nnodes: [{name: a, role: controlplane, index: 1}]",
        );

        assert_eq!(worker.1, Vec::<&str>::new());
        assert_eq!(controlplane.1, ["anycast that depends on the API's health"]);
    }

    #[test]
    fn a_template_for_another_backend_is_not_a_limitation() {
        let both = backend_and_limitations(
            "routing: {backend: frr, template: {frr: a.j2, bird: b.j2}}\nnodes: [{name: a, index: 1}]",
        );
        let other = backend_and_limitations(
            "routing: {backend: frr, template: {bird: b.j2}}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(both.1, Vec::<&str>::new());
        assert_eq!(other.1, ["a template"]);
    }

    #[test]
    fn gobgp_supports_a_speaker_without_isolation() {
        let plain = backend_and_limitations(
            "routing: {backend: gobgp, workload: {speaker: metallb}}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(plain, (Backend::Gobgp, vec![]));
    }

    #[test]
    fn gobgp_3_has_neither_unnumbered_sessions_nor_bfd() {
        let old = backend_and_limitations(
            "routing: {backend: gobgp, version: 3.36.0, neighbors: [{link: eth0}]}\nnodes: [{name: a, index: 1}]",
        );
        let new = backend_and_limitations(
            "routing: {backend: gobgp, version: 4.8.0, neighbors: [{link: eth0}]}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(old.1, ["unnumbered sessions", "BFD"]);
        assert_eq!(new.1, Vec::<&str>::new());
    }

    #[test]
    fn gobgp_supports_neither_bfd_with_the_speaker_nor_local_preference_0() {
        let bfd = backend_and_limitations(
            "routing: {backend: gobgp, workload: {speaker: metallb, bfd: true}}\nnodes: [{name: a, index: 1}]",
        );
        let policy = backend_and_limitations(
            "routing: {backend: gobgp, policy: {in: {max_prefixes: 9, local_preference: 0}}}\n\
             nodes: [{name: a, index: 1}]",
        );

        assert_eq!(bfd.1, ["BFD with the speaker"]);
        assert_eq!(policy.1, ["a local preference of 0"]);
    }

    #[test]
    fn only_bird_has_an_official_extension() {
        let frr = backend_and_limitations(
            "routing: {backend: frr, carrier: official}\nnodes: [{name: a, index: 1}]",
        );
        let bird = backend_and_limitations(
            "routing: {backend: bird, carrier: official}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(frr.1, ["an official extension for this backend"]);
        assert_eq!(bird.1, Vec::<&str>::new());
    }

    #[test]
    fn the_official_extension_does_not_support_features_of_the_agent() {
        let default = backend_and_limitations(
            "routing: {backend: bird, carrier: official}\nnodes: [{name: a, index: 1}]",
        );
        let official = backend_and_limitations(
            "routing: {backend: bird, carrier: official, graceful_restart: {time: 30}, daemons: {bird: [-l]}}\n\
             nodes: [{name: a, index: 1}]",
        );
        let ours = backend_and_limitations(
            "routing: {backend: bird, graceful_restart: {time: 30}, daemons: {bird: [-l]}}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(default.1, Vec::<&str>::new());
        assert_eq!(official.1, ["graceful restart", "options for this daemon"]);
        assert_eq!(ours.1, Vec::<&str>::new());
    }

    #[test]
    fn bird_supports_a_password_only_on_all_ports() {
        let some = backend_and_limitations(
            "routing: {backend: bird, neighbors: [{link: eth0, password: {env: PW}}, {link: eth1}]}\n\
             nodes: [{name: a, index: 1}]",
        );
        let all = backend_and_limitations(
            "routing: {backend: bird, neighbors: [{link: eth0, password: {env: PW}}, {address: 10.0.0.1, asn: 65001}]}\n\
             nodes: [{name: a, index: 1}]",
        );

        assert_eq!(some.1, ["passwords on some ports only"]);
        assert_eq!(all.1, Vec::<&str>::new());
    }

    #[test]
    fn bird_supports_bfd_with_a_speaker_only_with_isolation() {
        let isolated = backend_and_limitations(
            "routing: {backend: bird, workload: {speaker: metallb, bfd: true}}\nnodes: [{name: a, index: 1}]",
        );
        let shared = backend_and_limitations(
            "routing: {backend: bird, workload: {speaker: metallb, bfd: true, isolation: none}}\n\
             nodes: [{name: a, index: 1}]",
        );

        assert_eq!(isolated.1, Vec::<&str>::new());
        assert_eq!(shared.1, ["BFD with a speaker without isolation"]);
    }

    #[test]
    fn options_for_a_daemon_of_another_backend_are_a_limitation() {
        let zebra = backend_and_limitations(
            "routing: {backend: bird, daemons: {zebra: [-n]}}\nnodes: [{name: a, index: 1}]",
        );

        assert_eq!(zebra.1, ["options for this daemon"]);
    }
}
