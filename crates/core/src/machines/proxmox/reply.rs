//! Values in Proxmox' replies. Numbers and flags may be strings, depending on the release and the client that set them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

/// A string.
pub fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// A number, or a string with a number.
pub fn number(value: &Value, key: &str) -> Option<u64> {
    let value = value.get(key)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// A flag: 1, "1" or true.
pub(crate) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_else(|| number(value, key) == Some(1))
}

/// A list; empty for other values.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The settings of a machine as strings.
pub fn parse_settings(value: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    value.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
}

/// The size of a disk in bytes, from a setting such as `local-lvm:vm-311-disk-0,size=64G`.
pub fn disk_size(setting: &str) -> Option<u64> {
    let text = setting.split(',').find_map(|part| part.strip_prefix("size="))?;
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let power = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_shl(power)
}

/// The addresses that a guest agent reports for the ports `macs`, without link-local ones.
pub fn agent_addresses(value: &Value, macs: &[String]) -> Vec<IpAddr> {
    let ports = list(value.get("result").unwrap_or(value));
    let ours = |port: &&Value| {
        let mac = text(port, "hardware-address").unwrap_or_default();
        macs.iter().any(|known| known.eq_ignore_ascii_case(mac))
    };
    let each = ports.iter().filter(ours).filter_map(|port| port.get("ip-addresses")).flat_map(list);
    let parsed = each.filter_map(|address| text(address, "ip-address")?.parse().ok());
    parsed.filter(super::super::is_reachable).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_flags_may_be_strings() {
        let value = json!({"a": "7", "b": 7, "c": 1, "d": "1", "e": true, "f": 0});

        assert_eq!((number(&value, "a"), number(&value, "b")), (Some(7), Some(7)));
        assert!(flag(&value, "c") && flag(&value, "d") && flag(&value, "e"));
        assert!(!flag(&value, "f") && !flag(&value, "g"));
    }

    #[test]
    fn the_size_of_a_disk_is_parsed() {
        assert_eq!(disk_size("local-lvm:vm-311-disk-0,discard=on,size=64G"), Some(64 << 30));
        assert_eq!(disk_size("local-lvm:vm-311-disk-0,size=2252M"), Some(2252 << 20));
        assert_eq!(disk_size("local-lvm:64"), None);
        assert_eq!(disk_size("a,size=many"), None);
    }

    #[test]
    fn only_agent_addresses_of_our_ports_are_used() {
        let port = |name: &str, mac: &str, addresses: &[&str]| {
            let addresses: Vec<_> = addresses.iter().map(|it| json!({"ip-address": it})).collect();
            json!({"name": name, "hardware-address": mac, "ip-addresses": addresses})
        };
        let reply = json!({"result": [
            port("lo", "00:00:00:00:00:00", &["127.0.0.1"]),
            port("eth0", "bc:24:11:00:00:11", &["10.0.0.7", "fe80::1", "fd00::7"]),
            port("cni0", "9e:00:00:00:00:01", &["10.244.0.1"]),
        ]});

        let found = agent_addresses(&reply, &["BC:24:11:00:00:11".to_owned()]);

        assert_eq!(found, ["10.0.0.7".parse::<IpAddr>().unwrap(), "fd00::7".parse().unwrap()]);
    }
}
