//! Contents that boot media must not or cannot have.

use super::rendered::of_text;
use ichor_testbed::findings_of_text;

fn text(talos: &str, platform: &str, boot: &str, more: &str) -> String {
    format!(
        "cluster: {{name: a, id: 1, talos: {talos}, endpoint: \"https://10.1.0.1:6443\"}}\nboot: {{{boot}}}\n\
         defaults: {{platform: {platform}, install: {{disk: /dev/sda}}}}\n{more}\nnodes: [{{name: a, role: controlplane, index: 1}}]"
    )
}

const PASSWORD: &str = "image: {source: ichor, registry: ghcr.io/a}\n\
                        routing: {backend: frr, neighbors: [{link: eth0, asn: 65000, password: {env: PW}}]}";

/// The messages of a rule without the nodes.
fn messages(text: &str, rule: &str) -> Vec<String> {
    let findings = findings_of_text(text).into_iter().filter(|finding| finding.rule.id == rule);
    findings.map(|finding| finding.issue.message.trim_end_matches(" (a)").to_owned()).collect()
}

#[test]
fn a_password_is_only_on_private_boot_media() {
    for (from, platform, other) in [
        ("embedded", "metal", "metal-iso"),
        ("early", "metal", "metal-iso"),
        ("inline", "nocloud", "cidata"),
        ("nocloud-net, server: https://boot.sol", "nocloud", "cidata"),
    ] {
        let text = text("v1.13.9", platform, &format!("from: {from}"), PASSWORD);

        let (carried, found) = (of_text(&text), messages(&text, "boot-carrier-secret"));

        let reason = carried.refusal();
        assert!(reason.contains("could read the password of a BGP session"), "{from}: {reason}");
        assert!(reason.ends_with(&format!("use `boot.from: {other}`")), "{from}: {reason}");
        assert!(!reason.contains("a-secret-of-the-file"), "{reason}");
        assert_eq!(found.len(), 1, "{from}: {found:?}");
        assert!(reason.ends_with(&found[0]), "{reason} and {found:?}");
    }
    for (from, platform, file) in
        [("cidata", "nocloud", "cidata.iso"), ("metal-iso", "metal", "metal-iso.img")]
    {
        let text = text("v1.13.9", platform, &format!("from: {from}"), PASSWORD);
        let carried = of_text(&text);

        assert!(carried.boot.contains("\"a-secret-of-the-file\""), "{}", carried.boot);
        assert!(carried.file(file).private);
        assert_eq!(messages(&text, "boot-carrier-secret"), Vec::<String>::new());
    }
}

#[test]
fn unsuitable_boot_media_suggest_an_alternative() {
    let secure = "image: {secure_boot: true}";
    let alone = "network: {node: {v4: null, v6: null}}\nrouting: {backend: frr, neighbors: [{link: eth0, asn: 65000}]}";
    let elsewhere = "roles: {controlplane: {kernel: {args: [\"talos.config=https://boot.sol/c\"]}}}";
    for (talos, platform, boot, more, wants) in [
        (
            "v1.13.9",
            "metal",
            "from: cidata",
            "",
            "only the nocloud platform reads it; use `boot.from: metal-iso`",
        ),
        ("v1.13.9", "nocloud", "from: meta", "", "only the metal platform reads it; use `boot.from: cidata`"),
        ("v1.11.5", "metal", "from: embedded", "", "from 1.12 on; use `boot.from: meta`"),
        ("v1.13.9", "gcp", "from: early", "", "the kernel command line; use `boot.from: apply`"),
        ("v1.13.9", "metal", "from: inline", secure, "part of the signed image; use `boot.from: metal-iso`"),
        ("v1.11.5", "metal", "from: metal-iso", "", "has none for links; use `boot.from: meta`"),
        ("v1.11.5", "nocloud", "from: early", "", "has none for links; use `boot.from: cidata`"),
        (
            "v1.13.9",
            "metal",
            "from: meta",
            alone,
            "the machine is reachable over BGP only; use `boot.from: metal-iso`",
        ),
        ("v1.13.9", "metal", "from: metal-iso", elsewhere, "names another source; remove it"),
        ("v1.13.9", "nocloud", "from: nocloud-net", "", "`boot.server` is missing"),
        (
            "v1.13.9",
            "nocloud",
            "from: nocloud-net, server: \"https://boot.sol/;a\"",
            "",
            "remove it from `boot.server`",
        ),
    ] {
        let found = messages(&text(talos, platform, boot, more), "boot-carrier");

        assert!(found.len() == 1 && found[0].ends_with(wants), "{talos} {platform} {boot} {more}: {found:?}");
    }
}

#[test]
fn an_empty_configuration_is_not_written() {
    let carried = of_text(&text("v1.11.5", "metal", "from: metal-iso", ""));

    assert!(carried.refusal().contains("metal-iso: the configuration is empty"), "{}", carried.refusal());
}
