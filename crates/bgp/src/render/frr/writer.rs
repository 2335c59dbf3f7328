//! A writer of FRR's configuration, with the statements that nodes and routers share.

use std::fmt::Write;

use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{Bfd, Family, PrefixRule};

/// FRR's names of a family: in commands, in `address-family`, and as a suffix.
pub fn words(family: Family) -> (&'static str, &'static str, &'static str) {
    match family {
        Family::V4 => ("ip", "ipv4 unicast", "v4"),
        Family::V6 => ("ipv6", "ipv6 unicast", "v6"),
    }
}

/// The name of a BFD profile.
pub(crate) fn profile(bfd: Bfd) -> String {
    format!("bfd-{}ms-x{}", bfd.interval, bfd.multiplier)
}

/// A configuration that is being written.
#[derive(Default)]
pub struct FrrWriter(String);

impl FrrWriter {
    /// The text of the configuration.
    pub fn text(self) -> String {
        self.0
    }

    /// One line.
    pub fn line(&mut self, line: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{line}");
    }

    /// Makes zebra install each route with all its next hops, instead of a next hop group that routes share. Once a
    /// port has lost its carrier and regained it, FRR 8.4 shows every path again, but permanently omits one from the
    /// group; 10.3 does not. Releases between the two, and unknown ones, are treated like the older.
    ///
    /// An IPv4 route over IPv6 is then `via 169.254.0.1`, a neighbour entry with the MAC address of the latest
    /// neighbour. That is right on a port with a single neighbour. On a network with several, the kernel would send
    /// everything to one of them, so next hop groups are used there.
    pub fn disable_next_hop_groups<'s>(
        &mut self,
        version: Option<(u16, u16)>,
        sessions: impl IntoIterator<Item = &'s Neighbor>,
    ) {
        let on_shared_network =
            |it: &Neighbor| it.extends_next_hops() && matches!(it.found, PeerAddress::Address { .. });
        if version.is_none_or(|(major, _)| major < 10) && !sessions.into_iter().any(on_shared_network) {
            self.line("no zebra nexthop kernel enable");
        }
    }

    /// A section: its heading, its lines one level deeper, its end.
    pub fn section(&mut self, head: impl std::fmt::Display, lines: &[String]) {
        self.line(head);
        for line in lines {
            self.line(format_args!(" {line}"));
        }
        self.line("exit");
    }

    /// The BFD profiles that sessions refer to.
    pub fn bfd_profiles(&mut self, profiles: &[Bfd]) {
        if profiles.is_empty() {
            return;
        }
        self.line("bfd");
        for &bfd in profiles {
            self.line(format_args!(" profile {}", profile(bfd)));
            self.line(format_args!("  detect-multiplier {}", bfd.multiplier));
            self.line(format_args!("  receive-interval {}", bfd.interval));
            self.line(format_args!("  transmit-interval {}", bfd.interval));
            self.line(" exit");
        }
        self.line("exit");
    }

    /// A port on which neighbours discover each other by router advertisements.
    ///
    /// They offer no default router: with another lifetime, the receiving kernel adds an IPv6 default route of its own, with
    /// the metric 1024. Talos' BGP adds its default route with the same metric, which the kernel then refuses.
    pub fn port(&mut self, name: &str) {
        let lines = ["no ipv6 nd suppress-ra", "ipv6 nd ra-interval 10", "ipv6 nd ra-lifetime 0"];
        self.section(format_args!("interface {name}"), &lines.map(str::to_owned));
    }

    /// A prefix list without entries would permit everything, so one without rules denies everything.
    pub fn prefix_list(&mut self, name: &str, family: Family, terms: &[PrefixRule]) {
        let deny_all = [PrefixRule::within(false, family.everything())];
        let terms = if terms.is_empty() { &deny_all } else { terms };
        let (ip, ..) = words(family);
        for (nth, term) in terms.iter().enumerate() {
            let action = if term.permit { "permit" } else { "deny" };
            let seq = (nth + 1) * 5;
            self.line(format_args!(
                "{ip} prefix-list {name} seq {seq} {action} {}{}",
                term.net,
                lengths(term)
            ));
        }
    }

    /// The timers and BFD settings of a neighbour or group.
    pub fn timing(&mut self, peer: &str, bfd: Option<Bfd>, (keepalive, hold): (u16, u16)) {
        self.line(format_args!(" neighbor {peer} timers {keepalive} {hold}"));
        if let Some(bfd) = bfd {
            self.line(format_args!(" neighbor {peer} bfd"));
            self.line(format_args!(" neighbor {peer} bfd profile {}", profile(bfd)));
        }
    }

    /// The lines of one address family.
    pub fn family(&mut self, family: Family, lines: &[String]) {
        let (_, name, _) = words(family);
        self.line(format_args!(" address-family {name}"));
        for line in lines {
            self.line(format_args!("  {line}"));
        }
        self.line(" exit-address-family");
    }
}

/// The lengths that a rule matches, unless it matches the prefix only.
fn lengths(term: &PrefixRule) -> String {
    let own = term.net.prefix_len();
    let mut text = String::new();
    if term.least > own {
        let _ = write!(text, " ge {}", term.least);
    }
    if term.most > own && (term.least == own || term.most < term.net.max_prefix_len()) {
        let _ = write!(text, " le {}", term.most);
    }
    text
}
