//! Addresses that control planes share.

use super::required;
use crate::go::netip;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges an address that is announced on the local network.
pub(crate) fn layer2(document: &Field<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    if required(&name, issues) && !netip::is_address(name.text()) {
        issues
            .error(&name, format!("{:?} is not an IP address: the name is the shared address", name.text()));
    }
    required(&document.get("link"), issues);
}

/// Judges an address that Hetzner Cloud moves.
pub(crate) fn hcloud(document: &Field<'_>, issues: &mut DocumentIssues) {
    layer2(document, issues);
    required(&document.get("apiToken"), issues);
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_shared_address_is_an_address_on_a_link() {
        check(
            "Layer2VIPConfig",
            &[
                ("name: 10.0.0.1\nlink: eth0", &[]),
                ("name: 10.0.0.1/32\nlink: eth0", &["!name"]),
                ("name: fd00::1", &["!link"]),
                ("link: eth0", &["!name"]),
            ],
        );
        check(
            "HCloudVIPConfig",
            &[
                ("name: 10.0.0.1\nlink: eth0\napiToken: x", &[]),
                ("name: a", &["!name", "!link", "!apiToken"]),
            ],
        );
    }
}
