//! A module for nodes in Google Cloud, with the provider `hashicorp/google`: network, firewall, addresses and instances.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{build_path, label, literal, text};
use crate::cluster::section::{Addressing, Platform, Role};
use crate::plan::{NodePlan, Origin, Plan};
use crate::render::base_image::BaseImage;
use crate::render::node_issue;
use crate::render::schematic::NodeSchematicError;
use crate::render::{image, schematic};
use ichor_image::build::Product;
use ichor_talos::asset::Asset;
use ichor_values::{Arch, Issue};

/// Ports of the Talos and Kubernetes APIs.
const API_PORTS: [&str; 2] = ["50000", "6443"];

/// The default subnet.
const SUBNET: &str = "10.1.0.0/24";

/// The module; none without nodes in Google Cloud.
pub(crate) fn module(plan: &Plan) -> Result<Option<String>, Vec<Issue>> {
    let nodes: Vec<_> = plan.nodes.iter().filter(|node| node.platform.value == Platform::Gcp).collect();
    if nodes.is_empty() {
        return Ok(None);
    }
    let images = GcpImages::collect(&nodes)?;
    let name = label(plan.cluster.name.as_str()).replace('_', "-");
    let mut module = json!({
        "//": "Written by ichor. The login is Google's own: gcloud auth application-default login.",
        "terraform": {
            "required_version": ">= 1.5",
            "required_providers": {"google": {"source": "hashicorp/google", "version": ">= 6.0"}},
        },
        "provider": {
            "google": {"project": "${var.project}", "region": "${var.region}", "zone": "${var.zone}"},
        },
        "variable": variables(plan, &nodes, &images),
        "resource": {
            "google_compute_network": {
                "cluster": {"name": format!("{name}-vpc"), "auto_create_subnetworks": false},
            },
            "google_compute_subnetwork": {
                "cluster": {
                    "name": format!("{name}-subnet"),
                    "network": "${google_compute_network.cluster.id}",
                    "ip_cidr_range": "${var.subnet}",
                },
            },
            "google_compute_firewall": firewall(&name),
            "google_compute_image": images.resources(),
            "google_compute_address": per_node(&nodes, |node| json!({"name": node.name.as_str()})),
            "google_compute_instance": per_node(&nodes, |node| instance(node, plan, &name, &images)),
        },
        "output": {
            "external_addresses": {
                "description": "Value for `address.external` of each node",
                "value": external_addresses(&nodes),
            },
        },
    });
    let checks = address_checks(&nodes);
    if !checks.is_empty() {
        module["check"] = Value::Object(checks);
    }
    Ok(Some(text(&module)))
}

fn per_node(nodes: &[&NodePlan], make: impl Fn(&NodePlan) -> Value) -> Value {
    nodes.iter().map(|node| (label(node.name.as_str()), make(node))).collect::<Map<_, _>>().into()
}

fn variables(plan: &Plan, nodes: &[&NodePlan], images: &GcpImages<'_>) -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let or = |description: &str, default: Value, kind: &str| json!({"type": kind, "description": description, "default": default});
    let subnet = plan.cluster.node.v4.as_ref().map_or_else(|| SUBNET.to_owned(), |v4| v4.value.to_string());
    let mut variables = json!({
        "project": text("Google Cloud project"),
        "region": text("Region of the network and the addresses"),
        "zone": text("Zone of the instances"),
        "subnet": or("Prefix of the instances' own addresses", json!(subnet), "string"),
        "admin_ranges": {
            "type": "list(string)",
            "description": "Prefixes from which the APIs of Talos and Kubernetes are reached",
        },
        "controlplane_machine_type": or("Machine type of control planes", json!("e2-standard-4"), "string"),
        "worker_machine_type": or("Machine type of workers", json!("e2-standard-8"), "string"),
        "disk_size": or("Size of the boot disks in GB", json!(50), "number"),
    });
    if nodes.iter().any(|node| node.arch.value == Arch::Arm64) {
        variables["arm64_machine_type"] = text("Machine type of arm64 nodes, such as c4a-standard-4");
    }
    for (label, (_, url)) in &images.all {
        let description = format!(
            "URL of the image in Cloud Storage, such as https://storage.googleapis.com/BUCKET/talos.tar.gz; upload it from {url}"
        );
        variables[format!("image_{label}")] = text(&literal(&description));
    }
    variables
}

fn firewall(name: &str) -> Value {
    let rule = |suffix: &str, ranges: Value, allow: Value| {
        json!({
            "name": format!("{name}-{suffix}"),
            "network": "${google_compute_network.cluster.id}",
            "source_ranges": ranges,
            "target_tags": [name],
            "allow": allow,
        })
    };
    let protocol = |name: &str| json!({"protocol": name});
    json!({
        "apis": rule("apis", json!("${var.admin_ranges}"), json!([{"protocol": "tcp", "ports": API_PORTS}])),
        "internal": rule(
            "internal",
            json!(["${var.subnet}"]),
            ["tcp", "udp", "icmp"].map(protocol).into_iter().collect(),
        ),
    })
}

