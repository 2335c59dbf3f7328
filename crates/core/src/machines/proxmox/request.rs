//! Calls of Proxmox' API, each as a value.

use std::fmt;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HttpMethod {
    /// It asks.
    Get,
    /// It makes something, or sets it off.
    Post,
    /// It changes something.
    Put,
    /// It takes something away.
    Delete,
}

impl HttpMethod {
    /// Its name in HTTP.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// One call of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxmoxRequest {
    /// What it does.
    pub method: HttpMethod,
    /// Its path below the root of the API, escaped.
    pub path: String,
    /// Its parameters, in order.
    pub parameters: Vec<(String, String)>,
}

impl ProxmoxRequest {
    fn new(method: HttpMethod, path: &[&str]) -> Self {
        let parts: Vec<_> = path.iter().map(|part| escaped(part)).collect();
        Self { method, path: format!("/{}", parts.join("/")), parameters: Vec::new() }
    }

    fn with(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.parameters.push((key.to_owned(), value.to_string()));
        self
    }

    /// Its parameters as a form, which is also the form of a query.
    pub fn form(&self) -> String {
        let pairs = self.parameters.iter().map(|(key, value)| format!("{}={}", escaped(key), escaped(value)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// A request without its parameters, which may be secret.
impl fmt::Display for ProxmoxRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.word(), self.path)
    }
}

/// A text as a part of a path or of a form: RFC 3986, section 2.3, has what need not be escaped.
pub(crate) fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let letter = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(letter).collect()
}

/// Which release it is.
pub fn version() -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["version"])
}

/// A ticket for a user with a password.
pub fn ticket(user: &str, password: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["access", "ticket"])
        .with("username", user)
        .with("password", password)
}

/// The hosts of the cluster.
pub fn hosts() -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes"])
}

/// All machines and containers of the cluster that whoever asks may see.
pub fn machines() -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["cluster", "resources"]).with("type", "vm")
}

/// The next number that is free; or whether `id` is.
pub fn free_id(id: Option<u32>) -> ProxmoxRequest {
    let request = ProxmoxRequest::new(HttpMethod::Get, &["cluster", "nextid"]);
    match id {
        Some(id) => request.with("vmid", id),
        None => request,
    }
}

/// The resource pools.
pub fn pools() -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["pools"])
}

/// The storages that a host has.
pub fn storages(host: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "storage"])
}

/// The bridges that a host has.
pub fn bridges(host: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "network"]).with("type", "any_bridge")
}

/// The files of one kind in a storage.
pub fn contents(host: &str, storage: &str, content: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "storage", storage, "content"])
        .with("content", content)
}

/// A file that is sent. It is the last part, named `filename`; what is known of it comes before, as the server reads it in that order.
pub fn upload(host: &str, storage: &str, content: &str, sha256: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "storage", storage, "upload"])
        .with("content", content)
        .with("checksum-algorithm", "sha256")
        .with("checksum", sha256)
}

/// A file that the host fetches.
pub fn download(host: &str, storage: &str, content: &str, name: &str, url: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "storage", storage, "download-url"])
        .with("content", content)
        .with("filename", name)
        .with("url", url)
}

/// Takes a file out of a storage.
pub fn discard(host: &str, storage: &str, volume: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Delete, &["nodes", host, "storage", storage, "content", volume])
}

/// A new machine.
pub fn create(host: &str, id: u32, settings: &[(String, String)]) -> ProxmoxRequest {
    let request = ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "qemu"]).with("vmid", id);
    settings.iter().fold(request, |request, (key, value)| request.with(key, value))
}

/// The settings of a machine.
pub fn settings(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "qemu", &id.to_string(), "config"])
}

/// Other settings for a machine.
pub fn change(host: &str, id: u32, settings: &[(String, String)]) -> ProxmoxRequest {
    let request = ProxmoxRequest::new(HttpMethod::Put, &["nodes", host, "qemu", &id.to_string(), "config"]);
    settings.iter().fold(request, |request, (key, value)| request.with(key, value))
}

/// A larger disk.
pub fn resize(host: &str, id: u32, disk: &str, size: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Put, &["nodes", host, "qemu", &id.to_string(), "resize"])
        .with("disk", disk)
        .with("size", size)
}

/// Switches a machine on.
pub fn start(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "qemu", &id.to_string(), "status", "start"])
}

/// Cuts a machine's power.
pub fn stop(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "qemu", &id.to_string(), "status", "stop"])
}

/// Asks what runs on a machine to end, for so many seconds.
pub fn shutdown(host: &str, id: u32, seconds: u64) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "qemu", &id.to_string(), "status", "shutdown"])
        .with("timeout", seconds)
}

/// Takes a machine away, also out of jobs and replications.
pub fn delete(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Delete, &["nodes", host, "qemu", &id.to_string()]).with("purge", 1)
}

/// The ports of a machine with their addresses, as its guest agent tells them.
pub fn ports(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(
        HttpMethod::Get,
        &["nodes", host, "qemu", &id.to_string(), "agent", "network-get-interfaces"],
    )
}

/// How it is with a task.
pub fn task(host: &str, upid: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "tasks", upid, "status"])
}

/// What a task said, from one line on.
pub fn log(host: &str, upid: &str, from: u64) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "tasks", upid, "log"])
        .with("start", from)
        .with("limit", 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_taken_apart_is_escaped() {
        let request = discard("pve1", "cephfs", "cephfs:iso/a b.iso");
        assert_eq!(request.path, "/nodes/pve1/storage/cephfs/content/cephfs%3Aiso%2Fa%20b.iso");

        let settings = [("boot".to_owned(), "order=scsi0;ide2".to_owned())];
        assert_eq!(create("pve1", 311, &settings).form(), "vmid=311&boot=order%3Dscsi0%3Bide2");
    }

    #[test]
    fn a_request_is_shown_without_what_it_carries() {
        assert_eq!(ticket("root@pam", "hunter2").to_string(), "POST /access/ticket");
    }
}
