//! A BGP session as a daemon tells it, whichever daemon that is.

use std::fmt;

use crate::model::Family;

/// One session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The neighbour: a port for one that is found by its advertisements, else an address.
    pub peer: String,
    /// The VRF or namespace; none for the node's own.
    pub domain: Option<String>,
    /// The address it was found at, where that is not `peer`.
    pub address: Option<String>,
    /// The neighbour's AS number, as far as it is known.
    pub asn: Option<u32>,
    /// How far it is.
    pub state: SessionState,
    /// Seconds since it was established.
    pub uptime: Option<u64>,
    /// How often it was established.
    pub established: u32,
    /// Prefixes that came in, of both families.
    pub received: u32,
    /// Prefixes that went out, of both families.
    pub sent: u32,
    /// Whether BFD says the path works; none without BFD.
    pub bfd: Option<bool>,
    /// The neighbour's address that BFD watches, where the daemon tells it.
    pub watched: Option<String>,
    /// The families both ends agreed on; none while that is not known.
    pub families: Option<Vec<Family>>,
    /// Who can take IPv4 over IPv6; none while that is not known.
    pub extended: Option<ExtendedNextHop>,
    /// The message that last closed it.
    pub notification: Option<Notification>,
    /// What the daemon last said was wrong, in its own words.
    pub said: Option<String>,
}

impl Session {
    /// Whether routes are told.
    pub fn is_established(&self) -> bool {
        self.state == SessionState::Established
    }

    /// Keeps the message that tells most, where this session is `before` a moment later.
    ///
    /// When both ends connect at once, the reason why one closes is soon followed by complaints about the other
    /// connection: seen on FRR 8.4 and 10.3, whose leaf expected another AS.
    pub fn remember(&mut self, before: &Self) {
        let same = self.peer == before.peer && self.domain == before.domain;
        let never_stood =
            !self.is_established() && self.established == before.established && !before.is_established();
        let says_little = |it: Option<Notification>| it.is_none_or(|it| it.code == Notification::CONFUSED);
        if same && never_stood && says_little(self.notification) && !says_little(before.notification) {
            self.notification = before.notification;
        }
    }
}

/// Who offers the extended next hop capability (RFC 8950) for IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedNextHop {
    /// The node.
    pub ours: bool,
    /// The neighbour.
    pub theirs: bool,
}

/// The message that closes a session (RFC 4271, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The kind of error.
    pub(crate) code: u8,
    /// Which of that kind.
    pub(crate) subcode: u8,
    /// Whether the node sent it, and the neighbour got it.
    pub sent: bool,
}

impl Notification {
    /// The code of messages that come at a time when they cannot be meant.
    const CONFUSED: u8 = 5;

    /// Reads FRR's `lastErrorCodeSubcode`: four hex digits such as `0202`.
    pub(crate) fn parse(digits: &str, sent: bool) -> Option<Self> {
        let all_hex = digits.len() == 4 && digits.bytes().all(|it| it.is_ascii_hexdigit());
        let number = u16::from_str_radix(digits, 16).ok().filter(|_| all_hex)?;
        let [code, subcode] = number.to_be_bytes();
        (code != 0).then_some(Self { code, subcode, sent })
    }
}

/// How far a session is (RFC 4271, section 8.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionState {
    /// Nothing is tried.
    #[default]
    Idle,
    /// Waiting for a connection.
    Connect,
    /// Waiting to try again, or for the other side to connect.
    Active,
    /// Connected, and the other side has not answered.
    OpenSent,
    /// Both sides said who they are.
    OpenConfirm,
    /// Routes are told.
    Established,
}

impl SessionState {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Idle, Self::Connect, Self::Active, Self::OpenSent, Self::OpenConfirm, Self::Established];

    /// The state of this name, in any case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.to_string().eq_ignore_ascii_case(text))
    }
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Idle => "Idle",
            Self::Connect => "Connect",
            Self::Active => "Active",
            Self::OpenSent => "OpenSent",
            Self::OpenConfirm => "OpenConfirm",
            Self::Established => "Established",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_in_any_case() {
        assert_eq!(SessionState::parse("OPENSENT"), Some(SessionState::OpenSent));
        assert_eq!(SessionState::parse("established"), Some(SessionState::Established));
        assert_eq!(SessionState::parse("Clearing"), None);
    }

    #[test]
    fn the_digits_of_frr_are_code_and_subcode() {
        let read = |digits| Notification::parse(digits, true).map(|it| (it.code, it.subcode));

        assert_eq!(read("0202"), Some((2, 2)));
        assert_eq!(read("060a"), Some((6, 10)));
        for nothing in ["0000", "", "2", "00202", "+202", "zz"] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn the_reason_is_remembered_through_complaints_about_the_other_connection() {
        let with = |digits: &str, state, established| Session {
            state,
            established,
            notification: Notification::parse(digits, false),
            ..Session::default()
        };
        let remembered = |before: &Session, mut now: Session| {
            now.remember(before);
            now.notification.map(|it| (it.code, it.subcode))
        };
        let wrong_as = with("0202", SessionState::Idle, 1);

        assert_eq!(remembered(&wrong_as, with("0501", SessionState::Active, 1)), Some((2, 2)));
        assert_eq!(remembered(&wrong_as, with("0602", SessionState::Active, 1)), Some((6, 2)));
        assert_eq!(
            remembered(&wrong_as, with("0501", SessionState::Active, 2)),
            Some((5, 1)),
            "it stood in between"
        );
        assert_eq!(remembered(&wrong_as, with("0000", SessionState::Established, 2)), None);
        assert_eq!(
            remembered(&with("0501", SessionState::Idle, 1), with("0000", SessionState::Idle, 1)),
            None
        );
    }
}
