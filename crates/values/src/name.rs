//! Names, paths and other checked texts.

use std::net::{IpAddr, Ipv6Addr};

use crate::ValueError;
use crate::scalar::text;

fn ok(good: bool, reason: &'static str) -> Result<(), ValueError> {
    if good { Ok(()) } else { Err(ValueError::new(reason)) }
}

fn is_dns_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_dns_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// The host of `host:port`, an IPv6 address in brackets, with its port if there is one.
fn split_host(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        return Some((host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) }));
    }
    Some(match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    })
}

fn is_host(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || is_dns_name(&text.to_ascii_lowercase())
}

fn is_host_port(text: &str) -> bool {
    split_host(text).is_some_and(|(host, port)| {
        is_host(host) && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
    })
}

fn is_url(text: &str, schemes: &[&str]) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // A user name is allowed (qemu+ssh://root@edge1/system); a password in a URL is a secret in the file.
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(user, host)| if user.contains(':') { "" } else { host });
        schemes.contains(&scheme)
            && !text.contains(char::is_whitespace)
            && (is_host_port(host) || scheme.starts_with("qemu") && host.is_empty())
    })
}

text!(
    /// Any text that is not empty.
    Text, "text", "some text", {"type": ["string", "number", "boolean"]},
    |text| ok(!text.trim().is_empty(), "empty")
);
text!(
    /// The name of a cluster, site, group, router, hypervisor or pool.
    Word, "name", "lower-case letters, digits and dashes, such as berlin", {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9_.]*[a-z0-9])?$"},
    |text| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.');
        let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        ok(text.len() <= 63 && text.bytes().all(inner) && edge(text.bytes().next()) && edge(text.bytes().last()), "not a name")
    }
);
text!(
    /// The name of a node, which becomes its hostname.
    NodeName, "node name", "a host name: up to 63 lower-case letters, digits and dashes, such as solcp01", {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
    |text| ok(is_dns_label(text), "not a node name")
);
text!(
    /// The name of a network link, as the kernel allows it.
    LinkName, "link name", "up to 15 characters without spaces, slashes or colons, such as eth0", {"type": "string", "pattern": "^[^\\s/:]{1,15}$"},
    |text| ok((1..=15).contains(&text.len()) && !text.contains(|c: char| c.is_whitespace() || matches!(c, '/' | ':')) && text != "." && text != "..", "not a link name")
);
text!(
    /// A DNS name.
    DnsName, "DNS name", "a name such as api.sol.example, or an address", {"type": "string"},
    |text| ok(is_host(text), "neither a name nor an address")
);
text!(
    /// The name of an environment variable. Text that looks like a secret is rejected.
    EnvName, "variable name", "the name of a variable, such as PVE_TOKEN", {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
    |text| {
        let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        ok(!text.is_empty() && text.bytes().all(inner) && !text.starts_with(|c: char| c.is_ascii_digit()), "not the name of a variable")
    }
);
text!(
    /// A path to a file, from the folder of the cluster file; some keys take `*` in it.
    FilePath, "path", "a path such as patches/all.yaml", {"type": "string"},
    |text| ok(!text.trim().is_empty() && !text.contains('\0'), "not a path")
);
text!(
    /// A disk of the node.
    DiskPath, "disk", "a device such as /dev/sda", {"type": "string", "pattern": "^/dev/"},
    |text| ok(text.strip_prefix("/dev/").is_some_and(|name| !name.is_empty()) && !text.contains(char::is_whitespace), "not a disk")
);
text!(
    /// A URL.
    Url, "URL", "a URL such as https://factory.talos.dev, without a password in it", {"type": "string"},
    |text| ok(is_url(text, &["https", "http", "qemu", "qemu+ssh", "qemu+tls", "qemu+unix"]), "not a URL")
);
text!(
    /// The endpoint of the Kubernetes API: an https URL, or `overlay:NODE` for an address known only after that node joined.
    Endpoint, "endpoint", "a URL such as https://10.101.0.10:6443, or overlay:NODE", {"type": "string"},
    |text| match text.strip_prefix("overlay:") {
        Some(node) => ok(is_dns_label(node), "not a node after `overlay:`"),
        None => ok(is_url(text, &["https"]), "not an https URL"),
    }
);
text!(
    /// `host:port`.
    HostPort, "host and port", "a host and port such as node:9179", {"type": "string"},
    |text| ok(is_host_port(text) && split_host(text).is_some_and(|(_, port)| port.is_some()), "not a host and port")
);
text!(
    /// One end of a cable: `solcp01:fab0`.
    PortRef, "port", "a node or router and its port, such as solcp01:fab0", {"type": "string"},
    |text| ok(text.split_once(':').is_some_and(|(host, port)| !host.is_empty() && LinkName::parse(port).is_ok()), "not a port")
);
text!(
    /// A BGP community: two or three numbers, or a well-known name.
    Community, "community", "numbers such as 65000:1 or 65000:1:2, or a name such as no-export", {"type": "string"},
    |text| {
        let parts: Vec<_> = text.split(':').collect();
        let most = if parts.len() == 2 { u64::from(u16::MAX) } else { u64::from(u32::MAX) };
        let numbers = matches!(parts.len(), 2 | 3)
            && parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()) && part.parse::<u64>().is_ok_and(|number| number <= most));
        let known = ["no-export", "no-advertise", "local-as", "no-peer", "blackhole", "graceful-shutdown", "accept-own"];
        ok(numbers || known.contains(&text), "not a community")
    }
);
text!(
    /// The SHA-256 fingerprint of a certificate.
    Fingerprint, "fingerprint", "32 hex octets with colons between them", {"type": "string"},
    |text| ok(text.split(':').count() == 32 && text.split(':').all(|octet| octet.len() == 2 && octet.bytes().all(|b| b.is_ascii_hexdigit())), "not a SHA-256 fingerprint")
);
text!(
    /// A public key that secrets are encrypted for.
    AgeRecipient, "age recipient", "a public key such as age1… (62 characters)", {"type": "string", "pattern": "^age1"},
    |text| ok(text.len() == 62 && text.starts_with("age1") && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "not an age recipient")
);
text!(
    /// An OCI image: `ghcr.io/me/installer:v1.13.9`.
    ImageReference, "image reference", "an image such as ghcr.io/me/installer:v1.13.9", {"type": "string"},
    |text| {
        let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/' | b':' | b'@' | b'[' | b']');
        ok(!text.is_empty() && text.bytes().all(inner) && !text.starts_with('/') && !text.ends_with('/'), "not an image reference")
    }
);
text!(
    /// The size of a disk to look for: `>= 100GB`.
    SizeRange, "size comparison", "a comparison such as >= 100GB", {"type": "string"},
    |text| {
        let size = text.trim_start_matches(['<', '>', '=']);
        let op = &text[..text.len() - size.len()];
        ok(matches!(op, ">=" | "<=" | ">" | "<" | "==" | "") && super::Size::parse(size.trim()).is_ok(), "not a size comparison")
    }
);
text!(
    /// The key of a Kubernetes label, such as `topology.kubernetes.io/zone`.
    LabelKey, "label key", "a label key such as topology.kubernetes.io/zone", {"type": "string"},
    |text| {
        let (prefix, name) = text.rsplit_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
        ok(prefix.is_none_or(is_dns_name) && !name.is_empty() && is_label_text(name), "not a label key")
    }
);
text!(
    /// The value of a Kubernetes label.
    LabelValue, "label value", "up to 63 letters, digits, dashes, dots and underscores", {"type": ["string", "number", "boolean"]},
    |text| ok(is_label_text(text), "not a label value")
);
text!(
    /// A Kubernetes taint.
    Taint, "taint", "a taint such as dedicated=gpu:NoSchedule", {"type": "string"},
    |text| ok(
        text.rsplit_once(':').is_some_and(|(pair, effect)| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") && LabelKey::parse(key).is_ok() && is_label_text(value)
        }),
        "not a taint"
    )
);

