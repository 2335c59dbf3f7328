//! Sessions, from BIRD's list of protocols.

use std::collections::BTreeMap;

use super::reply::Reply;
use super::timestamp::Timestamp;
use crate::agent::session::{Session, SessionState};

/// Code of a protocol's row.
const ROW: u16 = 1002;
/// Code of the lines below it.
const DETAILS: u16 = 1006;
/// Code of BFD sessions.
const BFD_ROW: u16 = 1020;
/// Prefix of the names of fabric sessions.
const FABRIC: &str = "fabric-";

/// The sessions in the replies to [`PROTOCOLS`](super::PROTOCOLS), [`BFD`](super::BFD) and [`STATUS`](super::STATUS),
/// sorted by peer.
///
/// A protocol that accepts neighbours of a range is listed until a neighbour connects, under its port or else its name.
/// BIRD does not count how often a session was established: an established session counts once.
pub fn sessions(protocols: &Reply, bfd: &Reply, status: &Reply) -> Vec<Session> {
    let now = status.lines().find_map(|(_, line)| parse_server_time(line));
    let bfd: BTreeMap<_, _> =
        bfd.lines().filter(|(code, _)| *code == BFD_ROW).filter_map(parse_bfd_session).collect();
    let all = parse_protocols(protocols);
    let has_spawned = |range: &BgpProtocol| all.iter().any(|other| other.is_spawned_by(range));
    let listed = all.iter().filter(|one| !(one.range && has_spawned(one)));
    let mut sessions: Vec<Session> = listed.map(|one| one.to_session(now, &bfd)).collect();
    sessions.sort_by(|one, other| one.peer.cmp(&other.peer));
    sessions
}

/// `Current server time is 2026-11-16 06:13:24.168`.
fn parse_server_time(line: &str) -> Option<Timestamp> {
    let words: Vec<&str> = line.trim().strip_prefix("Current server time is ")?.split_whitespace().collect();
    Timestamp::parse(&words).map(|(time, _)| time)
}

/// The address, link and state of a BFD session; none for the heading of the table.
fn parse_bfd_session((_, line): (u16, &str)) -> Option<((String, String), bool)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [address, link, state, ..] = words[..] else { return None };
    address.parse::<std::net::IpAddr>().ok()?;
    let link = if link == "---" { "" } else { link };
    Some(((address.to_owned(), link.to_owned()), state == "Up"))
}

/// The details of one BGP protocol.
#[derive(Default)]
struct BgpProtocol {
    name: String,
    since: Option<Timestamp>,
    /// The text at the end of its row.
    info: String,
    state: Option<String>,
    /// Whether it accepts neighbours of a range.
    range: bool,
    address: Option<String>,
    link: Option<String>,
    asn: Option<u32>,
    vrf: Option<String>,
    error: Option<String>,
    imported: u32,
    exported: u32,
}

fn parse_protocols(protocols: &Reply) -> Vec<BgpProtocol> {
    let mut all: Vec<BgpProtocol> = Vec::new();
    let mut current = false;
    for (code, line) in protocols.lines() {
        if code == ROW {
            let row = BgpProtocol::parse_row(line);
            current = row.is_some();
            all.extend(row);
        } else if code == DETAILS
            && current
            && let Some(protocol) = all.last_mut()
        {
            protocol.parse_detail(line.trim());
        }
    }
    all
}

impl BgpProtocol {
    /// `NAME BGP --- up 06:13:20.763  Established   Received: Bad peer AS`; none for a protocol of another type.
    fn parse_row(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, "BGP", _table, _state, rest @ ..] = &words[..] else { return None };
        let (since, taken) = Timestamp::parse(rest).map_or((None, 0), |(time, taken)| (Some(time), taken));
        // The first word is the state, which the details repeat.
        let info = rest.get(taken + 1..).unwrap_or_default().join(" ");
        Some(Self { name: (*name).to_owned(), since, info, ..Self::default() })
    }

    fn parse_detail(&mut self, line: &str) {
        let Some((label, value)) = line.split_once(':') else { return };
        let value = value.trim();
        match label {
            "BGP state" => self.state = Some(value.to_owned()),
            "Neighbor range" => self.range = true,
            "Neighbor address" => {
                let (address, link) = value.split_once('%').unwrap_or((value, ""));
                self.address = Some(address.to_owned());
                self.link = Some(link.to_owned()).filter(|link| !link.is_empty());
            }
            "Neighbor AS" => self.asn = value.parse().ok().filter(|asn| *asn != 0),
            "VRF" => self.vrf = Some(value.to_owned()).filter(|vrf| vrf != "default"),
            "Last error" => self.error = Some(value.to_owned()),
            "Routes" => self.count_routes(value),
            _ => {}
        }
    }

    /// `1 imported, 0 filtered, 1 exported, 1 preferred`, once for each family.
    fn count_routes(&mut self, routes: &str) {
        for part in routes.split(',') {
            let mut words = part.split_whitespace();
            let number = words.next().and_then(|number| number.parse::<u32>().ok()).unwrap_or(0);
            match words.next() {
                Some("imported") => self.imported = self.imported.saturating_add(number),
                Some("exported") => self.exported = self.exported.saturating_add(number),
                _ => {}
            }
        }
    }

    /// Whether it is a dynamic neighbour of `range`: its name is that of the range with a number.
    fn is_spawned_by(&self, range: &Self) -> bool {
        let number = self.name.strip_prefix(&range.name).and_then(|rest| rest.strip_prefix('-'));
        !self.range
            && number
                .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    }

    fn to_session(&self, now: Option<Timestamp>, bfd: &BTreeMap<(String, String), bool>) -> Session {
        let state = self.state.as_deref().map_or(SessionState::Idle, parse_state);
        let up = state == SessionState::Established;
        let own_name = || self.name.strip_prefix(FABRIC).unwrap_or(&self.name).to_owned();
        let error = self.error.clone().unwrap_or_else(|| self.info.clone());
        Session {
            peer: self.link.clone().or_else(|| self.address.clone()).unwrap_or_else(own_name),
            domain: self.vrf.clone(),
            address: self.address.clone().filter(|_| self.link.is_some()),
            asn: self.asn,
            state,
            uptime: self.since.zip(now).and_then(|(since, now)| since.seconds_until(now)).filter(|_| up),
            established: u32::from(up),
            received: self.imported,
            sent: self.exported,
            bfd: self.bfd(bfd),
            said: Some(error).filter(|error| !error.is_empty()),
            ..Session::default()
        }
    }

    /// BFD reports the link of every adjacent neighbour, even where BGP does not.
    fn bfd(&self, bfd: &BTreeMap<(String, String), bool>) -> Option<bool> {
        let address = self.address.as_deref()?;
        let matches =
            |(at, link): &(String, String)| at == address && self.link.as_ref().is_none_or(|own| own == link);
        bfd.iter().find(|(path, _)| matches(path)).map(|(_, up)| *up)
    }
}

