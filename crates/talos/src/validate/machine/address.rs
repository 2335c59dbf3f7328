//! Invalid addresses where Talos does not check them or silently ignores them.

use crate::go::{endpoint, netip, url};
use crate::label;
use crate::validate;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, subnet};

/// Checks every address of the document that Talos does not check.
pub(crate) fn advise(document: &Field<'_>, issues: &mut DocumentIssues) {
    let (machine, cluster) = (document.get("machine"), document.get("cluster"));
    let network = machine.get("network");
    let hosts = network.get("extraHostEntries").items().map(|entry| entry.get("ip"));
    let addresses =
        network.get("nameservers").items().chain(machine.at(["kubelet", "clusterDNS"]).items()).chain(hosts);
    judge(addresses, netip::is_address, "is not an address: want one such as 10.0.0.53", issues);
    network.get("interfaces").items().for_each(|interface| of_vlans(&interface.get("vlans"), issues));
    let [pods, services] = ["podSubnets", "serviceSubnets"].map(|key| cluster.at(["network", key]));
    subnet::advise(&pods, &services, issues);
    let subnets = [pods, services];
    let subnets = subnets.iter().flat_map(Field::items);
    judge(subnets, netip::is_prefix, "is not a prefix: want one such as 10.244.0.0/16", issues);
    let names = [machine.get("certSANs"), cluster.at(["apiServer", "certSANs"])];
    let names = names.iter().flat_map(Field::items);
    judge(names, is_san, "is neither an address nor a DNS name", issues);
    let servers = machine.at(["time", "servers"]);
    judge(
        servers.items(),
        is_time_server,
        "is neither an address, a DNS name nor a device such as /dev/ptp0",
        issues,
    );
    let endpoint = cluster.at(["controlPlane", "endpoint"]);
    validate::endpoint::advise(&endpoint, issues);
    judge([endpoint].into_iter(), has_host, "has a host that is neither an address nor a DNS name", issues);
    let mirrors = machine.at(["registries", "mirrors"]).entries().map(|(_, mirror)| mirror.get("endpoints"));
    let urls =
        mirrors.chain([cluster.get("extraManifests")]).flat_map(|list| list.items().collect::<Vec<_>>());
    judge(
        urls,
        |url| endpoint::check(url).is_ok(),
        "is not a URL: want one such as https://mirror.example.com",
        issues,
    );
}

fn judge<'v>(
    fields: impl Iterator<Item = Field<'v>>,
    fits: impl Fn(&str) -> bool,
    message: &str,
    issues: &mut DocumentIssues,
) {
    for field in fields.filter(|field| !field.is_empty() && !fits(field.text())) {
        issues.advice(&field, format!("{:?} {message}", field.text()));
    }
}

/// Routes and shared addresses of a VLAN: of an interface, Talos judges them itself.
fn of_vlans(vlans: &Field<'_>, issues: &mut DocumentIssues) {
    for vlan in vlans.items() {
        let routes: Vec<_> = vlan.get("routes").items().collect();
        let networks = routes.iter().map(|route| route.get("network"));
        judge(networks, netip::is_cidr, "is not a prefix: want one such as 10.0.0.0/8", issues);
        let hosts = routes.iter().flat_map(|route| [route.get("gateway"), route.get("source")]);
        let vip = vlan.at(["vip", "ip"]);
        judge(hosts.chain([vip]), netip::is_ip, "is not an address: want one such as 10.0.0.1", issues);
    }
}

fn is_host(text: &str) -> bool {
    netip::is_address(text) || label::is_subdomain(text.to_ascii_lowercase().trim_end_matches('.'))
}

fn is_san(text: &str) -> bool {
    is_host(text.strip_prefix("*.").unwrap_or(text))
}

fn is_time_server(text: &str) -> bool {
    text.starts_with("/dev/") || is_host(text)
}

/// Whether an endpoint has a host. Endpoints without one are reported elsewhere.
fn has_host(text: &str) -> bool {
    url::parse(text).is_ok_and(|url| url.hostname().is_empty() || is_host(url.hostname()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn silently_ignored_addresses_are_reported() {
        let vlan = json!({"vlanId": 5, "routes": [{"network": "x", "gateway": "10.0.0.1"}], "vip": {"ip": "10.0.0.x"}});
        let parts = [
            ("machine.network.nameservers", json!(["10.0.0.53", "dns.example"])),
            ("machine.network.interfaces", json!([{"interface": "eth0", "vlans": [vlan]}])),
            ("cluster.network.podSubnets", json!(["10.244.0.0/16", "10.244.0.0"])),
            ("machine.certSANs", json!(["*.example.com", "10.0.0.1", "a b"])),
            ("machine.time.servers", json!(["/dev/ptp0", "time.example.com", "time example"])),
            ("cluster.controlPlane.endpoint", json!("https://under_score.example:6443")),
            ("machine.registries.mirrors.r", json!({"endpoints": ["https://mirror", "mirror"]})),
        ];

        let want = [
            "advice machine.network.nameservers[1]",
            "advice machine.network.interfaces[0].vlans[0].routes[0].network",
            "advice machine.network.interfaces[0].vlans[0].vip.ip",
            "advice cluster.network.podSubnets[1]",
            "advice machine.certSANs[2]",
            "advice machine.time.servers[2]",
            "advice cluster.controlPlane.endpoint",
            "advice machine.registries.mirrors.r.endpoints[1]",
        ];
        assert_eq!(control_plane("1.13", &parts), want);
    }
}
