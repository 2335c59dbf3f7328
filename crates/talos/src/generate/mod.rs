//! Machine configurations as `talosctl gen config` writes them.
//!
//! An [`Input`] has the settings, a [`Bundle`] the secrets; [`control_plane`] and [`worker`] return the documents
//! in Talos' order, each with its keys in Talos' order. They depend on the role and not on the node: make them once and
//! patch them for each node. Differences between releases are only in [`contract`].
//!
//! Not here: `talosconfig`, patches, and how documents become text.

mod cluster;
pub mod contract;
mod endpoint;
mod input;
mod install;
mod kubernetes;
mod machine;
mod network;
mod sure;
mod system;

use serde_json::{Value, json};

pub use contract::Contract;
pub use endpoint::{Endpoint, EndpointError};
pub use input::{Cni, Input, Registry};
pub use install::installer_image;
pub use sure::is_default_kubernetes_sure;

use super::secrets::{Bundle, Pair};
use contract::Trait;

/// The role of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MachineRole {
    ControlPlane,
    Worker,
}

/// The configuration of a control plane, as documents.
pub fn control_plane(input: &Input, bundle: &Bundle) -> Vec<Value> {
    ConfigBuilder { role: MachineRole::ControlPlane, input, bundle }.documents()
}

/// The configuration of a worker, as documents. It holds no private key.
pub fn worker(input: &Input, bundle: &Bundle) -> Vec<Value> {
    ConfigBuilder { role: MachineRole::Worker, input, bundle }.documents()
}

/// The values that Talos silently drops when it writes this bundle for this contract, each in a sentence.
pub fn losses(input: &Input, bundle: &Bundle) -> Vec<String> {
    let contract = input.contract;
    let secretbox = contract.has(Trait::Secretbox);
    let mut losses = Vec::new();
    if bundle.aescbc.is_some() && contract.has(Trait::KubernetesDocuments) {
        losses.push(format!(
            "{contract} writes the AES-CBC secret of this bundle as a secretbox key: Secrets that were encrypted with it \
             cannot be read any more"
        ));
    } else if bundle.aescbc.is_some() && secretbox {
        losses.push(format!(
            "{contract} encrypts Secrets with secretbox, and this bundle has an AES-CBC secret only: they are not encrypted"
        ));
    } else if bundle.secretbox.is_some() && !secretbox {
        losses.push(format!(
            "{contract} encrypts Secrets with AES-CBC, and this bundle has a secretbox secret only: they are not encrypted"
        ));
    }
    if !input.install_kernel_args.is_empty() && contract.has(Trait::InstallDocument) {
        losses.push(format!(
            "{contract} has no place for install kernel arguments: put them into the schematic of the image"
        ));
    }
    losses
}

/// A configuration under construction.
#[derive(Clone, Copy)]
struct ConfigBuilder<'a> {
    role: MachineRole,
    input: &'a Input,
    bundle: &'a Bundle,
}

impl ConfigBuilder<'_> {
    fn documents(self) -> Vec<Value> {
        let mut documents = vec![self.machine_config()];
        documents.extend(self.discovery_documents());
        documents.extend(self.install_document());
        documents.extend(self.resolver_document());
        documents.extend(self.system_documents());
        documents.extend(self.registry_documents());
        documents.extend(self.network_documents());
        documents.extend(self.kubernetes_documents());
        documents.into_iter().map(without_nulls).collect()
    }

    /// The document with `machine` and `cluster`.
    fn machine_config(self) -> Value {
        json!({
            "version": "v1alpha1",
            "debug": self.input.debug,
            "persist": self.input.persist,
            "machine": self.machine(),
            "cluster": self.cluster(),
        })
    }

    fn has(self, wanted: Trait) -> bool {
        self.input.contract.has(wanted)
    }

    fn is_control_plane(self) -> bool {
        self.role == MachineRole::ControlPlane
    }

    /// An image of Kubernetes.
    fn image(self, repository: &str) -> Option<String> {
        self.input.kubernetes.as_ref().map(|version| format!("{repository}:{version}"))
    }

    /// A certificate authority; only control planes sign, a worker gets an empty key.
    fn authority(self, pair: &Pair) -> Value {
        let key = if self.is_control_plane() { pair.key.base64() } else { String::new() };
        json!({"crt": pair.crt.base64(), "key": key})
    }
}

/// A document that is not the one with `machine` and `cluster`.
fn document(kind: &str, body: Value) -> Value {
    let mut document = json!({"apiVersion": "v1alpha1", "kind": kind});
    if let (Value::Object(document), Value::Object(body)) = (&mut document, body) {
        document.extend(body);
    }
    document
}

