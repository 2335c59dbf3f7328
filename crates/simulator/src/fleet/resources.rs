//! The resources of a simulated node, with the field names of Talos.
//!
//! Only the YAML of a resource is sent: ichor reads nothing else, and `proto_spec` stays empty.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use serde_json::{Value, json};

use super::call_error::{CallError, ErrorCode};
use super::machine::{Machine, Phase, ServiceState};
use super::node_config::NodeConfig;
use super::services::NodeService;
use super::simulation::Fleet;
use ichor_talos::api::cosi::{ResourceMessage, ResourceMetadata, Spec};
use ichor_talos::api::machine::Stage;
use ichor_talos::asset::AssetSelection;
use ichor_talos::release::at_least;
use ichor_talos::resource::machine_config;
use ichor_talos::schematic::EXTENSION as SCHEMATIC;
use ichor_values::go_yaml::emit::emit;

/// Sessions of Talos' own BGP, since 1.14.
const BGP_PEERS: &str = "BGPPeerStatuses.net.talos.dev";
/// A disk of every simulated machine.
const DISK: &str = "sda";
const DISK_SIZE: u64 = 64 << 30;

/// A resource, before it is encoded.
struct ResourceSpec {
    id: String,
    spec: Value,
}

fn resource(id: impl Into<String>, spec: Value) -> ResourceSpec {
    ResourceSpec { id: id.into(), spec }
}

impl Fleet {
    /// The resources of a kind in a namespace, in the order of their ids; empty if the kind does not exist.
    pub(crate) fn resources(&self, nth: usize, namespace: &str, kind: &str) -> Vec<ResourceMessage> {
        let Some((home, list)) = self.list(nth, kind) else { return Vec::new() };
        if home != namespace {
            return Vec::new();
        }
        let mut list: Vec<_> = list.into_iter().map(|item| self.to_message(nth, home, kind, item)).collect();
        list.sort_by(|a, b| id(a).cmp(id(b)));
        list
    }

    /// A resource.
    pub fn resource(&self, nth: usize, namespace: &str, kind: &str, wanted: &str) -> Option<ResourceMessage> {
        self.resources(nth, namespace, kind).into_iter().find(|resource| id(resource) == wanted)
    }

    /// Whether the release of a machine has a type of resources.
    pub(crate) fn check_resource_type(&self, nth: usize, kind: &str) -> Result<(), CallError> {
        let has_bgp = at_least(&self.machines[nth].release, 14);
        if self.list(nth, kind).is_some() && (has_bgp || kind != BGP_PEERS) {
            return Ok(());
        }
        let message = format!("resource type \"{kind}\" is not supported");
        Err(CallError::new(ErrorCode::PermissionDenied, message))
    }

    fn to_message(&self, nth: usize, namespace: &str, kind: &str, item: ResourceSpec) -> ResourceMessage {
        let yaml = match &item.spec {
            Value::String(text) if !at_least(&self.machines[nth].release, 12) => text.clone(),
            spec => emit(spec),
        };
        let metadata = ResourceMetadata {
            namespace: namespace.to_owned(),
            r#type: kind.to_owned(),
            id: item.id,
            version: (self.machines[nth].boots.max(1)).to_string(),
        };
        ResourceMessage {
            metadata: Some(metadata),
            spec: Some(Spec { proto_spec: Vec::new(), yaml_spec: yaml }),
        }
    }

