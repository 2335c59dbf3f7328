//! Routers whose addresses BIRD's file contains.
//!
//! On a port BIRD accepts its neighbour by an address range, because the address is unknown in advance. But graceful restart works
//! only with a neighbour that the file names. So the routers of established sessions are stored, and BIRD's next start gets their
//! addresses. While BIRD runs, a range stays a range, because a change would reset the session.

use ichor_bgp::agent::status::SessionStatus;
use ichor_bgp::render::RouterAddresses;
use ichor_values::Backend;

use super::ra::RouterAdvertisement;

/// The known routers, by port.
#[derive(Debug, Default)]
pub(super) struct KnownRouters {
    /// Whether the daemon is BIRD.
    wanted: bool,
    /// The routers that the file names.
    pub(super) routers: RouterAddresses,
    /// The routers of the last established sessions.
    pub(super) established: RouterAddresses,
}

impl KnownRouters {
    /// Starts with the routers of an earlier run.
    pub(super) fn new(backend: Backend, established: RouterAddresses) -> Self {
        let wanted = backend == Backend::Bird;
        let established = if wanted { established } else { RouterAddresses::new() };
        Self { wanted, routers: established.clone(), established }
    }

    /// Records the routers of established sessions. Returns whether one is new.
    pub(super) fn update(&mut self, sessions: &[SessionStatus]) -> bool {
        let before = self.established.clone();
        for session in sessions.iter().map(|status| &status.session).filter(|_| self.wanted) {
            if session.is_established()
                && let Some(Ok(address)) = session.address.as_deref().map(str::parse)
            {
                self.established.insert(session.peer.clone(), address);
            }
        }
        self.established != before
    }

    /// Replaces the named router of a port by the advertised one, unless the session is established. Returns whether it did.
    pub(super) fn update_named(
        &mut self,
        advertisement: &RouterAdvertisement,
        sessions: &[SessionStatus],
    ) -> bool {
        let is_established = |status: &SessionStatus| {
            status.session.peer == advertisement.port && status.session.is_established()
        };
        match self.routers.get_mut(&advertisement.port) {
            Some(named) if *named != advertisement.router && !sessions.iter().any(is_established) => {
                *named = advertisement.router;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use ichor_bgp::agent::Session;
    use ichor_bgp::agent::session::SessionState;
    use ichor_bgp::agent::status::PeerRole;

    use super::*;

    fn sessions(address: &str, state: SessionState) -> Vec<SessionStatus> {
        let (peer, address) = ("eth0".to_owned(), Some(address.to_owned()));
        let session = Session { peer, address, state, ..Session::default() };
        vec![SessionStatus { session, with: PeerRole::Fabric, trouble: None }]
    }

    fn advertisement(router: &str) -> RouterAdvertisement {
        RouterAdvertisement { port: "eth0".to_owned(), router: router.parse().unwrap(), mac: None }
    }

    #[test]
    fn a_router_is_named_from_the_next_start_on() {
        let mut routers = KnownRouters::new(Backend::Bird, RouterAddresses::new());

        assert!(routers.update(&sessions("fe80::1", SessionState::Established)));
        assert!(!routers.update(&sessions("fe80::2", SessionState::Active)));
        assert!(!routers.update_named(&advertisement("fe80::1"), &[]));

        assert!(routers.routers.is_empty());
        let next = KnownRouters::new(Backend::Bird, routers.established);
        assert_eq!(next.routers["eth0"], "fe80::1".parse::<std::net::Ipv6Addr>().unwrap());
    }

    #[test]
    fn a_named_router_is_replaced_only_while_its_session_is_down() {
        let established = RouterAddresses::from([("eth0".to_owned(), "fe80::1".parse().unwrap())]);
        let mut routers = KnownRouters::new(Backend::Bird, established);

        assert!(
            !routers.update_named(&advertisement("fe80::2"), &sessions("fe80::1", SessionState::Established))
        );
        assert!(routers.update_named(&advertisement("fe80::2"), &sessions("fe80::1", SessionState::Active)));

        assert_eq!(routers.routers["eth0"], advertisement("fe80::2").router);
    }

    #[test]
    fn routers_are_recorded_for_bird_only() {
        let mut routers = KnownRouters::new(Backend::Frr, RouterAddresses::new());

        assert!(!routers.update(&sessions("fe80::1", SessionState::Established)));
    }
}
