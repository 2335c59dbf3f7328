//! Pairs of virtual links. That the ends have two names is seen while reading, as for any two links.

use super::{link, required};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges one.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    let peer = document.get("peer");
    for name in [document.get("name"), peer.get("name")] {
        link_name(&name, issues);
    }
    link::common(document, issues);
    link::common(&peer, issues);
}

fn link_name(field: &Field<'_>, issues: &mut DocumentIssues) {
    if !required(field, issues) {
        return;
    }
    let name = field.text();
    if name.len() > 15 {
        issues.error(field, format!("{name:?} is longer than the 15 bytes a link's name can have"));
    } else if [".", ".."].contains(&name)
        || name.contains(|c: char| "/:".contains(c) || c.is_whitespace() || c.is_control())
    {
        issues.error(field, format!("{name:?} cannot be a link's name: leave out '/', ':' and blanks"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn the_two_ends_have_different_names() {
        check(
            "VethConfig",
            &[
                ("name: a\npeer: {name: b}", &[]),
                ("name: a", &["!peer.name"]),
                ("name: aaaaaaaaaaaaaaaa\npeer: {name: 'a:b'}", &["!name", "!peer.name"]),
                ("name: ..\npeer: {name: 'a b'}", &["!name", "!peer.name"]),
                ("name: a\npeer: {name: b, addresses: [{}]}", &["!peer.addresses[0].address"]),
            ],
        );
    }
}