    fn list(&self, nth: usize, kind: &str) -> Option<(&'static str, Vec<ResourceSpec>)> {
        let machine = &self.machines[nth];
        Some(match kind {
            "MachineStatuses.runtime.talos.dev" => ("runtime", vec![self.machine_status(nth)]),
            "Services.v1alpha1.talos.dev" => ("runtime", services(machine)),
            "Versions.runtime.talos.dev" => {
                ("runtime", vec![resource("version", json!({"version": machine.release.to_string()}))])
            }
            "ExtensionStatuses.runtime.talos.dev" => ("runtime", extensions(machine)),
            "Diagnostics.runtime.talos.dev" => ("runtime", Vec::new()),
            "KernelCmdlines.runtime.talos.dev" => {
                let line = format!("talos.platform={} console=tty0 net.ifnames=0", platform(machine));
                ("runtime", vec![resource("cmdline", json!({"cmdline": line}))])
            }
            "PlatformMetadatas.talos.dev" => {
                let mut spec = json!({"platform": platform(machine)});
                if machine.hardware.has_medium && !machine.faults.has("no-medium") {
                    spec["hostname"] = machine.hardware.name.as_str().into();
                    spec["instanceId"] = machine.hardware.name.as_str().into();
                    spec["internalDNS"] = machine.hardware.name.as_str().into();
                }
                ("runtime", vec![resource("platformmetadata", spec)])
            }
            "ExtensionServiceConfigStatuses.runtime.talos.dev" => ("runtime", documents(machine)),
            "Disks.block.talos.dev" => ("runtime", vec![disk()]),
            "SystemDisks.block.talos.dev" => {
                let there = json!({"diskID": DISK, "devPath": format!("/dev/{DISK}")});
                ("runtime", machine.disk.iter().map(|_| resource("system-disk", there.clone())).collect())
            }
            "MetaKeys.runtime.talos.dev" => ("runtime", meta(machine)),
            "SystemInformations.hardware.talos.dev" => ("hardware", vec![firmware(machine)]),
            machine_config::TYPE => (machine_config::NAMESPACE, configurations(machine)),
            "LinkStatuses.net.talos.dev" => ("network", links(machine)),
            "AddressStatuses.net.talos.dev" => ("network", self.addresses(nth)),
            "NodeAddresses.net.talos.dev" => ("network", self.node_addresses(nth)),
            "HostnameStatuses.net.talos.dev" => {
                let spec = json!({"hostname": machine.hostname(), "domainname": ""});
                ("network", vec![resource("hostname", spec)])
            }
            "RouteStatuses.net.talos.dev" => ("network", self.routes(nth)),
            BGP_PEERS => ("network", peers(machine)),
            "Members.cluster.talos.dev" => ("cluster", self.members(nth)),
            "EtcdMembers.etcd.talos.dev" => ("etcd", self.local_member(nth)),
            "NodeStatuses.kubernetes.talos.dev" => ("k8s", self.node_status(nth)),
            _ => return None,
        })
    }

    fn machine_status(&self, nth: usize) -> ResourceSpec {
        let unmet = self.unmet(nth);
        let conditions: Vec<_> =
            unmet.iter().map(|unmet| json!({"name": unmet.name, "reason": unmet.reason})).collect();
        let status = json!({"ready": unmet.is_empty(), "unmetConditions": conditions});
        resource("machine", json!({"stage": stage_word(self.machines[nth].stage()), "status": status}))
    }

    fn addresses(&self, nth: usize) -> Vec<ResourceSpec> {
        let mut all = vec![("lo".to_owned(), "127.0.0.1/8".to_owned())];
        all.extend(self.linked_addresses(nth));
        all.extend(self.machines[nth].overlay().map(|address| ("tailscale0".to_owned(), host_net(address))));
        let one = |(link, address): (String, String)| {
            let v6 = address.contains(':');
            let spec = json!({
                "address": address,
                "linkIndex": if link == "lo" { 1 } else { 2 },
                "linkName": link,
                "family": if v6 { "inet6" } else { "inet4" },
                "scope": if link == "lo" { "host" } else { "global" },
                "flags": "permanent",
                "priority": 0,
            });
            resource(format!("{link}/{address}"), spec)
        };
        all.into_iter().map(one).collect()
    }

    /// The addresses of a machine, each with its link and prefix.
    fn linked_addresses(&self, nth: usize) -> Vec<(String, String)> {
        let machine = &self.machines[nth];
        let planned =
            machine.intent.as_ref().filter(|_| matches!(machine.phase, Phase::Up | Phase::Ending(_)));
        let mut all: Vec<_> = planned
            .map(|intent| {
                intent.addresses.iter().map(|(link, net)| (link.clone(), net.to_string())).collect()
            })
            .unwrap_or_default();
        if all.is_empty() {
            let leased = machine.hardware.leased.iter().map(|address| ("eth0".to_owned(), around(*address)));
            all.extend(leased);
        }
        let held = self.etcd_of(nth).filter(|etcd| etcd.holder == Some(nth));
        let vip = held.and_then(|_| planned?.vip);
        all.extend(
            vip.map(|vip| ("eth0".to_owned(), format!("{vip}/{}", if vip.is_ipv4() { 32 } else { 128 }))),
        );
        all
    }

    fn node_addresses(&self, nth: usize) -> Vec<ResourceSpec> {
        let addresses: Vec<_> = self.linked_addresses(nth).into_iter().map(|(_, address)| address).collect();
        let one = |id: &str| resource(id, json!({"addresses": addresses, "sortAlgorithm": "v1"}));
        ["accumulative", "current", "routed"].map(one).into()
    }

    fn routes(&self, nth: usize) -> Vec<ResourceSpec> {
        let one = |(link, address): (String, String)| {
            let network = address.parse::<ipnet::IpNet>().ok()?.trunc();
            let spec = json!({
                "family": if network.addr().is_ipv4() { "inet4" } else { "inet6" },
                "dst": network.to_string(),
                "src": address.split('/').next().unwrap_or_default(),
                "gateway": "",
                "outLinkIndex": 2,
                "outLinkName": link,
                "table": "main",
                "priority": 0,
                "scope": "link",
                "type": "unicast",
                "flags": "",
                "protocol": "kernel",
            });
            Some(resource(
                format!("{link}/{}/{network}", if network.addr().is_ipv4() { "inet4" } else { "inet6" }),
                spec,
            ))
        };
        self.linked_addresses(nth).into_iter().filter_map(one).collect()
    }

