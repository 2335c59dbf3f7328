//! Name servers.

use super::required;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Judges them. Before 1.14 there is nothing to say.
pub(crate) fn validate(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    if !setting.at_least(14) {
        return;
    }
    let host_dns = document.get("hostDNS");
    if !host_dns.get("enabled").flag() {
        for field in ["forwardKubeDNSToHost", "resolveMemberNames"].map(|key| host_dns.get(key)) {
            if field.flag() {
                issues.error(&field, "this needs `hostDNS.enabled: true`");
            }
        }
    }
    let servers = document.get("nameservers");
    for server in servers.items() {
        nameserver(&server, issues);
    }
    if !servers.is_empty() && servers.items().all(|server| is_encrypted(&server)) {
        issues.warning(
            &servers,
            "every DNS server is queried over TLS, which needs the right time, and time servers are found by name: add a \
             plain server, or time servers by address",
        );
    }
}

fn nameserver(server: &Field<'_>, issues: &mut DocumentIssues) {
    required(&server.get("address"), issues);
    let name = server.get("tlsServerName");
    match (is_encrypted(server), name.is_empty()) {
        (true, true) => {
            issues.error(&name, "a DNS server queried over TLS must present this name: set it");
        }
        (false, false) => issues.error(&name, "this counts only with the protocols DoT and DoH"),
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
