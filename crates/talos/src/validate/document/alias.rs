//! Link aliases, which select links by their properties.

use super::{required, selector};
use crate::cel::Environment;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Judges one.
pub(crate) fn validate(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    if required(&name, issues)
        && setting.at_least(13)
        && name.text().split_once('%').is_some_and(|(prefix, suffix)| prefix.is_empty() || suffix != "d")
    {
        issues.error(&name, format!("{:?} is not a name pattern: want one such as net%d", name.text()));
    }
    selector(&document.at(["selector", "match"]), Environment::Link, setting, issues);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_by};

    #[test]
    fn an_alias_has_a_name_and_a_selector() {
        check(
            "LinkAliasConfig",
            &[
                ("name: net0\nselector: {match: 'link.driver == \"virtio_net\"'}", &[]),
                ("name: net%d\nselector: {match: 'true'}", &[]),
                ("name: net%s\nselector: {match: 'true'}", &["!name"]),
                ("name: '%d'\nselector: {match: 'true'}", &["!name"]),
                ("name: net%d%d\nselector: {match: 'true'}", &["!name"]),
                ("selector: {match: link.mtu}", &["!name", "!selector.match"]),
                ("name: net0", &["!selector.match"]),
            ],
        );
        check_by("v1.12.4", "LinkAliasConfig", &[("name: net%s\nselector: {match: 'true'}", &[])]);
    }
}