    fn members(&self, nth: usize) -> Vec<ResourceSpec> {
        let one = |other: usize| {
            let machine = &self.machines[other];
            let addresses: Vec<_> = machine.addresses().iter().map(ToString::to_string).collect();
            let mut spec = json!({
                "nodeId": machine.hardware.uuid,
                "addresses": addresses,
                "hostname": machine.hostname(),
                "machineType": if machine.is_control_plane() { "controlplane" } else { "worker" },
                "operatingSystem": format!("Talos ({})", machine.release),
            });
            if machine.is_control_plane() {
                spec["controlPlane"] = json!({"port": 6443});
            }
            resource(machine.hostname(), spec)
        };
        self.cluster_of(nth).into_iter().map(one).collect()
    }

    fn local_member(&self, nth: usize) -> Vec<ResourceSpec> {
        let member = self.etcd_of(nth).and_then(|etcd| etcd.member(nth));
        let member = member.filter(|_| self.machines[nth].units.etcd == ServiceState::Up);
        member
            .map(|member| resource("local", json!({"memberID": format!("{:016x}", member.id)})))
            .into_iter()
            .collect()
    }

    fn node_status(&self, nth: usize) -> Vec<ResourceSpec> {
        let hostname = self.machines[nth].hostname();
        let node = self.cluster_etcd(nth).and_then(|etcd| Some((etcd, etcd.nodes.get(&hostname)?)));
        let one = node.map(|(etcd, node)| {
            let spec = json!({
                "nodename": hostname,
                "nodeReady": self.is_kube_node_ready(etcd, &hostname, node),
                "unschedulable": node.unschedulable,
                "labels": {},
                "annotations": {},
            });
            resource(hostname.clone(), spec)
        });
        one.into_iter().collect()
    }
}

fn id(resource: &ResourceMessage) -> &str {
    resource.metadata.as_ref().map_or("", |metadata| metadata.id.as_str())
}

/// A stage as resources say it.
pub fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Unknown => "unknown",
        Stage::Booting => "booting",
        Stage::Installing => "installing",
        Stage::Maintenance => "maintenance",
        Stage::Running => "running",
        Stage::Rebooting => "rebooting",
        Stage::ShuttingDown => "shutting down",
        Stage::Resetting => "resetting",
        Stage::Upgrading => "upgrading",
    }
}

/// The services that run: Talos has no resource of the others.
fn services(machine: &Machine) -> Vec<ResourceSpec> {
    let running = machine.services().into_iter().filter(NodeService::is_running);
    let services = running.map(|service| {
        let healthy = service.healthy;
        let spec =
            json!({"running": true, "healthy": healthy.unwrap_or_default(), "unknown": healthy.is_none()});
        resource(service.id, spec)
    });
    services.collect()
}

pub(super) fn platform(machine: &Machine) -> &str {
    if machine.hardware.image { "nocloud" } else { &machine.hardware.platform }
}

/// An address as a host prefix.
fn host_net(address: IpAddr) -> String {
    IpNet::from(address).to_string()
}

/// The documents of extensions' services that are in force.
fn documents(machine: &Machine) -> Vec<ResourceSpec> {
    let services = machine.intent.iter().flat_map(|intent| &intent.extension_services);
    services.map(|id| resource(id.trim_start_matches("ext-"), json!({"specVersion": "1"}))).collect()
}

/// The extensions of the image: those of every image of the machine, one for each configured service, and the Image
/// Factory's own.
fn extensions(machine: &Machine) -> Vec<ResourceSpec> {
    let services = machine.intent.iter().flat_map(|intent| &intent.extension_services);
    let mut names: Vec<&str> = machine.extensions.iter().map(String::as_str).collect();
    for service in services.map(|service| service.trim_start_matches("ext-")) {
        if !names.contains(&service) {
            names.push(service);
        }
    }
    let made = machine.installer.as_deref().and_then(|installer| AssetSelection::parse(installer).ok());
    let named = names.into_iter().map(|name| (name, "simulated"));
    let all = named.chain(made.iter().map(|made| (SCHEMATIC, made.id.as_str())));
    let one = |(nth, (name, version)): (usize, (&str, &str))| {
        let metadata = json!({
            "name": name, "version": version, "author": "simulator", "description": "simulated extension",
            "compatibility": {"talos": {"version": ">= v1.11.0"}},
        });
        resource(nth.to_string(), json!({"image": format!("{nth}.{name}.sqsh"), "metadata": metadata}))
    };
    all.enumerate().map(one).collect()
}

