//! Why a node did not do what it was asked: which one, which call, what it answered, and what to do.

use std::error::Error as StdError;
use std::net::SocketAddr;

use tonic::{Code, Status};

/// What kind of failure it is: what a caller decides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nobody answers at the address.
    Unreachable,
    /// It wants a certificate: it is configured and not in maintenance mode.
    NotMaintenance,
    /// It shows a certificate of somebody else.
    WrongCertificate,
    /// It does not take ours, or it does not allow that.
    Unauthorised,
    /// It cannot yet; later it may.
    NotYet,
    /// It will not, however often it is asked.
    Refused,
    /// This release has no such call.
    Unimplemented,
    /// There is no such thing.
    NotFound,
    /// It has been done before.
    AlreadyExists,
    /// The connection broke: whether the call was carried out is not known.
    Lost,
    /// No answer came in time: whether the call was carried out is not known.
    TimedOut,
}

/// A call to a node that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{node} at {address}: {call}: {answer}{}", advice.map(|advice| format!("; {advice}")).unwrap_or_default())]
pub struct NodeError {
    node: String,
    address: SocketAddr,
    call: &'static str,
    kind: Kind,
    answer: String,
    advice: Option<&'static str>,
}

/// Whom a failure is about, and with which call.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub node: &'a str,
    pub address: SocketAddr,
    pub(crate) call: &'static str,
}

impl NodeError {
    pub(super) fn new(about: About<'_>, kind: Kind, answer: impl Into<String>) -> Self {
        let About { node, address, call } = about;
        Self { node: node.to_owned(), address, call, kind, answer: answer.into(), advice: advice(kind) }
    }

    /// What a node answered to a call, or why nothing came.
    pub(super) fn of_status(about: About<'_>, status: &Status) -> Self {
        let kind = kind(status);
        let said = match status.message() {
            "" => words(status.code()).to_owned(),
            message => format!("{}: {message}", words(status.code())),
        };
        match kind {
            Kind::Lost => Self::new(about, kind, format!("the connection broke: {}", root(status))),
            _ => Self::new(about, kind, said),
        }
    }

    /// The kind of failure.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What was asked of it.
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// What it answered, or why nothing came; without its name and without advice.
    pub fn answer(&self) -> &str {
        &self.answer
    }
}

/// The last cause, which says most.
pub(super) fn root(error: &(dyn StdError + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

fn kind(status: &Status) -> Kind {
    // What a node says has no source; what went wrong on the way has one. Or it said nothing at all where it had to.
    if status.source().is_some() || status.message().contains("missing grpc-status") {
        return Kind::Lost;
    }
    match status.code() {
        Code::FailedPrecondition | Code::Unavailable | Code::ResourceExhausted | Code::Aborted => {
            Kind::NotYet
        }
        // What a release does not know of, it does not allow to look at.
        Code::PermissionDenied if status.message().ends_with(" is not supported") => Kind::Unimplemented,
        Code::PermissionDenied | Code::Unauthenticated => Kind::Unauthorised,
        Code::Unimplemented => Kind::Unimplemented,
        Code::NotFound => Kind::NotFound,
        Code::AlreadyExists => Kind::AlreadyExists,
        Code::DeadlineExceeded => Kind::TimedOut,
        Code::Cancelled => Kind::Lost,
        Code::Ok
        | Code::Unknown
        | Code::InvalidArgument
        | Code::OutOfRange
        | Code::Internal
        | Code::DataLoss => Kind::Refused,
    }
}

/// The codes of gRPC, for people.
fn words(code: Code) -> &'static str {
    match code {
        Code::Ok => "it answered with nothing",
        Code::Cancelled => "it gave up",
        Code::Unknown => "it failed",
        Code::InvalidArgument => "it refuses what it was sent",
        Code::DeadlineExceeded => "it took too long",
        Code::NotFound => "it has no such thing",
        Code::AlreadyExists => "that has been done already",
        Code::PermissionDenied => "it does not allow that",
        Code::ResourceExhausted => "it is busy",
        Code::FailedPrecondition => "it cannot do that now",
        Code::Aborted => "it stopped half-way",
        Code::OutOfRange => "it refuses the range",
        Code::Unimplemented => "this release has no such call",
        Code::Internal => "it failed inside",
        Code::Unavailable => "it is not available",
        Code::DataLoss => "it lost data",
        Code::Unauthenticated => "it does not know who asks",
    }
}

fn advice(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Unreachable => Some("see that the machine is on, runs Talos and can be reached from here"),
        Kind::NotMaintenance => Some("it is configured already; ask with the secrets of its cluster"),
        Kind::WrongCertificate => Some(
            "it is another machine, or belongs to a cluster with other secrets than those beside the cluster file",
        ),
        Kind::Unauthorised => Some(
            "`ichor secrets check` judges the administrator's certificate, `ichor secrets renew` makes a new one",
        ),
        Kind::NotYet | Kind::TimedOut => Some("wait a little and try again"),
        Kind::Lost => Some("see whether it reboots, and try again"),
        Kind::Refused | Kind::Unimplemented | Kind::NotFound | Kind::AlreadyExists => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About<'static> {
        About { node: "solcp01", address: "10.0.0.11:50000".parse().unwrap(), call: "bootstrap" }
    }

    #[test]
    fn an_error_says_which_node_which_call_what_it_answered_and_what_to_do() {
        let error =
            NodeError::of_status(about(), &Status::failed_precondition("bootstrap is not available yet"));

        assert_eq!(
            error.to_string(),
            "solcp01 at 10.0.0.11:50000: bootstrap: it cannot do that now: bootstrap is not available yet; \
             wait a little and try again"
        );
        assert_eq!(error.kind(), Kind::NotYet);
    }

    #[test]
    fn a_code_is_of_one_kind() {
        let kind = |code| NodeError::of_status(about(), &Status::new(code, "x")).kind();

        for (code, meant) in [
            (Code::AlreadyExists, Kind::AlreadyExists),
            (Code::Unavailable, Kind::NotYet),
            (Code::Aborted, Kind::NotYet),
            (Code::InvalidArgument, Kind::Refused),
            (Code::PermissionDenied, Kind::Unauthorised),
            (Code::Unimplemented, Kind::Unimplemented),
            (Code::Unknown, Kind::Refused),
        ] {
            assert_eq!(kind(code), meant, "{code:?}");
        }
    }

    #[test]
    fn a_resource_that_a_release_does_not_have_is_not_forbidden() {
        let words = "resource type \"BGPPeerStatuses.net.talos.dev\" is not supported";

        let error = NodeError::of_status(about(), &Status::permission_denied(words));

        assert_eq!(error.kind(), Kind::Unimplemented);
        assert_eq!(
            NodeError::of_status(about(), &Status::permission_denied("no")).kind(),
            Kind::Unauthorised
        );
    }

    #[test]
    fn what_broke_on_the_way_is_no_answer() {
        let broken = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "reset by peer");

        let error = NodeError::of_status(about(), &Status::from_error(Box::new(broken)));

        assert_eq!(error.kind(), Kind::Lost);
        assert!(error.to_string().contains("the connection broke: reset by peer"), "{error}");
    }
}
