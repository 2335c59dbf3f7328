//! Lines of a configuration, each with its contexts.

use std::fmt;

use super::context::{Context, context, opened_context, remaining};
use ichor_values::nearest;

/// A line below the lines that open its contexts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The lines that open the contexts it is in, outermost first.
    pub above: Vec<String>,
    /// The line itself, with single spaces between its words.
    pub text: String,
}

impl Line {
    /// A line in no context.
    pub(crate) fn top(text: impl Into<String>) -> Self {
        Self { above: Vec::new(), text: text.into() }
    }

    /// A line below others.
    pub(crate) fn below(above: &[String], text: impl Into<String>) -> Self {
        Self { above: above.to_vec(), text: text.into() }
    }

    /// The words of the line.
    pub fn words(&self) -> Vec<&str> {
        self.text.split(' ').collect()
    }

    /// The context that the line opens.
    pub fn opens(&self) -> Option<Context> {
        opened_context(&self.above, &self.text)
    }

    /// The innermost context that the line is in.
    pub(crate) fn within(&self) -> Option<Context> {
        self.above.split_last().map(|(last, above)| context(above, last))
    }

    /// The enclosing lines and the line itself: the open contexts after a line that opens one.
    pub fn path(&self) -> Vec<String> {
        let mut path = self.above.clone();
        path.push(self.text.clone());
        path
    }
}

/// The path, outermost first. Passwords are redacted.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for above in &self.above {
            write!(f, "{above} / ")?;
        }
        f.write_str(&redact_secrets(&self.text))
    }
}

/// The same: debug output must not contain a password either.
impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Keywords before a secret.
const SECRETS: [&str; 2] = ["password", "key-string"];

/// The line with `***` instead of a secret. A keyword that FRR rejects because it is misspelled counts as well.
pub fn redact_secrets(line: &str) -> String {
    let mut end = 0;
    for word in line.split_inclusive(char::is_whitespace) {
        end += word.len();
        if end < line.len() && nearest(word.trim(), SECRETS).is_some() {
            return format!("{}***", &line[..end]);
        }
    }
    line.to_owned()
}

/// Parses a text as FRR would: by its words, with or without `exit`, at any indentation. Comments and lines that end a
/// context are dropped.
pub(crate) fn parse(text: &str) -> Vec<Line> {
    let mut open: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.as_str() {
            "" | "Building configuration..." | "Current configuration:" => {}
            "end" => open.clear(),
            "exit" | "quit" => drop(open.pop()),
            _ if line.starts_with(['!', '#']) => {}
            _ if line.starts_with("exit-") => drop(open.pop()),
            _ => {
                open.truncate(remaining(&open, &line));
                let found = Line::below(&open, line);
                if found.opens().is_some() {
                    open.push(found.text.clone());
                }
                lines.push(found);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        parse(text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn secrets_after_misspelled_keywords_are_redacted() {
        for word in ["password", "passwort", "pasword", "key-string", "keystring"] {
            let line = format!("line 3: % Unknown command[25]:  neighbor eth0 {word} one two");

            assert_eq!(
                redact_secrets(&line),
                format!("line 3: % Unknown command[25]:  neighbor eth0 {word} ***")
            );
        }
        for line in ["neighbor eth0 passive", "neighbor eth0 password", "service password-encryption"] {
            assert_eq!(redact_secrets(line), line);
        }
    }

    #[test]
    fn lines_are_parsed_by_their_words_and_not_by_indentation() {
        let tidy = "router bgp 65001\n neighbor eth0 interface\n !\n address-family ipv4 unicast\n  neighbor eth0 activate\n \
                    exit-address-family\nexit\n!\nroute-map A permit 10\nexit\nip prefix-list P seq 5 permit any\nend\n";
        let untidy = "router bgp   65001\nneighbor eth0 interface\naddress-family ipv4 unicast\n\tneighbor eth0 activate\n\
                      route-map A permit 10\nip prefix-list P seq 5 permit any\r\n";

        assert_eq!(shown(tidy), shown(untidy));
        assert_eq!(shown(tidy)[3], "router bgp 65001 / address-family ipv4 unicast / neighbor eth0 activate");
    }

    #[test]
    fn statements_unknown_to_a_family_belong_to_the_instance() {
        let text =
            "router bgp 1\n address-family ipv4 unicast\n  neighbor a activate\n neighbor b remote-as 2\n";

        assert_eq!(shown(text)[3], "router bgp 1 / neighbor b remote-as 2");
    }

    #[test]
    fn profiles_peers_and_vrfs_end_where_the_next_starts() {
        let text = "bfd\n profile a\n  receive-interval 5\n profile b\n peer 10.0.0.1\n  profile a\nvrf red\n ip route 10.0.0.0/8 blackhole\n\
                    ip prefix-list P seq 5 permit any\n";

        let want = [
            "bfd",
            "bfd / profile a",
            "bfd / profile a / receive-interval 5",
            "bfd / profile b",
            "bfd / peer 10.0.0.1",
            "bfd / peer 10.0.0.1 / profile a",
            "vrf red",
            "vrf red / ip route 10.0.0.0/8 blackhole",
            "ip prefix-list P seq 5 permit any",
        ];
        assert_eq!(shown(text), want);
    }

    #[test]
    fn a_password_is_redacted() {
        let text = "router bgp 1\n neighbor a password b!\"c\n";

        assert_eq!(shown(text)[1], "router bgp 1 / neighbor a password ***");
    }
}
