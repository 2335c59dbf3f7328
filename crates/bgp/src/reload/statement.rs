//! Statements: which lines replace each other, and how a line is removed.

use super::context::{Context, starts_with_words};
use super::line::Line;

/// How a daemon treats a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StatementKind {
    /// The line replaces any other with this key.
    One(String),
    /// The line coexists with others of its kind.
    Many,
    /// Unknown. Such a line is removed before another is added: removed later, it could take the other along.
    Unknown,
}

/// Statements by context: `*` is a word of the key, `=` is one that is not, `…` is the rest of the line.
const INSTANCE: [&str; 30] = [
    "bgp bestpath *",
    "bgp bestpath as-path *",
    "bgp cluster-id …",
    "bgp confederation identifier …",
    "bgp default *",
    "bgp default local-preference …",
    "bgp graceful-restart",
    "bgp graceful-restart preserve-fw-state",
    "bgp graceful-restart restart-time …",
    "bgp graceful-restart stalepath-time …",
    "bgp listen limit …",
    "bgp minimum-holdtime …",
    "bgp router-id …",
    "coalesce-time …",
    "neighbor * advertisement-interval …",
    "neighbor * bfd",
    "neighbor * bfd profile …",
    "neighbor * capability *",
    "neighbor * description …",
    "neighbor * ebgp-multihop …",
    "neighbor * local-as …",
    "neighbor * password …",
    "neighbor * port …",
    "neighbor * remote-as …",
    "neighbor * timers connect …",
    "neighbor * timers = =",
    "neighbor * ttl-security …",
    "neighbor * update-source …",
    "neighbor * *",
    "timers bgp …",
];

const FAMILY: [&str; 17] = [
    "aggregate-address * …",
    "distance bgp …",
    "import vrf route-map …",
    "import vrf *",
    "maximum-paths ibgp …",
    "maximum-paths …",
    "neighbor * allowas-in …",
    "neighbor * default-originate …",
    "neighbor * distribute-list = *",
    "neighbor * filter-list = *",
    "neighbor * maximum-prefix …",
    "neighbor * prefix-list = *",
    "neighbor * route-map = *",
    "neighbor * unsuppress-map …",
    "neighbor * *",
    "network * …",
    "table-map …",
];

const ENTRY: [&str; 28] = [
    "call …",
    "description …",
    "match ip address prefix-len …",
    "match ip address prefix-list …",
    "match ip address …",
    "match ip next-hop address …",
    "match ip next-hop prefix-list …",
    "match ip next-hop type …",
    "match ip next-hop …",
    "match ip route-source prefix-list …",
    "match ip route-source …",
    "match ipv6 address prefix-len …",
    "match ipv6 address prefix-list …",
    "match ipv6 address …",
    "match ipv6 next-hop prefix-list …",
    "match ipv6 next-hop type …",
    "match ipv6 next-hop …",
    "match evpn * …",
    "match * …",
    "on-match …",
    "set as-path exclude …",
    "set as-path prepend …",
    "set extcommunity * …",
    "set ip next-hop …",
    "set ipv6 next-hop global …",
    "set ipv6 next-hop local …",
    "set ipv6 next-hop prefer-global",
    "set * …",
];

const TOP: [&str; 18] = [
    "access-list * seq * …",
    "bgp as-path access-list * seq * …",
    "bgp community-list * * seq * …",
    "bgp community-list * seq * …",
    "bgp extcommunity-list * * seq * …",
    "bgp extcommunity-list * seq * …",
    "bgp large-community-list * * seq * …",
    "bgp large-community-list * seq * …",
    "bgp route-map delay-timer …",
    "frr defaults …",
    "ip prefix-list * description …",
    "ip prefix-list * seq * …",
    "ip protocol * …",
    "ip router-id …",
    "ipv6 access-list * seq * …",
    "ipv6 prefix-list * description …",
    "ipv6 prefix-list * seq * …",
    "ipv6 protocol * …",
];

const VRF: [&str; 4] = ["ip protocol * …", "ip router-id …", "ipv6 protocol * …", "vni …"];

const INTERFACE: [&str; 8] = [
    "bandwidth …",
    "description …",
    "ip address *",
    "ipv6 address *",
    "ipv6 nd ra-interval …",
    "ipv6 nd ra-lifetime …",
    "ipv6 nd suppress-ra",
    "shutdown",
];

const SESSION: [&str; 8] = [
    "detect-multiplier …",
    "echo-mode",
    "minimum-ttl …",
    "passive-mode",
    "profile …",
    "receive-interval …",
    "shutdown",
    "transmit-interval …",
];

/// FRR's defaults of a BFD session. The lines have no `no`: another value replaces them.
const BFD: [&str; 3] = ["detect-multiplier 3", "receive-interval 300", "transmit-interval 300"];

/// Lines of which FRR accepts only the first words after `no`, on 8.4 or on both.
const SHORT: [&str; 4] = ["description", "on-match goto", "set as-path prepend", "set table"];

