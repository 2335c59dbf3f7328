//! Host and port as `net.SplitHostPort` parts them.

use super::netip;

/// The host and the port; none when the port is missing or colons are not as they should be.
pub(crate) fn split(text: &str) -> Option<(&str, &str)> {
    let (before, port) = text.rsplit_once(':')?;
    let host = match before.strip_prefix('[') {
        Some(inside) => inside.strip_suffix(']')?,
        None => Some(before).filter(|host| !host.contains(':'))?,
    };
    let clean = |part: &str| !part.contains(['[', ']']);
    (clean(host) && clean(port)).then_some((host, port))
}

/// Whether siderolabs/net takes it for an address with a port. The port is not checked.
pub(crate) fn has_port(text: &str) -> bool {
    split(text).is_some_and(|(host, _)| !host.contains(':') || netip::is_address(host))
}

/// Whether it is the number of a port that something can listen on.
pub(crate) fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_with_colons_is_in_brackets() {
        for text in ["10.0.0.1:51820", "[fd00::1]:51820", "host:port", ":1", "host:", "[fe80::1%eth0]:1"] {
            assert!(has_port(text), "{text}");
        }
        for text in ["10.0.0.1", "fd00::1:51820", "[fd00::1]", "[fd00::x]:1", "[fd00::1:1", "a]:1", "[[a]:1"]
        {
            assert!(!has_port(text), "{text}");
        }
    }
}
