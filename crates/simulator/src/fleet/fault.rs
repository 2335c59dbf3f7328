//! Injected faults of simulated nodes.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::duration;

/// The default delay of a response.
const SLOW: Duration = Duration::from_secs(2);
/// The service that fails by default.
const KUBELET: &str = "kubelet";
/// The default delay of a reboot.
const LATE: Duration = Duration::from_secs(30);

/// A fault of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every answer is kept back for this long.
    Slow(Duration),
    /// The connection is cut after the first piece of a stream, this many times.
    ResetMidStream(u32),
    /// A reboot takes this much longer.
    LateReboot(Duration),
    /// Every configuration is refused with these words.
    RefuseConfig(String),
    /// The etcd that the node belongs to has no leader.
    LoseQuorum,
    /// Ports and firmware are those of another machine.
    OtherIdentity,
    /// The machine belongs to another cluster already.
    OtherCa,
    /// The clock is not in sync; where a time is given, it is that much ahead.
    ClockSkew(Duration),
    /// The first port has no carrier.
    NoCarrier,
    /// Services of extensions wait for something.
    ServiceWaits,
    /// No session with a router comes up.
    SessionDown,
    /// The speaker of service addresses does not answer the node.
    SpeakerDown,
    /// The node is not in its overlay.
    OverlayDown,
    /// The medium with the first configuration is not read.
    NoMedium,
    /// An upgrade fails: the machine boots its previous release.
    FallBack,
    /// Every installer fails.
    FailInstall,
    /// A disruption budget keeps the node's pods where they are.
    KeepPods,
    /// This service fails, and is not started again.
    FailService(String),
}

impl Fault {
    /// The words of all faults in their text form.
    pub(crate) const KINDS: [&str; 18] = [
        "slow",
        "reset-mid-stream",
        "late-reboot",
        "refuse-config",
        "lose-quorum",
        "other-identity",
        "other-ca",
        "clock-skew",
        "no-carrier",
        "service-waits",
        "session-down",
        "speaker-down",
        "overlay-down",
        "no-medium",
        "fall-back",
        "fail-install",
        "keep-pods",
        "fail-service",
    ];

    /// Its word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Slow(_) => "slow",
            Self::ResetMidStream(_) => "reset-mid-stream",
            Self::LateReboot(_) => "late-reboot",
            Self::RefuseConfig(_) => "refuse-config",
            Self::LoseQuorum => "lose-quorum",
            Self::OtherIdentity => "other-identity",
            Self::OtherCa => "other-ca",
            Self::ClockSkew(_) => "clock-skew",
            Self::NoCarrier => "no-carrier",
            Self::ServiceWaits => "service-waits",
            Self::SessionDown => "session-down",
            Self::SpeakerDown => "speaker-down",
            Self::OverlayDown => "overlay-down",
            Self::NoMedium => "no-medium",
            Self::FallBack => "fall-back",
            Self::FailInstall => "fail-install",
            Self::KeepPods => "keep-pods",
            Self::FailService(_) => "fail-service",
        }
    }

    /// Reads `NODE:KIND[:PARAM]`.
    pub fn parse(text: &str) -> Result<(String, Self), FaultError> {
        let mut parts = text.splitn(3, ':');
        let (node, kind, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let Some(kind) = kind.filter(|_| !node.is_empty()) else {
            return Err(FaultError::Form { text: text.to_owned() });
        };
        let time = |usual: Duration| match more {
            None => Ok(usual),
            Some(text) => duration::parse(text)
                .ok_or_else(|| FaultError::Time { text: text.to_owned(), kind: kind.to_owned() }),
        };
        let bare = |fault: Self| match more {
            None => Ok(fault),
            Some(more) => Err(FaultError::Bare { kind: kind.to_owned(), more: more.to_owned() }),
        };
        let fault = match kind {
            "slow" => Self::Slow(time(SLOW)?),
            "late-reboot" => Self::LateReboot(time(LATE)?),
            "clock-skew" => Self::ClockSkew(time(Duration::ZERO)?),
            "reset-mid-stream" => {
                let times = more.unwrap_or("1");
                let wrong = |_| FaultError::Times { text: times.to_owned() };
                Self::ResetMidStream(times.parse().map_err(wrong)?)
            }
            "refuse-config" => Self::RefuseConfig(more.unwrap_or("refused by the simulator").to_owned()),
            "lose-quorum" => bare(Self::LoseQuorum)?,
            "other-identity" => bare(Self::OtherIdentity)?,
            "other-ca" => bare(Self::OtherCa)?,
            "no-carrier" => bare(Self::NoCarrier)?,
            "service-waits" => bare(Self::ServiceWaits)?,
            "session-down" => bare(Self::SessionDown)?,
            "speaker-down" => bare(Self::SpeakerDown)?,
            "overlay-down" => bare(Self::OverlayDown)?,
            "no-medium" => bare(Self::NoMedium)?,
            "fall-back" => bare(Self::FallBack)?,
            "fail-install" => bare(Self::FailInstall)?,
            "keep-pods" => bare(Self::KeepPods)?,
            "fail-service" => Self::FailService(more.unwrap_or(KUBELET).to_owned()),
            _ => return Err(FaultError::Unknown { kind: kind.to_owned() }),
        };
        Ok((node.to_owned(), fault))
    }
}

