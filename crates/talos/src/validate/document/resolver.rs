//! Name servers.

use super::required;
use crate::validate::field::Field;
use crate::validate::{Flaws, Setting};

/// Judges them. Before 1.14 there is nothing to say.
pub fn validate(document: &Field<'_>, setting: Setting<'_>, flaws: &mut Flaws) {
    if !setting.at_least(14) {
        return;
    }
    let host_dns = document.get("hostDNS");
    if !host_dns.get("enabled").flag() {
        for field in ["forwardKubeDNSToHost", "resolveMemberNames"].map(|key| host_dns.get(key)) {
            if field.flag() {
                flaws.error(&field, "this needs `hostDNS.enabled: true`");
            }
        }
    }
    let servers = document.get("nameservers");
    for server in servers.items() {
        nameserver(&server, flaws);
    }
    if !servers.is_empty() && servers.items().all(|server| is_encrypted(&server)) {
        flaws.warning(
            &servers,
            "every server is asked over TLS, which needs the right time, and finding time servers may need names: add a \
             plain server, or time servers by address",
        );
    }
}

fn nameserver(server: &Field<'_>, flaws: &mut Flaws) {
    required(&server.get("address"), flaws);
    let name = server.get("tlsServerName");
    match (is_encrypted(server), name.is_empty()) {
        (true, true) => {
            flaws.error(&name, "a server that is asked over TLS has to show this name: say which");
        }
        (false, false) => flaws.error(&name, "this counts only with the protocols DoT and DoH"),
        _ => {}
    }
}

fn is_encrypted(server: &Field<'_>) -> bool {
    ["DoT", "DoH"].contains(&server.get("protocol").text())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_by};

    #[test]
    fn servers_over_tls_have_a_name() {
        check(
            "ResolverConfig",
            &[
                (
                    "nameservers: [{address: 10.0.0.1}, {address: 1.1.1.1, protocol: DoT, tlsServerName: a}]",
                    &[],
                ),
                ("nameservers: [{address: 1.1.1.1, protocol: DoH, tlsServerName: a}]", &["?nameservers"]),
                ("nameservers: [{address: 1.1.1.1, tlsServerName: a}]", &["!nameservers[0].tlsServerName"]),
                (
                    "nameservers: [{}, {address: 1.1.1.1, protocol: DoT}]",
                    &["!nameservers[0].address", "!nameservers[1].tlsServerName"],
                ),
                ("hostDNS: {enabled: true, forwardKubeDNSToHost: true}", &[]),
                (
                    "hostDNS: {forwardKubeDNSToHost: true, resolveMemberNames: true}",
                    &["!hostDNS.forwardKubeDNSToHost", "!hostDNS.resolveMemberNames"],
                ),
            ],
        );
        check_by("v1.13.9", "ResolverConfig", &[("nameservers: [{}]", &[])]);
    }
}
