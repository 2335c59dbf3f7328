//! MikroTik RouterOS 7: a script to import.
//!
//! The syntax differs by release: `address-families` became `afi` in 7.19; 7.20 introduced instances, which have the AS number
//! and router ID. The script first removes what an earlier import added, found by its comment.
//!
//! Unnumbered sessions are not written: RouterOS has no documented way to find a neighbour by its port alone.

use std::fmt::Write;

use super::{MOST_PREFIXES, PeerGroup, group};
use crate::routing::FabricRouter;
use crate::routing::router::RouterPeer;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::model::{Family, PrefixRule};

/// The script.
pub(crate) fn render(cluster: &str, router: &FabricRouter, groups: &[PeerGroup<'_>]) -> String {
    let mark = format!("comment=\"ichor {cluster}\"");
    let release = router.version.as_ref().map_or((7, 20), |version| version.minor());
    let mut script = RouterosScript { text: String::new(), cluster, router, mark, release };
    script.head();
    script.filters();
    script.instance();
    for group in groups {
        script.group(group);
    }
    script.text
}

struct RouterosScript<'r> {
    text: String,
    /// Prefix of every name, so that several clusters can share a router.
    cluster: &'r str,
    router: &'r FabricRouter,
    /// Comment by which the next import finds the entries of this one.
    mark: String,
    release: (u16, u16),
}

impl RouterosScript<'_> {
    fn line(&mut self, line: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{line}");
    }

    fn add(&mut self, menu: &str, what: &str) {
        let mark = self.mark.clone();
        self.line(format_args!("{menu} add {what} {mark}"));
    }

    fn has_instances(&self) -> bool {
        self.release >= (7, 20)
    }

    fn vrf(&self) -> &str {
        self.router.vrf.as_deref().unwrap_or("main")
    }

    fn head(&mut self) {
        let (name, mark) = (&self.router.name, self.mark.clone());
        self.line(format_args!("# {name}: written by ichor; /import file-name=config.rsc"));
        let mut menus = vec!["bgp/connection", "bgp/template"];
        if self.has_instances() {
            menus.push("bgp/instance");
        }
        menus.extend(["filter/rule", "bfd/configuration"]);
        for menu in menus {
            self.line(format_args!("/routing/{menu} remove [find where {mark}]"));
        }
    }

    /// Chains end with an explicit reject, which is also the default.
    fn filters(&mut self) {
        let nodes = self.router.accepts.0.iter().map(|term| ("nodes-in", rule(term)));
        let ends = [("nodes-in", "reject".to_owned()), ("permit-all", "accept".to_owned())];
        let rules: Vec<_> = nodes.chain(ends).collect();
        for (chain, rule) in rules {
            let what = format!("chain={}-{chain} rule=\"{rule}\"", self.cluster);
            self.add("/routing/filter/rule", &what);
        }
    }

    fn instance(&mut self) {
        if !self.has_instances() {
            return;
        }
        let asn = self.asn();
        let (name, id, vrf) = (self.cluster, self.router.router_id, self.vrf());
        let mut what = format!("name={name} as={asn} router-id={id} vrf={vrf}");
        if self.router.version.as_ref().is_some_and(|version| version.minor() >= (7, 24)) {
            what += " multipath=64";
        }
        self.add("/routing/bgp/instance", &what);
    }

    fn asn(&self) -> String {
        self.router.asn.map(|asn| asn.to_string()).unwrap_or_default()
    }

    fn group(&mut self, group: &PeerGroup<'_>) {
        let unnumbered = |peer: &&&RouterPeer| matches!(peer.session.found, PeerAddress::Port { .. });
        for peer in group.peers.iter().filter(unnumbered) {
            self.line(format_args!("# no session with {}: RouterOS needs addresses at both ends", peer.name));
        }
        let listed: Vec<_> = group.peers.iter().filter(|peer| !unnumbered(peer)).copied().collect();
        if listed.is_empty() && group.range.is_none() {
            return;
        }
        self.template(group);
        let mut addresses = Vec::new();
        if let Some((range, _)) = group.range {
            addresses.push(range.to_string());
            let name = format!("{}-{}", self.cluster, group.name);
            let what = format!("name={name} remote.address={range} connect=no listen=yes");
            self.connection(group, &what, None);
        }
        for peer in listed {
            let Some(address) = group::address(peer) else { continue };
            addresses.push(address.to_string());
            let mut what = format!("name={}-{} remote.address={address}", self.cluster, peer.name);
            if let Some(asn) = peer.session.asn {
                let _ = write!(what, " remote.as={asn}");
            }
            self.connection(group, &what, Some(peer));
        }
        self.bfd(group, &addresses);
    }

    fn template(&mut self, group: &PeerGroup<'_>) {
        let families: Vec<_> = group.families.iter().map(|family| word(*family)).collect();
        let key = if self.release >= (7, 19) { "afi" } else { "address-families" };
        let (keepalive, hold) = group.timers;
        let mut what = format!(
            "name={}-{} {key}={} hold-time={hold}s keepalive-time={keepalive}s",
            self.cluster,
            group.name,
            families.join(",")
        );
        if !self.has_instances() {
            let _ = write!(what, " as={} router-id={}", self.asn(), self.router.router_id);
        }
        let _ = write!(what, " use-bfd={}", if group.bfd.is_some() { "yes" } else { "no" });
        let inward = if group.nodes { "nodes-in" } else { "permit-all" };
        let _ = write!(what, " nexthop-choice=force-self input.filter={}-{inward}", self.cluster);
        if group.nodes {
            let _ = write!(
                what,
                " input.limit-process-routes-ipv4={MOST_PREFIXES} input.limit-process-routes-ipv6={MOST_PREFIXES} \
                 output.default-originate=always"
            );
        }
        self.add("/routing/bgp/template", &format!("{what} output.filter-chain={}-permit-all", self.cluster));
    }

    fn connection(&mut self, group: &PeerGroup<'_>, what: &str, peer: Option<&RouterPeer>) {
        let role = if group.internal { "ibgp" } else { "ebgp" };
        let mut what = format!("{what} templates={}-{} local.role={role}", self.cluster, group.name);
        let source = match peer.map(|peer| &peer.session.found) {
            Some(PeerAddress::Address { source, .. }) => *source,
            _ => None,
        };
        if let Some(source) = source {
            let _ = write!(what, " local.address={source}");
        }
        if self.has_instances() {
            let _ = write!(what, " instance={}", self.cluster);
        } else if self.router.vrf.is_some() {
            let _ = write!(what, " vrf={} routing-table={}", self.vrf(), self.vrf());
        }
        if let Some(password) = &group.password {
            let _ = write!(what, " tcp-md5-key=\"{}\"", escape(password));
        }
        self.add("/routing/bgp/connection", &what);
    }

    fn bfd(&mut self, group: &PeerGroup<'_>, addresses: &[String]) {
        let Some(bfd) = group.bfd else { return };
        let what = format!(
            "addresses={} vrf={} min-rx={}ms min-tx={}ms multiplier={}",
            addresses.join(","),
            self.vrf(),
            bfd.interval,
            bfd.interval,
            bfd.multiplier
        );
        self.add("/routing/bfd/configuration", &what);
    }
}