/// BIRD prints `Passive` for a session that waits for the neighbour to connect; a closed session is idle.
fn parse_state(word: &str) -> SessionState {
    match word {
        "Passive" => SessionState::Active,
        word => SessionState::parse(word).unwrap_or(SessionState::Idle),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROTOCOLS: &str = "\
2002-Name       Proto      Table      State  Since         Info
1002-device1    Device     ---        up     06:13:19.647  
1006-
1002-node-addresses-lo Direct     ---        up     06:13:19.647  
1006-  Channel ipv4
     Routes:         1 imported, 0 exported, 1 preferred
1002-fabric-eth0 BGP        ---        start  06:13:19.647  Passive       
1006-  BGP state:          Passive
     Neighbor range:   fe80::/10
     Neighbor AS:      0
1002-fabric-eth1 BGP        ---        start  06:13:19.647  Passive       
1006-  BGP state:          Passive
     Neighbor range:   fe80::/10
     Neighbor AS:      0
1002-fabric-fd00::9 BGP        ---        start  06:13:22.527  Idle          Received: Bad peer AS
1006-  BGP state:          Idle
     Neighbor address: fd00::9
     Neighbor AS:      65009
     Error wait:       0.053/2
     Last error:       Received: Bad peer AS
1002-fabric-eth0-1 BGP        ---        up     2026-11-15 06:13:20.763  Established   
1006-  BGP state:          Established
     Neighbor address: fe80::2%eth0
     Neighbor AS:      65002
     Local capabilities
       Multiprotocol
         AF announced: ipv4 ipv6
   Channel ipv4
     Routes:         2 imported, 1 exported, 1 preferred
   Channel ipv6
     Routes:         1 imported, 3 filtered, 0 exported, 1 preferred
1002-load_balancer BGP        ---        down   06:13:22.527  Down          Route limit exceeded
1006-  VRF:            metallb
   BGP state:          Down
     Neighbor address: 192.168.250.255
     Neighbor AS:      65010
0000 
";
    const BFD: &str = "\
1020-bfd_fabric:
 IP address                Interface  State      Since         Interval  Timeout
 fe80::2                   eth0       Up         06:13:21.291    0.300    1.500
 fe80::2                   eth7       Down       06:13:21.291    0.300    1.500
0000 
";
    const STATUS: &str = "\
1000-BIRD 2.0.12
1011-Router ID is 10.0.0.1
 Hostname is vm
 Current server time is 2026-11-16 06:13:24.168
0013 Daemon is up and running
";

    fn reply(text: &str) -> Reply {
        Reply::parse(text.as_bytes()).unwrap().0
    }

    fn plain(peer: &str, state: SessionState) -> Session {
        Session { peer: peer.to_owned(), state, ..Session::default() }
    }

    #[test]
    fn sessions_have_their_port_address_and_last_error() {
        let parsed = sessions(&reply(PROTOCOLS), &reply(BFD), &reply(STATUS));

        let waiting = plain("eth1", SessionState::Active);
        let refused = Session {
            asn: Some(65009),
            said: Some("Received: Bad peer AS".to_owned()),
            ..plain("fd00::9", SessionState::Idle)
        };
        let up = Session {
            address: Some("fe80::2".to_owned()),
            asn: Some(65002),
            uptime: Some(24 * 3600 + 4),
            established: 1,
            received: 3,
            sent: 1,
            bfd: Some(true),
            ..plain("eth0", SessionState::Established)
        };
        let closed = Session {
            domain: Some("metallb".to_owned()),
            asn: Some(65010),
            said: Some("Route limit exceeded".to_owned()),
            ..plain("192.168.250.255", SessionState::Idle)
        };
        assert_eq!(parsed, [closed, up, waiting, refused]);
    }

    #[test]
    fn sessions_are_listed_without_bfd_and_server_time() {
        let none = reply("1020 There is no BFD protocol running\n");

        let parsed = sessions(&reply(PROTOCOLS), &none, &reply("0013 up\n"));

        assert_eq!(
            (parsed[1].bfd, parsed[1].uptime, parsed[1].state),
            (None, None, SessionState::Established)
        );
    }

    proptest! {
        #[test]
        fn arbitrary_replies_are_parsed(lines in prop::collection::vec("(1002-|1006-| |1020-)[ -~]{0,60}", 0..20)) {
            let text = reply(&(lines.join("\n") + "\n0000 \n"));

            let parsed = sessions(&text, &text, &text);

            prop_assert!(parsed.len() <= lines.len());
        }
    }
}
