//! Boot media: nocloud volumes and configuration URLs against what Talos itself makes of them, images of every kind, each rule,
//! and images that are broken. The tests in `lab` need `scripts/tools iso fat disk`.

mod disk;
mod hostile;
mod images;
mod lab;
mod rules;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ichor_talos::nocloud;
use ichor_talos::nocloud::{Files, Link};
use ichor_talos::{config_url, document};
use ichor_values::{Mac, TalosVersion};
use serde_json::Value;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../talos/tests/data").join(name)
}

fn json_file(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn links(text: &str) -> Vec<Link> {
    let link = |text: &str| {
        let (name, mac) = text.split_once('=').unwrap();
        Link { name: name.to_owned(), mac: Mac::parse(mac).unwrap() }
    };
    text.split(',').map(link).collect()
}

#[test]
fn every_nocloud_volume_gives_the_network_that_talos_gives() {
    let talos = TalosVersion::parse("v1.12.4").unwrap();
    let mut count = 0;
    for case in fs::read_dir(folder("nocloud")).unwrap() {
        let case = case.unwrap().path();
        let says = json_file(&case.join("case.json"));
        let [meta_data, network_config, user_data] =
            ["meta-data", "network-config", "user-data"].map(|name| fs::read(case.join(name)).ok());
        let files = Files {
            meta_data: meta_data.as_deref(),
            network_config: network_config.as_deref(),
            user_data: user_data.as_deref(),
        };

        let got = nocloud::network(files, &links(says["links_present"].as_str().unwrap()), &talos);

        let want = fs::read_to_string(case.join("expected.yaml")).ok();
        let want = want.map(|want| document::read(&want).unwrap().remove(0));
        assert_eq!(got.is_ok(), says["ok"] == true, "{}: {got:?}", case.display());
        let got = got.ok().flatten();
        assert_eq!(got.as_ref().map(|got| &got.config), want.as_ref(), "{}", case.display());
        if let Some(got) = got {
            assert_eq!(says["needs_reconcile"], got.needs_reconcile, "{}", case.display());
        }
        count += 1;
    }
    assert!(count > 20, "{count} cases");
}

#[test]
fn every_configuration_url_matches_the_request_of_talos() {
    let cases = json_file(&folder("metal-url/urls.json"));

    for case in cases.as_array().unwrap() {
        let url = case["url"].as_str().unwrap();
        let known: BTreeMap<_, _> = case["known"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .collect();

        let got = config_url::expand(url, &known).unwrap();

        assert_eq!(got.url, case["result"].as_str().unwrap(), "{url}");
        assert_eq!(got.missing.is_empty(), case["complete"] == true, "{url}");
    }
}
