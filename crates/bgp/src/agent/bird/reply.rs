//! One reply on the control socket.

use std::fmt;

/// The reply to one command: its lines, each with its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply(Vec<(u16, String)>);

impl Reply {
    /// The first complete reply in these bytes, and its length; none while its last line is missing.
    ///
    /// `CODE-text` is followed by more lines, ` text` has the code of the line before it, `CODE text` is the last.
    /// Lines that start with `+` are copies of log messages.
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut lines: Vec<(u16, String)> = Vec::new();
        let mut taken = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = line.strip_suffix(b"\n")?;
            taken += line.len();
            let text = String::from_utf8_lossy(text);
            match ReplyLine::parse(&text) {
                ReplyLine::More(code, rest) => lines.push((code, rest.to_owned())),
                ReplyLine::Last(code, rest) => {
                    lines.push((code, rest.to_owned()));
                    return Some((Self(lines), taken));
                }
                ReplyLine::Same(rest) => {
                    let code = lines.last().map_or(0, |(code, _)| *code);
                    lines.push((code, rest.to_owned()));
                }
                ReplyLine::Log => {}
            }
        }
        None
    }

    /// The code of the last line: the result of the command.
    pub(crate) fn code(&self) -> u16 {
        self.0.last().map_or(0, |(code, _)| *code)
    }

    /// Whether the command failed (8xxx) or was not understood (9xxx).
    pub fn is_refusal(&self) -> bool {
        self.code() >= 8000
    }

    /// Its lines with their codes.
    pub fn lines(&self) -> impl Iterator<Item = (u16, &str)> {
        self.0.iter().map(|(code, text)| (*code, text.as_str()))
    }
}

/// The last line: the message of a result.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.last().map_or("", |(_, text)| text.trim()))
    }
}

/// The type of a line, by its first characters.
enum ReplyLine<'t> {
    More(u16, &'t str),
    Last(u16, &'t str),
    Same(&'t str),
    Log,
}

impl<'t> ReplyLine<'t> {
    fn parse(line: &'t str) -> Self {
        if line.starts_with('+') {
            return Self::Log;
        }
        let code = line.get(..4).filter(|code| code.bytes().all(|byte| byte.is_ascii_digit()));
        let code = code.and_then(|code| code.parse().ok());
        match (code, line.as_bytes().get(4)) {
            (Some(code), Some(b'-')) => Self::More(code, &line[5..]),
            (Some(code), Some(b' ')) => Self::Last(code, &line[5..]),
            _ => Self::Same(line.strip_prefix(' ').unwrap_or(line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reply_ends_with_the_line_that_has_a_space_after_its_code() {
        let bytes = b"0002-Reading configuration from a\n+2026 <INFO> log\n here\n8002 a:1:19 syntax error\n0001 next\n";

        let (reply, taken) = Reply::parse(bytes).unwrap();

        let lines: Vec<_> = reply.lines().collect();
        assert_eq!(lines, [(2, "Reading configuration from a"), (2, "here"), (8002, "a:1:19 syntax error")]);
        assert!(reply.is_refusal());
        assert_eq!(reply.to_string(), "a:1:19 syntax error");
        assert_eq!(&bytes[taken..], b"0001 next\n");
    }

    #[test]
    fn an_incomplete_reply_is_not_parsed() {
        for bytes in [&b""[..], b"0003 Reconf", b"1002-device1\n", b"1002-device1\n 0000 \n"] {
            assert_eq!(Reply::parse(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn a_reply_is_parsed_only_once_it_is_complete(
            lines in prop::collection::vec((0u16..10_000, "[ -~]{0,20}"), 1..8),
            cut in 0usize..300,
        ) {
            let (last, before) = lines.split_last().unwrap();
            let mut reply = String::new();
            for (code, text) in before {
                reply += &format!("{code:04}-{text}\n");
            }
            reply += &format!("{:04} {}\n", last.0, last.1);
            let cut = cut.min(reply.len() - 1);

            prop_assert_eq!(Reply::parse(&reply.as_bytes()[..cut]), None);
            prop_assert_eq!(Reply::parse(reply.as_bytes()), Some((Reply(lines), reply.len())));
        }
    }
}
