//! The configuration of BIRD, and rejected settings.

use ichor_values::Secret;

use ichor_testbed::routing::{service_of, service_with};
use ichor_testbed::{load_text, planned};

fn text(routing: &str) -> String {
    format!(
        "cluster: {{name: a, id: 1, talos: v1.14.0}}\nrouting: {{backend: bird, {routing}}}\n\
         nodes: [{{name: a, index: 1}}]"
    )
}

#[test]
fn settings_that_bird_does_not_support_are_rejected() {
    let refused = |routing: &str| service_of(&text(routing)).err().unwrap_or_default().join("\n");

    for (written, why) in [
        ("version: 3.1", "routing.version: BIRD 3.1 is not known here"),
        ("version: 1.6.8", "routing.version: BIRD 1.6.8 is not known here"),
        ("version: 2.0.8", "take one from 2.0.12 on"),
        ("graceful_restart: {time: 5000}", "routing.graceful_restart: 5000 seconds do not fit"),
        ("daemons: {bird: [\"-u bird\"]}", "`-u bird` is not a single word"),
        ("neighbors: [{link: \"eth*\"}]", "routing.neighbors: BIRD does not accept the link name `eth*`"),
        (
            "workload: {speaker: cilium, vrf: {name: \"a'b\"}}",
            "routing.workload.vrf.name: BIRD does not accept",
        ),
    ] {
        let error = refused(written);
        assert!(error.contains(why), "{written}: {error}");
    }
    for known in ["version: 2.0", "version: 2.0.12", "version: 2.20.0", "neighbors: [{link: enp1s0f0.7}]"] {
        assert_eq!(refused(known), "", "{known}");
    }
}

#[test]
fn a_password_that_would_end_the_string_is_rejected_without_quoting_it() {
    let text = text("neighbors: [{link: eth0, password: {env: PW}}]");
    let (cluster, plan) = planned(load_text(text));

    let refused = service_with(&cluster, &plan, &plan.nodes[0], &|_| Ok("hun\"ter2".to_owned())).unwrap_err();
    let taken = service_with(&cluster, &plan, &plan.nodes[0], &|_| Ok("it's;#fine".to_owned())).unwrap();

    assert!(refused[0].to_string().contains("quotation mark"));
    assert!(!refused[0].to_string().contains("hun"), "{}", refused[0]);
    assert!(taken.unwrap().files[0].text.contains("password \"it's;#fine\";"));
}

#[test]
fn unnumbered_neighbours_share_one_password() {
    let text = text("neighbors: [{link: eth0, password: {env: ONE}}, {link: eth1, password: {env: TWO}}]");
    let (cluster, plan) = planned(load_text(text));
    let rendered = |two: &str| {
        let fetch = |secret: &Secret| match secret {
            Secret::Env(name) if name.as_str() == "TWO" => Ok(two.to_owned()),
            _ => Ok("one".to_owned()),
        };
        let service = service_with(&cluster, &plan, &plan.nodes[0], &fetch);
        service.err().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>()
    };

    assert_eq!(rendered("one"), Vec::<String>::new());
    assert!(rendered("two")[0].contains("one password"), "{:?}", rendered("two"));
    assert_eq!(rendered("two words").len(), 1, "one that cannot be had is said once");
}

#[test]
fn the_extension_determines_the_files_of_bird() {
    let ours = service_of(&text("graceful_restart: {time: 60}, daemons: {bird: [-u, bird]}")).unwrap();
    let official = service_of(&text("carrier: official")).unwrap();

    assert_eq!((ours.name, ours.folder), ("bird", "/usr/local/etc/bird"));
    assert_eq!((official.name, official.folder), ("bird2", "/usr/local/etc"));
    assert_eq!(ours.files.iter().map(|file| file.name).collect::<Vec<_>>(), ["bird.conf", "daemons"]);
    assert_eq!(official.files.iter().map(|file| file.name).collect::<Vec<_>>(), ["bird.conf"]);
    assert!(ours.files[1].text.ends_with("bird=yes\nbird_options=\"-u bird\"\n"));
    assert!(ours.files[0].text.contains("graceful restart wait 60;"));
    assert!(!official.files[0].text.contains("graceful"), "without the agent it is never stopped gracefully");
}

#[test]
fn the_official_extension_is_part_of_the_image() {
    let extensions = |routing: &str| {
        let (_, plan) = planned(load_text(text(routing)));
        let extensions = plan.nodes[0].boot.extensions.iter();
        extensions.map(|extension| extension.value.clone()).collect::<Vec<_>>()
    };

    assert_eq!(extensions("carrier: official"), ["siderolabs/bird2"]);
    assert_eq!(extensions("carrier: ichor"), Vec::<String>::new());
}

#[test]
fn bird_waits_for_an_unnumbered_neighbour() {
    let rendered = |version: &str, more: &str| {
        let service = service_of(&text(&format!("version: {version}, neighbors: [{{link: eth0{more}}}]")));
        service.unwrap().files[0].text.clone()
    };

    let waits = |conf: &str| conf.contains("passive on;") && !conf.contains("router discovery");

    assert!(waits(&rendered("2.18", "")));
    assert!(!waits(&rendered("2.19", "")) && rendered("2.19", "").contains("router discovery on;"));
    assert!(waits(&rendered("2.19", ", passive: true")), "the file says that the neighbour connects");
}

#[test]
fn an_ibgp_neighbour_on_a_port_stays_on_the_port() {
    let conf =
        service_of(&text("asn: 64512, neighbors: [{link: eth0, asn: 64513}]")).unwrap().files[0].text.clone();

    assert!(
        conf.contains(
            "local as 64513;\n\tneighbor range fe80::/10 as 64513;\n\tdirect;\n\tinterface \"eth0\";"
        ),
        "{conf}"
    );
}

#[test]
fn only_announced_addresses_are_imported_from_a_link() {
    let text = "cluster: {name: a, id: 1, talos: v1.14.0}\n\
                network: {loopback: {v4: 10.9.0.0/24, v6: \"fd00:9::/64\"}, dummy: {dummy0: {v4: 10.8.0.0/24}}}\n\
                routing: {backend: bird, advertise: [dummy]}\nnodes: [{name: a, index: 1}]";

    let conf = service_of(text).unwrap().files[0].text.clone();

    assert!(conf.contains("protocol direct 'node-addresses-dummy0' {\n\tinterface \"dummy0\";\n\tipv4 {\n\t\timport where net ~ [ 10.8.0.1/32 ];\n\t};\n}"));
    assert!(!conf.contains("node-addresses-lo"));
    assert!(conf.contains("krt_prefsrc = 10.9.0.1;"), "what is not announced is still a source");
}