/// The value without unset keys: they are null here, and absent in Talos.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_values::TalosVersion;

    /// A bundle with a secretbox secret.
    fn bundle() -> Bundle {
        Bundle::read(include_str!("../../tests/data/clusters/single-v1.12/secrets.yaml")).unwrap()
    }

    /// A bundle as they were before Talos 1.3.
    fn old_bundle() -> Bundle {
        let bundle = bundle();
        Bundle { aescbc: bundle.secretbox.clone(), secretbox: None, ..bundle }
    }

    fn input(contract: &str) -> Input {
        let contract = Contract::for_release(&TalosVersion::parse(contract).unwrap());
        Input::new("solo", Endpoint::parse("https://10.0.0.11:6443").unwrap(), contract)
    }

    fn kinds(documents: &[Value]) -> Vec<&str> {
        documents.iter().filter_map(|document| document["kind"].as_str()).collect()
    }

    /// The body of the document of a kind, without the common keys.
    fn body(documents: &[Value], kind: &str) -> Value {
        let mut body = documents.iter().find(|document| document["kind"] == kind).unwrap().clone();
        body.as_object_mut().unwrap().retain(|key, _| !["apiVersion", "kind"].contains(&key.as_str()));
        body
    }

    #[test]
    fn kubespan_is_a_document_from_1_13_on() {
        for (contract, legacy) in [("1.12", json!({"kubespan": {"enabled": true}})), ("1.13", Value::Null)] {
            let input = Input { kubespan: Some(true), ..input(contract) };

            let documents = worker(&input, &bundle());

            let machine = documents[0]["machine"].get("network").cloned().unwrap_or_default();
            assert_eq!(machine, legacy, "{contract}");
            assert_eq!(kinds(&documents).contains(&"KubeSpanConfig"), legacy.is_null(), "{contract}");
        }
        assert_eq!(kinds(&worker(&input("1.13"), &bundle())), ["HostnameConfig"]);
    }

    #[test]
    fn registries_are_documents_from_1_12_on() {
        let registry = Registry {
            mirrors: vec!["https://mirror.example".to_owned()],
            ca: Some("PEM\n".to_owned()),
            insecure: true,
        };
        let other =
            Registry { mirrors: vec!["https://a".to_owned(), "https://b".to_owned()], ..Registry::default() };
        let registries = [("ghcr.io".to_owned(), registry), ("docker.io".to_owned(), other)];
        let with = |contract| Input { registries: registries.clone().into(), ..input(contract) };

        let old = worker(&with("1.11"), &bundle());
        let new = worker(&with("1.12"), &bundle());

        assert_eq!(
            old[0]["machine"]["registries"],
            json!({
                "mirrors": {
                    "docker.io": {"endpoints": ["https://a", "https://b"]},
                    "ghcr.io": {"endpoints": ["https://mirror.example"]},
                },
                "config": {"ghcr.io": {"tls": {"ca": "UEVNCg==", "insecureSkipVerify": true}}},
            })
        );
        assert_eq!(new[0]["machine"].get("registries"), None);
        assert_eq!(
            kinds(&new),
            ["RegistryMirrorConfig", "RegistryMirrorConfig", "RegistryTLSConfig", "HostnameConfig"]
        );
        assert_eq!(new[1]["name"], "docker.io");
        assert_eq!(new[1]["endpoints"], json!([{"url": "https://a"}, {"url": "https://b"}]));
        assert_eq!(
            body(&new, "RegistryTLSConfig"),
            json!({"name": "ghcr.io", "ca": "PEM\n", "insecureSkipVerify": true})
        );
    }

    #[test]
    fn talos_1_2_looks_for_images_in_two_places() {
        let mirrors = json!({"k8s.gcr.io": {"endpoints": ["https://registry.k8s.io", "https://k8s.gcr.io"]}});

        assert_eq!(worker(&input("1.2"), &bundle())[0]["machine"]["registries"]["mirrors"], mirrors);
        assert_eq!(worker(&input("1.3"), &bundle())[0]["machine"].get("registries"), None);
    }

    #[test]
    fn kubeprism_can_be_moved_and_switched_off() {
        for (contract, port, want) in [
            ("1.5", None, None),
            ("1.5", Some(7446), Some(7446)),
            ("1.6", None, Some(7445)),
            ("1.6", Some(0), None),
            ("1.14", None, Some(7445)),
            ("1.14", Some(0), None),
        ] {
            let documents = worker(&Input { kubeprism_port: port, ..input(contract) }, &bundle());

            let feature = documents[0].pointer("/machine/features/kubePrism/port");
            let document = documents.iter().find(|document| document["kind"] == "KubePrismConfig");
            let got = feature.or(document.map(|document| &document["port"])).and_then(Value::as_u64);
            assert_eq!(got, want, "{contract} {port:?}");
        }
    }

    #[test]
    fn an_input_without_a_disk_has_no_install_document() {
        let image = Some("factory.example/installer:v1".to_owned());
        let without = Input { install_image: image, ..input("1.14") };
        let with = Input { install_disk: Some("/dev/disk/by-id/a\"b".to_owned()), ..input("1.14") };

        assert!(!kinds(&worker(&without, &bundle())).contains(&"UnattendedInstallConfig"));
        assert_eq!(
            body(&worker(&with, &bundle()), "UnattendedInstallConfig"),
            json!({
                "installer": {},
                "provisioning": {
                    "diskSelector": {"match": "disk.dev_path == \"/dev/disk/by-id/a\\\"b\""},
                    "wipe": false,
                },
            })
        );
    }

    #[test]
    fn the_cni_is_flannel_custom_or_none() {
        let with = |contract, cni| control_plane(&Input { cni, ..input(contract) }, &bundle());
        let custom = || Cni::Custom("https://example.com/cni.yaml".to_owned());
        let name = |documents: &[Value]| documents[0].pointer("/cluster/network/cni/name").cloned();

        assert_eq!(name(&with("1.13", Cni::Flannel)), None);
        assert_eq!(name(&with("1.13", Cni::None)), Some(json!("none")));
        assert_eq!(name(&with("1.13", custom())), Some(json!("custom")));
        assert!(kinds(&with("1.14", Cni::Flannel)).contains(&"KubeFlannelCNIConfig"));
        for cni in [Cni::None, custom()] {
            assert!(!kinds(&with("1.14", cni)).contains(&"KubeFlannelCNIConfig"));
        }
        assert_eq!(kinds(&with("1.14", custom())).last(), Some(&"KubeExternalManifestConfig"));
    }

    #[test]
    fn workloads_on_control_planes_are_allowed_in_the_words_of_the_release() {
        let with = |contract| {
            control_plane(&Input { schedule_on_control_planes: true, ..input(contract) }, &bundle())
        };

        assert_eq!(with("1.1")[0]["cluster"]["allowSchedulingOnMasters"], true);
        assert_eq!(with("1.2")[0]["cluster"]["allowSchedulingOnControlPlanes"], true);
        assert_eq!(body(&with("1.14"), "KubeNodeConfig").get("taints"), None);
    }

    #[test]
    fn kubernetes_can_be_omitted() {
        let input = Input { skip_kubernetes: true, ..input("1.14") };

        let (control_plane, worker) = (control_plane(&input, &bundle()), worker(&input, &bundle()));

        assert!(!kinds(&control_plane).iter().any(|kind| kind.starts_with("Kube")));
        assert_eq!(control_plane[0]["cluster"], json!({}));
        assert_eq!(worker[0]["cluster"].as_object().unwrap().keys().collect::<Vec<_>>(), ["token"]);
    }

    #[test]
    fn discovery_can_be_switched_off() {
        let with = |contract| worker(&Input { discovery: false, ..input(contract) }, &bundle());

        assert_eq!(with("1.13")[0]["cluster"]["discovery"]["enabled"], false);
        let kinds = with("1.14").iter().map(|document| document["kind"].clone()).collect::<Vec<_>>();
        assert!(!kinds.contains(&json!("DiscoveryServiceConfig")));
        assert!(kinds.contains(&json!("DiscoveryIdentityConfig")));
    }

    #[test]
    fn a_worker_gets_no_private_key() {
        let bundle = bundle();
        for contract in ["1.0", "1.11", "1.12", "1.13", "1.14"] {
            let text = json!(worker(&input(contract), &bundle)).to_string();

            for (name, _, key) in bundle.entries() {
                assert!(!text.contains(&key.base64()), "{contract} {name}");
            }
            assert!(!text.contains("PRIVATE KEY"), "{contract}");
        }
    }

    #[test]
    fn values_that_talos_would_drop_are_reported() {
        let count = |contract, bundle: &Bundle| losses(&input(contract), bundle).len();
        let args = Input { install_kernel_args: vec!["a=b".to_owned()], ..input("1.14") };

        assert_eq!((count("1.2", &bundle()), count("1.2", &old_bundle())), (1, 0));
        assert_eq!((count("1.12", &bundle()), count("1.12", &old_bundle())), (0, 1));
        assert_eq!((count("1.14", &bundle()), count("1.14", &old_bundle())), (0, 1));
        assert_eq!(losses(&args, &bundle()).len(), 1);
    }

    #[test]
    fn the_installer_comes_from_image_factory_since_1_14() {
        let image = |talos| installer_image(&TalosVersion::parse(talos).unwrap());

        assert_eq!(image("v1.13.9"), "ghcr.io/siderolabs/installer:v1.13.9");
        assert!(image("v1.14.0-rc.1").starts_with("factory.talos.dev/metal-installer/376567988ad3"));
        assert!(image("v1.14.0-rc.1").ends_with(":v1.14.0-rc.1"));
    }
}
