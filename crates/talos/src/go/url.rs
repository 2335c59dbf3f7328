//! URLs as Go's `net/url` reads them.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

/// A URL in its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Url {
    /// The scheme in lower case; may be empty.
    pub scheme: String,
    /// Host and port as written, brackets included.
    pub host: String,
    /// The path, as written.
    pub path: String,
}

impl Url {
    /// The host, without port and brackets.
    pub fn hostname(&self) -> &str {
        let host = self.without_port();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port; may be empty.
    pub fn port(&self) -> &str {
        self.host[self.without_port().len()..].trim_start_matches(':')
    }

    /// Whether Go refuses it from 1.26 on, which Talos is built with since 1.13: a host with several colons and no
    /// brackets, such as `https://fd00::1:6443`.
    pub(crate) fn has_bare_colons(&self) -> bool {
        ["http", "https"].contains(&self.scheme.as_str())
            && !self.host.starts_with('[')
            && self.host.matches(':').count() > 1
    }

    fn without_port(&self) -> &str {
        match self.host.rfind(':') {
            Some(colon) if is_optional_port(&self.host[colon..]) => &self.host[..colon],
            _ => &self.host,
        }
    }
}

/// Reads a URL as `url.Parse` does: it may be relative.
pub(crate) fn parse(text: &str) -> Result<Url, &'static str> {
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    escapes(fragment)?;
    read(text, false)
}

/// Merges a URL into another as Talos does: part by part, so that a part is kept if the new one has none.
pub(crate) fn merge(old: &str, new: &str) -> String {
    let (Some(old), Some(new_parts)) = (Pieces::read(old), Pieces::read(new)) else { return new.to_owned() };
    let pick = |old, new: &str| if new.is_empty() { old } else { new.to_owned() };
    let merged = Pieces {
        scheme: pick(old.scheme, &new_parts.scheme),
        authority: pick(old.authority, &new_parts.authority),
        path: pick(old.path, &new_parts.path),
        query: pick(old.query, &new_parts.query),
        fragment: pick(old.fragment, &new_parts.fragment),
    };
    merged.print()
}

/// A URL that is not opaque, in the parts that Talos merges.
struct Pieces {
    scheme: String,
    authority: String,
    path: String,
    query: String,
    fragment: String,
}

impl Pieces {
    fn read(text: &str) -> Option<Self> {
        parse(text).ok()?;
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (text, query) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, rest) = scheme(text).ok()?;
        if !scheme.is_empty() && !rest.starts_with('/') {
            return None;
        }
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        let [scheme, authority, path, query, fragment] =
            [scheme, authority, path, query, fragment].map(str::to_owned);
        Some(Self { scheme, authority, path, query, fragment })
    }

    fn print(&self) -> String {
        let with =
            |mark: &str, text: &str| if text.is_empty() { String::new() } else { format!("{mark}{text}") };
        let scheme = if self.scheme.is_empty() { String::new() } else { format!("{}:", self.scheme) };
        let is_open = !self.authority.is_empty() && !self.path.is_empty() && !self.path.starts_with('/');
        let slash = if is_open { "/" } else { "" };
        let path = format!("{slash}{}", self.path);
        let hierarchy = with("//", &self.authority) + &path;
        format!("{scheme}{hierarchy}{}{}", with("?", &self.query), with("#", &self.fragment))
    }
}

/// Whether a URL has a user in front of its host.
pub(crate) fn has_user(text: &str) -> bool {
    let authority =
        text.split_once("//").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest));
    authority.contains('@')
}

/// Reads a URL as `url.ParseRequestURI` does: absolute, or a path from the root.
pub(crate) fn parse_request_uri(text: &str) -> Result<Url, &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    read(text, true)
}

fn read(text: &str, absolute: bool) -> Result<Url, &'static str> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("it has control characters");
    }
    if text == "*" {
        return Ok(Url { path: text.to_owned(), ..Url::default() });
    }
    let (scheme, rest) = scheme(text)?;
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    let mut url = Url { scheme: scheme.to_ascii_lowercase(), ..Url::default() };
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            return Ok(url); // what follows is opaque
        }
        if absolute {
            return Err("it is relative");
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("it has a port and no scheme");
        }
    }
    let has_host = !scheme.is_empty() || !absolute && !rest.starts_with("///");
    let path = match rest.strip_prefix("//").filter(|_| has_host) {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            authority_host(authority)?.clone_into(&mut url.host);
            path
        }
        None => rest,
    };
    escapes(path)?;
    path.clone_into(&mut url.path);
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("it has no scheme"),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn authority_host(authority: &str) -> Result<&str, &'static str> {
    let Some((user, host)) = authority.rsplit_once('@') else { return host(authority) };
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    if !user.bytes().all(allowed) {
        return Err("its user is not written as it should be");
    }
    escapes(user)?;
    self::host(host)
}

