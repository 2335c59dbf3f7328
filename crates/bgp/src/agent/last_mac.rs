//! The MAC address of each port when its session was last established.
//!
//! A leaf that monitors a node's address by BFD knows the address of that time. When the port comes back with another
//! one, some leafs monitor the old address permanently: only this record explains why the session stays down.

use std::collections::BTreeMap;

use super::{Link, Session};
use crate::model::fabric::PeerAddress;
use ichor_values::Mac;

/// The recorded MAC addresses, by port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastMacs(BTreeMap<String, LastMac>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct LastMac {
    mac: Mac,
    /// How often the session had been established by then; none since it went down.
    times: Option<u32>,
}

impl LastMacs {
    /// Records the current state of the session on a port.
    ///
    /// A session that stays established is ignored: for a moment it may outlive the port on which it was established.
    pub fn update(&mut self, found: &PeerAddress, link: &Link, session: &Session) {
        let (Some(port), Some(mac)) = (port_key(found), link.mac) else { return };
        let times = session.is_established().then_some(session.established);
        match self.0.get_mut(&port) {
            Some(last) if times.is_none() || last.times == times => last.times = times,
            None if times.is_none() => {}
            _ => drop(self.0.insert(port, LastMac { mac, times })),
        }
    }

    /// The MAC address with which the session on a port was last established.
    pub fn mac(&self, found: &PeerAddress) -> Option<Mac> {
        self.0.get(&port_key(found)?).map(|last| last.mac)
    }
}

/// The configured identity of a port: its MAC address if it has one, because its name may change; else its name.
fn port_key(found: &PeerAddress) -> Option<String> {
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

    fn link(mac: Mac) -> Link {
        Link { mac: Some(mac), ..Link::default() }
    }

    fn eth0() -> PeerAddress {
        PeerAddress::Port { name: LinkName::parse("eth0").unwrap(), mac: None }
    }

    #[test]
    fn the_address_of_a_lost_session_is_kept_until_the_next_one_is_established() {
        let mut last_macs = LastMacs::default();
        last_macs.update(&eth0(), &link(OLD), &session(SessionState::Active, 0));
        assert_eq!(last_macs.mac(&eth0()), None, "none has been established yet");

        last_macs.update(&eth0(), &link(OLD), &session(SessionState::Established, 1));
        last_macs.update(&eth0(), &link(NEW), &session(SessionState::Established, 1));
        last_macs.update(&eth0(), &link(NEW), &session(SessionState::Idle, 1));
        assert_eq!(last_macs.mac(&eth0()), Some(OLD));

        // A restarted daemon counts from the start.
        last_macs.update(&eth0(), &link(NEW), &session(SessionState::Established, 1));
        assert_eq!(last_macs.mac(&eth0()), Some(NEW));
    }

    #[test]
    fn a_session_reestablished_between_two_polls_has_the_current_address() {
        let mut last_macs = LastMacs::default();
        last_macs.update(&eth0(), &link(OLD), &session(SessionState::Established, 1));

        last_macs.update(&eth0(), &link(NEW), &session(SessionState::Established, 2));

        assert_eq!(last_macs.mac(&eth0()), Some(NEW));
    }

    #[test]
    fn ports_with_a_configured_mac_address_may_change_names() {
        let found =
            |name: &str, mac| PeerAddress::Port { name: LinkName::parse(name).unwrap(), mac: Some(mac) };
        let mut last_macs = LastMacs::default();
        last_macs.update(&found("eth0", OLD), &link(OLD), &session(SessionState::Established, 1));
        last_macs.update(&found("eth1", NEW), &link(NEW), &session(SessionState::Established, 1));

        assert_eq!(last_macs.mac(&found("eth1", OLD)), Some(OLD));
        assert_eq!(last_macs.mac(&found("eth0", NEW)), Some(NEW));
    }
}
