use serde_json::{Value, json};

use super::*;

/// A configuration with one neighbour, as JSON.
fn file() -> Value {
    json!({
        "version": "1.0",
        "backend": "frr",
        "bgp": {
            "node": "n1", "asn": 65001, "router_id": "10.0.0.1",
            "neighbors": [{
                "peer": {"interface": {"name": "eth0"}},
                "session": {
                    "address_families": ["ipv4", "ipv6"],
                    "timers": {"keepalive_seconds": 3, "hold_seconds": 9},
                },
                "password": "hush",
            }],
            "import_policy": {"prefixes": []},
            "export_policy": {},
        },
    })
}

fn parse_error(change: impl FnOnce(&mut Value)) -> String {
    let mut file = file();
    change(&mut file);
    let error = AgentConfig::parse(&file.to_string()).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
    error.to_string()
}

#[test]
fn missing_keys_have_defaults() {
    let parsed = AgentConfig::parse(&file().to_string()).unwrap();

    assert_eq!(parsed.warnings, [""; 0]);
    assert_eq!(AgentConfig::parse(&parsed.config.text()), Ok(parsed));
}

#[test]
fn unknown_keys_are_reported_together_with_the_nearest_known_keys() {
    let error = parse_error(|file| {
        file["lgo_level"] = "hush".into();
        file["bgp"]["neighbors"][0]["pasword"] = "hush".into();
    });

    assert_eq!(
        error,
        "2 problems\n  lgo_level: unknown key; did you mean `log_level`?\n  \
         bgp.neighbors[0].pasword: unknown key; did you mean `password`?"
    );
}

#[test]
fn unknown_keys_of_a_newer_minor_version_are_ignored_with_a_warning() {
    let mut file = file();
    file["version"] = "1.4".into();
    file["bgp"]["tomorrow"] = "hush".into();

    let parsed = AgentConfig::parse(&file.to_string()).unwrap();

    let warning = "the configuration has format version 1.4, newer than this agent's 1.0: its key bgp.tomorrow is ignored";
    assert_eq!(parsed.warnings, [warning]);
}

#[test]
fn a_newer_major_version_is_rejected_with_a_hint() {
    let error = parse_error(|file| file["version"] = "2.0".into());

    assert_eq!(
        error,
        "format version 2.0 is newer than 1.0, the newest that this release reads; install the extension of the ichor release that \
         built the configuration, or build it with the release of this extension"
    );
}

#[test]
fn an_invalid_value_is_reported_by_its_key_and_not_repeated() {
    assert_eq!(
        parse_error(|file| file["bgp"]["neighbors"][0]["session"]["timers"]["hold_seconds"] = "hush".into()),
        "bgp.neighbors[0].session.timers.hold_seconds: want a whole number up to 65535, found a string"
    );
    assert_eq!(
        parse_error(|file| file["bgp"]["asn"] = 0.into()),
        "bgp.asn: want a whole number from 1 to 4294967295"
    );
    assert_eq!(
        parse_error(|file| file["backend"] = "hush".into()),
        "backend: want one of `frr`, `bird`, `gobgp`, `native`"
    );
    assert_eq!(
        parse_error(|file| file["version"] = 1.into()),
        "version: want the version of the format, such as \"1.0\""
    );
}

#[test]
fn a_configuration_has_either_bgp_or_files() {
    assert_eq!(parse_error(|file| file["bgp"] = Value::Null), "one of the keys `bgp` and `files` is missing");
    assert_eq!(
        parse_error(|file| file["files"] = json!({"config": "hush"})),
        "`bgp` and `files` exclude each other"
    );
}
