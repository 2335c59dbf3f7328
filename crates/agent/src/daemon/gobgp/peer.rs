//! Sessions, from gobgpd's list of neighbours.

use ichor_bgp::agent::gobgp::SessionTimers;
use ichor_bgp::agent::session::{Session, SessionState};

use super::dialect::Dialect;
use super::message::{Peer, PeerConf, PeerState, TimersConfig};

/// Why a session went down, by GoBGP 4's number.
const REASONS: [&str; 14] = [
    "",
    "it was switched off",
    "hold timer expired",
    "a notification was sent",
    "a notification came",
    "the connection was lost while reading",
    "the connection was lost while writing",
    "idle timer expired",
    "restart timer expired",
    "graceful restart",
    "a message was not understood",
    "hard reset",
    "it was taken out of the configuration",
    "wrong AS",
];

/// The number of BFD's state up.
const BFD_UP: i32 = 1;

/// The session with a neighbour; `now` is the time in seconds since 1970.
pub fn session(peer: &Peer, dialect: Dialect, now: i64) -> Session {
    let state = peer.state.clone().unwrap_or_default();
    let conf = peer.conf.clone().unwrap_or_default();
    let session_state = match usize::try_from(state.session_state) {
        Ok(number @ 1..) => SessionState::ALL.get(number - 1).copied().unwrap_or(SessionState::Idle),
        _ => SessionState::Idle,
    };
    let up = session_state == SessionState::Established;
    let since = peer.timers.as_ref().and_then(|timers| timers.state.as_ref()?.uptime.as_ref());
    let uptime = since.and_then(|since| u64::try_from(now - since.seconds).ok());
    let sum = |count: fn(&super::message::AfiSafiState) -> u64| {
        let all = peer.afi_safis.iter().filter_map(|family| family.state.as_ref()).map(count).sum::<u64>();
        u32::try_from(all).unwrap_or(u32::MAX)
    };
    Session {
        peer: name(&conf, &state),
        domain: None,
        address: on_port(&conf).then(|| address(&state)).filter(|address| !address.is_empty()),
        asn: Some(if state.peer_asn == 0 { conf.peer_asn } else { state.peer_asn }).filter(|asn| *asn != 0),
        state: session_state,
        uptime: uptime.filter(|_| up),
        established: state.flops.saturating_add(u32::from(up)),
        received: sum(|state| state.received),
        sent: sum(|state| state.advertised),
        bfd: bfd(peer, &state),
        said: last_error(&state, dialect),
        ..Session::default()
    }
}

/// The key of a neighbour in the file, and its timers.
pub fn configured_timers(peer: &Peer) -> (String, SessionTimers) {
    let conf = peer.conf.clone().unwrap_or_default();
    let config = peer.timers.as_ref().and_then(|timers| timers.config.clone());
    let TimersConfig { hold_time, keepalive_interval } = config.unwrap_or_default();
    let timers = SessionTimers { keepalive: Some(keepalive_interval), hold: Some(hold_time) };
    (name(&conf, &peer.state.clone().unwrap_or_default()), timers)
}

fn on_port(conf: &PeerConf) -> bool {
    !conf.neighbor_interface.is_empty()
}

fn name(conf: &PeerConf, state: &PeerState) -> String {
    if on_port(conf) { conf.neighbor_interface.clone() } else { address(state) }
}

fn address(state: &PeerState) -> String {
    state.neighbor_address.split('%').next().unwrap_or_default().to_owned()
}

fn bfd(peer: &Peer, state: &PeerState) -> Option<bool> {
    let is_enabled = peer.bfd.as_ref().is_some_and(|bfd| bfd.enabled);
    is_enabled.then(|| state.bfd_state.as_ref().is_some_and(|bfd| bfd.session_state == BFD_UP))
}

fn last_error(state: &PeerState, dialect: Dialect) -> Option<String> {
    if state.admin_state == dialect.over_limit() {
        return Some("more prefixes came than allowed".to_owned());
    }
    let reason =
        usize::try_from(state.disconnect_reason).ok().and_then(|number| REASONS.get(number).copied());
    let reason = reason.unwrap_or_default();
    let error = match (reason, state.disconnect_message.as_str()) {
        (reason, "") => reason.to_owned(),
        ("", message) => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    };
    Some(error).filter(|error| !error.is_empty())
}
