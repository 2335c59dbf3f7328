//! The settings of a configuration that a simulated node uses.
//!
//! [`NodeConfig::read`] accepts and rejects the same configurations as Talos: the text goes through ichor's own reader and
//! validator for the release that the machine runs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::call_error::{CallError, ErrorCode};
use ichor_bgp::agent::config;
use ichor_bgp::agent::config::AgentConfig;
use ichor_talos::document;
use ichor_talos::release::at_least;
use ichor_talos::secrets::{Pair, Pem, from_config};
use ichor_talos::validate::{Mode, Report};
use ichor_values::{Severity, TalosVersion};

/// An accepted configuration, with the settings that the simulator needs.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct NodeConfig {
    /// The text, as it was sent.
    pub text: String,
    /// Whether it is that of a control plane.
    pub control_plane: bool,
    /// The hostname it sets.
    pub hostname: Option<String>,
    /// The links it gives addresses to, those of the host itself last.
    pub addresses: Vec<(String, IpNet)>,
    /// The address that control planes hold in turn.
    pub vip: Option<IpAddr>,
    /// The certificate of the authority of Talos' API.
    pub ca: Pem,
    /// The identity of the cluster: a hash of that certificate.
    pub key: [u8; 32],
    /// Certificates of authorities that are accepted beside it.
    pub(crate) accepted: Vec<Pem>,
    /// The authorities that control planes can sign for.
    pub(crate) authorities: Option<CertificateAuthorities>,
    /// Names and addresses that certificates of Talos' API are for, beside those of the node.
    pub sans: Vec<String>,
    /// Names and addresses that certificates of the API server are for.
    pub(crate) kubernetes_sans: Vec<String>,
    /// The name of the cluster.
    pub cluster: String,
    /// The endpoint of Kubernetes.
    pub endpoint: String,
    /// The disk that Talos is to be installed on.
    pub install_disk: Option<String>,
    /// The image that it is to be installed from.
    pub install_image: Option<String>,
    /// Whether pods have a network: without one, Kubernetes' nodes are never ready.
    pub(crate) has_pod_network: bool,
    /// Whether containers run in a sandbox, since 1.14.
    pub(crate) has_sandbox: bool,
    /// Whether the environment of the overlay's service has a key.
    pub(crate) has_overlay_key: bool,
    /// The subnets whose addresses etcd advertises; if empty, the first address.
    pub(crate) etcd_subnets: Vec<IpNet>,
    /// The part of which a change takes effect at the next boot before Talos 1.14.
    pub(crate) boot_settings: Value,
    /// Names of the services that come with extensions and have a document.
    pub(crate) extension_services: Vec<String>,
    /// The configurations of agents among them.
    pub(crate) duties: BTreeMap<String, AgentConfig>,
    /// Peers of Talos' own BGP: instance, peer, their AS numbers.
    pub(crate) bgp_peers: Vec<BgpPeer>,
    /// Talos' warnings.
    pub warnings: Vec<String>,
}

/// The authorities of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct CertificateAuthorities {
    /// That of Talos' API.
    pub os: Pair,
    /// That of Kubernetes.
    pub k8s: Pair,
}

/// A neighbour of Talos' own BGP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BgpPeer {
    /// The instance it belongs to.
    pub instance: String,
    /// Its name: an address, or the link to it.
    pub peer: String,
    /// Our AS number.
    pub(crate) local_asn: u64,
    /// Its AS number; 0 where any is accepted.
    pub(crate) peer_asn: u64,
}