/// The configuration in force and the one on disk: a text with YAML in it from Talos 1.12 on, plain YAML before.
fn configurations(machine: &Machine) -> Vec<ResourceSpec> {
    let on_disk = machine.disk.as_ref().and_then(|disk| disk.intent.as_ref());
    let all = [(machine_config::ACTIVE, machine.intent.as_ref()), (machine_config::PERSISTENT, on_disk)];
    let one = |(id, intent): (&str, Option<&Arc<NodeConfig>>)| {
        Some(resource(id, Value::from(intent?.text.as_str())))
    };
    all.into_iter().filter_map(one).collect()
}

fn disk() -> ResourceSpec {
    let spec = json!({
        "dev_path": format!("/dev/{DISK}"),
        "size": DISK_SIZE,
        "pretty_size": "69 GB",
        "io_size": 512,
        "sector_size": 512,
        "readonly": false,
        "cdrom": false,
        "model": "SIMULATED",
        "serial": "SIM",
        "wwid": "naa.5000000000000001",
        "bus_path": "/pci0000:00/0000:00:05.0/virtio2/host2/target2:0:0/2:0:0:0",
        "sub_system": "/sys/class/block",
        "transport": "virtio",
    });
    resource(DISK, spec)
}

fn meta(machine: &Machine) -> Vec<ResourceSpec> {
    let keys = machine.disk.iter().flat_map(|disk| &disk.meta);
    keys.map(|(key, value)| {
        resource(format!("0x{key:02x}"), json!({"value": String::from_utf8_lossy(value)}))
    })
    .collect()
}

fn firmware(machine: &Machine) -> ResourceSpec {
    let hardware = &machine.hardware;
    let spec = json!({
        "manufacturer": "ichor",
        "productName": "simulated machine",
        "serialnumber": hardware.serial,
        "uuid": hardware.uuid,
        "wakeUpType": "Power Switch",
    });
    resource("systeminformation", spec)
}

fn links(machine: &Machine) -> Vec<ResourceSpec> {
    let one = |name: &str, index: usize, mac: &str, kind: &str| {
        let cut = name == "eth0" && machine.faults.has("no-carrier");
        let spec = json!({
            "index": index,
            "type": if kind == "loopback" { kind } else { "ether" },
            "linkIndex": 0,
            "flags": "UP,BROADCAST,RUNNING,MULTICAST,LOWER_UP",
            "hardwareAddr": mac,
            "permanentAddr": if kind == "ether" { mac } else { "" },
            "broadcastAddr": "ff:ff:ff:ff:ff:ff",
            "mtu": if kind == "loopback" { 65536 } else { 1500 },
            "queueDisc": "pfifo_fast",
            "operationalState": if cut { "down" } else if kind == "ether" { "up" } else { "unknown" },
            "kind": if kind == "dummy" { kind } else { "" },
            "slaveKind": "",
            "busPath": format!("0000:06:{index:02x}.0"),
            "driver": "virtio_net",
            "linkState": !cut,
            "port": "Other",
            "duplex": "Unknown",
        });
        resource(name, spec)
    };
    let mut all = vec![one("lo", 1, "00:00:00:00:00:00", "loopback")];
    let ports = machine.hardware.macs.iter().enumerate();
    all.extend(ports.map(|(nth, mac)| one(&format!("eth{nth}"), nth + 2, &mac.to_string(), "ether")));
    // Dummy links with addresses.
    let named = machine.intent.iter().flat_map(|intent| &intent.addresses).map(|(link, _)| link.as_str());
    let dummies: BTreeSet<&str> = named.filter(|link| link.starts_with("dummy")).collect();
    let first = all.len() + 1;
    let mac = |nth: usize| format!("0e:00:00:00:00:{nth:02x}");
    all.extend(dummies.iter().enumerate().map(|(nth, name)| one(name, first + nth, &mac(nth), "dummy")));
    all
}

fn peers(machine: &Machine) -> Vec<ResourceSpec> {
    let Some(intent) = machine.intent.as_ref().filter(|_| machine.phase == Phase::Up) else {
        return Vec::new();
    };
    let state = if machine.faults.has("session-down") { "active" } else { "established" };
    let one = |peer: &super::node_config::BgpPeer| {
        let spec = json!({
            "peer": peer.peer, "localASN": peer.local_asn, "peerASN": peer.peer_asn, "state": state,
            "received": 1, "advertised": 1, "accepted": 1, "instance": peer.instance,
        });
        resource(format!("{}/{}", peer.instance, peer.peer), spec)
    };
    intent.bgp_peers.iter().map(one).collect()
}

/// An address with the prefix that a DHCP server would assign.
fn around(address: IpAddr) -> String {
    format!("{address}/{}", if address.is_ipv4() { 24 } else { 64 })
}
