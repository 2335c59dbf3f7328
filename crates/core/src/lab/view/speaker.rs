//! What gobgpd says of its neighbours, when `gobgp -j neighbor` asks it.

use serde_json::Value;

use ichor_bgp::agent::Session;
use ichor_bgp::agent::session::SessionState;

/// An answer is not of the form that GoBGP 3 and 4 give.
#[derive(Debug, thiserror::Error)]
#[error("the speaker's answer is not understood")]
pub struct SpeakerReplyError(#[source] serde_json::Error);

/// The sessions; `now` is the time in seconds since 1970. What went out, gobgp does not tell.
pub fn sessions(told: &str, now: u64) -> Result<Vec<Session>, SpeakerReplyError> {
    let all: Vec<Value> = serde_json::from_str(told).map_err(SpeakerReplyError)?;
    Ok(all.iter().map(|told| session(told, now)).collect())
}

fn session(told: &Value, now: u64) -> Session {
    // States are numbered from 1 on, in the order of RFC 4271.
    let number = told["state"]["session_state"].as_u64().and_then(|number| usize::try_from(number).ok());
    let state =
        number.and_then(|number| SessionState::ALL.get(number.checked_sub(1)?).copied()).unwrap_or_default();
    let up = state == SessionState::Established;
    let since = told["timers"]["state"]["uptime"]["seconds"].as_u64().filter(|_| up);
    let families = told["afi_safis"].as_array().into_iter().flatten();
    let received = families.filter_map(|family| family["state"]["received"].as_u64()).sum::<u64>();
    let address = told["state"]["neighbor_address"].as_str().unwrap_or_default();
    Session {
        peer: address.split('%').next().unwrap_or_default().to_owned(),
        asn: told["state"]["peer_asn"].as_u64().and_then(|asn| u32::try_from(asn).ok()),
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
        let told = UP.map(|told| sessions(told, 1_794_837_331).unwrap().remove(0));

        let seen = told.map(|it| (it.peer, it.state, it.uptime, it.received, it.asn));

        let stands = SessionState::Established;
        assert_eq!(seen[0], ("127.0.0.2".to_owned(), stands, Some(12), 2, Some(65002)));
        assert_eq!(seen[1], ("127.0.0.1".to_owned(), stands, Some(12), 1, Some(65001)));
    }

    #[test]
    fn one_that_is_down_has_neither() {
        let told = sessions(DOWN, 1_794_837_331).unwrap().remove(0);

        assert_eq!((told.state, told.uptime, told.received), (SessionState::Idle, None, 0));
    }

    #[test]
    fn what_is_no_answer_is_told() {
        assert!(sessions("Error: connection refused", 0).is_err());
        assert_eq!(sessions("[]", 0).unwrap(), []);
        assert_eq!(sessions("[{}]", 0).unwrap(), [Session::default()]);
    }
}
