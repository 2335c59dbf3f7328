//! The calls that a real node and a simulated one get, in this order.

use ichor_talos::api::cluster::{ClusterInfo, HealthCheckRequest};
use ichor_talos::api::common::{Driver, Duration};
use ichor_talos::api::cosi::{GetRequest, ListRequest, WatchOptions, WatchRequest};
use ichor_talos::api::image::PullRequest;
use ichor_talos::api::lifecycle::{LifecycleUpgradeRequest, Source};
use ichor_talos::api::machine::{
    ApplyConfigurationRequest, ApplyMode, DmesgRequest, EtcdRemoveMemberByIdRequest, EventsRequest,
    LogsRequest, MetaDeleteRequest, MetaWriteRequest, ReadRequest, ResetRequest, ServiceRequest,
    UpgradeRequest,
};
use ichor_talos::api::{Empty, method};
use ichor_talos::resource::{
    AddressStatus, BgpPeerStatus, Diagnostic, Disk, ExtensionServiceConfigStatus, ExtensionStatus,
    HostnameStatus, KernelCmdline, LinkStatus, MachineStatus, MetaKey, NodeStatus, PlatformMetadata,
    ResourceKind, RouteStatus, ServiceResource, SystemInformation, machine_config,
};
use prost::Message;

/// A call.
pub struct Call {
    /// Its name in the record.
    pub name: String,
    pub path: String,
    /// The encoded request.
    pub request: Vec<u8>,
}

fn call(name: &str, path: &str, request: &impl Message) -> Call {
    Call { name: name.to_owned(), path: path.to_owned(), request: request.encode_to_vec() }
}

/// The kinds of resources that ichor reads, with namespace and id of one.
fn kinds() -> Vec<(&'static str, &'static str)> {
    fn of<K: ResourceKind>() -> (&'static str, &'static str) {
        (K::NAMESPACE, K::TYPE)
    }
    vec![
        of::<MachineStatus>(),
        of::<ServiceResource>(),
        of::<ExtensionStatus>(),
        of::<Diagnostic>(),
        of::<KernelCmdline>(),
        of::<PlatformMetadata>(),
        of::<ExtensionServiceConfigStatus>(),
        of::<Disk>(),
        of::<MetaKey>(),
        of::<SystemInformation>(),
        of::<LinkStatus>(),
        of::<AddressStatus>(),
        of::<HostnameStatus>(),
        of::<RouteStatus>(),
        of::<BgpPeerStatus>(),
        of::<NodeStatus>(),
        (machine_config::NAMESPACE, machine_config::TYPE),
    ]
}

fn short(kind: &str) -> &str {
    kind.split('.').next().unwrap_or(kind)
}