fn host(host: &str) -> Result<&str, &'static str> {
    let port = match host.strip_prefix('[') {
        Some(inside) => {
            let (address, port) = inside.rsplit_once(']').ok_or("its host has no closing bracket")?;
            let address = address.split_once("%25").map_or(address, |(address, _)| address);
            address.parse::<Ipv6Addr>().map_err(|_| "the host in brackets is not an IPv6 address")?;
            port
        }
        None => host.rfind(':').map_or("", |colon| &host[colon..]),
    };
    if !is_optional_port(port) {
        return Err("its port is not a number");
    }
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b >= 0x80 || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&b);
    // Escapes of ASCII are refused in hosts, but for the percent sign itself.
    let escaped = |rest: &str| rest.starts_with("25") || rest.starts_with(|c: char| c >= '8');
    if !host.bytes().all(allowed) || host.rfind('[') > Some(0) || !host.split('%').skip(1).all(escaped) {
        return Err("its host has characters that are not allowed there");
    }
    escapes(host)?;
    Ok(host)
}

/// Whether it is nothing, or a colon and digits.
fn is_optional_port(text: &str) -> bool {
    match text.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_digit()),
        None => text.is_empty(),
    }
}

/// Every percent sign is followed by two hex digits.
fn escapes(text: &str) -> Result<(), &'static str> {
    let hex = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|b| b.is_ascii_hexdigit());
    if text.split('%').skip(1).all(hex) { Ok(()) } else { Err("it has a percent sign that escapes nothing") }
}

/// Writes a URL as `URL.String` does, or nothing where `url.Parse` refuses it.
pub(crate) fn print(text: &str) -> Option<String> {
    let parts = parts(text).ok()?;
    let query = text.split('#').next().and_then(|text| text.split_once('?'));
    let query = query.map_or(String::new(), |(_, query)| format!("?{query}"));
    Some(format!("{}{query}{}", parts.rewrite(), parts.print_fragment()))
}

/// A URL in the pieces it is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlParts<'u> {
    before: &'u str,
    /// The text between `?` and `#`.
    pub(crate) query: &'u str,
    fragment: &'u str,
}

/// Takes a URL apart that `url.Parse` takes.
pub fn parts(text: &str) -> Result<UrlParts<'_>, &'static str> {
    parse(text)?;
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (before, query) = text.split_once('?').unwrap_or((text, ""));
    Ok(UrlParts { before, query, fragment })
}

impl UrlParts<'_> {
    /// The URL with another query, as `URL.String` writes it.
    pub(crate) fn with_query(&self, query: &Query) -> String {
        let mut text = self.rewrite();
        let query = query.encode();
        if !query.is_empty() {
            text = format!("{text}?{query}");
        }
        text + &self.print_fragment()
    }

    fn print_fragment(&self) -> String {
        match self.fragment {
            "" => String::new(),
            fragment => format!("#{}", UrlPart::Fragment.normalize(fragment)),
        }
    }

    /// The URL without its query: the scheme in lower case, user and path escaped.
    fn rewrite(&self) -> String {
        let (scheme, rest) = scheme(self.before).unwrap_or(("", self.before));
        let scheme =
            if scheme.is_empty() { String::new() } else { format!("{}:", scheme.to_ascii_lowercase()) };
        if !scheme.is_empty() && !rest.starts_with('/') {
            return format!("{scheme}{rest}"); // opaque
        }
        let has_host = !scheme.is_empty() || !rest.starts_with("///");
        let Some(rest) = rest.strip_prefix("//").filter(|_| has_host) else {
            let path = UrlPart::Path.normalize(rest);
            // Without this, the text before the colon would be a scheme (RFC 3986, section 4.2).
            let is_ambiguous =
                scheme.is_empty() && path.split('/').next().is_some_and(|first| first.contains(':'));
            return format!("{scheme}{}{path}", if is_ambiguous { "./" } else { "" });
        };
        if rest.is_empty() && !scheme.is_empty() {
            return scheme;
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (user_info(user), host),
            None => (String::new(), authority),
        };
        format!("{scheme}//{user}{}{}", UrlPart::Host.normalize(host), UrlPart::Path.normalize(path))
    }
}

fn user_info(written: &str) -> String {
    let escaped = |text: &str| escape(&unescape(text, false).unwrap_or_default(), UrlPart::User);
    match written.split_once(':') {
        Some((user, password)) => format!("{}:{}@", escaped(user), escaped(password)),
        None => format!("{}@", escaped(written)),
    }
}

/// The keys and values of a query: sorted by key, the values of one key in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(pub BTreeMap<String, Vec<String>>);

