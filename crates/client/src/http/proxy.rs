//! The proxy that connections go through.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::HeaderValue;

/// The variables that name a proxy; the first that can be read is used for HTTP and HTTPS alike.
const PROXIES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
/// The variables that name hosts which are connected to directly.
const DIRECT: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// A proxy, and the hosts that it is not used for.
#[derive(Clone, Debug)]
pub struct Proxy {
    pub(super) uri: Uri,
    /// Its user and password.
    pub(super) authorization: Option<HeaderValue>,
    direct: Vec<HostPattern>,
}

/// Hosts of `NO_PROXY`.
#[derive(Clone, Debug)]
enum HostPattern {
    Exact(String),
    Prefix(String),
    Suffix(String),
}

impl Proxy {
    /// The proxy of an environment.
    pub fn from_env(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let direct = DIRECT.iter().find_map(|name| variable(name)).unwrap_or_default();
        let direct: Vec<_> = direct.split(',').map(HostPattern::parse).collect();
        PROXIES.iter().find_map(|name| Self::parse(&variable(name)?, direct.clone()))
    }

    /// Reads `http://USER:PASSWORD@HOST:PORT`, of which all but the host may be missing.
    fn parse(text: &str, direct: Vec<HostPattern>) -> Option<Self> {
        let uri: Uri =
            if text.contains("://") { text.parse() } else { format!("http://{text}").parse() }.ok()?;
        let (login, place) = match uri.authority()?.as_str().rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, uri.authority()?.as_str()),
        };
        let authorization = match login {
            Some(login) => Some(basic(login)?),
            None => None,
        };
        let uri =
            Uri::builder().scheme(uri.scheme_str()?).authority(place).path_and_query("/").build().ok()?;
        Some(Self { uri, authorization, direct })
    }

    /// Whether connections to a host go through it.
    pub(super) fn is_for(&self, host: &str) -> bool {
        !self.direct.iter().any(|pattern| pattern.matches(host))
    }
}

/// The header for a user and a password, in which `%XX` are octets.
fn basic(login: &str) -> Option<HeaderValue> {
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let both = [percent_decoded(user)?, percent_decoded(password)?].join(":");
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(both))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let octet = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match octet {
            Some(octet) => {
                bytes.push(octet);
                bytes.extend(&part.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'%');
                bytes.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8(bytes).ok()
}

impl HostPattern {
    /// `HOST`, `.DOMAIN`, `*DOMAIN`, `PREFIX.`, `PREFIX*`, or `*` for all hosts.
    fn parse(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        if let Some(suffix) = text.strip_prefix('*') {
            Self::Suffix(suffix.to_owned())
        } else if text.starts_with('.') {
            Self::Suffix(text)
        } else if let Some(prefix) = text.strip_suffix('*') {
            Self::Prefix(prefix.to_owned())
        } else if text.ends_with('.') {
            Self::Prefix(text)
        } else {
            Self::Exact(text)
        }
    }

    fn matches(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        match self {
            Self::Exact(name) => host == *name,
            Self::Prefix(prefix) => host.starts_with(prefix),
            Self::Suffix(suffix) => host.ends_with(suffix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(variables: &[(&str, &str)]) -> Option<Proxy> {
        Proxy::from_env(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_first_variable_names_the_proxy() {
        let https = proxy(&[("HTTP_PROXY", "http://one:3128"), ("HTTPS_PROXY", "two:3129")]).unwrap();
        let http = proxy(&[("https_proxy", "not a proxy"), ("http_proxy", "http://one:3128/")]).unwrap();

        assert_eq!(https.uri, "http://two:3129/");
        assert_eq!(http.uri, "http://one:3128/");
        assert!(proxy(&[("NO_PROXY", "*")]).is_none());
    }

    #[test]
    fn the_proxy_password_becomes_a_header() {
        let proxy = proxy(&[("ALL_PROXY", "http://Aladdin:open%20sesame@cave:80")]).unwrap();

        assert_eq!(proxy.authorization.clone().unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(!format!("{proxy:?}").contains("sesame"));
    }

    #[test]
    fn hosts_of_no_proxy_are_connected_to_directly() {
        let proxy =
            proxy(&[("ALL_PROXY", "p:1"), ("NO_PROXY", "bmc1,.sol,*.lab,10.0.*,192.168.1.")]).unwrap();

        for direct in ["bmc1", "BMC1", "pve.sol", "a.b.lab", "10.0.3.4", "192.168.1.7"] {
            assert!(!proxy.is_for(direct), "{direct}");
        }
        for through in ["bmc10", "sol", "10.1.0.1", "192.168.2.1", "factory.talos.dev"] {
            assert!(proxy.is_for(through), "{through}");
        }
    }
}