/// The images of the nodes, shared by nodes with the same schematic, release and architecture.
#[derive(Default)]
struct GcpImages<'n> {
    /// Name and origin, by label.
    all: BTreeMap<String, (String, String)>,
    /// Labels, by node.
    of_node: BTreeMap<&'n str, String>,
}

impl<'n> GcpImages<'n> {
    fn collect(nodes: &[&'n NodePlan]) -> Result<Self, Vec<Issue>> {
        let (mut images, mut errors) = (Self::default(), Vec::new());
        for node in nodes {
            if let Err(error) = images.add(node) {
                errors.push(node_issue(node, &error));
            }
        }
        if errors.is_empty() { Ok(images) } else { Err(errors) }
    }

    fn add(&mut self, node: &'n NodePlan) -> Result<(), NodeSchematicError> {
        // Names in Google Cloud have no dots.
        let (name, from) = match BaseImage::from_node(node)? {
            Some(base) => {
                let files = Product::Gcp.files(&base.stem()).join(", ");
                (base.stem().replace('.', "-"), format!("{files}, built by `ichor image build`"))
            }
            None => {
                let id = schematic::node_schematic(node, None)?.id();
                let request = image::asset_request(node, &id);
                let release = node.talos.value.to_string().replace('.', "-");
                let name = format!("talos-{release}-{}-{}", request.arch, &id[..12]);
                (name, request.url(&image::factory(node), &Asset::disk_of(request.platform)))
            }
        };
        let label = name.replace('-', "_");
        self.of_node.insert(node.name.as_str(), label.clone());
        self.all.entry(label).or_insert((name, from));
        Ok(())
    }

    fn resources(&self) -> Value {
        let resource = |(label, (name, _)): (&String, &(String, String))| {
            let resource = json!({
                "name": name,
                "raw_disk": {"source": format!("${{var.image_{label}}}")},
                "guest_os_features": [{"type": "VIRTIO_SCSI_MULTIQUEUE"}],
            });
            (label.clone(), resource)
        };
        self.all.iter().map(resource).collect::<Map<_, _>>().into()
    }
}

fn instance(node: &NodePlan, plan: &Plan, cluster: &str, images: &GcpImages<'_>) -> Value {
    let machine = match (node.arch.value, node.role) {
        (Arch::Arm64, _) => "${var.arm64_machine_type}",
        (Arch::Amd64, Role::Controlplane) => "${var.controlplane_machine_type}",
        (Arch::Amd64, Role::Worker) => "${var.worker_machine_type}",
    };
    let own = label(node.name.as_str());
    let mut port = json!({
        "subnetwork": "${google_compute_subnetwork.cluster.id}",
        "access_config": [{"nat_ip": format!("${{google_compute_address.{own}.address}}")}],
    });
    if let Some(address) = own_address(node, plan) {
        port["network_ip"] = json!(address);
    }
    let mut instance = json!({
        "name": node.name.as_str(),
        "machine_type": machine,
        "tags": [cluster],
        "can_ip_forward": node.routing.is_some(),
        "boot_disk": {
            "initialize_params": {
                "image": format!("${{google_compute_image.{}.id}}", images.of_node[node.name.as_str()]),
                "size": "${var.disk_size}",
            },
        },
        "network_interface": [port],
    });
    if has_user_data(node) {
        let path = build_path(&format!("nodes/{}/machine.yaml", node.name));
        instance["metadata"] = json!({"user-data": format!("${{file(\"{path}\")}}")});
    }
    instance
}

/// The address of a node in the subnet, if the file determines it.
fn own_address(node: &NodePlan, plan: &Plan) -> Option<String> {
    let prefix = plan.cluster.node.v4.as_ref()?.value;
    let address = node.address.v4.as_ref()?.value.addr();
    (node.addressing.value != Addressing::Dhcp && prefix.contains(&address)).then(|| address.to_string())
}

/// Whether the instance has the configuration as user data, which is the default.
fn has_user_data(node: &NodePlan) -> bool {
    !matches!(node.boot.from.origin, Origin::Written(_))
}

fn external_addresses(nodes: &[&NodePlan]) -> Value {
    per_node(nodes, |node| {
        json!(format!("${{google_compute_address.{}.address}}", label(node.name.as_str())))
    })
}

/// Warnings for addresses that differ from those in the file.
fn address_checks(nodes: &[&NodePlan]) -> Map<String, Value> {
    let check = |node: &&NodePlan| {
        let written = node.stages.external()?;
        let own = label(node.name.as_str());
        let assert = json!({
            "condition": format!("${{google_compute_address.{own}.address == \"{written}\"}}"),
            "error_message": format!(
                "{} has ${{google_compute_address.{own}.address}}, but the cluster file has {written}: update address.external",
                node.name
            ),
        });
        Some((own, json!({"assert": [assert]})))
    };
    nodes.iter().filter_map(check).collect()
}
