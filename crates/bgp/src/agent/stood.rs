//! With which MAC address the session on each port last stood.
//!
//! A leaf that watches a node's address by BFD knows the address of that time. When the port goes and comes back with another,
//! some leafs never let go of the old one: what then keeps the session down is only known by remembering.

use std::collections::BTreeMap;

use super::{Link, Session};
use crate::model::fabric::PeerAddress;
use ichor_values::Mac;

/// What is remembered, by port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastMacs(BTreeMap<String, LastMac>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct LastMac {
    mac: Mac,
    /// How often the session had come up by then; none since it fell.
    times: Option<u32>,
}

impl LastMacs {
    /// Takes in how the session on a port is now.
    ///
    /// A session that goes on standing tells nothing: for a moment it may have outlived the port that it came up on.
    pub fn see(&mut self, found: &PeerAddress, link: &Link, session: &Session) {
        let (Some(port), Some(mac)) = (port(found), link.mac) else { return };
        let times = session.is_established().then_some(session.established);
        match self.0.get_mut(&port) {
            Some(last) if times.is_none() || last.times == times => last.times = times,
            None if times.is_none() => {}
            _ => drop(self.0.insert(port, LastMac { mac, times })),
        }
    }

    /// The address with which the session on a port last stood.
    pub fn mac(&self, found: &PeerAddress) -> Option<Mac> {
        self.0.get(&port(found)?).map(|last| last.mac)
    }
}

/// What a duty knows a port by. One that is found by its MAC address may get another name, and then borrow another address.
fn port(found: &PeerAddress) -> Option<String> {
    match found {
        PeerAddress::Port { mac: Some(mac), .. } => Some(mac.to_string()),
        PeerAddress::Port { name, mac: None } => Some(name.to_string()),
        PeerAddress::Address { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::session::SessionState;
    use ichor_values::LinkName;

    const OLD: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const NEW: Mac = Mac([2, 0, 0, 0, 0, 2]);

    fn session(state: SessionState, established: u32) -> Session {
        Session { state, established, ..Session::default() }
    }

    fn with(mac: Mac) -> Link {
        Link { mac: Some(mac), ..Link::default() }
    }

    fn named() -> PeerAddress {
        PeerAddress::Port { name: LinkName::parse("eth0").unwrap(), mac: None }
    }

    #[test]
    fn the_address_of_a_session_that_fell_is_remembered_until_another_stands() {
        let mut stood = LastMacs::default();
        stood.see(&named(), &with(OLD), &session(SessionState::Active, 0));
        assert_eq!(stood.mac(&named()), None, "none stood so far");

        stood.see(&named(), &with(OLD), &session(SessionState::Established, 1));
        stood.see(&named(), &with(NEW), &session(SessionState::Established, 1));
        stood.see(&named(), &with(NEW), &session(SessionState::Idle, 1));
        assert_eq!(stood.mac(&named()), Some(OLD));

        // A daemon that was started anew counts from the start.
        stood.see(&named(), &with(NEW), &session(SessionState::Established, 1));
        assert_eq!(stood.mac(&named()), Some(NEW));
    }

    #[test]
    fn a_session_that_came_up_again_between_two_looks_stands_with_the_address_of_now() {
        let mut stood = LastMacs::default();
        stood.see(&named(), &with(OLD), &session(SessionState::Established, 1));

        stood.see(&named(), &with(NEW), &session(SessionState::Established, 2));

        assert_eq!(stood.mac(&named()), Some(NEW));
    }

    #[test]
    fn ports_that_are_found_by_their_address_may_change_names() {
        let found =
            |name: &str, mac| PeerAddress::Port { name: LinkName::parse(name).unwrap(), mac: Some(mac) };
        let mut stood = LastMacs::default();
        stood.see(&found("eth0", OLD), &with(OLD), &session(SessionState::Established, 1));
        stood.see(&found("eth1", NEW), &with(NEW), &session(SessionState::Established, 1));

        assert_eq!(stood.mac(&found("eth1", OLD)), Some(OLD));
        assert_eq!(stood.mac(&found("eth0", NEW)), Some(NEW));
    }
}