/// Why a text is not a fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum FaultError {
    #[error("`{text}` is not a fault; want NODE:KIND or NODE:KIND:PARAM, such as cp1:slow:3s")]
    Form { text: String },
    #[error("`{kind}` is not a fault; want one of {}", Fault::KINDS.join(", "))]
    Unknown { kind: String },
    #[error("`{text}` is not a time for `{kind}`; want one such as 500ms or 3s")]
    Time { text: String, kind: String },
    #[error("`{text}` is not a valid number of resets; want one such as 2")]
    Times { text: String },
    #[error("`{kind}` takes no parameter, but `{more}` follows it")]
    Bare { kind: String, more: String },
}

/// Its text form, after the name of a node.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Self::Slow(time) | Self::LateReboot(time) | Self::ClockSkew(time) => {
                write!(f, ":{}ms", time.as_millis())
            }
            Self::ResetMidStream(times) => write!(f, ":{times}"),
            Self::RefuseConfig(words) | Self::FailService(words) => write!(f, ":{words}"),
            Self::LoseQuorum
            | Self::OtherIdentity
            | Self::OtherCa
            | Self::NoCarrier
            | Self::ServiceWaits
            | Self::SessionDown
            | Self::SpeakerDown
            | Self::OverlayDown
            | Self::NoMedium
            | Self::FallBack
            | Self::FailInstall
            | Self::KeepPods => Ok(()),
        }
    }
}

/// The faults of one node, one of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(BTreeMap<&'static str, Fault>);

impl Faults {
    /// Adds a fault, replacing one of its kind.
    pub fn add(&mut self, fault: Fault) {
        self.0.insert(fault.kind(), fault);
    }

    /// Removes faults of one kind, or all; returns whether there were any.
    pub(crate) fn heal(&mut self, kind: Option<&str>) -> bool {
        let before = self.0.len();
        self.0.retain(|found, _| kind.is_some_and(|kind| kind != *found));
        before != self.0.len()
    }

    /// All faults.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Fault> {
        self.0.values()
    }

    /// The delay of every response.
    pub(crate) fn slow(&self) -> Option<Duration> {
        self.0.get("slow").and_then(|fault| if let Fault::Slow(time) = fault { Some(*time) } else { None })
    }

    /// The additional time of a reboot.
    pub(crate) fn late(&self) -> Duration {
        match self.0.get("late-reboot") {
            Some(Fault::LateReboot(time)) => *time,
            _ => Duration::ZERO,
        }
    }

    /// The message with which configurations are rejected.
    pub(crate) fn refusal(&self) -> Option<&str> {
        match self.0.get("refuse-config") {
            Some(Fault::RefuseConfig(words)) => Some(words),
            _ => None,
        }
    }

    /// How far the clock is ahead, if it is not in sync.
    pub(crate) fn skew(&self) -> Option<Duration> {
        match self.0.get("clock-skew") {
            Some(Fault::ClockSkew(time)) => Some(*time),
            _ => None,
        }
    }

    /// Whether this service fails.
    pub(crate) fn fails(&self, service: &str) -> bool {
        matches!(self.0.get("fail-service"), Some(Fault::FailService(id)) if id == service)
    }

    /// Whether there is one of this kind.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.0.contains_key(kind)
    }

    /// Whether a stream is to be cut now; one time less from then on.
    pub fn take_cut(&mut self) -> bool {
        let Some(Fault::ResetMidStream(times)) = self.0.get_mut("reset-mid-stream") else { return false };
        *times = times.saturating_sub(1);
        if *times == 0 {
            self.0.remove("reset-mid-stream");
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_round_trip_through_text() {
        let read = |text| Fault::parse(text);
        let seconds = Duration::from_secs;

        assert_eq!(read("cp1:slow"), Ok(("cp1".to_owned(), Fault::Slow(SLOW))));
        assert_eq!(read("cp1:slow:3s"), Ok(("cp1".to_owned(), Fault::Slow(seconds(3)))));
        assert_eq!(read("a:reset-mid-stream:2"), Ok(("a".to_owned(), Fault::ResetMidStream(2))));
        assert_eq!(read("a:clock-skew"), Ok(("a".to_owned(), Fault::ClockSkew(Duration::ZERO))));
        let words = Fault::RefuseConfig("no: not this".to_owned());
        assert_eq!(read("a:refuse-config:no: not this"), Ok(("a".to_owned(), words)));
        for kind in Fault::KINDS {
            let fault = Fault::parse(&format!("a:{kind}")).unwrap().1;
            assert_eq!(fault.kind(), kind);
            assert_eq!(Fault::parse(&format!("a:{fault}")).unwrap().1, fault);
        }
    }

    #[test]
    fn invalid_faults_are_rejected_with_the_valid_form() {
        let error = |text| Fault::parse(text).unwrap_err().to_string();

        assert!(error("cp1").contains("NODE:KIND"));
        assert!(error(":slow").contains("NODE:KIND"));
        assert!(error("cp1:slwo").contains("slow, reset-mid-stream"));
        assert!(error("cp1:slow:x").contains("500ms"));
        assert!(error("cp1:other-ca:x").contains("takes no parameter"));
        assert!(error("cp1:reset-mid-stream:x").contains("number"));
    }

    #[test]
    fn reset_faults_count_down_and_faults_are_healed() {
        let mut faults = Faults::default();
        faults.add(Fault::ResetMidStream(2));
        faults.add(Fault::LoseQuorum);

        assert_eq!([faults.take_cut(), faults.take_cut(), faults.take_cut()], [true, true, false]);
        assert!(faults.heal(Some("lose-quorum")));
        assert!(!faults.heal(None));
    }
}
