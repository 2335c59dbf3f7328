use std::collections::BTreeMap;

use serde_json::json;

use super::*;

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Peer {
    asn: u32,
    #[serde(default)]
    families: Vec<Family>,
    address: Option<Address>,
    #[serde(default)]
    options: BTreeMap<String, (String, u16)>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Family {
    Ipv4,
    Ipv6,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Address {
    Interface { name: String },
    Ip(std::net::IpAddr),
}

fn wrong(value: &Value) -> String {
    read::<Vec<Peer>>(value).value.unwrap_err().to_string()
}

#[test]
fn every_form_of_a_value_is_read() {
    let value = json!([
        {"asn": 1, "families": ["ipv4", "ipv6"], "address": {"interface": {"name": "eth0"}}, "options": {"a": ["b", 2]}},
        {"asn": 2, "address": {"ip": "fe80::1"}},
        {"asn": 3, "address": null},
    ]);

    let DecodeOutcome { value, unknown } = read::<Vec<Peer>>(&value);

    let peers = value.unwrap();
    assert_eq!(peers[0].families, [Family::Ipv4, Family::Ipv6]);
    assert_eq!(peers[0].address, Some(Address::Interface { name: "eth0".to_owned() }));
    assert_eq!(peers[0].options["a"], ("b".to_owned(), 2));
    assert_eq!(peers[1].address, Some(Address::Ip("fe80::1".parse().unwrap())));
    assert_eq!(peers[2].address, None);
    assert_eq!(unknown, []);
}

#[test]
fn unknown_keys_are_reported_together_with_their_paths_and_the_nearest_known_keys() {
    let value = json!([
        {"asn": 1, "famillies": [], "address": {"interface": {"name": "eth0", "nmae": 1}}},
        {"asn": 1, "zebra": {"asn": 1}},
    ]);

    let DecodeOutcome { value, unknown } = read::<Vec<Peer>>(&value);

    assert_eq!(value.unwrap().len(), 2, "the rest is read");
    let unknown: Vec<_> = unknown.iter().map(ToString::to_string).collect();
    assert_eq!(
        unknown,
        [
            "[0].famillies: unknown key; did you mean `families`?",
            "[0].address.interface.nmae: unknown key; did you mean `name`?",
            "[1].zebra: unknown key",
        ]
    );
}

#[test]
fn a_wrong_value_is_located_and_not_repeated() {
    let peers = |peer: Value| wrong(&json!([{"asn": 1}, peer]));

    assert_eq!(
        peers(json!({"asn": "hush"})),
        "[1].asn: want a whole number up to 4294967295, found a string"
    );
    assert_eq!(peers(json!({"asn": -7})), "[1].asn: want a whole number up to 4294967295");
    assert_eq!(peers(json!({"asn": 1.5})), "[1].asn: want a whole number up to 4294967295, found a number");
    assert_eq!(peers(json!({})), "[1]: the key `asn` is missing");
    assert_eq!(peers(json!("hush")), "[1]: want an object, found a string");
    assert_eq!(peers(json!({"asn": 1, "families": ["hush"]})), "[1].families[0]: want one of `ipv4`, `ipv6`");
    assert_eq!(
        peers(json!({"asn": 1, "families": [{"ipv4": "hush"}]})),
        "[1].families[0]: want this word alone"
    );
    assert_eq!(peers(json!({"asn": 1, "address": {}})), "[1].address: want one of `interface`, `ip`");
    assert_eq!(peers(json!({"asn": 1, "address": "ip"})), "[1].address: want an object with this key");
    assert_eq!(
        peers(json!({"asn": 1, "address": {"interface": {}}})),
        "[1].address.interface: the key `name` is missing"
    );
    assert_eq!(
        peers(json!({"asn": 1, "options": {"a": ["b"]}})),
        "[1].options.a: want a tuple of size 2, found 1 items"
    );
    assert!(!peers(json!({"asn": 1, "address": {"ip": "hush"}})).contains("hush"));
    assert_eq!(wrong(&json!({})), "want a list, found an object");
}
