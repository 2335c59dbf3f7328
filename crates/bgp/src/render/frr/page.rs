//! A configuration of FRR while it is written: its lines, and what nodes and routers say alike.

use std::fmt::Write;

use crate::model::fabric::{Neighbor, PeerAddress};
use crate::model::{Bfd, Family, PrefixRule};

/// FRR's words for a family: in commands, in `address-family`, and at the end of names.
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

/// The text so far.
#[derive(Default)]
pub struct FrrWriter(String);

impl FrrWriter {
    /// All that was written.
    pub fn text(self) -> String {
        self.0
    }

    /// One line.
    pub fn line(&mut self, line: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{line}");
    }

    /// Has zebra give the kernel each route with all its ways, and no group of next hops that routes share. Once a port has lost its
    /// carrier and got it back, FRR 8.4 shows every path again, and leaves one out of the group for good; 10.3 does not. What is
    /// between them, or not known, is taken for the older.
    ///
    /// IPv4 by IPv6 is then `via 169.254.0.1`, a neighbour with the MAC address of the one that came last. That is right on a port with
    /// one at its other end. On a network with several the kernel would send everything to one of them, so groups it is.
    pub fn whole_routes<'s>(
        &mut self,
        version: Option<(u16, u16)>,
        sessions: impl IntoIterator<Item = &'s Neighbor>,
    ) {
        let on_a_network =
            |it: &Neighbor| it.extends_next_hops() && matches!(it.found, PeerAddress::Address { .. });
        if version.is_none_or(|(major, _)| major < 10) && !sessions.into_iter().any(on_a_network) {
            self.line("no zebra nexthop kernel enable");
        }
    }

    /// A section: its head, its lines one deeper, its end.
    pub fn section(&mut self, head: impl std::fmt::Display, lines: &[String]) {
        self.line(head);
        for line in lines {
            self.line(format_args!(" {line}"));
        }
        self.line("exit");
    }

    /// The profiles that sessions name.
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

    /// A port on which neighbours find each other by router advertisements.
    pub fn port(&mut self, name: &str) {
        let lines = ["no ipv6 nd suppress-ra".to_owned(), "ipv6 nd ra-interval 10".to_owned()];
        self.section(format_args!("interface {name}"), &lines);
    }

    /// A list without a line would let everything through, so one without terms refuses everything.
    pub fn prefix_list(&mut self, name: &str, family: Family, terms: &[PrefixRule]) {
        let nothing = [PrefixRule::within(false, family.everything())];
        let terms = if terms.is_empty() { &nothing } else { terms };
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

    /// How fast the end of a neighbour or group is noticed.
    pub fn timing(&mut self, peer: &str, bfd: Option<Bfd>, (keepalive, hold): (u16, u16)) {
        self.line(format_args!(" neighbor {peer} timers {keepalive} {hold}"));
        if let Some(bfd) = bfd {
            self.line(format_args!(" neighbor {peer} bfd"));
            self.line(format_args!(" neighbor {peer} bfd profile {}", profile(bfd)));
        }
    }

    /// What is said of one family.
    pub fn family(&mut self, family: Family, lines: &[String]) {
        let (_, name, _) = words(family);
        self.line(format_args!(" address-family {name}"));
        for line in lines {
            self.line(format_args!("  {line}"));
        }
        self.line(" exit-address-family");
    }
}

/// The lengths a term matches, where they are more than the prefix itself.
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
