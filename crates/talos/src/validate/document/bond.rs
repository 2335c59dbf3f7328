//! Bonds.

use super::{link, required};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges one.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("links"), issues);
    let mode = document.get("bondMode");
    if required(&mode, issues) && mode.text() == "802.3ad" {
        for field in ["miimon", "updelay", "downdelay"].map(|key| document.get(key)) {
            if !field.is_set() {
                issues.warning(&field, "an 802.3ad bond should set this");
            }
        }
    }
    link::named(document, issues);
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_bond_has_links_and_a_mode() {
        check(
            "BondConfig",
            &[
                ("name: b\nlinks: [a]\nbondMode: active-backup", &[]),
                ("name: b\nlinks: [a]\nbondMode: 802.3ad\nmiimon: 0\nupdelay: 1\ndowndelay: 1", &[]),
                ("name: b\nlinks: [a]\nbondMode: 802.3ad\nupdelay: 1", &["?miimon", "?downdelay"]),
                ("mtu: 1", &["!links", "!bondMode", "!name"]),
            ],
        );
    }
}