fn word(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip",
        Family::V6 => "ipv6",
    }
}

fn rule(term: &PrefixRule) -> String {
    let action = if term.permit { "accept" } else { "reject" };
    let (own, all) = (term.net.prefix_len(), term.net.max_prefix_len());
    let lengths = match (term.least, term.most) {
        (least, most) if least == most && least == own => {
            return format!("if (dst == {}) {{{action}}}", term.net);
        }
        (least, most) if least == most => format!(" && dst-len == {least}"),
        (least, most) if least == own && most == all => String::new(),
        (least, most) => format!(" && dst-len >= {least} && dst-len <= {most}"),
    };
    format!("if (dst in {}{lengths}) {{{action}}}", term.net)
}

/// Escapes a password. RouterOS reads `\HH` in quotes as the character with that code, so that no character has a special
/// meaning.
fn escape(password: &str) -> String {
    let mut text = String::new();
    for byte in password.bytes() {
        if byte.is_ascii_alphanumeric() {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "\\{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_rule_has_prefix_lengths() {
        let net = |text: &str| text.parse().unwrap();

        assert_eq!(
            rule(&PrefixRule::hosts(true, net("10.0.0.0/26"))),
            "if (dst in 10.0.0.0/26 && dst-len == 32) {accept}"
        );
        assert_eq!(rule(&PrefixRule::exactly(false, net("::/0"))), "if (dst == ::/0) {reject}");
        assert_eq!(rule(&PrefixRule::within(true, net("10.0.0.0/8"))), "if (dst in 10.0.0.0/8) {accept}");
        let some = PrefixRule { least: 24, most: 28, ..PrefixRule::within(true, net("10.0.0.0/8")) };
        assert_eq!(rule(&some), "if (dst in 10.0.0.0/8 && dst-len >= 24 && dst-len <= 28) {accept}");
    }

    #[test]
    fn special_characters_in_passwords_are_escaped() {
        assert_eq!(escape("a\"$\\?;z"), "a\\22\\24\\5C\\3F\\3Bz");
    }
}
