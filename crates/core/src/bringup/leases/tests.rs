use proptest::prelude::*;

use super::*;

/// 2026-01-31T12:00:00Z.
const NOW: u64 = 1_769_860_800;

fn now() -> Moment {
    Moment::from_unix(NOW).unwrap()
}

/// The current leases as text.
fn current_leases(text: &str) -> Vec<String> {
    let file = parse_leases(text, now()).unwrap();
    assert_eq!(file.wrong, []);
    file.leases.iter().map(|lease| format!("{} {}", lease.mac, lease.address)).collect()
}

#[test]
fn dnsmasq_has_leases_of_both_families_and_without_expiry() {
    let text = "1769864400 02:00:65:00:0b:00 10.0.0.57 solcp01 01:02:00:65:00:0b:00\n\
                0 02:00:65:00:0c:00 10.0.0.58 * *\n\
                1769860800 02:00:65:00:0d:00 10.0.0.59 * *\n\
                1769864400 06-02:00:65:00:0e 10.0.0.60 * *\n\
                duid 00:01:00:01:2d:3c:4b:5a:02:00:00:00:00:01\n\
                1769864400 6619136 fd00:10::57 solcp01 00:03:00:01:02:00:65:00:0b:00\n\
                1769864400 6619137 fd00:10::58 * 00:04:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:00\n";

    assert_eq!(
        current_leases(text),
        ["02:00:65:00:0b:00 10.0.0.57", "02:00:65:00:0b:00 fd00:10::57", "02:00:65:00:0c:00 10.0.0.58"]
    );
}

#[test]
fn the_last_line_of_each_address_counts_in_kea() {
    let text = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context\n\
                10.0.0.57,02:00:65:00:0b:00,01:02:00:65:00:0b:00,3600,1769864000,1,0,0,a&#x2cb,0,\n\
                10.0.0.58,02:00:65:00:0b:00,,3600,1769864400,1,0,0,,0,\n\
                10.0.0.59,02:00:65:00:0c:00,,3600,1769864400,1,0,0,,0,\n\
                10.0.0.59,02:00:65:00:0c:00,,0,1769860900,1,0,0,,0,\n\
                10.0.0.60,02:00:65:00:0d:00,,3600,1769864400,1,0,0,,1,\n";

    assert_eq!(current_leases(text), ["02:00:65:00:0b:00 10.0.0.58"]);
}

#[test]
fn ports_in_kea_for_ipv6_are_known_by_mac_address_or_duid() {
    let text = "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,hwaddr_source\n\
                fd00:10::57,00:02:00:00:ab:11,3600,1769864400,1,1800,0,1,128,0,0,,02:00:65:00:0b:00,0,,1,2\n\
                fd00:10::58,00:01:00:01:2d:3c:4b:5a:02:00:65:00:0c:00,3600,1769864400,1,1800,0,1,128,0,0,,,0,,,\n\
                fd00:20::,00:03:00:01:02:00:65:00:0d:00,3600,1769864400,1,1800,2,1,56,0,0,,,0,,,\n";

    assert_eq!(current_leases(text), ["02:00:65:00:0b:00 fd00:10::57", "02:00:65:00:0c:00 fd00:10::58"]);
}

#[test]
fn the_newest_lease_of_a_port_counts_in_any_order() {
    let text = "1769868000 02:00:65:00:0b:00 10.0.0.58 * *\n1769864400 02:00:65:00:0b:00 10.0.0.57 * *\n";

    assert_eq!(current_leases(text), ["02:00:65:00:0b:00 10.0.0.58"]);
}

#[test]
fn invalid_lines_are_reported_and_the_others_count() {
    let dnsmasq = parse_leases(
        "1769864400 02:00:65:00:0b:00 10.0.0.57 * *\n1769864400 02:00 10.0.0.58 * *\nhalf a li",
        now(),
    )
    .unwrap();
    let kea = parse_leases(
        "address,hwaddr,client_id,valid_lifetime,expire,subnet_id\nten,02:00:65:00:0b:00,,3600,1769864400,1\n10.0.0.1,02:00:65:00:0b:00,,3600\n",
        now(),
    )
    .unwrap();

    let words = |leases: &LeaseFile| leases.wrong.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(dnsmasq.leases.len(), 1);
    assert!(words(&dnsmasq)[0].starts_with("line 2: `02:00`: "), "{dnsmasq:?}");
    assert_eq!(
        words(&dnsmasq)[1],
        "line 3: expected expiry, MAC address, IP address, hostname and client ID"
    );
    assert_eq!(words(&kea), ["line 2: `ten` is not an IP address", "line 3: `expire` is empty"]);
}

#[test]
fn an_empty_file_is_valid_and_other_formats_are_rejected() {
    assert_eq!(parse_leases("", now()), Ok(LeaseFile::default()));
    assert_eq!(parse_leases("# dnsmasq\n\n", now()), Ok(LeaseFile::default()));
    assert_eq!(parse_leases("cluster: {name: sol}\n", now()), Err(LeaseFormatError));
    assert_eq!(parse_leases("{\"leases\": []}", now()), Err(LeaseFormatError));
    assert_eq!(
        parse_leases("lease 10.0.0.57 {\n  ends never;\n  binding state active;\n}\n", now()),
        Err(LeaseFormatError)
    );
}

/// Arbitrary leases: ports, addresses and expiries, each address once.
fn arbitrary_leases() -> impl Strategy<Value = Vec<(u8, u8, u64)>> {
    let one = (0..4_u8, any::<u8>(), NOW - 100..NOW + 100);
    proptest::collection::vec(one, 0..20).prop_map(|mut all| {
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|(_, address, _)| seen.insert(*address));
        all
    })
}

proptest! {
    #[test]
    fn both_formats_give_the_same_leases(all in arbitrary_leases()) {
        let mut texts = [String::new(), "address,hwaddr,valid_lifetime,expire,state\n".to_owned()];
        for (port, address, ends) in &all {
            let (mac, address) = (format!("02:00:00:00:00:{port:02x}"), format!("10.0.0.{address}"));
            texts[0] += &format!("{ends} {mac} {address} * *\n");
            texts[1] += &format!("{address},{mac},1000,{ends},0\n");
        }

        let files = texts.map(|text| parse_leases(&text, now()).unwrap());

        // No expired leases, and only the newest of each port.
        let newest = |port: u8| all.iter().filter(|(of, _, ends)| *of == port && *ends > NOW).map(|(_, _, ends)| *ends).max();
        for file in &files {
            prop_assert!(file.wrong.is_empty());
            let leases: Vec<_> = file.leases.iter().map(|it| (it.mac.0[5], it.ends.unwrap().unix())).collect();
            let wanted: Vec<_> = (0..4).filter_map(|port| Some((port, newest(port)?))).collect();
            prop_assert_eq!(leases, wanted);
        }
    }

    #[test]
    fn any_text_is_parsed_or_rejected(text in "(?s).{0,400}") {
        let _ = parse_leases(&text, now());
    }

    #[test]
    fn any_lines_of_a_known_format_are_parsed_or_reported(lines in proptest::collection::vec("[0-9a-f:., {}\";-]{0,60}", 0..10)) {
        for head in ["1 02:00:00:00:00:01 10.0.0.1 * *", "address,hwaddr,valid_lifetime,expire"] {
            let parsed = parse_leases(&format!("{head}\n{}", lines.join("\n")), now());
            prop_assert!(parsed.is_ok());
        }
    }
}
