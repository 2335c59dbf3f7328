//! Endpoints as `ValidateEndpointURI` of siderolabs/net judges them.
//!
//! Not here: the endpoint a configuration is generated for, which has more rules
//! ([`Endpoint`](crate::generate::Endpoint)).

use super::{hostport, url};

/// Returns why an endpoint is invalid.
pub(crate) fn check(text: &str) -> Result<(), &'static str> {
    let url = url::parse(text)?;
    if url.host.matches(':').count() > 2 && !(url.host.contains('[') && url.host.contains(']')) {
        return Err("an IPv6 address must be in square brackets");
    }
    if url.hostname().is_empty() {
        return Err("it has no host: want a URL such as https://10.0.0.10:6443");
    }
    if !url.port().is_empty() && !hostport::is_port(url.port()) {
        return Err("its port is not between 1 and 65535");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn an_endpoint_has_a_host_and_a_port_in_range() {
        for right in
            ["https://10.0.0.1:6443", "https://[fd00::1]:6443", "https://host", "//host", "https://host:"]
        {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        for wrong in
            ["", "https://", "host", "host:6443", "https://host:0", "https://host:65536", "https://fd00::1:1"]
        {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
