//! Routers whose addresses BIRD's file contains.
//!
//! On a port BIRD accepts its neighbour by a range of addresses, as none is known beforehand. But graceful restart works only with
//! a neighbour that the file names: only that one keeps the node's routes while BIRD restarts. So the routers of established
//! sessions are stored, and BIRD's next start gets their addresses. While BIRD runs, a range stays a range: to change it would
//! reset the session.

use ichor_bgp::agent::status::Told;
use ichor_bgp::render::Routers;
use ichor_values::Backend;

use super::ra::RouterAdvertisement;

/// The routers, by their ports.
#[derive(Debug, Default)]
pub(super) struct KnownRouters {
    /// Whether the daemon is BIRD.
    wanted: bool,
    /// Those that the file names.
    pub(super) routers: Routers,
    /// Those of the last established sessions.
    pub(super) established: Routers,
}

impl KnownRouters {
    /// Starts with those of an earlier run.
    pub(super) fn new(backend: Backend, established: Routers) -> Self {
        let wanted = backend == Backend::Bird;
        let established = if wanted { established } else { Routers::new() };
        Self { wanted, routers: established.clone(), established }
    }

    /// Records the routers of established sessions; whether one is new.
    pub(super) fn update(&mut self, told: &[Told]) -> bool {
        let before = self.established.clone();
        for session in told.iter().map(|told| &told.session).filter(|_| self.wanted) {
            if session.is_established()
                && let Some(Ok(address)) = session.address.as_deref().map(str::parse)
            {
                self.established.insert(session.peer.clone(), address);
            }
        }
        self.established != before
    }

    /// Replaces the named router of a port by the one that advertises itself there, unless the session is established. Whether it
    /// did.
    pub(super) fn hear(&mut self, heard: &RouterAdvertisement, told: &[Told]) -> bool {
        let stands = |told: &Told| told.session.peer == heard.port && told.session.is_established();
        match self.routers.get_mut(&heard.port) {
            Some(named) if *named != heard.router && !told.iter().any(stands) => {
                *named = heard.router;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use ichor_bgp::agent::Session;
    use ichor_bgp::agent::session::State;
    use ichor_bgp::agent::status::With;

    use super::*;

    fn told(address: &str, state: State) -> Vec<Told> {
        let (peer, address) = ("eth0".to_owned(), Some(address.to_owned()));
        let session = Session { peer, address, state, ..Session::default() };
        vec![Told { session, with: With::Fabric, trouble: None }]
    }

    fn heard(router: &str) -> RouterAdvertisement {
        RouterAdvertisement { port: "eth0".to_owned(), router: router.parse().unwrap(), mac: None }
    }

    #[test]
    fn a_router_gets_its_name_with_the_next_start() {
        let mut named = KnownRouters::new(Backend::Bird, Routers::new());

        assert!(named.update(&told("fe80::1", State::Established)));
        assert!(!named.update(&told("fe80::2", State::Active)));
        assert!(!named.hear(&heard("fe80::1"), &[]));

        assert!(named.routers.is_empty());
        let next = KnownRouters::new(Backend::Bird, named.established);
        assert_eq!(next.routers["eth0"], "fe80::1".parse::<std::net::Ipv6Addr>().unwrap());
    }

    #[test]
    fn a_named_router_gives_way_to_another_only_when_its_session_is_down() {
        let stood = Routers::from([("eth0".to_owned(), "fe80::1".parse().unwrap())]);
        let mut named = KnownRouters::new(Backend::Bird, stood);

        assert!(!named.hear(&heard("fe80::2"), &told("fe80::1", State::Established)));
        assert!(named.hear(&heard("fe80::2"), &told("fe80::1", State::Active)));

        assert_eq!(named.routers["eth0"], heard("fe80::2").router);
    }

    #[test]
    fn other_daemons_find_routers_by_themselves() {
        let mut named = KnownRouters::new(Backend::Frr, Routers::new());

        assert!(!named.update(&told("fe80::1", State::Established)));
    }
}