fn get(namespace: &str, kind: &str, id: &str) -> GetRequest {
    GetRequest { namespace: namespace.to_owned(), r#type: kind.to_owned(), id: id.to_owned() }
}

fn list(namespace: &str, kind: &str) -> ListRequest {
    ListRequest { namespace: namespace.to_owned(), r#type: kind.to_owned() }
}

fn watch(namespace: &str, kind: &str, id: Option<&str>, bootstrap_contents: bool) -> WatchRequest {
    WatchRequest {
        namespace: namespace.to_owned(),
        r#type: kind.to_owned(),
        id: id.map(str::to_owned),
        options: Some(WatchOptions { bootstrap_contents }),
        api_version: 1,
    }
}

fn apply(text: &str, mode: ApplyMode, dry_run: bool) -> ApplyConfigurationRequest {
    ApplyConfigurationRequest { data: text.as_bytes().to_vec(), mode: mode as i32, dry_run }
}

fn logs(id: &str, tail_lines: i32) -> LogsRequest {
    LogsRequest {
        namespace: "system".to_owned(),
        id: id.to_owned(),
        driver: Driver::Containerd as i32,
        follow: false,
        tail_lines,
    }
}

/// Calls that only read, as ichor makes them, to a node with this address.
fn reading(address: &str) -> Vec<Call> {
    let mut calls =
        vec![call("version", method::VERSION, &Empty {}), call("services", method::SERVICE_LIST, &Empty {})];
    for (namespace, kind) in kinds() {
        calls.push(call(&format!("list {}", short(kind)), method::STATE_LIST, &list(namespace, kind)));
    }
    let (status, services) = (MachineStatus::TYPE, ServiceResource::TYPE);
    calls.extend([
        call("get the machine's status", method::STATE_GET, &get("runtime", status, "machine")),
        call("get a missing resource", method::STATE_GET, &get("runtime", status, "missing")),
        call("get from another namespace", method::STATE_GET, &get("network", status, "machine")),
        call("get an unknown type", method::STATE_GET, &get("runtime", "Unknowns.talos.dev", "it")),
        call("get a configuration", method::STATE_GET, &get("config", machine_config::TYPE, "v1alpha1")),
        call("list another namespace", method::STATE_LIST, &list("network", status)),
        call("list an unknown type", method::STATE_LIST, &list("runtime", "Unknowns.talos.dev")),
        call(
            "watch the machine's status",
            method::STATE_WATCH,
            &watch("runtime", status, Some("machine"), true),
        ),
        call("watch services", method::STATE_WATCH, &watch("runtime", services, None, true)),
        call(
            "watch services without contents",
            method::STATE_WATCH,
            &watch("runtime", services, None, false),
        ),
        call(
            "watch an unknown type",
            method::STATE_WATCH,
            &watch("runtime", "Unknowns.talos.dev", None, true),
        ),
        call("watch configurations", method::STATE_WATCH, &watch("config", machine_config::TYPE, None, true)),
        call("logs of machined", method::LOGS, &logs("machined", -1)),
        call("last line of a log", method::LOGS, &logs("machined", 1)),
        call("logs of an unknown service", method::LOGS, &logs("unknown", -1)),
        call("dmesg", method::DMESG, &DmesgRequest { follow: false, tail: false }),
        call("events", method::EVENTS, &EventsRequest { tail_events: -1 }),
        call("boot id", method::READ, &ReadRequest { path: "/proc/sys/kernel/random/boot_id".to_owned() }),
        call("a missing file", method::READ, &ReadRequest { path: "/missing".to_owned() }),
        call("health check", method::HEALTH_CHECK, &health(&[address])),
        call("kubeconfig", method::KUBECONFIG, &Empty {}),
        call("etcd members", method::ETCD_MEMBER_LIST, &Empty {}),
        call("etcd status", method::ETCD_STATUS, &Empty {}),
        call("etcd alarms", method::ETCD_ALARM_LIST, &Empty {}),
        call("unknown method", "/machine.MachineService/Unknown", &Empty {}),
        call("unknown service", "/machine.UnknownService/Unknown", &Empty {}),
    ]);
    calls
}

fn health(control_planes: &[&str]) -> HealthCheckRequest {
    HealthCheckRequest {
        wait_timeout: Some(Duration { seconds: 1, nanos: 0 }),
        cluster_info: Some(ClusterInfo {
            control_plane_nodes: control_planes.iter().map(|it| (*it).to_owned()).collect(),
            worker_nodes: Vec::new(),
        }),
    }
}

/// Configurations that Talos rejects.
fn invalid(valid: &str) -> Vec<(&'static str, String)> {
    let main = valid.split("\n---\n").next().unwrap();
    vec![
        ("an empty configuration", String::new()),
        ("a configuration that is not YAML", "machine: [".to_owned()),
        ("a configuration with an unknown key", format!("unknown: 1\n{main}")),
        ("a configuration without a machine", "cluster: {}\n".to_owned()),
        ("a configuration with an unknown kind", "apiVersion: v1alpha1\nkind: UnknownConfig\n".to_owned()),
        (
            "a document without the main one",
            "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: other\nauto: \"off\"\n".to_owned(),
        ),
        ("a configuration of an unknown machine type", main.replace("type: controlplane", "type: unknown")),
    ]
}

fn dry_runs(valid: &str, modes: &[(&str, ApplyMode)]) -> Vec<Call> {
    let mut calls: Vec<_> = modes
        .iter()
        .map(|(word, mode)| {
            call(&format!("dry run, mode {word}"), method::APPLY_CONFIGURATION, &apply(valid, *mode, true))
        })
        .collect();
    let invalid = invalid(valid).into_iter();
    calls.extend(invalid.map(|(name, text)| {
        call(&format!("dry run of {name}"), method::APPLY_CONFIGURATION, &apply(&text, ApplyMode::Auto, true))
    }));
    calls
}

const MODES: [(&str, ApplyMode); 5] = [
    ("auto", ApplyMode::Auto),
    ("no-reboot", ApplyMode::NoReboot),
    ("staged", ApplyMode::Staged),
    ("try", ApplyMode::Try),
    ("reboot", ApplyMode::Reboot),
];

/// Calls of which a node in maintenance mode executes none.
fn refused() -> Vec<Call> {
    let service = |id: &str| ServiceRequest { id: id.to_owned() };
    let image = "example.test/installer:v1.14.1".to_owned();
    vec![
        call("bootstrap", method::BOOTSTRAP, &Empty {}),
        call("start a service", method::SERVICE_START, &service("kubelet")),
        call("stop a service", method::SERVICE_STOP, &service("machined")),
        call("restart a service", method::SERVICE_RESTART, &service("kubelet")),
        call("write META", method::META_WRITE, &MetaWriteRequest { key: 12, value: b"x".to_vec() }),
        call("delete META", method::META_DELETE, &MetaDeleteRequest { key: 12 }),
        call("leave etcd", method::ETCD_LEAVE_CLUSTER, &Empty {}),
        call("forfeit leadership", method::ETCD_FORFEIT_LEADERSHIP, &Empty {}),
        call(
            "remove a member",
            method::ETCD_REMOVE_MEMBER_BY_ID,
            &EtcdRemoveMemberByIdRequest { member_id: 1 },
        ),
        call(
            "pull an image",
            method::IMAGE_PULL,
            &PullRequest { containerd: None, image_ref: image.clone() },
        ),
        call(
            "install an upgrade",
            method::LIFECYCLE_UPGRADE,
            &LifecycleUpgradeRequest { containerd: None, source: Some(Source { image_name: image.clone() }) },
        ),
        call("upgrade", method::UPGRADE, &UpgradeRequest { image }),
        call(
            "reset",
            method::RESET,
            &ResetRequest { graceful: true, reboot: true, system_partitions_to_wipe: Vec::new() },
        ),
        call("reboot", method::REBOOT, &Empty {}),
        call("shutdown", method::SHUTDOWN, &Empty {}),
    ]
}

/// The calls in maintenance mode; `valid` is a configuration for the node.
pub fn in_maintenance(valid: &str, address: &str) -> Vec<Call> {
    [reading(address), dry_runs(valid, &MODES), refused()].into_iter().flatten().collect()
}

/// The call that configures the node.
pub fn configure(valid: &str) -> Call {
    call("apply", method::APPLY_CONFIGURATION, &apply(valid, ApplyMode::Auto, false))
}

/// The calls of an administrator on a configured control plane without etcd, of which none changes it for long.
pub fn when_configured(valid: &str, address: &str) -> Vec<Call> {
    let service = |id: &str| ServiceRequest { id: id.to_owned() };
    let unserved = "example.test/installer:v1.14.1".to_owned();
    let mut calls = reading(address);
    calls.extend(dry_runs(valid, &MODES));
    calls.extend([
        call("start an unknown service", method::SERVICE_START, &service("unknown")),
        call("start a service", method::SERVICE_START, &service("kubelet")),
        call("stop a service", method::SERVICE_STOP, &service("machined")),
        call("restart a service", method::SERVICE_RESTART, &service("apid")),
        call("write META", method::META_WRITE, &MetaWriteRequest { key: 12, value: b"x".to_vec() }),
        call(
            "write META beyond its keys",
            method::META_WRITE,
            &MetaWriteRequest { key: 256, value: b"x".to_vec() },
        ),
        call("delete META", method::META_DELETE, &MetaDeleteRequest { key: 12 }),
        call("delete META again", method::META_DELETE, &MetaDeleteRequest { key: 12 }),
        call(
            "install an upgrade",
            method::LIFECYCLE_UPGRADE,
            &LifecycleUpgradeRequest {
                containerd: Some(ichor_talos::api::common::Containerd { driver: 1, namespace: 1 }),
                source: Some(Source { image_name: unserved }),
            },
        ),
    ]);
    calls
}

/// The calls of a reader, of which a configured node executes none.
pub fn as_reader() -> Vec<Call> {
    let mut calls = refused();
    calls.push(call(
        "get a configuration",
        method::STATE_GET,
        &get("config", machine_config::TYPE, machine_config::ACTIVE),
    ));
    calls
}
