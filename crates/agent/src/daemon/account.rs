//! Users and groups by name.
//!
//! Read from the files themselves: the C library would load plug-ins, which a static program does not have.

use std::fs;

/// The id of a user.
pub(super) fn user_id(name: &str) -> Option<u32> {
    parse_id(&fs::read_to_string("/etc/passwd").ok()?, name)
}

/// The id of a group.
pub(super) fn group_id(name: &str) -> Option<u32> {
    parse_id(&fs::read_to_string("/etc/group").ok()?, name)
}

/// The third field of the line that starts with a name.
fn parse_id(file: &str, name: &str) -> Option<u32> {
    let mut lines = file.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| if fields.next()? == name { fields.nth(1)?.parse().ok() } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_matched_completely() {
        let file =
            "root:x:0:0:root:/root:/bin/sh\nfrrvty:x:85:\n# nobody\nfrr:x:100:101:FRR:/run/frr:/bin/false\n";

        assert_eq!(parse_id(file, "frr"), Some(100));
        assert_eq!(parse_id(file, "frrvty"), Some(85));
        assert_eq!(parse_id(file, "f"), None);
        assert_eq!(parse_id("frr:x\nfrr:x:many:1\n", "frr"), None);
    }
}