impl NodeConfig {
    /// Reads a configuration as a machine with this release does.
    pub fn read(bytes: &[u8], talos: &TalosVersion, mode: Mode) -> Result<Self, CallError> {
        let refused = |message: String| CallError::new(ErrorCode::InvalidArgument, message);
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(refused("yaml: control characters are not allowed".to_owned()));
        };
        let report = Report::validate(text, talos, mode, false);
        if !report.valid {
            return Err(refused(rejection_message(&report, talos)));
        }
        let warnings = report.entries.iter().filter(|entry| entry.issue.severity == Severity::Warning);
        let warnings = warnings.map(|entry| entry.issue.message.clone()).collect();
        let documents = document::read(text).map_err(|error| refused(error.reason))?;
        let main = documents.iter().find(|it| document::kind(it).is_none());
        let Some(main) = main else {
            return Err(refused(
                "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine \
                 config instead?"
                    .to_owned(),
            ));
        };
        let sheet = ConfigDocuments { main, documents: &documents };
        let control_plane = sheet.text("/machine/type").is_some_and(|word| word != "worker");
        let authorities = if control_plane {
            let bundle = from_config(text).map_err(|error| refused(error.to_string()))?;
            Some(CertificateAuthorities { os: bundle.os, k8s: bundle.k8s })
        } else {
            None
        };
        let ca = match &authorities {
            Some(authorities) => authorities.os.crt.clone(),
            None => sheet
                .text("/machine/ca/crt")
                .and_then(Pem::from_base64)
                .ok_or_else(|| refused("trusted CA certificates are required on worker nodes".to_owned()))?,
        };
        Ok(Self {
            text: text.to_owned(),
            control_plane,
            hostname: sheet.hostname(),
            addresses: sheet.addresses(),
            vip: sheet.vip(),
            key: key(&ca),
            ca,
            accepted: sheet.accepted_cas(),
            authorities,
            sans: document::texts(main, "/machine/certSANs").map(str::to_owned).collect(),
            kubernetes_sans: sheet.kubernetes_sans(),
            cluster: sheet.cluster("clusterName", "/cluster/clusterName"),
            endpoint: sheet.cluster("endpoint", "/cluster/controlPlane/endpoint"),
            install_disk: sheet
                .text("/machine/install/disk")
                .map(str::to_owned)
                .or_else(|| sheet.selected_disk()),
            install_image: sheet.installer(),
            has_pod_network: sheet.has_pod_network(),
            has_sandbox: sheet.has_sandbox(),
            has_overlay_key: sheet.has_overlay_key(),
            etcd_subnets: sheet.etcd_subnets(),
            boot_settings: boot_settings(main),
            extension_services: sheet
                .names_of_kind("ExtensionServiceConfig")
                .map(|it| format!("ext-{it}"))
                .collect(),
            duties: sheet.duties(),
            bgp_peers: sheet.bgp_peers(),
            warnings,
        })
    }

    /// The addresses that the node has, without their prefixes.
    pub(crate) fn ips(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().map(|(_, net)| net.addr())
    }
}

/// The keys below `machine` that take effect immediately, as Talos 1.11 to 1.13 have them.
const IMMEDIATE: [&str; 18] = [
    "acceptedCAs",
    "ca",
    "certSANs",
    "controlPlane",
    "install",
    "kernel",
    "kubelet",
    "logging",
    "network",
    "nodeAnnotations",
    "nodeLabels",
    "nodeTaints",
    "pods",
    "registries",
    "seccompProfiles",
    "sysctls",
    "sysfs",
    "time",
];

/// The same below `machine.features`.
const IMMEDIATE_FEATURES: [&str; 5] =
    ["hostDNS", "imageCache", "kubePrism", "kubernetesTalosAPIAccess", "nodeAddressSortAlgorithm"];

/// The main document without the keys that take effect immediately.
fn boot_settings(main: &Value) -> Value {
    let mut rest = main.clone();
    let mut drop = |pointer: &str, keys: &[&str]| {
        if let Some(map) = rest.pointer_mut(pointer).and_then(Value::as_object_mut) {
            map.retain(|key, value| !keys.contains(&key.as_str()) && !value.is_null());
        }
    };
    drop("", &["debug", "cluster"]);
    drop("/machine/features", &IMMEDIATE_FEATURES);
    drop("/machine", &IMMEDIATE);
    rest
}

