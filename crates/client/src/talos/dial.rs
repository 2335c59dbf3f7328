//! From an address to a TLS connection, and to who is there.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ichor_talos::peer::{Peer, Pin};
use ichor_tls::{Rule, Verifier, client_config};
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{AlertDescription, CertificateError};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::{About, Kind, NodeError, root};
use super::trust::{Credentials, Trust};

/// How long the kernel may try to connect, and how long the handshake may take.
const REACH: Duration = Duration::from_secs(5);
const GREET: Duration = Duration::from_secs(10);

/// When a machine that is silent is asked whether it still lives, and when it is given up. Pings of HTTP/2 would be better,
/// but gRPC's server hangs up on whoever sends them more than once in five minutes.
const SILENT: Duration = Duration::from_secs(10);
const GONE: Duration = Duration::from_secs(30);

pub(super) const CALL: &str = "connect";

/// A connection, and who is at its other end.
pub(super) struct Dialled {
    pub(crate) stream: TlsStream<TcpStream>,
    pub peer: Peer,
}

/// Connects to whom `trust` believes.
pub(super) async fn dial(node: &str, address: SocketAddr, trust: &Trust) -> Result<Dialled, NodeError> {
    let about = About { node, address, call: CALL };
    let verifier = match trust {
        Trust::Maintenance { pin } => Verifier::new(pin.map_or(Rule::Any, pinned), None),
        Trust::Mutual(credentials) => {
            let rule = Rule::Signed(Arc::clone(&credentials.authority));
            Verifier::new(rule, Some(Arc::clone(&credentials.client)))
        }
    };
    let made = shake(about, &verifier).await;
    let is_maintenance = matches!(trust, Trust::Maintenance { .. });
    if is_maintenance && verifier.asked() {
        return Err(NodeError::new(about, Kind::NotMaintenance, "it asks for a certificate"));
    }
    match (made, peer(&verifier)) {
        (Ok(stream), Some(peer)) => Ok(Dialled { stream, peer }),
        (Ok(_), None) => Err(NodeError::new(about, Kind::WrongCertificate, UNREADABLE)),
        (Err(Failed::Told(error)), _) => Err(error),
        (Err(Failed::Greeting(error)), shown) => Err(not_greeted(about, &error, shown.as_ref(), trust)),
    }
}

/// Who is found at an address, by one handshake.
pub(super) enum Found {
    /// A machine in maintenance mode.
    Maintenance(Dialled),
    /// A machine of the cluster, which was shown our certificate.
    Configured(Dialled),
    /// Somebody with another certificate, who was shown nothing, and what is wrong with it; one that `may_pass` is of the cluster and
    /// not yet, or no longer, good.
    Other { peer: Peer, reason: String, may_pass: bool },
}

/// Finds out who is at an address, and connects.
pub(super) async fn find(
    node: &str,
    address: SocketAddr,
    credentials: Option<&Credentials>,
) -> Result<Found, NodeError> {
    let about = About { node, address, call: CALL };
    let verifier = match credentials {
        Some(credentials) => {
            let rule = Rule::SignedOrAnonymous(Arc::clone(&credentials.authority));
            Verifier::new(rule, Some(Arc::clone(&credentials.client)))
        }
        None => Verifier::new(Rule::Any, None),
    };
    let made = shake(about, &verifier).await;
    let Some(peer) = peer(&verifier) else {
        return Err(match made {
            Ok(_) => NodeError::new(about, Kind::WrongCertificate, UNREADABLE),
            Err(Failed::Told(error)) => error,
            Err(Failed::Greeting(error)) => no_tls(about, &error),
        });
    };
    match (made, verifier.wrong()) {
        (_, Some(wrong)) if verifier.asked() => {
            Ok(Found::Other { reason: complaint(wrong, &peer), may_pass: is_of_cluster(wrong), peer })
        }
        (_, None) if verifier.asked() && credentials.is_none() => {
            Ok(Found::Other { reason: "it asks for a certificate".to_owned(), may_pass: false, peer })
        }
        (Ok(stream), None) if credentials.is_some() => Ok(Found::Configured(Dialled { stream, peer })),
        (Ok(stream), _) => Ok(Found::Maintenance(Dialled { stream, peer })),
        (Err(Failed::Told(error)), _) => Err(error),
        (Err(Failed::Greeting(error)), _) => Err(match alert(&error) {
            Some(reason) => NodeError::new(about, Kind::Unauthorised, reason),
            None => no_tls(about, &error),
        }),
    }
}

/// Why a certificate is not accepted that TLS reads and X.509 does not.
const UNREADABLE: &str = "it shows no certificate that can be read";

