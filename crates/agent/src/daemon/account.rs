//! Users and groups by name.
//!
//! Read from the files themselves: the C library would look for its plug-ins, which a static program has not.

use std::fs;

/// The number of a user.
pub(super) fn user(name: &str) -> Option<u32> {
    number(&fs::read_to_string("/etc/passwd").ok()?, name)
}

/// The number of a group.
pub(super) fn group(name: &str) -> Option<u32> {
    number(&fs::read_to_string("/etc/group").ok()?, name)
}

/// The third field of the line that begins with a name.
fn number(file: &str, name: &str) -> Option<u32> {
    let mut lines = file.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| if fields.next()? == name { fields.nth(1)?.parse().ok() } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_as_a_whole() {
        let file =
            "root:x:0:0:root:/root:/bin/sh\nfrrvty:x:85:\n# nobody\nfrr:x:100:101:FRR:/run/frr:/bin/false\n";

        assert_eq!(number(file, "frr"), Some(100));
        assert_eq!(number(file, "frrvty"), Some(85));
        assert_eq!(number(file, "f"), None);
        assert_eq!(number("frr:x\nfrr:x:many:1\n", "frr"), None);
    }
}
