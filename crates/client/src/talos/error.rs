//! Why a node did not do what it was asked: which one, which call, what it answered, and what to do.

use std::error::Error as StdError;
use std::net::SocketAddr;

use tonic::{Code, Status};

/// What kind of failure it is: what a caller decides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeErrorKind {
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
    kind: NodeErrorKind,
    answer: String,
    advice: Option<&'static str>,
}

/// Whom a failure is about, and with which call.
#[derive(Clone, Copy)]
pub(crate) struct CallContext<'a> {
    pub node: &'a str,
    pub address: SocketAddr,
    pub(crate) call: &'static str,
}

impl NodeError {
    pub(super) fn new(about: CallContext<'_>, kind: NodeErrorKind, answer: impl Into<String>) -> Self {
        let CallContext { node, address, call } = about;
        Self { node: node.to_owned(), address, call, kind, answer: answer.into(), advice: advice(kind) }
    }

    /// What a node answered to a call, or why nothing came.
    pub(super) fn of_status(about: CallContext<'_>, status: &Status) -> Self {
        let kind = kind(status);
        let said = match status.message() {
            "" => describe_code(status.code()).to_owned(),
            message => format!("{}: {message}", describe_code(status.code())),
        };
        match kind {
            NodeErrorKind::Lost => Self::new(about, kind, format!("connection lost: {}", root(status))),
            _ => Self::new(about, kind, said),
        }
    }

    /// The kind of failure.
    pub fn kind(&self) -> NodeErrorKind {
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

fn kind(status: &Status) -> NodeErrorKind {
    // What a node says has no source; what went wrong on the way has one. Or it said nothing at all where it had to.
    if status.source().is_some() || status.message().contains("missing grpc-status") {
        return NodeErrorKind::Lost;
    }
    match status.code() {
        Code::FailedPrecondition | Code::Unavailable | Code::ResourceExhausted | Code::Aborted => {
            NodeErrorKind::NotYet
        }
        // What a release does not know of, it does not allow to look at.
        Code::PermissionDenied if status.message().ends_with(" is not supported") => {
            NodeErrorKind::Unimplemented
        }
        Code::PermissionDenied | Code::Unauthenticated => NodeErrorKind::Unauthorised,
        Code::Unimplemented => NodeErrorKind::Unimplemented,
        Code::NotFound => NodeErrorKind::NotFound,
        Code::AlreadyExists => NodeErrorKind::AlreadyExists,
        Code::DeadlineExceeded => NodeErrorKind::TimedOut,
        Code::Cancelled => NodeErrorKind::Lost,
        Code::Ok
        | Code::Unknown
        | Code::InvalidArgument
        | Code::OutOfRange
        | Code::Internal
        | Code::DataLoss => NodeErrorKind::Refused,
    }
}

/// The codes of gRPC, for people.
fn describe_code(code: Code) -> &'static str {
    match code {
        Code::Ok => "empty response",
        Code::Cancelled => "cancelled",
        Code::Unknown => "failed",
        Code::InvalidArgument => "invalid argument",
        Code::DeadlineExceeded => "deadline exceeded",
        Code::NotFound => "not found",
        Code::AlreadyExists => "already done",
        Code::PermissionDenied => "permission denied",
        Code::ResourceExhausted => "resources exhausted",
        Code::FailedPrecondition => "not possible in the current state",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out of range",
        Code::Unimplemented => "not supported by this release",
        Code::Internal => "internal error",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data loss",
        Code::Unauthenticated => "not authenticated",
    }
}

fn advice(kind: NodeErrorKind) -> Option<&'static str> {
    match kind {
        NodeErrorKind::Unreachable => {
            Some("check that the machine is on, runs Talos and is reachable from here")
        }
        NodeErrorKind::NotMaintenance => {
            Some("the node is already configured; use the secrets of its cluster")
        }
        NodeErrorKind::WrongCertificate => Some(
            "check the address, and that the secrets beside the cluster file are those of the node's cluster",
        ),
        NodeErrorKind::Unauthorised => Some(
            "check the administrator's certificate with `ichor secrets check`, or create one with `ichor secrets renew`",
        ),
        NodeErrorKind::NotYet | NodeErrorKind::TimedOut => Some("try again later"),
        NodeErrorKind::Lost => Some("check whether the node reboots, and try again"),
        NodeErrorKind::Refused
        | NodeErrorKind::Unimplemented
        | NodeErrorKind::NotFound
        | NodeErrorKind::AlreadyExists => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> CallContext<'static> {
        CallContext { node: "solcp01", address: "10.0.0.11:50000".parse().unwrap(), call: "bootstrap" }
    }

    #[test]
    fn an_error_names_node_call_response_and_advice() {
        let error =
            NodeError::of_status(about(), &Status::failed_precondition("bootstrap is not available yet"));

        assert_eq!(
            error.to_string(),
            "solcp01 at 10.0.0.11:50000: bootstrap: it cannot do that now: bootstrap is not available yet; \
             wait a little and try again"
        );
        assert_eq!(error.kind(), NodeErrorKind::NotYet);
    }

    #[test]
    fn every_grpc_code_has_one_error_kind() {
        let kind = |code| NodeError::of_status(about(), &Status::new(code, "x")).kind();

        for (code, meant) in [
            (Code::AlreadyExists, NodeErrorKind::AlreadyExists),
            (Code::Unavailable, NodeErrorKind::NotYet),
            (Code::Aborted, NodeErrorKind::NotYet),
            (Code::InvalidArgument, NodeErrorKind::Refused),
            (Code::PermissionDenied, NodeErrorKind::Unauthorised),
            (Code::Unimplemented, NodeErrorKind::Unimplemented),
            (Code::Unknown, NodeErrorKind::Refused),
        ] {
            assert_eq!(kind(code), meant, "{code:?}");
        }
    }

    #[test]
    fn an_unsupported_resource_type_is_not_a_permission_error() {
        let words = "resource type \"BGPPeerStatuses.net.talos.dev\" is not supported";

        let error = NodeError::of_status(about(), &Status::permission_denied(words));

        assert_eq!(error.kind(), NodeErrorKind::Unimplemented);
        assert_eq!(
            NodeError::of_status(about(), &Status::permission_denied("no")).kind(),
            NodeErrorKind::Unauthorised
        );
    }

    #[test]
    fn a_transport_error_means_a_lost_connection() {
        let broken = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "reset by peer");

        let error = NodeError::of_status(about(), &Status::from_error(Box::new(broken)));

        assert_eq!(error.kind(), NodeErrorKind::Lost);
        assert!(error.to_string().contains("connection lost: reset by peer"), "{error}");
    }
}
