//! The output of `gobgp -j neighbor`.

use serde_json::Value;

use ichor_bgp::agent::Session;
use ichor_bgp::agent::session::SessionState;

/// The output does not have the structure of GoBGP 3 and 4.
#[derive(Debug, thiserror::Error)]
#[error("cannot parse the output of `gobgp -j neighbor`")]
pub struct SpeakerReplyError(#[source] serde_json::Error);

/// Parses the sessions; `now` is the time in seconds since 1970. gobgp does not report the prefixes sent.
pub fn parse_sessions(output: &str, now: u64) -> Result<Vec<Session>, SpeakerReplyError> {
    let all: Vec<Value> = serde_json::from_str(output).map_err(SpeakerReplyError)?;
    Ok(all.iter().map(|neighbor| parse_session(neighbor, now)).collect())
}

fn parse_session(neighbor: &Value, now: u64) -> Session {
    // States are numbered from 1, in the order of RFC 4271.
    let number = neighbor["state"]["session_state"].as_u64().and_then(|number| usize::try_from(number).ok());
    let state =
        number.and_then(|number| SessionState::ALL.get(number.checked_sub(1)?).copied()).unwrap_or_default();
    let up = state == SessionState::Established;
    let since = neighbor["timers"]["state"]["uptime"]["seconds"].as_u64().filter(|_| up);
    let families = neighbor["afi_safis"].as_array().into_iter().flatten();
    let received = families.filter_map(|family| family["state"]["received"].as_u64()).sum::<u64>();
    let address = neighbor["state"]["neighbor_address"].as_str().unwrap_or_default();
    Session {
        peer: address.split('%').next().unwrap_or_default().to_owned(),
        asn: neighbor["state"]["peer_asn"].as_u64().and_then(|asn| u32::try_from(asn).ok()),
        state,
        uptime: since.map(|since| now.saturating_sub(since)),
        received: u32::try_from(received).unwrap_or(u32::MAX),
        ..Session::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: [&str; 2] = [
        include_str!("../../../tests/lab/gobgp/3.36-up.json"),
        include_str!("../../../tests/lab/gobgp/4.8-up.json"),
    ];
    const DOWN: &str = include_str!("../../../tests/lab/gobgp/3.36-down.json");

    #[test]
    fn a_session_that_is_up_has_an_uptime_and_prefixes() {
        let parsed = UP.map(|output| parse_sessions(output, 1_794_837_331).unwrap().remove(0));

        let seen = parsed.map(|it| (it.peer, it.state, it.uptime, it.received, it.asn));

        let established = SessionState::Established;
        assert_eq!(seen[0], ("127.0.0.2".to_owned(), established, Some(12), 2, Some(65002)));
        assert_eq!(seen[1], ("127.0.0.1".to_owned(), established, Some(12), 1, Some(65001)));
    }

    #[test]
    fn a_session_that_is_down_has_no_uptime_or_prefixes() {
        let parsed = parse_sessions(DOWN, 1_794_837_331).unwrap().remove(0);

        assert_eq!((parsed.state, parsed.uptime, parsed.received), (SessionState::Idle, None, 0));
    }

    #[test]
    fn other_output_is_rejected() {
        assert!(parse_sessions("Error: connection refused", 0).is_err());
        assert_eq!(parse_sessions("[]", 0).unwrap(), []);
        assert_eq!(parse_sessions("[{}]", 0).unwrap(), [Session::default()]);
    }
}
