//! Connects to an address with TLS and identifies the peer.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ichor_talos::peer::{Peer, Pin};
use ichor_tls::{CertificateRule, CertificateVerifier, client_config};
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{AlertDescription, CertificateError};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::{CallContext, NodeError, NodeErrorKind, root};
use super::trust::{Credentials, NodeTrust};

/// The timeouts of the TCP connection and of the handshake.
const REACH: Duration = Duration::from_secs(5);
const GREET: Duration = Duration::from_secs(10);

/// TCP keepalive: the idle time before the first probe, and before the connection is closed. Pings of HTTP/2 would be better,
/// but gRPC's server closes connections that send more than one in five minutes.
const SILENT: Duration = Duration::from_secs(10);
const GONE: Duration = Duration::from_secs(30);

pub(super) const CALL: &str = "connect";

/// A connection and the identity of its peer.
pub(super) struct NodeStream {
    pub(crate) stream: TlsStream<TcpStream>,
    pub peer: Peer,
}

/// Connects to a peer that `trust` accepts.
pub(super) async fn connect(
    node: &str,
    address: SocketAddr,
    trust: &NodeTrust,
) -> Result<NodeStream, NodeError> {
    let about = CallContext { node, address, call: CALL };
    let verifier = match trust {
        NodeTrust::Maintenance { pin } => {
            CertificateVerifier::new(pin.map_or(CertificateRule::Any, pinned_key_rule), None)
        }
        NodeTrust::Mutual(credentials) => {
            let rule = CertificateRule::Signed(Arc::clone(&credentials.authority));
            CertificateVerifier::new(rule, Some(Arc::clone(&credentials.client)))
        }
    };
    let made = handshake(about, &verifier).await;
    let is_maintenance = matches!(trust, NodeTrust::Maintenance { .. });
    if is_maintenance && verifier.is_client_certificate_requested() {
        return Err(NodeError::new(
            about,
            NodeErrorKind::NotMaintenance,
            "the node requires a client certificate",
        ));
    }
    match (made, peer(&verifier)) {
        (Ok(stream), Some(peer)) => Ok(NodeStream { stream, peer }),
        (Ok(_), None) => Err(NodeError::new(about, NodeErrorKind::WrongCertificate, UNREADABLE)),
        (Err(HandshakeError::Reported(error)), _) => Err(error),
        (Err(HandshakeError::Greeting(error)), shown) => {
            Err(handshake_failed(about, &error, shown.as_ref(), trust))
        }
    }
}

/// The identity of the peer at an address, after one handshake.
pub(super) enum HandshakeResult {
    /// A machine in maintenance mode.
    Maintenance(NodeStream),
    /// A machine of the cluster, which was shown our certificate.
    Configured(NodeStream),
    /// A peer with another certificate, which was sent no certificate, and the reason; one that `may_pass` is of the cluster and
    /// only its dates or its address are wrong.
    Other { peer: Peer, reason: String, may_pass: bool },
}

/// Identifies the peer at an address and connects.
pub(super) async fn probe(
    node: &str,
    address: SocketAddr,
    credentials: Option<&Credentials>,
) -> Result<HandshakeResult, NodeError> {
    let about = CallContext { node, address, call: CALL };
    let verifier = match credentials {
        Some(credentials) => {
            let rule = CertificateRule::SignedOrAnonymous(Arc::clone(&credentials.authority));
            CertificateVerifier::new(rule, Some(Arc::clone(&credentials.client)))
        }
        None => CertificateVerifier::new(CertificateRule::Any, None),
    };
    let made = handshake(about, &verifier).await;
    let Some(peer) = peer(&verifier) else {
        return Err(match made {
            Ok(_) => NodeError::new(about, NodeErrorKind::WrongCertificate, UNREADABLE),
            Err(HandshakeError::Reported(error)) => error,
            Err(HandshakeError::Greeting(error)) => no_tls(about, &error),
        });
    };
    match (made, verifier.certificate_error()) {
        (_, Some(wrong)) if verifier.is_client_certificate_requested() => Ok(HandshakeResult::Other {
            reason: describe_certificate_error(wrong, &peer),
            may_pass: is_of_cluster(wrong),
            peer,
        }),
        (_, None) if verifier.is_client_certificate_requested() && credentials.is_none() => {
            Ok(HandshakeResult::Other {
                reason: "the node requires a client certificate".to_owned(),
                may_pass: false,
                peer,
            })
        }
        (Ok(stream), None) if credentials.is_some() => {
            Ok(HandshakeResult::Configured(NodeStream { stream, peer }))
        }
        (Ok(stream), _) => Ok(HandshakeResult::Maintenance(NodeStream { stream, peer })),
        (Err(HandshakeError::Reported(error)), _) => Err(error),
        (Err(HandshakeError::Greeting(error)), _) => Err(match rejected_certificate(&error) {
            Some(reason) => NodeError::new(about, NodeErrorKind::Unauthorised, reason),
            None => no_tls(about, &error),
        }),
    }
}

/// Why a certificate is not accepted that TLS reads and X.509 does not.
const UNREADABLE: &str = "the server certificate is unreadable";

/// Accepts the certificate with this key.
fn pinned_key_rule(pin: Pin) -> CertificateRule {
    CertificateRule::Pinned(Arc::new(move |certificate| {
        Peer::read(certificate).is_some_and(|peer| peer.pin == pin)
    }))
}

