//! A minimal TLS web server, the base of stand-ins.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use ichor_talos::secrets::{agent_certificate, self_signed};
use ichor_values::Moment;
use rand_core::OsRng;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sha2::{Digest as _, Sha256};

/// A request.
#[derive(Clone, Debug)]
pub struct Ask {
    pub method: String,
    /// Decoded path segments.
    pub path: Vec<String>,
    pub query: Vec<(String, String)>,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    #[expect(clippy::needless_pass_by_value, reason = "what is answered is made where it is given")]
    pub fn new(status: u16, body: impl ToString) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string() }
    }

    #[expect(clippy::needless_pass_by_value, reason = "what is answered is made where it is given")]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }
}

/// A server, stopped on drop.
pub struct Web {
    pub url: String,
    /// Fingerprint of its certificate.
    pub pin: String,
    /// Certificate of its CA.
    pub ca: String,
}

impl Web {
    /// Answers every request with `answer`, with a thread per connection.
    pub fn start(answer: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Self {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let authority = self_signed("stand-in", &mut OsRng, Moment::from_unix(now - 60).unwrap()).unwrap();
        let pair = agent_certificate(&authority, "localhost", &[IpAddr::V4(Ipv4Addr::LOCALHOST)]).unwrap();
        let certificate = CertificateDer::from(pair.crt.block().unwrap().1);
        let key = PrivateKeyDer::try_from(pair.key.block().unwrap().1).unwrap();
        let digest = Sha256::digest(&certificate);
        let pin = digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":");
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let (config, answer) = (Arc::new(config), Arc::new(answer));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (config, answer) = (Arc::clone(&config), Arc::clone(&answer));
                thread::spawn(move || serve(stream, config, &*answer));
            }
        });
        Self { url, pin, ca: authority.crt.text().into_owned() }
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>, answer: &dyn Fn(&Ask) -> Reply) {
    let connection = ServerConnection::new(config).unwrap();
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    while let Some(ask) = read(&mut stream) {
        let reply = answer(&ask);
        let mut head = format!("HTTP/1.1 {} Said\r\ncontent-length: {}\r\n", reply.status, reply.body.len());
        for (name, value) in &reply.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if stream.get_mut().write_all(format!("{head}\r\n{}", reply.body).as_bytes()).is_err() {
            return;
        }
        let _ = stream.get_mut().flush();
    }
}

fn read(stream: &mut BufReader<StreamOwned<ServerConnection, TcpStream>>) -> Option<Ask> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    assert!(!headers.contains_key("transfer-encoding"), "the simulated servers require a length");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let path = path.split('/').skip(1).map(plain).collect();
    Some(Ask { method, path, query: form(query), headers, body })
}

/// Parses a form or a query string.
pub fn form(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (plain(key), plain(value)))
        .collect()
}

/// Decodes percent escapes.
fn plain(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}