impl Query {
    /// Parses a query as `URL.Query` does: malformed pairs are skipped.
    pub(crate) fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if let (Some(key), Some(value)) = (unescape(key, true), unescape(value, true)) {
                let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                query.0.entry(lossy(key)).or_default().push(lossy(value));
            }
        }
        query
    }

    /// Writes it as `Values.Encode` does.
    pub(crate) fn encode(&self) -> String {
        let escaped = |text: &str| escape(text.as_bytes(), UrlPart::Query);
        let pairs = self.0.iter().flat_map(|(key, values)| {
            values.iter().map(move |value| format!("{}={}", escaped(key), escaped(value)))
        });
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// The part of a URL, which determines what is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UrlPart {
    User,
    Host,
    Path,
    Query,
    Fragment,
}

impl UrlPart {
    fn escapes(self, byte: u8) -> bool {
        match byte {
            b'-' | b'_' | b'.' | b'~' => false,
            _ if byte.is_ascii_alphanumeric() => false,
            b'!' | b'(' | b')' | b'*' => !matches!(self, UrlPart::Host | UrlPart::Fragment),
            b'\'' | b'[' | b']' | b'<' | b'>' | b'"' => self != UrlPart::Host,
            b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match self {
                UrlPart::User => b"@/?:".contains(&byte),
                UrlPart::Path => byte == b'?',
                UrlPart::Query => true,
                UrlPart::Host => b"/?@".contains(&byte),
                UrlPart::Fragment => false,
            },
            _ => true,
        }
    }

    /// Returns a text unchanged if every character is allowed in this part; else it is escaped.
    fn normalize(self, text: &str) -> String {
        let stays = |byte: u8| b"!$&'()*+,;=:@[]%".contains(&byte) || !self.escapes(byte);
        if text.bytes().all(stays) {
            return text.to_owned();
        }
        escape(&unescape(text, false).unwrap_or_else(|| text.as_bytes().to_vec()), self)
    }
}

fn escape(bytes: &[u8], place: UrlPart) -> String {
    let mut text = String::new();
    for &byte in bytes {
        match byte {
            b' ' if place == UrlPart::Query => text.push('+'),
            _ if place.escapes(byte) => text += &format!("%{byte:02X}"),
            _ => text.push(char::from(byte)),
        }
    }
    text
}

/// The unescaped bytes; none if a percent sign is invalid.
fn unescape(text: &str, plus_is_space: bool) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                let digit =
                    |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                bytes.push(digit(digits[0])? << 4 | digit(digits[1])?);
                rest = after;
            }
            b'+' if plus_is_space => bytes.push(b' '),
            other => bytes.push(*other),
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_printed_as_go_prints_it() {
        for (text, want) in [
            ("https://", "https:"),
            ("HTTPS://A/b", "https://A/b"),
            ("https://a?", "https://a?"),
            ("https://a#", "https://a"),
            ("https://a/b?x=y#z", "https://a/b?x=y#z"),
        ] {
            assert_eq!(print(text).as_deref(), Some(want), "{text}");
        }
        assert_eq!(print("https://a/%zz"), None);
        assert_eq!(merge("x", "udp://a"), "udp://a/x");
        assert_eq!(merge("grpc://a:1?x=y#z", "https://b:2"), "https://b:2?x=y#z");
        assert_eq!(merge("https://a/b", "https://c"), "https://c/b");
        assert_eq!(merge("a", "b"), "b");
    }

    #[test]
    fn a_url_is_split_into_parts() {
        let url = parse("HTTPS://user:pw@[fd00::1]:6443/a%20b?c#d").unwrap();

        assert_eq!((url.scheme.as_str(), url.hostname(), url.port()), ("https", "fd00::1", "6443"));
        assert_eq!(url.path, "/a%20b");
    }

    #[test]
    fn a_url_may_lack_parts() {
        let host = |text: &str| parse(text).map(|url| url.hostname().to_owned());

        assert_eq!(host("https:///path"), Ok(String::new()));
        assert_eq!(host("localhost:6443"), Ok(String::new())); // a scheme, as Go sees it
        assert_eq!(host("10.0.0.1"), Ok(String::new()));
        assert_eq!(host(""), Ok(String::new()));
        assert_eq!(host("//host/x"), Ok("host".to_owned()));
    }

    #[test]
    fn an_ipv6_host_without_brackets_is_detected() {
        let bare = |text: &str| parse(text).unwrap().has_bare_colons();

        assert!(bare("https://fd00::1:6443") && bare("http://host:80:80"));
        assert!(!bare("https://[fd00::1]:6443") && !bare("https://host:80") && !bare("udp://fd00::1:514"));
    }

    #[test]
    fn an_invalid_url_is_rejected() {
        for wrong in [
            "10.0.0.11:6443",
            "://x",
            "https://[fd00::1",
            "https://[nothing]",
            "https://host:port",
            "https://a b",
            "https://a/%zz",
            "https://a\n",
            "https://a{b",
            "https://a%20b",
            "https://a[::1]",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse_request_uri("discovery.talos.dev").is_err() && parse_request_uri("").is_err());
        assert!(parse_request_uri("/x").is_ok() && parse_request_uri("https://a:1").is_ok());
    }
}
