//! A stand-in for the API server of a node, which answers the health check of anycast addresses.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ichor_talos::secrets::self_signed;
use rand_core::OsRng;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

/// Time limit for a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Listens at the address of a local URL and answers every request with 200.
pub(crate) fn serve_ok(url: &str) -> io::Result<()> {
    let (scheme, rest) =
        url.split_once("://").ok_or_else(|| io::Error::other(format!("{url} is not a URL")))?;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let usual = if scheme == "https" { 443 } else { 80 };
    let place = if has_port { authority.to_owned() } else { format!("{authority}:{usual}") };
    let listener = TcpListener::bind(place)?;
    let tls = if scheme == "https" { Some(Arc::new(tls()?)) } else { None };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tls = tls.clone();
            thread::spawn(move || drop(serve(stream, tls)));
        }
    });
    Ok(())
}

fn serve(mut stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    match tls {
        None => answer_ok(&mut stream),
        Some(config) => {
            let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
            answer_ok(&mut Stream::new(&mut connection, &mut stream))?;
            connection.send_close_notify();
            connection.write_tls(&mut stream).map(drop)
        }
    }
}

/// Reads a request up to the empty line, and answers it.
fn answer_ok(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let mut asked = Vec::new();
    let mut part = [0; 1024];
    while !asked.windows(4).any(|bytes| bytes == b"\r\n\r\n") && asked.len() < 16 * 1024 {
        match stream.read(&mut part)? {
            0 => return Ok(()),
            count => asked.extend_from_slice(&part[..count]),
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n")?;
    stream.flush()
}

fn tls() -> io::Result<ServerConfig> {
    let pair = self_signed("ichor lab", &mut OsRng, ichor_system::now()).map_err(io::Error::other)?;
    let certificate = CertificateDer::from_pem_slice(pair.crt.text().as_bytes()).map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.text().as_bytes()).map_err(io::Error::other)?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    builder.with_no_client_auth().with_single_cert(vec![certificate], key).map_err(io::Error::other)
}
