//! A minimal container registry for pushes and pulls, with optional authentication.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use ichor_image::oci::{Digest, ImageLayout};

/// The registry and its contents by path.
type Store = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

pub struct Registry {
    pub host: String,
    store: Store,
}

struct Request {
    method: String,
    path: String,
    authorization: String,
    body: Vec<u8>,
}

impl Registry {
    /// Starts a registry that accepts these credentials, or anonymous clients.
    pub fn start(password: Option<&'static str>) -> Registry {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let store = Store::default();
        let (kept, at) = (Arc::clone(&store), host.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(request) = read(&stream) else { continue };
                let (head, body) = answer(&request, &kept, &at, password);
                let head =
                    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                let body = if request.method == "HEAD" { Vec::new() } else { body };
                let _ = (&stream).write_all(&[head.into_bytes(), body].concat());
            }
        });
        Registry { host, store }
    }

    /// Adds an image.
    pub fn hold(&self, repository: &str, tag: &str, layout: &ImageLayout) {
        let mut store = self.store.lock().unwrap();
        let mut put = |kind: &str, name: &str, bytes: Vec<u8>| {
            store.insert(format!("/v2/{repository}/{kind}/{name}"), bytes);
        };
        for (path, content) in &layout.files {
            let Some(hex) = path.strip_prefix("blobs/sha256/") else { continue };
            let (digest, bytes) = (format!("sha256:{hex}"), content.read().unwrap());
            put("blobs", &digest, bytes.clone());
            put("manifests", &digest, bytes.clone());
            if digest == layout.digest.to_string() {
                put("manifests", tag, bytes);
            }
        }
    }

    /// Requires authentication again for the next blob.
    pub fn forget(&self) {
        self.store.lock().unwrap().insert(FORGETFUL.to_owned(), Vec::new());
    }

    /// Corrupts a byte of every manifest.
    pub fn spoil(&self) {
        let mut store = self.store.lock().unwrap();
        store
            .iter_mut()
            .filter(|(path, _)| path.contains("/manifests/"))
            .for_each(|(_, bytes)| bytes[1] ^= 1);
    }
}

/// Key under which a pending re-authentication is stored.
const FORGETFUL: &str = "forgetful";

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim().split_once(": ") {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().ok()?;
            }
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                value.clone_into(&mut authorization);
            }
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, authorization, body })
}

fn answer(request: &Request, store: &Store, host: &str, password: Option<&str>) -> (String, Vec<u8>) {
    let plain = |status: &str| (status.to_owned(), Vec::new());
    if request.path.starts_with("/token?scope=repository:me/bird:pull,push&service=test") {
        // me:hunter2
        return if request.authorization == "Basic bWU6aHVudGVyMg==" {
            ("200 OK".to_owned(), br#"{"token": "t0k3n"}"#.to_vec())
        } else {
            plain("401 Unauthorized")
        };
    }
    if (request.method.as_str(), request.path.as_str()) == ("POST", "/token") {
        let expected = "grant_type=refresh_token&client_id=ichor&scope=repository:me/bird:pull,push&service=test\
                     &refresh_token=1d3n%2Bt1ty";
        return if request.body == expected.as_bytes() && request.authorization.is_empty() {
            ("200 OK".to_owned(), br#"{"access_token": "t0k3n"}"#.to_vec())
        } else {
            plain("401 Unauthorized")
        };
    }
    let is_blob = request.method == "PUT" && request.path.starts_with("/upload/");
    let is_forgotten = is_blob && store.lock().unwrap().remove(FORGETFUL).is_some();
    if is_forgotten || password.is_some() && request.authorization != "Bearer t0k3n" {
        let scope = "repository:me/bird:pull,push";
        let challenge = format!(r#"Bearer realm="http://{host}/token",service="test",scope="{scope}""#);
        return (format!("401 Unauthorized\r\nwww-authenticate: {challenge}"), Vec::new());
    }
    let mut store = store.lock().unwrap();
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    match request.method.as_str() {
        "GET" | "HEAD" => match store.get(path) {
            Some(bytes) => ("200 OK".to_owned(), bytes.clone()),
            None => plain("404 Not Found"),
        },
        "POST" => plain("202 Accepted\r\nlocation: /upload/1?state=x"),
        "PUT" if path == "/upload/1" => {
            let digest = Digest::of_bytes(&request.body).to_string();
            if query != format!("state=x&digest={digest}") {
                return plain("400 Bad Request");
            }
            store.insert(format!("/v2/me/bird/blobs/{digest}"), request.body.clone());
            plain("201 Created")
        }
        "PUT" => {
            let digest = Digest::of_bytes(&request.body);
            store.insert(path.to_owned(), request.body.clone());
            store.insert(format!("/v2/me/bird/manifests/{digest}"), request.body.clone());
            plain(&format!("201 Created\r\ndocker-content-digest: {digest}"))
        }
        _ => plain("405 Method Not Allowed"),
    }
}
