//! The endpoint: where the Kubernetes API of a cluster is reached.
//!
//! Not here: Talos' own check of an endpoint in a configuration ([`go::endpoint`](crate::go::endpoint)).

use std::fmt;
use std::net::Ipv6Addr;

use crate::go::hostport;

/// An https URL that is checked as `talosctl gen config` checks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    text: String,
    host: String,
}

/// Why an endpoint is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not https, or without a scheme.
    #[error("endpoint `{text}` is not an https URL; try {better}")]
    NotHttps {
        /// As it was given.
        text: String,
        /// The suggested correction.
        better: String,
    },
    /// No host between the scheme and the port.
    #[error("endpoint `{0}` has no host; want https://HOST:6443")]
    NoHost(String),
    /// A character that is invalid in a host name or an address.
    #[error("endpoint `{text}`: `{host}` is neither a host name nor an address")]
    BadHost {
        /// As it was given.
        text: String,
        /// The part of it.
        host: String,
    },
    /// An IPv6 address whose port is ambiguous.
    #[error("endpoint `{text}`: an IPv6 address needs brackets; try {better}")]
    NoBrackets {
        /// As it was given.
        text: String,
        /// The suggested correction.
        better: String,
    },
    /// An invalid port.
    #[error("endpoint `{text}`: `{port}` is not a port; want 1 to 65535, usually 6443")]
    BadPort {
        /// As it was given.
        text: String,
        /// The part of it.
        port: String,
    },
    /// User name, password, question mark or number sign.
    #[error("the endpoint has more than a host, a port and a path; try https://{host}")]
    TooMuch {
        /// Host and port; the rest may hold a password.
        host: String,
    },
}

impl Endpoint {
    /// Reads `https://10.0.0.20:6443`, `https://[fd00:101::fffe]:6443` or a URL with a name.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        // Checked first: the text before it may be a password, and the other errors repeat the text.
        if let Some((_, host)) = authority.rsplit_once('@') {
            return Err(EndpointError::TooMuch { host: host.to_owned() });
        }
        if !scheme.eq_ignore_ascii_case("https") {
            return Err(EndpointError::NotHttps { text: text.to_owned(), better: better(rest) });
        }
        let host = host(text, authority)?;
        if path.contains(['?', '#']) {
            return Err(EndpointError::TooMuch { host: authority.to_owned() });
        }
        Ok(Self { text: format!("https://{rest}"), host })
    }

    /// The URL.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The host without port and brackets.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The suggested correction of an endpoint with a missing or mistyped scheme.
fn better(rest: &str) -> String {
    let rest = rest.trim_end_matches('/');
    if !rest.starts_with('[') && !rest.contains('/') && rest.matches(':').count() > 1 {
        return add_brackets(rest);
    }
    let authority = rest;
    let has_port = authority.rsplit(']').next().is_some_and(|after| after.contains(':'));
    match authority {
        "" => "https://HOST:6443".to_owned(),
        _ if has_port || authority.contains('/') => format!("https://{authority}"),
        _ => format!("https://{authority}:6443"),
    }
}

/// An IPv6 address with brackets added. Whether its last group is a port is ambiguous: both forms are suggested.
fn add_brackets(text: &str) -> String {
    let without_port = text.parse::<Ipv6Addr>().ok().map(|_| format!("https://[{text}]:6443"));
    let with_port = text
        .rsplit_once(':')
        .filter(|(address, port)| address.parse::<Ipv6Addr>().is_ok() && hostport::is_port(port));
    let with_port = with_port.map(|(address, port)| format!("https://[{address}]:{port}"));
    match (with_port, without_port) {
        (Some(with_port), Some(without_port)) => format!("{with_port} or {without_port}"),
        (one, other) => one.or(other).unwrap_or_else(|| "https://[ADDRESS]:6443".to_owned()),
    }
}

/// The host of `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`.
fn host(text: &str, authority: &str) -> Result<String, EndpointError> {
    let text = text.to_owned();
    let bad_host = |host: &str| EndpointError::BadHost { text: text.clone(), host: host.to_owned() };
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, port) = bracketed.split_once(']').ok_or_else(|| bad_host(authority))?;
            host.parse::<Ipv6Addr>().map_err(|_| bad_host(host))?;
            (host, port)
        }
        None if authority.matches(':').count() > 1 => {
            let better = better(authority);
            return Err(EndpointError::NoBrackets { text, better });
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    if host.is_empty() {
        return Err(EndpointError::NoHost(text));
    }
    if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte)) {
        return Err(bad_host(host));
    }
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(hostport::is_port) {
        return Err(EndpointError::BadPort { text, port: port.trim_start_matches(':').to_owned() });
    }
    Ok(host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_split_from_port_brackets_and_path() {
        for (text, host) in [
            ("https://10.0.0.20:6443", "10.0.0.20"),
            ("https://[fd00:101::fffe]:6443", "fd00:101::fffe"),
            ("https://[fd00:101::fffe]", "fd00:101::fffe"),
            ("https://api.home.example", "api.home.example"),
            ("https://api.home.example/", "api.home.example"),
            ("https://kube_api:443/clusters/home", "kube_api"),
        ] {
            let endpoint = Endpoint::parse(text).unwrap();

            assert_eq!((endpoint.as_str(), endpoint.host()), (text, host));
        }
        assert_eq!(Endpoint::parse("HTTPS://base:6443").unwrap().as_str(), "https://base:6443");
    }

    #[test]
    fn an_error_suggests_a_correction() {
        for (text, better) in [
            ("10.0.0.20", "try https://10.0.0.20:6443"),
            ("10.0.0.20:6443", "try https://10.0.0.20:6443"),
            ("http://10.0.0.20:6443", "try https://10.0.0.20:6443"),
            ("fd00::1", "try https://[fd00::1]:6443"),
            ("[fd00::1]:6443", "try https://[fd00::1]:6443"),
            ("https://fd00::1", "try https://[fd00::1]:6443"),
            ("https://fd00::20:6443", "try https://[fd00::20]:6443 or https://[fd00::20:6443]:6443"),
            ("fd00::20:6443", "try https://[fd00::20]:6443 or https://[fd00::20:6443]:6443"),
            ("https://fd00::20:16443", "try https://[fd00::20]:16443"),
            ("https://fd00::20:fffe", "try https://[fd00::20:fffe]:6443"),
            ("https://1:2:3:4:5:6:7:8:6443", "try https://[1:2:3:4:5:6:7:8]:6443"),
            ("https://a:b:c", "try https://[ADDRESS]:6443"),
            ("https://", "want https://HOST:6443"),
            ("https://:6443", "want https://HOST:6443"),
            ("", "try https://HOST:6443"),
        ] {
            let error = Endpoint::parse(text).unwrap_err().to_string();

            assert!(error.ends_with(better), "{text}: {error}");
        }
    }

    #[test]
    fn invalid_hosts_and_ports_are_rejected() {
        for text in [
            "https://base:0",
            "https://base:65536",
            "https://base:",
            "https://base:+1",
            "https://base:x",
            "https://[fd00::1",
            "https://[base]:6443",
            "https://[fd00::1]6443",
            "https://a b:6443",
            "https://base:6443?x=1",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_is_not_repeated() {
        for text in
            ["https://admin:hunter2@base:6443", "http://admin:hunter2@base:6443", "admin:hunter2@base"]
        {
            let error = Endpoint::parse(text).unwrap_err().to_string();

            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
