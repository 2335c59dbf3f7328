use proptest::prelude::*;

use super::*;

fn read(files: [Option<&str>; 3], talos: &str) -> Result<Option<Network>, NocloudNetworkError> {
    let [network_config, meta_data, user_data] = files.map(|file| file.map(str::as_bytes));
    let links = ["52:54:00:00:01:0b", "52:54:00:00:02:0b"];
    let links: Vec<_> = links
        .iter()
        .enumerate()
        .map(|(nth, mac)| Link { name: format!("eth{nth}"), mac: Mac::parse(mac).unwrap() })
        .collect();
    network(Files { meta_data, network_config, user_data }, &links, &TalosVersion::parse(talos).unwrap())
}

fn config(text: &str, talos: &str) -> Value {
    read([Some(text), None, None], talos).unwrap().unwrap().config
}

#[test]
fn a_volume_without_network_config_has_no_network() {
    assert_eq!(read([None, Some("hostname: a"), Some("hostname: b")], "v1.13.9"), Ok(None));
}

#[test]
fn user_data_may_have_the_hostname() {
    let hostname = |meta, user| {
        let network = read([Some("version: 2"), meta, user], "v1.13.9").unwrap().unwrap();
        network.config["hostnames"].to_string()
    };

    assert!(hostname(Some("instance-id: a"), Some("#cloud-config\nhostname: b.example")).contains("example"));
    assert!(hostname(Some("local-hostname: c"), Some("hostname: b")).contains("\"c\""));
    assert_eq!(
        hostname(Some("hostname: a\nhostname: b"), None),
        "[]",
        "a key that stands twice spoils it all"
    );
    assert!(hostname(Some("hostname: [a]\nlocal-hostname: b"), None).contains("\"b\""));
}

#[test]
fn a_hostname_has_a_valid_length() {
    let result = |name: &str| read([Some("version: 2"), Some(&format!("hostname: {name}")), None], "v1.13.9");

    assert!(result(&"a".repeat(63)).is_ok());
    for wrong in ["a".repeat(64), ".a".to_owned(), format!("a.{}", "b".repeat(252))] {
        assert_eq!(result(&wrong), Err(NocloudNetworkError::Hostname(wrong)));
    }
}

#[test]
fn a_missing_link_is_awaited() {
    let text = "version: 2\nethernets: {a: {match: {macaddress: '52-54-00-00-01-0b'}, dhcp4: true}}";

    let network = read([Some(text), None, None], "v1.13.9").unwrap().unwrap();

    assert!(network.needs_reconcile);
    assert_eq!(network.config["links"][0]["name"], "a");
}

#[test]
fn the_route_to_a_gateway_differs_between_releases() {
    let text = "version: 2\nethernets: {eth0: {addresses: [10.0.0.11/32], routes: [{to: default, via: 10.1.1.1, on-link: true}, {to: default, via: 'fe80::1', on-link: true}]}}";

    let [old, new] = ["v1.12.4", "v1.13.9"].map(|talos| config(text, talos)["routes"].clone());

    assert_eq!(old.as_array().unwrap().len(), 3);
    assert_eq!((&old[1]["src"], &old[1]["scope"]), (&json!("10.0.0.11"), &json!("link")));
    assert_eq!(new.as_array().unwrap().len(), 4);
    assert_eq!(new[1]["src"], "");
    assert_eq!((&new[3]["family"], &new[3]["dst"]), (&json!("inet6"), &json!("fe80::1/128")));
    assert_eq!((&new[2]["priority"], &new[3]["priority"]), (&json!(2048), &json!(1024)));
}

#[test]
fn an_on_link_route_needs_an_address_before_1_13() {
    let text = "version: 2\nethernets: {eth0: {routes: [{to: default, via: 10.1.1.1, on-link: true}]}}";

    assert_eq!(
        read([Some(text), None, None], "v1.12.4"),
        Err(NocloudNetworkError::NoSource("eth0".to_owned()))
    );
    assert!(read([Some(text), None, None], "v1.13.9").is_ok());
}

#[test]
fn bonds_have_the_defaults_of_their_release() {
    let text = "version: 1\nconfig: [{type: bond, name: bond0, bond_interfaces: [eth0], params: {bond-mode: active-backup}}, {type: physical, name: eth0}]";
    let bond = |talos| config(text, talos)["links"][0]["bondMaster"].clone();

    assert_eq!(bond("v1.11.5")["failOverMac"], 0);
    assert_eq!(bond("v1.11.5").get("useCarrier"), None);
    assert_eq!((&bond("v1.12.4")["adLacpActive"], &bond("v1.12.4")["missedMax"]), (&json!("on"), &json!(2)));
    assert_eq!(bond("v1.13.9").get("adLacpActive"), None);
    assert_eq!(config(text, "v1.13.9")["links"][1]["masterName"], "bond0");
}

