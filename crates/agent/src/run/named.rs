//! Routers that BIRD's file names by their addresses.
//!
//! On a port BIRD knows its neighbour by a range of addresses, as none is known beforehand. But only a neighbour that is named is
//! told, after a restart, that it was one, and keeps the node's routes meanwhile. So the routers that sessions stood with are
//! remembered, and the BIRD of the next start is told their names. While one runs, a range stays a range: to change it would
//! reset the session.

use ichor_bgp::agent::status::Told;
use ichor_bgp::render::Routers;
use ichor_values::Backend;

use super::ears::Heard;

/// The routers, by their ports.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Whether the daemon knows the difference.
    wanted: bool,
    /// Those that the file names.
    pub(super) routers: Routers,
    /// Those that sessions last stood with.
    pub(super) stood: Routers,
}

impl Named {
    /// What an earlier run remembered.
    pub(super) fn recall(backend: Backend, stood: Routers) -> Self {
        let wanted = backend == Backend::Bird;
        let stood = if wanted { stood } else { Routers::new() };
        Self { wanted, routers: stood.clone(), stood }
    }

    /// Takes in with whom sessions stand; whether that is new.
    pub(super) fn see(&mut self, told: &[Told]) -> bool {
        let before = self.stood.clone();
        for session in told.iter().map(|told| &told.session).filter(|_| self.wanted) {
            if session.is_established()
                && let Some(Ok(address)) = session.address.as_deref().map(str::parse)
            {
                self.stood.insert(session.peer.clone(), address);
            }
        }
        self.stood != before
    }

    /// Takes in that a router was heard: one that is named gives way to it, unless its session stands.
    pub(super) fn hear(&mut self, heard: &Heard, told: &[Told]) -> bool {
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

    fn heard(router: &str) -> Heard {
        Heard { port: "eth0".to_owned(), router: router.parse().unwrap(), mac: None }
    }

    #[test]
    fn a_router_gets_its_name_with_the_next_start() {
        let mut named = Named::recall(Backend::Bird, Routers::new());

        assert!(named.see(&told("fe80::1", State::Established)));
        assert!(!named.see(&told("fe80::2", State::Active)));
        assert!(!named.hear(&heard("fe80::1"), &[]));

        assert!(named.routers.is_empty());
        let next = Named::recall(Backend::Bird, named.stood);
        assert_eq!(next.routers["eth0"], "fe80::1".parse::<std::net::Ipv6Addr>().unwrap());
    }

    #[test]
    fn a_named_router_gives_way_to_another_only_when_its_session_is_down() {
        let stood = Routers::from([("eth0".to_owned(), "fe80::1".parse().unwrap())]);
        let mut named = Named::recall(Backend::Bird, stood);

        assert!(!named.hear(&heard("fe80::2"), &told("fe80::1", State::Established)));
        assert!(named.hear(&heard("fe80::2"), &told("fe80::1", State::Active)));

        assert_eq!(named.routers["eth0"], heard("fe80::2").router);
    }

    #[test]
    fn other_daemons_find_routers_by_themselves() {
        let mut named = Named::recall(Backend::Frr, Routers::new());

        assert!(!named.see(&told("fe80::1", State::Established)));
    }
}
