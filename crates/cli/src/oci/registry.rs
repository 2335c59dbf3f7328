//! Client of container registries: pulls and pushes images over the OCI distribution protocol.

use std::cell::OnceCell;
use std::io::Read;

use ichor_image::oci::{
    ACCEPTED, BlobSource, Descriptor, Digest, ImageUpload, LARGEST_DOCUMENT, OciError, Reference,
    SourceError, blob,
};
use serde_json::Value;

use super::challenge::Challenge;
use super::credentials::{self, Credentials, CredentialsError};
use crate::http::{self, HttpClient, HttpError, HttpResponse, Method, RequestBody};

/// Errors of a registry.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RegistryError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Blob(#[from] OciError),
    #[error("{url}: {complaint}{hint}")]
    Refused { url: String, complaint: String, hint: &'static str },
    #[error("no image to push")]
    NoImage,
    #[error("cannot push {image} as {want}; remove the digest from the reference")]
    OtherDigest { image: Digest, want: Digest },
    #[error("{host} returned no upload location")]
    NoLocation { host: String },
    #[error("{host} stored the image as {stored} instead of {image}")]
    DigestMismatch { host: String, stored: String, image: Digest },
    #[error(
        "{host} requires credentials, and none were found; run `skopeo login {host}` or `docker login {host}`, or \
         set $REGISTRY_AUTH_FILE to a file with credentials"
    )]
    NoPassword { host: String },
    #[error(
        "{host} requires a user name and password, but the stored credentials are a token; log in with a password"
    )]
    OnlyToken { host: String },
    #[error("refusing to send credentials for {host} to {realm} without TLS")]
    InsecureRealm { host: String, realm: String },
    #[error("{realm} returned no token")]
    NoToken { realm: String },
}

/// Client for an image in a registry.
pub(crate) struct Registry {
    client: HttpClient,
    reference: Reference,
    base: String,
    /// Credentials, loaded when the registry requires them: a helper may have to be unlocked by hand.
    credentials: OnceCell<Option<Credentials>>,
    /// The `authorization` header, once the registry requires it.
    authorization_header: Option<String>,
}

/// Result of a push.
pub(crate) struct PushSummary {
    /// Digest of the image.
    pub digest: Digest,
    /// Number of uploaded blobs.
    pub sent: usize,
    /// Number of blobs that the registry already had.
    pub present: usize,
}

impl Registry {
    /// Creates a client: HTTP for loopback addresses and if `insecure` is set, else HTTPS.
    pub(crate) fn new(reference: Reference, insecure: bool) -> Self {
        let scheme = if insecure || reference.is_loopback() { "http" } else { "https" };
        let base = format!("{scheme}://{}/v2/{}", reference.server(), reference.repository);
        Self {
            client: HttpClient::new(),
            reference,
            base,
            credentials: OnceCell::new(),
            authorization_header: None,
        }
    }

    fn credentials(&self) -> Result<Option<&Credentials>, RegistryError> {
        if let Some(known) = self.credentials.get() {
            return Ok(known.as_ref());
        }
        let found = credentials::find(&self.reference)?;
        Ok(self.credentials.get_or_init(|| found).as_ref())
    }

    /// Pushes an image: first the missing blobs, then the manifests, byte for byte.
    pub(crate) fn push(
        &mut self,
        image_upload: &ImageUpload,
        source: &mut dyn BlobSource,
    ) -> Result<PushSummary, RegistryError> {
        let (mut sent, mut present) = (0, 0);
        for descriptor in &image_upload.blobs {
            if self.blob_exists(descriptor)? {
                present += 1;
            } else {
                self.upload(descriptor, source)?;
                sent += 1;
            }
        }
        let Some((image, _)) = image_upload.documents.last() else { return Err(RegistryError::NoImage) };
        if let Some(want) = self.reference.digest.as_ref().filter(|want| **want != image.digest) {
            return Err(RegistryError::OtherDigest { image: image.digest.clone(), want: want.clone() });
        }
        for (descriptor, bytes) in &image_upload.documents {
            let tag = self.reference.tag.clone().filter(|_| descriptor.digest == image.digest);
            self.put_manifest(descriptor, bytes, &tag.unwrap_or_else(|| descriptor.digest.to_string()))?;
        }
        Ok(PushSummary { digest: image.digest.clone(), sent, present })
    }

    fn blob_exists(&mut self, descriptor: &Descriptor) -> Result<bool, RegistryError> {
        let url = format!("{}/blobs/{}", self.base, descriptor.digest);
        let response = self.send(&Method::HEAD, &url, &[], None)?;
        match response.status().as_u16() {
            200 => Ok(true),
            404 => Ok(false),
            _ => Err(rejection(&url, response)),
        }
    }

