//! Errors of calls to a node: node, call, response and advice.

use std::error::Error as StdError;
use std::net::SocketAddr;

use tonic::{Code, Status};

/// The kind of failure, for decisions of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeErrorKind {
    /// No server responds at the address.
    Unreachable,
    /// It wants a certificate: it is configured and not in maintenance mode.
    NotMaintenance,
    /// The certificate belongs to another server.
    WrongCertificate,
    /// It does not take ours, or it does not allow that.
    Unauthorised,
    /// It cannot yet; later it may.
    NotYet,
    /// It rejects the call, and a retry does not help.
    Refused,
    /// This release has no such call.
    Unimplemented,
    /// The requested item does not exist.
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

/// The node and the call of a failure.
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

    /// The error for a gRPC status, of the node or of the transport.
    pub(super) fn of_status(about: CallContext<'_>, status: &Status) -> Self {
        let kind = kind(status);
        let answer = match status.message() {
            "" => describe_code(status.code()).to_owned(),
            message => format!("{}: {message}", describe_code(status.code())),
        };
        match kind {
            NodeErrorKind::Lost => Self::new(about, kind, format!("connection lost: {}", root(status))),
            _ => Self::new(about, kind, answer),
        }
    }

    /// The kind of failure.
    pub fn kind(&self) -> NodeErrorKind {
        self.kind
    }

    /// The name of the call.
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// The response, or why it is missing; without the node's name and without advice.
    pub fn answer(&self) -> &str {
        &self.answer
    }
}

/// The root cause, which is the most specific.
pub(super) fn root(error: &(dyn StdError + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

fn kind(status: &Status) -> NodeErrorKind {
    // A status of the node has no source; a transport error has one, or the node sent no status at all.
    if status.source().is_some() || status.message().contains("missing grpc-status") {
        return NodeErrorKind::Lost;
    }
    match status.code() {
        Code::FailedPrecondition | Code::Unavailable | Code::ResourceExhausted | Code::Aborted => {
            NodeErrorKind::NotYet
        }
        // A release does not allow reading resources that it does not know.
        Code::PermissionDenied if status.message().ends_with(" is not supported") => {
            NodeErrorKind::Unimplemented
        }
        Code::PermissionDenied | Code::Unauthenticated => NodeErrorKind::Unauthorised,
        // The log of a service that never ran.
        Code::Unknown if status.message().ends_with(" was not registered") => NodeErrorKind::NotFound,
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
            "solcp01 at 10.0.0.11:50000: bootstrap: not possible in the current state: \
             bootstrap is not available yet; try again later"
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
    fn a_log_of_a_service_that_never_ran_does_not_exist() {
        let error = NodeError::of_status(about(), &Status::unknown("log \"ext-frr\" was not registered"));

        assert_eq!(error.kind(), NodeErrorKind::NotFound);
    }

    #[test]
    fn a_transport_error_means_a_lost_connection() {
        let broken = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "reset by peer");

        let error = NodeError::of_status(about(), &Status::from_error(Box::new(broken)));

        assert_eq!(error.kind(), NodeErrorKind::Lost);
        assert!(error.to_string().contains("connection lost: reset by peer"), "{error}");
    }
}
