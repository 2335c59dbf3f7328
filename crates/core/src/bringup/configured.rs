//! Compares the configuration of a node with the desired one.

use serde_json::Value;

use super::observed::ConfigState;
use crate::cluster::section::Role;
use ichor_talos::difference::{between, documents};
use ichor_talos::document;
use ichor_values::TalosVersion;

/// The maximum number of keys to report.
const MAX_KEYS: usize = 8;

/// Compares the active configuration with the desired one, both as the node's release reads them.
pub fn compare_configs(active: &str, wanted: &str, talos: &TalosVersion) -> ConfigState {
    if active == wanted {
        return ConfigState::Same;
    }
    let (Ok(current), Ok(desired)) = (documents(active, talos), documents(wanted, talos)) else {
        return ConfigState::Differs { role: None, keys: vec!["all keys".to_owned()] };
    };
    let role = match current
        .first()
        .and_then(|first| document::value_at(first, "/machine/type"))
        .and_then(Value::as_str)
    {
        Some("controlplane") => Some(Role::Controlplane),
        Some("worker") => Some(Role::Worker),
        _ => None,
    };
    let mut keys: Vec<String> = between(&current, &desired).iter().map(|it| it.path.clone()).collect();
    if keys.is_empty() {
        return ConfigState::Same;
    }
    if keys.len() > MAX_KEYS {
        let more = keys.len() - MAX_KEYS;
        keys.truncate(MAX_KEYS);
        keys.push(format!("{more} more"));
    }
    ConfigState::Differs { role, keys }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: &str = "machine:\n  type: worker\n  token: abc\n  ca: {crt: \"\", key: \"\"}\ncluster:\n  controlPlane: {endpoint: https://10.0.0.1:6443}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n";

    fn compared(active: &str) -> ConfigState {
        compare_configs(active, WANTED, &TalosVersion::parse("v1.13.9").unwrap())
    }

    #[test]
    fn order_and_quoting_are_ignored() {
        let active =
            WANTED.replace("  type: worker\n  token: abc\n", "  token: \"abc\"\n  type: worker # it is\n");

        assert_eq!(compared(&active), ConfigState::Same);
    }

    #[test]
    fn keys_are_reported_without_values() {
        let active = WANTED.replace("token: abc", "token: secret").replace("hostname: a", "hostname: b");

        let ConfigState::Differs { role, keys } = compared(&active) else { panic!("they differ") };

        assert_eq!(role, Some(Role::Worker));
        assert_eq!(keys, ["machine.token", "HostnameConfig: hostname"]);
    }

    #[test]
    fn additional_and_missing_documents_are_reported() {
        let active = WANTED.replace(
            "kind: HostnameConfig\nhostname: a\n",
            "kind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n",
        );

        let ConfigState::Differs { keys, .. } = compared(&active) else { panic!("they differ") };

        assert_eq!(keys, ["HostnameConfig", "WatchdogTimerConfig"]);
    }

    #[test]
    fn an_unreadable_configuration_differs() {
        assert!(matches!(compared("machine: ["), ConfigState::Differs { role: None, .. }));
        assert!(matches!(compared(""), ConfigState::Differs { role: None, .. }));
    }
}
