//! Addresses that control planes share.

use super::required;
use crate::go::netip;
use crate::validate::Flaws;
use crate::validate::field::Field;

/// Judges an address that is announced on the local network.
pub fn layer2(document: &Field<'_>, flaws: &mut Flaws) {
    let name = document.get("name");
    if required(&name, flaws) && !netip::is_address(name.text()) {
        flaws.error(&name, format!("the name is the shared address itself, and {:?} is none", name.text()));
    }
    required(&document.get("link"), flaws);
}

/// Judges an address that Hetzner Cloud moves.
pub fn hcloud(document: &Field<'_>, flaws: &mut Flaws) {
    layer2(document, flaws);
    required(&document.get("apiToken"), flaws);
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