/// Accepts the certificate with this key.
fn pinned(pin: Pin) -> Rule {
    Rule::Pinned(Arc::new(move |certificate| Peer::read(certificate).is_some_and(|peer| peer.pin == pin)))
}

/// Whose certificate was shown, if the handshake came that far.
fn peer(verifier: &Verifier) -> Option<Peer> {
    Peer::read(verifier.shown()?)
}

enum Failed {
    Told(NodeError),
    Greeting(io::Error),
}

async fn shake(about: About<'_>, verifier: &Arc<Verifier>) -> Result<TlsStream<TcpStream>, Failed> {
    let address = about.address;
    let stream = match time::timeout(REACH, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            return Err(Failed::Told(NodeError::new(about, Kind::Unreachable, not_connected(&error))));
        }
        Err(_) => {
            let answer = format!("no answer within {} s", REACH.as_secs());
            return Err(Failed::Told(NodeError::new(about, Kind::Unreachable, answer)));
        }
    };
    keep(&stream).map_err(|error| {
        Failed::Told(NodeError::new(
            about,
            Kind::Unreachable,
            format!("the connection is of no use: {error}"),
        ))
    })?;
    // gRPC's server refuses clients that do not offer HTTP/2.
    let configuration = client_config(verifier, &[&TLS13, &TLS12], &[b"h2"]);
    let connector = TlsConnector::from(Arc::new(configuration));
    match time::timeout(GREET, connector.connect(ServerName::from(address.ip()), stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(Failed::Greeting(error)),
        Err(_) => {
            let answer = format!("it took the connection and did not greet within {} s", GREET.as_secs());
            Err(Failed::Told(NodeError::new(about, Kind::TimedOut, answer)))
        }
    }
}

fn keep(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let pulse = TcpKeepalive::new().with_time(SILENT).with_interval(SILENT / 2).with_retries(3);
    socket.set_tcp_keepalive(&pulse)?;
    socket.set_tcp_user_timeout(Some(GONE))
}

fn not_connected(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
        io::ErrorKind::HostUnreachable => "no such machine on its network".to_owned(),
        io::ErrorKind::NetworkUnreachable => "there is no route to it".to_owned(),
        io::ErrorKind::TimedOut => "no answer".to_owned(),
        _ => error.to_string(),
    }
}

fn not_greeted(about: About<'_>, error: &io::Error, shown: Option<&Peer>, trust: &Trust) -> NodeError {
    match (alert(error), shown, trust) {
        (Some(reason), ..) => NodeError::new(about, Kind::Unauthorised, reason),
        (None, Some(peer), Trust::Maintenance { pin: Some(pin) }) if peer.pin != *pin => {
            let answer = format!("its key is {}, and not {pin} as it is pinned", peer.pin);
            NodeError::new(about, Kind::WrongCertificate, answer)
        }
        (None, Some(peer), _) => match tls(error) {
            Some(wrong @ rustls::Error::InvalidCertificate(_)) => {
                NodeError::new(about, Kind::WrongCertificate, complaint(wrong, peer))
            }
            _ => no_tls(about, error),
        },
        _ => no_tls(about, error),
    }
}

fn no_tls(about: About<'_>, error: &io::Error) -> NodeError {
    let kind = match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
            return NodeError::new(about, Kind::Lost, format!("it hung up while greeting: {error}"));
        }
        _ => Kind::Unreachable,
    };
    NodeError::new(about, kind, format!("what listens there is not Talos: {}", root(error)))
}

fn tls(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Whether a certificate is of the right authority, and wrong by its names or by a clock: Talos issues others as it goes.
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

/// What is wrong with the certificate that was shown.
fn complaint(error: &rustls::Error, peer: &Peer) -> String {
    let reason = match error {
        rustls::Error::InvalidCertificate(reason) => match reason {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "of this cluster, but not for this address"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "which is over: see the clocks of both machines"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "which does not hold yet: see the clocks of both machines"
            }
            _ => "not one of this cluster",
        },
        _ => "not one of this cluster",
    };
    format!("it shows {peer}, {reason}")
}

/// What a node says of the certificate it was shown.
pub(super) fn alert(error: &io::Error) -> Option<String> {
    let Some(rustls::Error::AlertReceived(alert)) = tls(error) else { return None };
    let reason = match alert {
        AlertDescription::CertificateExpired => "it finds the certificate it was shown expired",
        AlertDescription::UnknownCA => "it does not know who signed the certificate it was shown",
        AlertDescription::CertificateRequired => "it wants a certificate",
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied
        | AlertDescription::DecryptError => "it does not take the certificate it was shown",
        _ => return None,
    };
    Some(reason.to_owned())
}
