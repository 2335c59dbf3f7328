//! Requests of Proxmox' API.

use std::fmt;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HttpMethod {
    /// Reads.
    Get,
    /// Creates, or starts an action.
    Post,
    /// Changes.
    Put,
    /// Deletes.
    Delete,
}

impl HttpMethod {
    /// Its name in HTTP.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// One API request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxmoxRequest {
    /// Its method.
    pub method: HttpMethod,
    /// Its path below the root of the API, percent-encoded.
    pub path: String,
    /// Its parameters, in order.
    pub parameters: Vec<(String, String)>,
}

impl ProxmoxRequest {
    fn new(method: HttpMethod, path: &[&str]) -> Self {
        let parts: Vec<_> = path.iter().map(|part| percent_encode(part)).collect();
        Self { method, path: format!("/{}", parts.join("/")), parameters: Vec::new() }
    }

    fn with(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.parameters.push((key.to_owned(), value.to_string()));
        self
    }

    /// Its parameters as a form or query string.
    pub fn encode_parameters(&self) -> String {
        let pairs = self
            .parameters
            .iter()
            .map(|(key, value)| format!("{}={}", percent_encode(key), percent_encode(value)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// The request without its parameters, which may be secret.
impl fmt::Display for ProxmoxRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.name(), self.path)
    }
}

/// Percent-encodes all characters that are not unreserved (RFC 3986, section 2.3).
pub(crate) fn percent_encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let letter = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(letter).collect()
}

/// The release.
pub fn version() -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["version"])
}

/// A ticket for a user and password.
pub fn ticket(user: &str, password: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["access", "ticket"])
        .with("username", user)
        .with("password", password)
}

/// The hosts of the cluster.
pub fn hosts() -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes"])
}

/// All machines and containers of the cluster that the login may see.
pub fn machines() -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["cluster", "resources"]).with("type", "vm")
}

/// The next unused ID, or whether `id` is unused.
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

/// The storages of a host.
pub fn storages(host: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "storage"])
}

/// The bridges of a host.
pub fn bridges(host: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "network"]).with("type", "any_bridge")
}

/// The files of one kind in a storage.
pub fn contents(host: &str, storage: &str, content: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "storage", storage, "content"])
        .with("content", content)
}

/// An upload. The file is the last part, named `filename`, after the other parameters, because the server reads them in order.
pub fn upload(host: &str, storage: &str, content: &str, sha256: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "storage", storage, "upload"])
        .with("content", content)
        .with("checksum-algorithm", "sha256")
        .with("checksum", sha256)
}

/// A download by the host.
pub fn download(host: &str, storage: &str, content: &str, name: &str, url: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "storage", storage, "download-url"])
        .with("content", content)
        .with("filename", name)
        .with("url", url)
}

/// Deletes a file from a storage.
pub fn delete_volume(host: &str, storage: &str, volume: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Delete, &["nodes", host, "storage", storage, "content", volume])
}

/// Creates a machine.
pub fn create(host: &str, id: u32, settings: &[(String, String)]) -> ProxmoxRequest {
    let request = ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "qemu"]).with("vmid", id);
    settings.iter().fold(request, |request, (key, value)| request.with(key, value))
}

/// Reads the settings of a machine.
pub fn settings(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "qemu", &id.to_string(), "config"])
}

/// Changes the settings of a machine.
pub fn update(host: &str, id: u32, settings: &[(String, String)]) -> ProxmoxRequest {
    let request = ProxmoxRequest::new(HttpMethod::Put, &["nodes", host, "qemu", &id.to_string(), "config"]);
    settings.iter().fold(request, |request, (key, value)| request.with(key, value))
}

/// Enlarges a disk.
pub fn resize(host: &str, id: u32, disk: &str, size: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Put, &["nodes", host, "qemu", &id.to_string(), "resize"])
        .with("disk", disk)
        .with("size", size)
}

/// Powers a machine on.
pub fn start(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "qemu", &id.to_string(), "status", "start"])
}

/// Powers a machine off.
pub fn stop(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "qemu", &id.to_string(), "status", "stop"])
}

/// Shuts the operating system of a machine down, with a timeout in seconds.
pub fn shutdown(host: &str, id: u32, seconds: u64) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Post, &["nodes", host, "qemu", &id.to_string(), "status", "shutdown"])
        .with("timeout", seconds)
}

/// Deletes a machine, including its entries in jobs and replications.
pub fn delete(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Delete, &["nodes", host, "qemu", &id.to_string()]).with("purge", 1)
}

/// The ports of a machine and their addresses, from its guest agent.
pub fn agent_ports(host: &str, id: u32) -> ProxmoxRequest {
    ProxmoxRequest::new(
        HttpMethod::Get,
        &["nodes", host, "qemu", &id.to_string(), "agent", "network-get-interfaces"],
    )
}

/// The status of a task.
pub fn task_status(host: &str, upid: &str) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "tasks", upid, "status"])
}

/// The log of a task, from a line on.
pub fn task_log(host: &str, upid: &str, from: u64) -> ProxmoxRequest {
    ProxmoxRequest::new(HttpMethod::Get, &["nodes", host, "tasks", upid, "log"])
        .with("start", from)
        .with("limit", 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_characters_are_percent_encoded() {
        let request = delete_volume("pve1", "cephfs", "cephfs:iso/a b.iso");
        assert_eq!(request.path, "/nodes/pve1/storage/cephfs/content/cephfs%3Aiso%2Fa%20b.iso");

        let settings = [("boot".to_owned(), "order=scsi0;ide2".to_owned())];
        assert_eq!(create("pve1", 311, &settings).encode_parameters(), "vmid=311&boot=order%3Dscsi0%3Bide2");
    }

    #[test]
    fn a_request_is_displayed_without_its_parameters() {
        assert_eq!(ticket("root@pam", "hunter2").to_string(), "POST /access/ticket");
    }
}