/// Whether these are valid documents without the main one.
pub(super) fn is_partial(bytes: &[u8], talos: &TalosVersion, mode: Mode) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let documents = document::read(text).unwrap_or_default();
    !documents.is_empty()
        && documents.iter().all(|it| document::kind(it).is_some())
        && Report::validate(text, talos, mode, false).valid
}

/// A sum of an authority's certificate.
pub(super) fn key(ca: &Pem) -> [u8; 32] {
    Sha256::digest(ca.text().as_bytes()).into()
}

/// Talos' message for a rejected configuration.
fn rejection_message(report: &Report, talos: &TalosVersion) -> String {
    let errors: Vec<&str> = report
        .entries
        .iter()
        .filter(|entry| entry.issue.severity == Severity::Error)
        .map(|entry| entry.issue.message.as_str())
        .collect();
    if report.load_error {
        return errors.join("; ");
    }
    let count = errors.len();
    let noun = if count == 1 { "error" } else { "errors" };
    let message = format!("{count} {noun} occurred:\n\t* {}\n\n", errors.join("\n\t* "));
    if at_least(talos, 13) { message } else { format!("configuration validation failed: {message}") }
}

/// The documents of a configuration.
struct ConfigDocuments<'d> {
    main: &'d Value,
    documents: &'d [Value],
}