/// The kind of a line.
pub(crate) fn statement(line: &Line) -> StatementKind {
    let text = line.text.strip_prefix("no ").unwrap_or(&line.text);
    if line.opens().is_some() {
        return StatementKind::One(heading(&line.text));
    }
    if starts_with_words(text, "ip route") || starts_with_words(text, "ipv6 route") {
        return StatementKind::One(without_distance(text));
    }
    if line.within() == Some(Context::Family) && starts_with_words(text, "redistribute") {
        return StatementKind::One(text.split(' ').take(2).collect::<Vec<_>>().join(" "));
    }
    let words: Vec<_> = text.split(' ').collect();
    let patterns: &[&str] = match line.within() {
        None => &TOP,
        Some(Context::Vrf) => &VRF,
        Some(Context::Interface) => &INTERFACE,
        Some(Context::RouteMap) => &ENTRY,
        Some(Context::Bgp) => &INSTANCE,
        Some(Context::Family) => &FAMILY,
        Some(Context::Profile | Context::Peer) => &SESSION,
        Some(Context::Bfd | Context::Other) => &[],
    };
    let Some(pattern) = patterns.iter().find(|pattern| fits(pattern, &words)) else {
        return StatementKind::Unknown;
    };
    let key = pattern_key(pattern, &words);
    if key == text && line.text == text && pattern.ends_with('*') {
        StatementKind::Many
    } else {
        StatementKind::One(key)
    }
}

/// Whether a line matches a pattern.
fn fits(pattern: &str, words: &[&str]) -> bool {
    let mut rest = words.iter();
    for part in pattern.split(' ') {
        match (part, rest.next()) {
            ("…", _) => return true,
            (_, None) => return false,
            (part, Some(word)) if part != "*" && part != "=" && part != *word => return false,
            _ => {}
        }
    }
    rest.next().is_none()
}

/// The key of a line that matches a pattern.
fn pattern_key(pattern: &str, words: &[&str]) -> String {
    let parts = pattern.split(' ').take_while(|part| *part != "…").zip(words);
    parts.filter(|(part, _)| *part != "=").map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

/// An entry of a route map has the same heading whether it permits or denies. An instance with another AS number is
/// another one.
pub(crate) fn heading(line: &str) -> String {
    match line.split(' ').collect::<Vec<_>>().as_slice() {
        ["route-map", name, _, number] => format!("route-map {name} {number}"),
        _ => line.to_owned(),
    }
}

/// A static route without its distance, which is not part of its key.
fn without_distance(route: &str) -> String {
    match route.rsplit_once(' ') {
        Some((before, last)) if last.chars().all(|c| c.is_ascii_digit()) => before.to_owned(),
        _ => route.to_owned(),
    }
}

/// Whether the new line completely replaces the old one. FRR keeps the route map of a redistribution that is configured
/// again without one.
pub(crate) fn replaces(new: &str, old: &str) -> bool {
    !starts_with_words(new, "redistribute")
        || old.split(' ').skip(2).step_by(2).all(|option| new.split(' ').any(|word| word == option))
}

/// The line that removes another.
pub(crate) fn undo(line: &Line) -> String {
    let text = line.text.as_str();
    let session = matches!(line.within(), Some(Context::Profile | Context::Peer));
    let default = BFD.iter().find(|default| session && default.split(' ').next() == text.split(' ').next());
    if let Some(default) = default {
        return (*default).to_owned();
    }
    if starts_with_words(text, "frr defaults") {
        return "frr defaults traditional".to_owned();
    }
    if let Some(rest) = text.strip_prefix("no ") {
        return rest.to_owned();
    }
    if let Some(interface) = text.strip_suffix(" interface v6only") {
        return format!("{interface} interface");
    }
    let short = SHORT.iter().find(|short| starts_with_words(text, short));
    format!("no {}", short.unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(above: &[&str], text: &str) -> StatementKind {
        let above: Vec<_> = above.iter().map(ToString::to_string).collect();
        statement(&Line::below(&above, text))
    }

    #[test]
    fn lines_that_replace_each_other_have_the_same_key() {
        let bgp = ["router bgp 1"];
        let family = ["router bgp 1", "address-family ipv4 unicast"];
        let one = |key: &str| StatementKind::One(key.to_owned());

        assert_eq!(kind(&bgp, "neighbor a timers 3 9"), one("neighbor a timers"));
        assert_eq!(kind(&bgp, "neighbor a timers connect 9"), one("neighbor a timers connect"));
        assert_eq!(kind(&bgp, "neighbor a passive"), StatementKind::Many);
        assert_eq!(kind(&family, "neighbor a route-map B in"), one("neighbor a route-map in"));
        assert_eq!(kind(&family, "redistribute connected route-map B"), one("redistribute connected"));
        assert_eq!(
            kind(&["route-map A permit 10"], "match ip address prefix-list P"),
            one("match ip address prefix-list")
        );
        assert_eq!(kind(&["route-map A permit 10"], "set as-path prepend 1 1"), one("set as-path prepend"));
        assert_eq!(kind(&[], "ip prefix-list P seq 5 permit any"), one("ip prefix-list P seq 5"));
        assert_eq!(kind(&[], "ip route 10.0.0.0/8 10.0.0.1 50"), one("ip route 10.0.0.0/8 10.0.0.1"));
        assert_eq!(kind(&bgp, "something else"), StatementKind::Unknown);
    }

    #[test]
    fn statements_without_a_no_form_return_to_their_defaults() {
        let above = ["bfd".to_owned(), "profile p".to_owned()];

        assert_eq!(undo(&Line::below(&above, "detect-multiplier 5")), "detect-multiplier 3");
        assert_eq!(
            undo(&Line::below(&["interface a".to_owned()], "no ipv6 nd suppress-ra")),
            "ipv6 nd suppress-ra"
        );
        assert_eq!(
            undo(&Line::top("ip prefix-list P seq 5 permit any")),
            "no ip prefix-list P seq 5 permit any"
        );
    }
}