    /// Uploads a blob in a single request.
    fn upload(&mut self, descriptor: &Descriptor, source: &mut dyn BlobSource) -> Result<(), RegistryError> {
        let url = format!("{}/blobs/uploads/", self.base);
        let response = self.send(&Method::POST, &url, &[], Some(&[]))?;
        if response.status() != 202 {
            return Err(rejection(&url, response));
        }
        let location = response
            .header("location")
            .ok_or_else(|| RegistryError::NoLocation { host: self.reference.host.clone() })?;
        let location = resolve_location(&url, location);
        let separator = if location.contains('?') { '&' } else { '?' };
        let url = format!("{location}{separator}digest={}", descriptor.digest);
        let mut response = self.stream(&url, descriptor, source)?;
        // The token may have expired since the upload was opened.
        if response.status() == 401 && self.authenticate(&response, &Method::PUT)? {
            response = self.stream(&url, descriptor, source)?;
        }
        if response.status() != 201 {
            return Err(rejection(&url, response));
        }
        Ok(())
    }

    /// Streams a blob to the registry and verifies it on the way.
    fn stream(
        &self,
        url: &str,
        descriptor: &Descriptor,
        source: &mut dyn BlobSource,
    ) -> Result<HttpResponse, RegistryError> {
        let mut blob = blob(source, descriptor)?;
        let kind = [("content-type", "application/octet-stream")];
        match self.send_once(&Method::PUT, url, &kind, RequestBody::Stream(&mut blob, descriptor.size)) {
            // If the blob does not match its digest, that is why the registry rejects it.
            Ok(response) => blob.finish().map(|()| response).map_err(Into::into),
            Err(error) => Err(blob.failure().map_or(error, Into::into)),
        }
    }

    fn put_manifest(
        &mut self,
        descriptor: &Descriptor,
        bytes: &[u8],
        version: &str,
    ) -> Result<(), RegistryError> {
        let url = format!("{}/manifests/{version}", self.base);
        let kind = [("content-type", descriptor.media_type.as_str())];
        let response = self.send(&Method::PUT, &url, &kind, Some(bytes))?;
        if response.status() != 201 {
            return Err(rejection(&url, response));
        }
        match response.header("docker-content-digest") {
            Some(stored) if stored != descriptor.digest.to_string() => Err(RegistryError::DigestMismatch {
                host: self.reference.host.clone(),
                stored: stored.to_owned(),
                image: descriptor.digest.clone(),
            }),
            _ => Ok(()),
        }
    }

