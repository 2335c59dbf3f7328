//! Resumes a log after its connection was lost.
//!
//! A node sends its stored log again, some of which was printed before. A [`LogCursor`] stores the last printed lines and finds
//! the new ones.

use std::collections::VecDeque;

/// The number of stored lines, and of lines to request again.
pub const STORED_LINES: usize = 1000;

/// The number of equal lines to require after a reboot: services log the same lines at every start.
const MIN_MATCH: usize = 3;

/// The last printed lines of a log.
#[derive(Clone, Debug, Default)]
pub struct LogCursor {
    lines: VecDeque<Vec<u8>>,
    /// The beginning of an incomplete line.
    part: Vec<u8>,
}

impl LogCursor {
    /// Stores printed bytes.
    pub fn record(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.part.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.lines.push_back(std::mem::take(&mut self.part));
            }
        }
        let many = self.lines.len().saturating_sub(STORED_LINES);
        self.lines.drain(..many);
    }

    /// Drops an incomplete last line, which the node will send again from its beginning. Returns whether there was one.
    pub fn drop_partial_line(&mut self) -> bool {
        !std::mem::take(&mut self.part).is_empty()
    }

    /// The offset in `received` of the first new line. `same_boot` if the node has certainly not rebooted.
    ///
    /// The stored lines end somewhere in `received`, preceded by all of their lines or as many as `received` has.
    pub fn find_new(&self, received: &[u8], same_boot: bool) -> usize {
        let lines: Vec<&[u8]> = received.split_inclusive(|byte| *byte == b'\n').collect();
        let fits = |end: usize| {
            let count = end.min(self.lines.len());
            let shown = self.lines.iter().rev().take(count).map(Vec::as_slice);
            let enough = same_boot || count >= MIN_MATCH;
            enough && count > 0 && lines[..end].iter().rev().take(count).copied().eq(shown)
        };
        let end = (1..=lines.len()).rev().find(|end| fits(*end)).unwrap_or(0);
        lines[..end].iter().map(|line| line.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cursor_after(text: &str) -> LogCursor {
        let mut cursor = LogCursor::default();
        cursor.record(text.as_bytes());
        cursor
    }

    fn new<'h>(cursor: &LogCursor, received: &'h str, same_boot: bool) -> &'h str {
        &received[cursor.find_new(received.as_bytes(), same_boot)..]
    }

    #[test]
    fn printed_lines_are_skipped_wherever_the_log_begins() {
        let cursor = cursor_after("c\nd\ne\n");

        assert_eq!(new(&cursor, "c\nd\ne\nf\n", true), "f\n");
        assert_eq!(new(&cursor, "e\nf\n", true), "f\n");
        assert_eq!(new(&cursor, "a\nb\nc\nd\ne\nf\n", true), "f\n");
        assert_eq!(new(&cursor, "c\nd\ne\n", true), "");
        assert_eq!(new(&cursor, "x\ny\n", true), "x\ny\n");
        assert_eq!(new(&cursor, "b\nx\ne\nf\n", true), "b\nx\ne\nf\n");
    }

    #[test]
    fn a_few_equal_lines_after_a_reboot_are_new() {
        assert_eq!(new(&cursor_after("is running\n"), "is running\n", false), "is running\n");
        assert_eq!(new(&cursor_after("is running\n"), "is running\n", true), "");
        assert_eq!(new(&cursor_after("a\nb\nc\n"), "a\nb\nc\nd\n", false), "d\n");
    }

    #[test]
    fn an_incomplete_line_is_printed_again() {
        let mut cursor = cursor_after("a\nhal");

        assert!(cursor.drop_partial_line());
        assert!(!cursor.drop_partial_line());
        assert_eq!(new(&cursor, "a\nhalf\n", true), "half\n");
    }

    #[test]
    fn no_more_lines_are_stored_than_are_requested_again() {
        let text = (0..STORED_LINES + 10).map(|nth| format!("{nth}\n")).collect::<Vec<_>>().concat();
        let cursor = cursor_after(&text);

        assert_eq!(cursor.lines.len(), STORED_LINES);
        assert_eq!(new(&cursor, &text, true), "");
    }

    proptest! {
        #[test]
        fn lines_are_neither_lost_nor_repeated(lines in 1..60_usize, cut in 0..60_usize, kept in 1..60_usize) {
            let log: Vec<String> = (0..lines).map(|nth| format!("{nth}\n")).collect();
            let cut = cut.min(lines);
            let cursor = cursor_after(&log[..cut].concat());
            let received = log[lines.saturating_sub(kept)..].concat();

            let more = new(&cursor, &received, true);

            let missed = lines.saturating_sub(kept).max(cut);
            prop_assert_eq!(more, log[missed..].concat());
        }

        #[test]
        fn new_bytes_begin_with_a_line(shown_before: Vec<u8>, received: Vec<u8>, same: bool) {
            let mut cursor = LogCursor::default();
            cursor.record(&shown_before);
            let at = cursor.find_new(&received, same);
            prop_assert!(at == 0 || at == received.len() || received[at - 1] == b'\n');
        }
    }
}