/// The peer's identity, if the handshake came that far.
fn peer(verifier: &CertificateVerifier) -> Option<Peer> {
    Peer::read(verifier.certificate()?)
}

enum HandshakeError {
    Reported(NodeError),
    Greeting(io::Error),
}

async fn handshake(
    about: CallContext<'_>,
    verifier: &Arc<CertificateVerifier>,
) -> Result<TlsStream<TcpStream>, HandshakeError> {
    let address = about.address;
    let stream = match time::timeout(REACH, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            return Err(HandshakeError::Reported(NodeError::new(
                about,
                NodeErrorKind::Unreachable,
                not_connected(&error),
            )));
        }
        Err(_) => {
            let answer = format!("no response within {} s", REACH.as_secs());
            return Err(HandshakeError::Reported(NodeError::new(about, NodeErrorKind::Unreachable, answer)));
        }
    };
    set_keepalive(&stream).map_err(|error| {
        HandshakeError::Reported(NodeError::new(
            about,
            NodeErrorKind::Unreachable,
            format!("cannot configure the connection: {error}"),
        ))
    })?;
    // gRPC's server refuses clients that do not offer HTTP/2.
    let configuration = client_config(verifier, &[&TLS13, &TLS12], &[b"h2"]);
    let connector = TlsConnector::from(Arc::new(configuration));
    match time::timeout(GREET, connector.connect(ServerName::from(address.ip()), stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(HandshakeError::Greeting(error)),
        Err(_) => {
            let answer = format!("no TLS handshake within {} s", GREET.as_secs());
            Err(HandshakeError::Reported(NodeError::new(about, NodeErrorKind::TimedOut, answer)))
        }
    }
}

fn set_keepalive(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let pulse = TcpKeepalive::new().with_time(SILENT).with_interval(SILENT / 2).with_retries(3);
    socket.set_tcp_keepalive(&pulse)?;
    socket.set_tcp_user_timeout(Some(GONE))
}

fn not_connected(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::HostUnreachable => "host unreachable".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network unreachable".to_owned(),
        io::ErrorKind::TimedOut => "timed out".to_owned(),
        _ => error.to_string(),
    }
}

fn handshake_failed(
    about: CallContext<'_>,
    error: &io::Error,
    shown: Option<&Peer>,
    trust: &NodeTrust,
) -> NodeError {
    match (rejected_certificate(error), shown, trust) {
        (Some(reason), ..) => NodeError::new(about, NodeErrorKind::Unauthorised, reason),
        (None, Some(peer), NodeTrust::Maintenance { pin: Some(pin) }) if peer.pin != *pin => {
            let answer = format!("the server key is {}, expected the pinned key {pin}", peer.pin);
            NodeError::new(about, NodeErrorKind::WrongCertificate, answer)
        }
        (None, Some(peer), _) => match tls(error) {
            Some(wrong @ rustls::Error::InvalidCertificate(_)) => NodeError::new(
                about,
                NodeErrorKind::WrongCertificate,
                describe_certificate_error(wrong, peer),
            ),
            _ => no_tls(about, error),
        },
        _ => no_tls(about, error),
    }
}

fn no_tls(about: CallContext<'_>, error: &io::Error) -> NodeError {
    let kind = match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
            return NodeError::new(
                about,
                NodeErrorKind::Lost,
                format!("the node closed the connection during the TLS handshake: {error}"),
            );
        }
        _ => NodeErrorKind::Unreachable,
    };
    NodeError::new(about, kind, format!("the server is not Talos: {}", root(error)))
}

fn tls(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Whether a certificate is of the right authority, but has other names or dates: Talos renews certificates.
fn is_of_cluster(error: &rustls::Error) -> bool {
    use CertificateError as Wrong;
    let rustls::Error::InvalidCertificate(reason) = error else { return false };
    matches!(
        reason,
        Wrong::NotValidForName
            | Wrong::NotValidForNameContext { .. }
            | Wrong::Expired
            | Wrong::ExpiredContext { .. }
            | Wrong::NotValidYet
            | Wrong::NotValidYetContext { .. }
    )
}

/// The problem of the peer's certificate.
fn describe_certificate_error(error: &rustls::Error, peer: &Peer) -> String {
    let reason = match error {
        rustls::Error::InvalidCertificate(reason) => match reason {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "of this cluster, but not valid for this address"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "expired: check the clocks of both machines"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "not valid yet: check the clocks of both machines"
            }
            _ => "not of this cluster",
        },
        _ => "not of this cluster",
    };
    format!("the server presents {peer}, {reason}")
}

/// The node's alert about our certificate.
pub(super) fn rejected_certificate(error: &io::Error) -> Option<String> {
    let Some(rustls::Error::AlertReceived(alert)) = tls(error) else { return None };
    let reason = match alert {
        AlertDescription::CertificateExpired => "the node reports that the client certificate has expired",
        AlertDescription::UnknownCA => "the node does not trust the issuer of the client certificate",
        AlertDescription::CertificateRequired => "the node requires a client certificate",
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied
        | AlertDescription::DecryptError => "the node rejects the client certificate",
        _ => return None,
    };
    Some(reason.to_owned())
}
