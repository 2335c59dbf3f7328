//! Every folder under `talos/clusters` is a case: what was asked of Talos, and the configurations it made.

use std::fs;
use std::path::Path;

use ichor_talos::generate;
use ichor_talos::generate::{Contract, Endpoint, Input};
use ichor_talos::patch;
use ichor_talos::patch::Patch;
use ichor_talos::secrets::{Bundle, Pair, Pem};
use ichor_talos::talosconfig::talosconfig;
use ichor_talos::validate::{Mode, Report};
use ichor_talos::{document, release};
use ichor_values::go_yaml::emit::emit_all;
use ichor_values::{KubernetesVersion, TalosVersion};
use serde_json::Value;

fn read(case: &Path, name: &str) -> String {
    fs::read_to_string(case.join(name)).unwrap_or_else(|error| panic!("{}: {error}", case.display()))
}

/// The input that `ichor talos gen` makes of the options of a case.
fn input(case: &Path) -> Input {
    let asked: Value = serde_json::from_str(&read(case, "input.json")).unwrap();
    let options = &asked["options"];
    let text = |key: &str| options[key].as_str().map(str::to_owned);
    let contract =
        text("talos-version").unwrap_or_else(|| asked["generated_by_talos"].as_str().unwrap().to_owned());
    let talos = TalosVersion::parse(&contract).unwrap();
    let endpoint = Endpoint::parse(asked["endpoint"].as_str().unwrap()).unwrap();
    let mut input =
        Input::new(asked["cluster_name"].as_str().unwrap(), endpoint, Contract::for_release(&talos));
    input.kubernetes = match text("kubernetes-version") {
        Some(version) => Some(KubernetesVersion::parse(&version).unwrap()),
        None => release::default_kubernetes(&talos),
    };
    input.install_disk = text("install-disk");
    input.install_image = text("install-image");
    input.dns_domain = text("dns-domain").unwrap_or(input.dns_domain);
    input.kubespan = options["with-kubespan"].as_bool().filter(|enabled| *enabled);
    let sans = options["additional-sans"].as_array().into_iter().flatten();
    input.sans = sans.map(|san| san.as_str().unwrap().to_owned()).collect();
    input
}

#[test]
fn every_cluster_is_configured_as_talos_does() {
    let cases: Vec<_> = ichor_testbed::cases("../../talos/tests/data/clusters")
        .into_iter()
        .filter(|case| case.is_dir())
        .collect();

    assert_eq!(cases.len(), 9);
    for case in cases {
        let input = input(&case);
        let bundle = Bundle::read(&read(&case, "secrets.yaml")).unwrap();

        for (name, got) in [
            ("controlplane.yaml", generate::control_plane(&input, &bundle)),
            ("worker.yaml", generate::worker(&input, &bundle)),
        ] {
            let want = read(&case, name);
            assert!(got == document::read(&want).unwrap(), "{} {name}: other values", case.display());
            similar_asserts::assert_eq!(got: emit_all(&got), want: want, "{} {name}", case.display());
        }
    }
}

/// The nodes of a case: the patch of each, what becomes of the role's configuration, and what Talos says of that.
#[test]
fn every_node_is_patched_and_judged_as_talos_does() {
    let mut nodes = 0;
    for case in ichor_testbed::cases("../../talos/tests/data/clusters") {
        let Ok(entries) = fs::read_dir(case.join("nodes")) else { continue };
        let asked: Value = serde_json::from_str(&read(&case, "input.json")).unwrap();
        let talos = TalosVersion::parse(asked["generated_by_talos"].as_str().unwrap()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        for name in names.iter().filter_map(|name| name.strip_suffix(".patch.yaml")) {
            let role = if name.starts_with("cp") { "controlplane.yaml" } else { "worker.yaml" };
            let patch = Patch::read(name, &read(&case, &format!("nodes/{name}.patch.yaml")), &talos).unwrap();
            let want = read(&case, &format!("nodes/{name}.yaml"));

            let got = patch::apply(&read(&case, role), &[patch], &talos).unwrap();

            assert!(
                document::read(&emit_all(&got)).unwrap() == document::read(&want).unwrap(),
                "{} {name}: other values",
                case.display()
            );
            let verdicts: Value =
                serde_json::from_str(&read(&case, &format!("nodes/{name}.verdicts.json"))).unwrap();
            for verdict in verdicts.as_array().unwrap() {
                let mode = if verdict["mode"] == "metal" { Mode::Metal } else { Mode::Cloud };
                let report = Report::validate(&want, &talos, mode, verdict["strict"] == true);
                assert_eq!(report.valid, verdict["valid"] == true, "{} {name} {verdict}", case.display());
            }
            nodes += 1;
        }
    }
    assert_eq!(nodes, 25);
}

#[test]
fn every_talosconfig_is_written_as_talos_does() {
    for case in
        ichor_testbed::cases("../../talos/tests/data/clusters").into_iter().filter(|case| case.is_dir())
    {
        let want = read(&case, "talosconfig");
        let value = &document::read(&want).unwrap()[0];
        let name = value["context"].as_str().unwrap();
        let context = &value["contexts"][name];
        let pem = |key: &str| Pem::from_base64(context[key].as_str().unwrap()).unwrap();
        let admin = Pair { crt: pem("crt"), key: pem("key") };

        assert_eq!(talosconfig(name, &[], &[], &pem("ca"), &admin), want, "{}", case.display());
    }
}