#[test]
fn name_servers_appear_twice_from_1_14_on() {
    let text = "network: {version: 2, ethernets: {eth0: {nameservers: {addresses: [1.1.1.1]}}}}";

    assert_eq!(config(text, "v1.13.9")["resolvers"][0].get("nameServers"), None);
    assert_eq!(
        config(text, "v1.14.0-rc.1")["resolvers"][0]["nameServers"],
        json!([{"addr": "1.1.1.1", "protocol": "Do53", "tlsServerName": ""}])
    );
}

#[test]
fn an_address_may_have_a_netmask() {
    let address = |netmask: &str| {
        let text = format!(
            "version: 1\nconfig: [{{type: physical, name: a, subnets: [{{type: static, address: 10.0.0.1, netmask: '{netmask}'}}]}}]"
        );
        read([Some(&text), None, None], "v1.13.9")
            .map(|read| read.unwrap().config["addresses"][0]["address"].clone())
    };

    assert_eq!(address("255.255.240.0"), Ok(json!("10.0.0.1/20")));
    assert_eq!(address("255.0.255.0"), Ok(json!("10.0.0.1/0")), "Go counts nothing where a mask has holes");
    assert_eq!(address("ffff:ffff:ffff::"), Ok(json!("invalid Prefix")));
    assert!(address("24").is_err());
}

#[test]
fn a_table_has_the_name_its_release_gives_it() {
    let text = "version: 2\nethernets: {a: {routes: [{to: 10.0.0.0/8, via: 10.1.1.1, table: 88}]}}";

    assert_eq!(config(text, "v1.11.5")["routes"][0]["table"], "RoutingTable(88)");
    assert_eq!(config(text, "v1.12.4")["routes"][0]["table"], "88");
}

#[test]
fn undecodable_files_are_rejected() {
    for text in [
        "version: 2\nethernets: {a: {mtu: '1500'}}",
        "version: 2\nethernets: {a: {mtu: 1}, a: {mtu: 2}}",
        "version: 2\nethernets: {a: {addresses: 10.0.0.1/8}}",
        "version: 2\nother: {<<: 3}",
        "version: '2'",
        "version: 1\nconfig: {type: physical}",
        "network: 3",
        "- a",
        "{",
    ] {
        assert!(read([Some(text), None, None], "v1.13.9").is_err(), "{text}");
    }
    for text in
        ["version: 2\nethernets: {a: }", "version: 2\nethernets:", "version: 2.0", "version: 2\nother: [~]"]
    {
        assert!(read([Some(text), None, None], "v1.13.9").is_ok(), "{text}");
    }
}

#[test]
fn user_data_has_three_forms() {
    assert_eq!(UserData::parse(b"#cloud-config  \nhostname: a"), UserData::CloudConfig);
    assert_eq!(
        UserData::parse(b"#include\n\nhttps://a/b\n"),
        UserData::Include(Ok("https://a/b".to_owned()))
    );
    assert_eq!(UserData::parse(b"#include"), UserData::Include(Err(IncludeError::None)));
    assert_eq!(UserData::parse(b"#include\na\nb"), UserData::Include(Err(IncludeError::Several)));
    assert_eq!(UserData::parse(b" #cloud-confi"), UserData::Config(b" #cloud-confi"));
}

proptest! {
    #[test]
    fn any_text_is_a_network_or_an_error(text in "(network:|version: [12]\n|config:|ethernets:|[ a-z0-9:,.{}\\[\\]\n-]){0,40}") {
        for talos in ["v1.11.5", "v1.14.0"] {
            let _ = read([Some(&text), Some(&text), Some(&text)], talos);
        }
    }

    #[test]
    fn a_written_link_is_a_link(name in "[a-z][a-z0-9]{0,9}", mtu: u32, dhcp: bool) {
        let text = format!("version: 2\nethernets: {{\"{name}\": {{mtu: {mtu}, dhcp4: {dhcp}}}}}");
        let config = config(&text, "v1.13.9");

        prop_assert_eq!(&config["links"][0]["name"], &json!(name));
        prop_assert_eq!(&config["links"][0]["mtu"], &json!(mtu));
        prop_assert_eq!(config["operators"].as_array().unwrap().len(), usize::from(dhcp));
    }
}