impl<'d> ConfigDocuments<'d> {
    fn text(&self, pointer: &str) -> Option<&'d str> {
        document::value_at(self.main, pointer)?.as_str()
    }

    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &'d Value> {
        self.documents.iter().filter(move |it| document::kind(it) == Some(kind))
    }

    fn names_of_kind(&self, kind: &'static str) -> impl Iterator<Item = &'d str> {
        self.of_kind(kind).filter_map(document::name)
    }

    fn hostname(&self) -> Option<String> {
        let own = self.of_kind("HostnameConfig").find_map(|it| it.get("hostname")?.as_str());
        own.or_else(|| self.text("/machine/network/hostname")).map(str::to_owned)
    }

    /// The addresses of links, from documents of their own or the old form.
    fn addresses(&self) -> Vec<(String, IpNet)> {
        let mut found = Vec::new();
        for document in self.documents.iter().filter(|it| document::kind(it).is_some()) {
            let link = document::name(document).unwrap_or_default();
            let list = document::items(document, "/addresses");
            let list = list.filter_map(|(_, it)| it.get("address")?.as_str()?.parse().ok());
            found.extend(list.map(|net| (link.to_owned(), net)));
        }
        for (_, interface) in document::items(self.main, "/machine/network/interfaces") {
            let link = interface.get("interface").and_then(Value::as_str).unwrap_or("eth0");
            let nested = document::items(interface, "/vlans").map(|(_, vlan)| vlan);
            for place in std::iter::once(interface).chain(nested) {
                let list = document::texts(place, "/addresses").filter_map(|text| text.parse().ok());
                found.extend(list.map(|net| (link.to_owned(), net)));
            }
        }
        found.sort_by_key(|(link, _)| is_inner(link));
        found
    }

    fn vip(&self) -> Option<IpAddr> {
        let new = self.names_of_kind("Layer2VIPConfig").find_map(|name| name.parse().ok());
        let mut old = document::items(self.main, "/machine/network/interfaces")
            .filter_map(|(_, it)| it.pointer("/vip/ip")?.as_str()?.parse().ok());
        new.or_else(|| old.next())
    }

    fn accepted_cas(&self) -> Vec<Pem> {
        let list = document::items(self.main, "/machine/acceptedCAs");
        list.filter_map(|(_, it)| Pem::from_base64(it.get("crt")?.as_str()?)).collect()
    }

    fn kubernetes_sans(&self) -> Vec<String> {
        let new = self.of_kind("KubeAPIServerConfig").flat_map(|it| document::texts(it, "/certExtraSANs"));
        let old = document::texts(self.main, "/cluster/apiServer/certSANs");
        new.chain(old).map(str::to_owned).collect()
    }

    fn cluster(&self, key: &str, old: &str) -> String {
        let new = self.of_kind("KubeClusterConfig").find_map(|it| it.get(key)?.as_str());
        new.or_else(|| self.text(old)).unwrap_or_default().to_owned()
    }

    /// The disk if a selector chooses it.
    fn selected_disk(&self) -> Option<String> {
        let selected = document::value_at(self.main, "/machine/install/diskSelector").is_some();
        let unattended = self.of_kind("UnattendedInstallConfig").next().is_some();
        (selected || unattended).then(|| "/dev/sda".to_owned())
    }

    fn installer(&self) -> Option<String> {
        let unattended = || {
            self.of_kind("UnattendedInstallConfig").find_map(|it| it.pointer("/installer/image")?.as_str())
        };
        self.text("/machine/install/image").or_else(unattended).map(str::to_owned)
    }

    fn has_pod_network(&self) -> bool {
        let old = self.text("/cluster/network/cni/name");
        let flannel = self.of_kind("KubeFlannelCNIConfig").next().is_some();
        let manifests = ["KubeExternalManifestConfig", "KubeInlineManifestConfig"]
            .iter()
            .any(|kind| self.of_kind(kind).next().is_some());
        let inline = ["/cluster/inlineManifests", "/cluster/extraManifests"];
        let old_manifests = inline.iter().any(|pointer| document::items(self.main, pointer).next().is_some());
        flannel || manifests || old_manifests || (old != Some("none") && !self.has_kubernetes_documents())
    }

    fn has_sandbox(&self) -> bool {
        let mut profiles = self.of_kind("SecurityProfileConfig");
        profiles.any(|it| it.get("workloadIsolation").and_then(Value::as_bool) == Some(true))
    }

    fn has_overlay_key(&self) -> bool {
        let overlay =
            self.of_kind("ExtensionServiceConfig").find(|it| document::name(it) == Some("tailscale"));
        overlay.is_some_and(|overlay| {
            let mut lines = document::texts(overlay, "/environment");
            lines.any(|line| line.strip_prefix("TS_AUTHKEY=").is_some_and(|key| !key.is_empty()))
        })
    }

    fn etcd_subnets(&self) -> Vec<IpNet> {
        let new = self.of_kind("EtcdConfig").flat_map(|it| document::texts(it, "/advertisedSubnets"));
        let old = document::texts(self.main, "/cluster/etcd/advertisedSubnets");
        new.chain(old).filter_map(|text| text.parse().ok()).collect()
    }

    fn has_kubernetes_documents(&self) -> bool {
        self.of_kind("KubeClusterConfig").next().is_some()
    }

    /// The duties of agents, in the files of their services.
    fn duties(&self) -> BTreeMap<String, AgentConfig> {
        let one = |document: &Value| {
            let files = document::items(document, "/configFiles").map(|(_, file)| file);
            let is_agent_config = |file: &Value| {
                file.get("mountPath").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
                    == Some(config::FILE)
            };
            let mut files = files.filter(|file| is_agent_config(file));
            let duty = AgentConfig::parse(files.next()?.get("content")?.as_str()?).ok()?.config;
            Some((format!("ext-{}", document::name(document)?), duty))
        };
        self.of_kind("ExtensionServiceConfig").filter_map(one).collect()
    }

    fn bgp_peers(&self) -> Vec<BgpPeer> {
        let mut peers = Vec::new();
        for instance in self.of_kind("BGPInstanceConfig") {
            let name = document::name(instance).unwrap_or_default();
            let local = instance.get("localASN").and_then(Value::as_u64).unwrap_or_default();
            for (_, peer) in document::items(instance, "/neighbors") {
                let who = ["address", "link"].iter().find_map(|key| peer.get(key)?.as_str());
                peers.push(BgpPeer {
                    instance: name.to_owned(),
                    peer: who.unwrap_or_default().to_owned(),
                    local_asn: local,
                    peer_asn: peer.get("peerASN").and_then(Value::as_u64).unwrap_or_default(),
                });
            }
        }
        peers
    }
}

/// Whether a link leads nowhere.
fn is_inner(link: &str) -> bool {
    link == "lo" || link.starts_with("dummy")
}