    fn get(&mut self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, RegistryError> {
        let response = self.send(&Method::GET, url, headers, None)?;
        if response.status() != 200 {
            return Err(rejection(url, response));
        }
        Ok(response)
    }

    /// Sends a request, and repeats it with credentials if the registry requires them.
    fn send(
        &mut self,
        method: &Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<HttpResponse, RegistryError> {
        let body = || body.map_or(RequestBody::None, RequestBody::Bytes);
        let response = self.send_once(method, url, headers, body())?;
        if response.status() == 401 && self.authenticate(&response, method)? {
            return self.send_once(method, url, headers, body());
        }
        Ok(response)
    }

    fn send_once(
        &self,
        method: &Method,
        url: &str,
        headers: &[(&str, &str)],
        body: RequestBody<'_>,
    ) -> Result<HttpResponse, RegistryError> {
        let mut all = headers.to_vec();
        // Storage servers use signed URLs and must not receive the registry's credentials.
        if let Some(value) =
            self.authorization_header.as_deref().filter(|_| url_origin(url) == url_origin(&self.base))
        {
            all.push(("authorization", value));
        }
        Ok(self.client.send(method, url, &all, body)?)
    }

    /// Answers an authentication challenge; false if the response has none.
    fn authenticate(&mut self, response: &HttpResponse, method: &Method) -> Result<bool, RegistryError> {
        let challenge = response.header("www-authenticate").and_then(Challenge::parse);
        let Some(challenge) = challenge else { return Ok(false) };
        self.authorization_header = Some(self.authorization(&challenge, method)?);
        Ok(true)
    }

    fn authorization(&self, challenge: &Challenge, method: &Method) -> Result<String, RegistryError> {
        let host = &self.reference.host;
        let (realm, service, scope) = match challenge {
            Challenge::Basic => {
                let missing = || RegistryError::NoPassword { host: host.clone() };
                let token = || RegistryError::OnlyToken { host: host.clone() };
                return self.credentials()?.ok_or_else(missing)?.header().ok_or_else(token);
            }
            Challenge::Bearer { realm, service, scope } => (realm, service, scope),
        };
        if self.base.starts_with("https://") && !realm.starts_with("https://") {
            return Err(RegistryError::InsecureRealm { host: host.clone(), realm: http::redact_url(realm) });
        }
        let rights = if method == Method::GET { "pull" } else { "pull,push" };
        let scope =
            scope.clone().unwrap_or_else(|| format!("repository:{}:{rights}", self.reference.repository));
        let mut query = format!("scope={}", percent_encode(&scope));
        if let Some(service) = service {
            query.push_str(&format!("&service={}", percent_encode(service)));
        }
        let response = self.request_token(realm, &query)?;
        if response.status() != 200 {
            return Err(rejection(realm, response));
        }
        let text = response.text()?;
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let token = ["token", "access_token"].iter().find_map(|key| value.get(key)?.as_str());
        let token = token.ok_or_else(|| RegistryError::NoToken { realm: http::redact_url(realm) })?;
        Ok(format!("Bearer {token}"))
    }

    /// Requests a token: anonymously, with a password, or with an identity token (OAuth 2.0, RFC 6749, section 6).
    fn request_token(&self, realm: &str, query: &str) -> Result<HttpResponse, RegistryError> {
        let known = self.credentials()?;
        if let Some(Credentials::Identity(token)) = known {
            let query = format!(
                "grant_type=refresh_token&client_id=ichor&{query}&refresh_token={}",
                percent_encode(token)
            );
            return Ok(self.client.post(realm, "application/x-www-form-urlencoded", &query)?);
        }
        let url = format!("{realm}{}{query}", if realm.contains('?') { '&' } else { '?' });
        let authorization_header = known.and_then(Credentials::header);
        let headers: Vec<_> =
            authorization_header.as_deref().map(|value| ("authorization", value)).into_iter().collect();
        Ok(self.client.get(&url, &headers)?)
    }
}

impl BlobSource for Registry {
    fn top(&mut self) -> Result<Vec<u8>, SourceError> {
        let url = format!("{}/manifests/{}", self.base, self.reference.version());
        let response = self.get(&url, &[("accept", &ACCEPTED.join(", "))])?;
        let bytes = response.bytes(LARGEST_DOCUMENT)?;
        let got = Digest::of_bytes(&bytes);
        if let Some(want) = self.reference.digest.as_ref().filter(|want| **want != got) {
            return Err(format!("{url} has SHA-256 {got}; want {want}").into());
        }
        Ok(bytes)
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError> {
        let is_document = descriptor.is_manifest() || descriptor.is_index();
        let kind = if is_document { "manifests" } else { "blobs" };
        let url = format!("{}/{kind}/{}", self.base, descriptor.digest);
        let accept = [("accept", descriptor.media_type.as_str())];
        let response = self.get(&url, if is_document { &accept } else { &[] })?;
        Ok(Box::new(response.into_reader()))
    }
}

fn rejection(url: &str, response: HttpResponse) -> RegistryError {
    let hint = match response.status().as_u16() {
        401 | 403 => "; check that the credentials are valid and permit this access",
        404 => "; check the name and the tag",
        _ => "",
    };
    RegistryError::Refused { url: without_query(url), complaint: response.error_summary(), hint }
}

/// A URL without its query, which may contain a signature.
fn without_query(url: &str) -> String {
    http::redact_url(url.split('?').next().unwrap_or(url))
}

/// Scheme, host and port of a URL.
fn url_origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}

/// Resolves a `location` header, which may be relative to the requested URL.
fn resolve_location(requested: &str, location: &str) -> String {
    if location.contains("://") {
        location.to_owned()
    } else {
        format!("{}{location}", url_origin(requested))
    }
}

fn percent_encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/,".contains(&byte);
    let letter = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_upload_location_is_relative_or_absolute() {
        let requested = "https://r.io:5000/v2/a/blobs/uploads/";
        assert_eq!(url_origin(requested), "https://r.io:5000");
        assert_eq!(url_origin("https://r.io?x"), "https://r.io");
        assert_eq!(
            resolve_location(requested, "/v2/a/uploads/1?s=2"),
            "https://r.io:5000/v2/a/uploads/1?s=2"
        );
        assert_eq!(resolve_location(requested, "https://cdn.io/1"), "https://cdn.io/1");
        assert_eq!(without_query("https://r.io/1?_state=secret"), "https://r.io/1");
        assert_eq!(percent_encode("a b&c:pull,push"), "a%20b%26c:pull,push");
    }

    /// A registry with one blob that sends the second half after a message on `continued`.
    fn start_slow_registry(blob: Vec<u8>, continued: mpsc::Receiver<()>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            assert!(lines.any(|line| line.is_empty()));
            let (one, two) = blob.split_at(blob.len() / 2);
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", blob.len()).unwrap();
            stream.write_all(one).unwrap();
            if continued.recv_timeout(Duration::from_secs(10)).is_ok() {
                stream.write_all(two).unwrap();
            }
        });
        host
    }

    #[test]
    fn a_blob_is_read_while_it_is_received() {
        let bytes = vec![7; 1 << 20];
        let descriptor = Descriptor::of_blob("application/vnd.oci.image.layer.v1.tar", &bytes);
        for is_complete in [true, false] {
            let (resume, continued) = mpsc::channel();
            let reference =
                Reference::parse(&format!("{}/a:1", start_slow_registry(bytes.clone(), continued))).unwrap();
            let mut registry = Registry::new(reference, false);

            let mut blob = blob(&mut registry, &descriptor).unwrap();
            let mut half = vec![0; bytes.len() / 2];
            blob.read_exact(&mut half).unwrap();
            if is_complete {
                resume.send(()).unwrap();
            }
            drop(resume);

            assert_eq!(blob.finish().is_ok(), is_complete, "a truncated blob is an error");
        }
    }
}
