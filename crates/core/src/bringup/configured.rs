//! Whether a node runs the configuration that is wanted.

use serde_json::Value;

use super::seen::ConfigState;
use crate::cluster::section::Role;
use ichor_talos::difference::{between, documents};
use ichor_talos::document;
use ichor_values::TalosVersion;

/// The most keys that are told.
const TOLD: usize = 8;

/// Compares what a node says it runs with what is wanted, both as its release understands them.
pub fn compare(active: &str, wanted: &str, talos: &TalosVersion) -> ConfigState {
    if active == wanted {
        return ConfigState::Same;
    }
    let (Ok(is), Ok(shall)) = (documents(active, talos), documents(wanted, talos)) else {
        return ConfigState::Differs { role: None, keys: vec!["all of it".to_owned()] };
    };
    let role =
        match is.first().and_then(|first| document::value_at(first, "/machine/type")).and_then(Value::as_str)
        {
            Some("controlplane") => Some(Role::Controlplane),
            Some("worker") => Some(Role::Worker),
            _ => None,
        };
    let mut keys: Vec<String> = between(&is, &shall).iter().map(|it| it.place.clone()).collect();
    if keys.is_empty() {
        return ConfigState::Same;
    }
    if keys.len() > TOLD {
        let more = keys.len() - TOLD;
        keys.truncate(TOLD);
        keys.push(format!("{more} more"));
    }
    ConfigState::Differs { role, keys }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: &str = "machine:\n  type: worker\n  token: abc\n  ca: {crt: \"\", key: \"\"}\ncluster:\n  controlPlane: {endpoint: https://10.0.0.1:6443}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n";

    fn compared(active: &str) -> ConfigState {
        compare(active, WANTED, &TalosVersion::parse("v1.13.9").unwrap())
    }

    #[test]
    fn order_and_spelling_mean_nothing() {
        let active =
            WANTED.replace("  type: worker\n  token: abc\n", "  token: \"abc\"\n  type: worker # it is\n");

        assert_eq!(compared(&active), ConfigState::Same);
    }

    #[test]
    fn keys_are_told_and_values_are_not() {
        let active = WANTED.replace("token: abc", "token: secret").replace("hostname: a", "hostname: b");

        let ConfigState::Differs { role, keys } = compared(&active) else { panic!("they differ") };

        assert_eq!(role, Some(Role::Worker));
        assert_eq!(keys, ["machine.token", "HostnameConfig: hostname"]);
    }

    #[test]
    fn documents_too_many_and_missing_are_told() {
        let active = WANTED.replace(
            "kind: HostnameConfig\nhostname: a\n",
            "kind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n",
        );

        let ConfigState::Differs { keys, .. } = compared(&active) else { panic!("they differ") };

        assert_eq!(keys, ["HostnameConfig", "WatchdogTimerConfig"]);
    }

    #[test]
    fn what_cannot_be_read_differs() {
        assert!(matches!(compared("machine: ["), ConfigState::Differs { role: None, .. }));
        assert!(matches!(compared(""), ConfigState::Differs { role: None, .. }));
    }
}
