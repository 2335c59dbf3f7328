//! The target of a redirect.

use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, COOKIE, HeaderMap};
use hyper::{Method, StatusCode, Uri};

/// The method of the request after a redirect; none if the redirect cannot be followed without the payload.
///
/// As curl does it: after 307 and 308 the method stays, after all others it becomes GET.
pub(super) fn method_after(status: StatusCode, method: &Method) -> Option<Method> {
    let keeps = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&status);
    let changes = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(method);
    match (keeps, changes) {
        (true, true) => None,
        (true, false) => Some(method.clone()),
        (false, _) if *method == Method::HEAD => Some(Method::HEAD),
        (false, _) => Some(Method::GET),
    }
}

/// Removes headers that another server must not see, and those of the payload.
pub(super) fn strip(headers: &mut HeaderMap) {
    for name in [AUTHORIZATION, COOKIE, CONTENT_LENGTH] {
        headers.remove(name);
    }
}

/// The target of a redirect (RFC 3986, section 5.2): a URL, or a part of one that continues `base`.
pub(super) fn target(base: &Uri, location: &str) -> Option<Uri> {
    if let Ok(whole) = location.parse::<Uri>()
        && whole.scheme().is_some()
    {
        return Some(whole);
    }
    let scheme = base.scheme_str()?;
    if location.starts_with("//") {
        return format!("{scheme}:{location}").parse().ok();
    }
    let path = if location.starts_with('/') { location.to_owned() } else { join(base.path(), location)? };
    Uri::builder().scheme(scheme).authority(base.authority()?.as_str()).path_and_query(path).build().ok()
}

/// Resolves a relative path; none if it leads above the root.
fn join(base: &str, location: &str) -> Option<String> {
    let mut segments: Vec<&str> = base.split('/').collect();
    if location.starts_with('?') {
        return Some(format!("{base}{location}"));
    }
    segments.pop();
    for segment in location.split('/') {
        match segment {
            "." => {}
            ".." if segments.len() < 2 => return None,
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_location_extends_the_previous_url() {
        let base: Uri = "https://me@factory.sol:8443/image/abc/metal.iso?x=1".parse().unwrap();
        let target = |location| target(&base, location).map(|uri| uri.to_string());

        assert_eq!(target("http://cdn.io/1").as_deref(), Some("http://cdn.io/1"));
        assert_eq!(target("//cdn.io/1?s=2").as_deref(), Some("https://cdn.io/1?s=2"));
        assert_eq!(target("/cdn/1").as_deref(), Some("https://me@factory.sol:8443/cdn/1"));
        assert_eq!(
            target("../def/./disk.raw").as_deref(),
            Some("https://me@factory.sol:8443/image/def/disk.raw")
        );
        assert_eq!(target("?x=2").as_deref(), Some("https://me@factory.sol:8443/image/abc/metal.iso?x=2"));
        assert_eq!(target("../../../above"), None);
    }

    #[test]
    fn a_payload_is_not_sent_to_a_redirect_target() {
        let after = |status, method| method_after(StatusCode::from_u16(status).unwrap(), &method);

        assert_eq!(after(302, Method::GET), Some(Method::GET));
        assert_eq!(after(302, Method::HEAD), Some(Method::HEAD));
        assert_eq!(after(303, Method::POST), Some(Method::GET));
        assert_eq!(after(307, Method::GET), Some(Method::GET));
        assert_eq!(after(307, Method::PUT), None);
        assert_eq!(after(308, Method::DELETE), None);
    }
}
