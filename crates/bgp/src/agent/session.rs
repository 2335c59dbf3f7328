//! A BGP session, as reported by any of the daemons.

use std::fmt;

use crate::model::Family;

/// One session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The neighbour: its port if it is discovered by router advertisements, else its address.
    pub peer: String,
    /// The VRF or namespace; none for the node's own.
    pub domain: Option<String>,
    /// The neighbour's address, if `peer` is a port.
    pub address: Option<String>,
    /// The neighbour's AS number, if it is known.
    pub asn: Option<u32>,
    /// Its state.
    pub state: SessionState,
    /// Seconds since it was established.
    pub uptime: Option<u64>,
    /// How often it was established.
    pub established: u32,
    /// Prefixes received, of both families.
    pub received: u32,
    /// Prefixes sent, of both families.
    pub sent: u32,
    /// Whether BFD reports the path as up; none without BFD.
    pub bfd: Option<bool>,
    /// The address that BFD monitors, if the daemon reports it.
    pub watched: Option<String>,
    /// The address families of both ends; none while they are unknown.
    pub families: Option<Vec<Family>>,
    /// The ends that support IPv4 over IPv6; none while they are unknown.
    pub extended: Option<ExtendedNextHop>,
    /// The notification that last closed it.
    pub notification: Option<Notification>,
    /// The daemon's last error message, in its own words.
    pub said: Option<String>,
}

impl Session {
    /// Whether the session is established.
    pub fn is_established(&self) -> bool {
        self.state == SessionState::Established
    }

    /// Keeps the more informative notification of `before`, an earlier state of this session.
    ///
    /// When both ends connect at once, the notification with the reason is soon followed by others about the second
    /// connection: seen on FRR 8.4 and 10.3, whose leaf expected another AS.
    pub fn keep_notification(&mut self, before: &Self) {
        let same = self.peer == before.peer && self.domain == before.domain;
        let stayed_down =
            !self.is_established() && self.established == before.established && !before.is_established();
        let is_uninformative =
            |it: Option<Notification>| it.is_none_or(|it| it.code == Notification::FSM_ERROR);
        if same
            && stayed_down
            && is_uninformative(self.notification)
            && !is_uninformative(before.notification)
        {
            self.notification = before.notification;
        }
    }
}

/// The ends that advertise the extended next hop capability (RFC 8950) for IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedNextHop {
    /// The node.
    pub ours: bool,
    /// The neighbour.
    pub theirs: bool,
}

/// The notification that closes a session (RFC 4271, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The error code.
    pub code: u8,
    /// The error subcode.
    pub subcode: u8,
    /// Whether the node sent it; else the neighbour did.
    pub sent: bool,
}

impl Notification {
    /// Finite State Machine Error: a message that is unexpected in the current state.
    const FSM_ERROR: u8 = 5;

    /// Parses FRR's `lastErrorCodeSubcode`: four hex digits such as `0202`.
    pub(crate) fn parse(digits: &str, sent: bool) -> Option<Self> {
        let all_hex = digits.len() == 4 && digits.bytes().all(|it| it.is_ascii_hexdigit());
        let number = u16::from_str_radix(digits, 16).ok().filter(|_| all_hex)?;
        let [code, subcode] = number.to_be_bytes();
        (code != 0).then_some(Self { code, subcode, sent })
    }
}

/// The state of a session (RFC 4271, section 8.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionState {
    /// No connection is attempted.
    #[default]
    Idle,
    /// Waiting for a connection.
    Connect,
    /// Waiting to retry, or for the neighbour to connect.
    Active,
    /// Connected, waiting for the neighbour's OPEN message.
    OpenSent,
    /// Both ends have sent their OPEN messages.
    OpenConfirm,
    /// Routes are exchanged.
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
    fn state_names_are_case_insensitive() {
        assert_eq!(SessionState::parse("OPENSENT"), Some(SessionState::OpenSent));
        assert_eq!(SessionState::parse("established"), Some(SessionState::Established));
        assert_eq!(SessionState::parse("Clearing"), None);
    }

    #[test]
    fn the_digits_of_frr_are_code_and_subcode() {
        let read = |digits| Notification::parse(digits, true).map(|it| (it.code, it.subcode));

        assert_eq!(read("0202"), Some((2, 2)));
        assert_eq!(read("060a"), Some((6, 10)));
        for invalid in ["0000", "", "2", "00202", "+202", "zz"] {
            assert_eq!(read(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn the_first_notification_is_kept_over_those_about_a_second_connection() {
        let session = |digits: &str, state, established| Session {
            state,
            established,
            notification: Notification::parse(digits, false),
            ..Session::default()
        };
        let kept = |before: &Session, mut now: Session| {
            now.keep_notification(before);
            now.notification.map(|it| (it.code, it.subcode))
        };
        let wrong_as = session("0202", SessionState::Idle, 1);

        assert_eq!(kept(&wrong_as, session("0501", SessionState::Active, 1)), Some((2, 2)));
        assert_eq!(kept(&wrong_as, session("0602", SessionState::Active, 1)), Some((6, 2)));
        assert_eq!(
            kept(&wrong_as, session("0501", SessionState::Active, 2)),
            Some((5, 1)),
            "it was established in between"
        );
        assert_eq!(kept(&wrong_as, session("0000", SessionState::Established, 2)), None);
        assert_eq!(
            kept(&session("0501", SessionState::Idle, 1), session("0000", SessionState::Idle, 1)),
            None
        );
    }
}
