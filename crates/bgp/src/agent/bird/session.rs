//! Sessions, from what BIRD says of its protocols.

use std::collections::BTreeMap;

use super::reply::Reply;
use super::since::Timestamp;
use crate::agent::session::{Session, SessionState};

/// Code of the row of a protocol.
const ROW: u16 = 1002;
/// Code of the lines below it.
const DETAILS: u16 = 1006;
/// Code of BFD's sessions.
const BFD_ROW: u16 = 1020;
/// How the names of sessions with the fabric start.
const FABRIC: &str = "fabric-";

/// The sessions in the answers to [`PROTOCOLS`](super::PROTOCOLS), [`BFD`](super::BFD) and [`STATUS`](super::STATUS).
///
/// One that waits for neighbours of a range is told while nobody came: it is then known by its port, else by its name. BIRD
/// does not count how often a session came up: it is once for one that is up. BIRD tells them in the order in which they came,
/// here they are in the order of their peers.
pub fn sessions(protocols: &Reply, bfd: &Reply, status: &Reply) -> Vec<Session> {
    let now = status.lines().find_map(|(_, line)| now(line));
    let bfd: BTreeMap<_, _> = bfd.lines().filter(|(code, _)| *code == BFD_ROW).filter_map(path).collect();
    let all = read(protocols);
    let came = |range: &BgpProtocol| all.iter().any(|other| other.came_by(range));
    let told = all.iter().filter(|one| !(one.range && came(one)));
    let mut sessions: Vec<Session> = told.map(|one| one.session(now, &bfd)).collect();
    sessions.sort_by(|one, other| one.peer.cmp(&other.peer));
    sessions
}

/// `Current server time is 2026-11-16 06:13:24.168`.
fn now(line: &str) -> Option<Timestamp> {
    let words: Vec<&str> = line.trim().strip_prefix("Current server time is ")?.split_whitespace().collect();
    Timestamp::read(&words).map(|(told, _)| told)
}

/// Address, link and state of a row of BFD; its head is one whose state is none.
fn path((_, line): (u16, &str)) -> Option<((String, String), bool)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [address, link, state, ..] = words[..] else { return None };
    address.parse::<std::net::IpAddr>().ok()?;
    let link = if link == "---" { "" } else { link };
    Some(((address.to_owned(), link.to_owned()), state == "Up"))
}

/// What is said of one protocol that speaks BGP.
#[derive(Default)]
struct BgpProtocol {
    name: String,
    since: Option<Timestamp>,
    /// What stands at the end of its row.
    info: String,
    state: Option<String>,
    /// Whether it waits for neighbours of a range.
    range: bool,
    address: Option<String>,
    link: Option<String>,
    asn: Option<u32>,
    vrf: Option<String>,
    error: Option<String>,
    imported: u32,
    exported: u32,
}

fn read(protocols: &Reply) -> Vec<BgpProtocol> {
    let mut all: Vec<BgpProtocol> = Vec::new();
    let mut current = false;
    for (code, line) in protocols.lines() {
        if code == ROW {
            let row = BgpProtocol::row(line);
            current = row.is_some();
            all.extend(row);
        } else if code == DETAILS
            && current
            && let Some(protocol) = all.last_mut()
        {
            protocol.detail(line.trim());
        }
    }
    all
}

impl BgpProtocol {
    /// `NAME BGP --- up 06:13:20.763  Established   Received: Bad peer AS`; none for one of another kind.
    fn row(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, "BGP", _table, _state, rest @ ..] = &words[..] else { return None };
        let (since, taken) = Timestamp::read(rest).map_or((None, 0), |(told, taken)| (Some(told), taken));
        // The state comes first, and is told below once more.
        let info = rest.get(taken + 1..).unwrap_or_default().join(" ");
        Some(Self { name: (*name).to_owned(), since, info, ..Self::default() })
    }

    fn detail(&mut self, line: &str) {
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
            "Routes" => self.count(value),
            _ => {}
        }
    }

    /// `1 imported, 0 filtered, 1 exported, 1 preferred`, once for each family.
    fn count(&mut self, routes: &str) {
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

    /// Whether it is a neighbour that came to the one that waits: its name is that one's and a number.
    fn came_by(&self, range: &Self) -> bool {
        let number = self.name.strip_prefix(&range.name).and_then(|rest| rest.strip_prefix('-'));
        !self.range
            && number
                .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    }

    fn session(&self, now: Option<Timestamp>, bfd: &BTreeMap<(String, String), bool>) -> Session {
        let state = self.state.as_deref().map_or(SessionState::Idle, state);
        let up = state == SessionState::Established;
        let named = || self.name.strip_prefix(FABRIC).unwrap_or(&self.name).to_owned();
        let said = self.error.clone().unwrap_or_else(|| self.info.clone());
        Session {
            peer: self.link.clone().or_else(|| self.address.clone()).unwrap_or_else(named),
            domain: self.vrf.clone(),
            address: self.address.clone().filter(|_| self.link.is_some()),
            asn: self.asn,
            state,
            uptime: self.since.zip(now).and_then(|(since, now)| since.until(now)).filter(|_| up),
            established: u32::from(up),
            received: self.imported,
            sent: self.exported,
            bfd: self.bfd(bfd),
            said: Some(said).filter(|said| !said.is_empty()),
            ..Session::default()
        }
    }

    /// BFD tells the link of every neighbour next to it, also where BGP does not.
    fn bfd(&self, bfd: &BTreeMap<(String, String), bool>) -> Option<bool> {
        let address = self.address.as_deref()?;
        let of =
            |(at, link): &(String, String)| at == address && self.link.as_ref().is_none_or(|own| own == link);
        bfd.iter().find(|(path, _)| of(path)).map(|(_, up)| *up)
    }
}

/// BIRD waits for others in a state of its own; a closed session tries nothing.
fn state(word: &str) -> SessionState {
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
        Reply::read(text.as_bytes()).unwrap().0
    }

    fn plain(peer: &str, state: SessionState) -> Session {
        Session { peer: peer.to_owned(), state, ..Session::default() }
    }

    #[test]
    fn sessions_are_told_by_port_address_and_last_error() {
        let told = sessions(&reply(PROTOCOLS), &reply(BFD), &reply(STATUS));

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
        assert_eq!(told, [closed, up, waiting, refused]);
    }

    #[test]
    fn without_bfd_and_the_time_the_rest_is_told() {
        let none = reply("1020 There is no BFD protocol running\n");

        let told = sessions(&reply(PROTOCOLS), &none, &reply("0013 up\n"));

        assert_eq!((told[1].bfd, told[1].uptime, told[1].state), (None, None, SessionState::Established));
    }

    proptest! {
        #[test]
        fn whatever_is_said_is_read(lines in prop::collection::vec("(1002-|1006-| |1020-)[ -~]{0,60}", 0..20)) {
            let said = reply(&(lines.join("\n") + "\n0000 \n"));

            let told = sessions(&said, &said, &said);

            prop_assert!(told.len() <= lines.len());
        }
    }
}
