//! Schematics, META values and META key 10, compared with the Image Factory and Talos.
#![expect(clippy::disallowed_methods, reason = "the cases are files")]

use std::fs;
use std::path::{Path, PathBuf};

use ichor_core::cluster::{FileError, Files, load};
use ichor_core::render::{platform_network as network_text, schematic as node_schematic};
use ichor_core::{model, plan};
use ichor_talos::schematic::Schematic;
use ichor_talos::{document, meta, platform_network};
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit;
use serde_json::{Value, json};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../talos/tests/data").join(name)
}

fn json_file(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn schematics_have_the_ids_of_the_image_factory() {
    let cases = json_file(&folder("schematics/ids.json"));

    for case in cases.as_array().unwrap() {
        let file = case["file"].as_str().unwrap();
        let got = Schematic::read(&fs::read_to_string(folder("schematics").join(file)).unwrap());
        match case["id"].as_str() {
            Some(id) => {
                let got = got.unwrap_or_else(|error| panic!("{file}: {error}"));
                assert_eq!(got.canonical(), case["canonical"].as_str().unwrap(), "{file}");
                assert_eq!(got.id(), id, "{file}");
            }
            None => assert!(got.is_err(), "{file}: {}", case["error"]),
        }
    }
}

#[test]
fn canonical_text_and_plain_values_are_written_alike() {
    for case in json_file(&folder("schematics/ids.json")).as_array().unwrap() {
        let Some(canonical) = case["canonical"].as_str() else { continue };
        let values = document::read(canonical).unwrap();

        assert_eq!(emit::emit_all(&values), canonical, "{}", case["file"]);
    }
}

fn values(list: &Value) -> Vec<meta::Value> {
    let value = |item: &Value| meta::Value {
        key: u8::try_from(item["key"].as_u64().unwrap()).unwrap(),
        value: item["value"].as_str().unwrap().to_owned(),
    };
    list.as_array().unwrap().iter().map(value).collect()
}

#[test]
fn meta_values_are_encoded_and_decoded_as_talos_does() {
    for case in json_file(&folder("meta/values.json")).as_array().unwrap() {
        let name = &case["name"];
        if let Some(encoded) = case["encoded"].as_str() {
            let want = case["decoded"].is_array().then(|| values(&case["decoded"]));
            assert_eq!(meta::decode(encoded).ok(), want, "{name}");
            continue;
        }
        let all = values(&case["values"]);
        let [plain, gzip] = ["encoded_plain", "encoded_gzip"].map(|key| case[key].as_str().unwrap());

        assert_eq!(meta::encode(&all, false), plain, "{name}");
        for (encoded, key) in [
            (plain, "decoded_from_plain"),
            (gzip, "decoded_from_gzip"),
            (&meta::encode(&all, true), "decoded_from_gzip"),
        ] {
            let want = case[key].is_array().then(|| values(&case[key]));
            assert_eq!(meta::decode(encoded).ok(), want, "{name} {key}");
        }
    }
}

#[test]
fn meta_key_10_is_read_as_each_release_reads_it() {
    for case in fs::read_dir(folder("metal-meta")).unwrap() {
        let case = case.unwrap().path();
        let text = fs::read_to_string(case.join("meta-10.yaml")).unwrap();
        let says = json_file(&case.join("case.json"));
        for (release, verdict) in says["unmarshals_on"].as_object().unwrap() {
            let got = platform_network::read(&text, &TalosVersion::parse(release).unwrap());
            assert_eq!(got.is_ok(), *verdict == json!(true), "{} on {release}: {got:?}", case.display());
        }
        let got = platform_network::read(&text, &TalosVersion::parse("v1.12.4").unwrap()).ok();
        let want = fs::read_to_string(case.join("expected.yaml")).ok();
        let want = want.map(|want| document::read(&want).unwrap().remove(0));
        assert_eq!(got, want, "{}", case.display());
    }
}

/// Only a cluster file.
struct One(&'static str);

impl Files for One {
    fn read(&mut self, _: &str) -> Result<Vec<u8>, FileError> {
        Ok(self.0.as_bytes().to_vec())
    }

    fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
        Ok(Vec::new())
    }
}

fn planned(text: &'static str) -> plan::Plan {
    let loaded = load("ichor.yaml", &mut One(text));
    plan::plan(&model::validate(loaded.file, loaded.problems).unwrap())
}

const CLUSTER: &str = "\
cluster: {name: sol, id: 101, talos: v1.13.9}
network:
  node: {v4: 10.101.0.0/24, v6: null, gateway: {v4: 10.101.0.1, v6: null}}
  loopback: {v4: null, v6: null}
  dns: [10.101.0.53]
  ntp: [time.sol]
defaults:
  platform: metal
  boot: {from: meta}
  extensions: [siderolabs/tailscale]
  kernel: {args: [net.ifnames=0]}
  install: {disk: /dev/sda}
nodes:
  - name: a
    role: controlplane
    index: 11
    macs: [bc:24:11:00:00:11, bc:24:11:00:00:12, bc:24:11:00:00:13]
    links:
      - {name: bond0, bond: {links: [eth1, eth2], mode: 802.3ad}, mtu: 9000}
      - {name: bond0.20, vlan: {id: 20, link: bond0}, addresses: [10.20.0.11/24], routes: [{to: 10.30.0.0/16, via: 10.20.0.1}]}
  - {name: b, index: 12, macs: [bc:24:11:00:00:21], network: {node: {addressing: dhcp}}}
  - {name: c, index: 13, macs: [bc:24:11:00:00:31], arch: arm64, sbc: rpi_generic}
";

#[test]
fn every_release_reads_the_planned_network_from_key_10() {
    let plan = planned(CLUSTER);
    for release in ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.1"] {
        let talos = TalosVersion::parse(release).unwrap();
        let network = platform_network::read(&network_text::text(&plan.nodes[0]), &talos).unwrap();

        let addresses: Vec<_> = network["addresses"]
            .as_array()
            .unwrap()
            .iter()
            .map(|address| (address["linkName"].as_str().unwrap(), address["address"].as_str().unwrap()))
            .collect();
        assert_eq!(addresses, [("eth0", "10.101.0.11/24"), ("bond0.20", "10.20.0.11/24")], "{release}");
        let links: Vec<_> = network["links"]
            .as_array()
            .unwrap()
            .iter()
            .map(|link| (link["name"].as_str().unwrap(), link.get("masterName").and_then(Value::as_str)))
            .collect();
        let want = [
            ("eth0", None),
            ("eth1", Some("bond0")),
            ("eth2", Some("bond0")),
            ("bond0", None),
            ("bond0.20", None),
        ];
        assert_eq!(links, want, "{release}");
        assert_eq!(network["links"][3]["bondMaster"]["xmitHashPolicy"], "layer3+4");
        assert_eq!(network["routes"][0]["gateway"], "10.101.0.1", "{release}");
        assert_eq!(network["routes"][0]["dst"], "");
        assert_eq!(network["routes"][1]["dst"], "10.30.0.0/16");
        assert_eq!(network["hostnames"][0]["hostname"], "a");
        assert_eq!(network["resolvers"][0]["dnsServers"], json!(["10.101.0.53"]));
        assert_eq!(network["timeServers"][0]["timeServers"], json!(["time.sol"]));
        assert_eq!(network["operators"], json!([]), "no DHCP where nothing asks for it");
    }
    assert_eq!(network_text::network(&plan.nodes[1])["operators"][0]["linkName"], "eth0");
    assert!(
        !network_text::text(&plan.nodes[0]).contains(';'),
        "a semicolon would cut it on the command line"
    );
}

#[test]
fn a_schematic_has_the_values_of_the_plan() {
    let plan = planned(CLUSTER);
    let [a, c] = [0, 2].map(|nth: usize| node_schematic::node_schematic(&plan.nodes[nth], None).unwrap());

    assert_eq!(a.extensions, ["siderolabs/tailscale"]);
    assert_eq!(a.kernel_args, ["net.ifnames=0"]);
    assert_eq!(a.meta, [(10, network_text::text(&plan.nodes[0]))]);
    assert_eq!(
        (c.overlay.image.as_str(), c.overlay.name.as_str()),
        ("siderolabs/sbc-raspberrypi", "rpi_generic")
    );
    assert_eq!(Schematic::read(&a.canonical()).unwrap(), a, "what is written is read back");
}

#[test]
fn a_schematic_with_a_secret_is_rejected_without_quoting_it() {
    let plan = planned(CLUSTER);
    let config = "apiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: tailscale\nenvironment: [TS_AUTHKEY=hunter2]\n";

    let error = node_schematic::node_schematic(&plan.nodes[0], Some(config)).unwrap_err().to_string();

    assert!(error.contains("customization.embeddedMachineConfiguration"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}