fn is_label_text(text: &str) -> bool {
    let edge = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.len() <= 63 && text.bytes().all(inner) && edge(text.bytes().next()) && edge(text.bytes().last())
}

impl Endpoint {
    /// The node whose overlay address it will be, for `overlay:NODE`.
    pub fn overlay_node(&self) -> Option<&str> {
        self.as_str().strip_prefix("overlay:")
    }

    /// The host of the URL, without brackets.
    pub fn host(&self) -> Option<&str> {
        let authority = self.as_str().split_once("://")?.1.split(['/', '?', '#']).next()?;
        split_host(authority).map(|(host, _)| host)
    }

    /// The host as an address, if it is one.
    pub fn address(&self) -> Option<IpAddr> {
        self.host()?.parse().ok()
    }

    /// The port, 443 when none was written.
    pub fn port(&self) -> u16 {
        let authority =
            self.as_str().split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
        authority.and_then(split_host).and_then(|(_, port)| port?.parse().ok()).unwrap_or(443)
    }
}

impl PortRef {
    /// The node or router, and the port.
    pub fn parts(&self) -> (&str, &str) {
        self.as_str().split_once(':').expect("checked when it was read")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_has_a_host() {
        let v6 = Endpoint::parse("https://[fd00:101::10]:6443").unwrap();
        let name = Endpoint::parse("https://api.sol.example/").unwrap();

        assert_eq!((v6.address(), v6.port()), (Some("fd00:101::10".parse().unwrap()), 6443));
        assert_eq!((name.host(), name.address(), name.port()), (Some("api.sol.example"), None, 443));
        assert_eq!(Endpoint::parse("overlay:cloud1").unwrap().overlay_node(), Some("cloud1"));
        for text in [
            "http://10.0.0.1:6443",
            "10.0.0.1",
            "https://",
            "https://fd00::1:6443x",
            "overlay:",
            "https://u:p@h",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_checked_by_their_own_rules() {
        assert!(NodeName::parse("solcp01").is_ok());
        assert!(NodeName::parse("Sol_cp").is_err());
        assert!(LinkName::parse("a-very-long-link").is_err());
        assert!(Taint::parse("dedicated=gpu:NoSchedule").is_ok());
        assert!(Taint::parse("dedicated=gpu:Never").is_err());
        assert!(LabelKey::parse("topology.kubernetes.io/zone").is_ok());
        assert!(Community::parse("65000:1").is_ok());
        assert!(Community::parse("4200000000:1").is_err());
        assert!(Community::parse("4200000000:1:2").is_ok());
        assert!(SizeRange::parse(">= 100GB").is_ok());
        assert!(SizeRange::parse("=> 100GB").is_err());
        assert!(Url::parse("qemu+ssh://edge1/system").is_ok());
        assert!(Url::parse("https://user:secret@pve").is_err());
    }
}
