//! OpenTofu and the real provider read every module. Needs `scripts/lab-parts tofu`.
//!
//! A development override lets OpenTofu run the provider from a folder, without a registry and without `tofu init`.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test writes files and runs programs"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use ichor_testbed::parts;
use serde_json::Value;
use tempfile::TempDir;

use super::modules;

/// The errors and warnings of `tofu validate` for the module in `folder`.
fn diagnostics(tofu: &Path, settings: &Path, folder: &Path) -> Vec<String> {
    let output = Command::new(tofu)
        .args(["validate", "-json"])
        .current_dir(folder)
        .env("TF_CLI_CONFIG_FILE", settings)
        .env("CHECKPOINT_DISABLE", "1")
        .output()
        .unwrap();
    let verdict: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let all = verdict["diagnostics"].as_array().unwrap().iter();
    // OpenTofu warns that it does not verify a provider in development.
    all.filter(|it| it["summary"] != "Provider development overrides are in effect")
        .map(|it| format!("{}: {}: {}", it["severity"], it["summary"], it["detail"]))
        .collect()
}

#[test]
fn the_proxmox_provider_accepts_every_module() {
    let tofu = parts::path("tofu/tofu");
    let provider = parts::path("tofu/terraform-provider-proxmox");
    let folder = TempDir::new().unwrap();
    let settings = folder.path().join("settings.tfrc");
    let overridden = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"bpg/proxmox\" = {:?}\n  }}\n}}\n",
        provider.parent().unwrap()
    );
    fs::write(&settings, overridden).unwrap();

    let modules = modules().into_iter().filter(|(path, _)| path.starts_with("hypervisors/"));
    let mut found = Vec::new();
    let mut count = 0;
    for (path, module) in modules {
        let at = folder.path().join(count.to_string());
        fs::create_dir(&at).unwrap();
        fs::write(at.join("main.tf.json"), module.to_string()).unwrap();
        found.extend(diagnostics(&tofu, &settings, &at).into_iter().map(|fault| format!("{path}: {fault}")));
        count += 1;
    }

    assert!(count >= 4, "only {count} modules");
    assert!(found.is_empty(), "{found:#?}");
}
