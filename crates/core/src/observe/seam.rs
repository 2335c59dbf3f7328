//! Where a log that was lost goes on.
//!
//! A node that is asked for a log again tells what it has kept of it, of which some was shown before. A [`LogCursor`] remembers the
//! last lines that were shown, and says which of those that are heard now are new.

use std::collections::VecDeque;

/// How many of the last lines are remembered, and so need to be asked for again.
pub const REMEMBERED: usize = 1000;

/// After another boot, fewer lines in a row may be the same by chance: services say the same at every start.
const CHANCE: usize = 3;

/// The last lines of a log that were shown.
#[derive(Clone, Debug, Default)]
pub struct LogCursor {
    lines: VecDeque<Vec<u8>>,
    /// The beginning of a line that is not at its end.
    part: Vec<u8>,
}

impl LogCursor {
    /// Remembers what was shown.
    pub fn show(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.part.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.lines.push_back(std::mem::take(&mut self.part));
            }
        }
        let many = self.lines.len().saturating_sub(REMEMBERED);
        self.lines.drain(..many);
    }

    /// Whether the last line was shown in part; it is forgotten, as it will be told again from its beginning.
    pub fn break_off(&mut self) -> bool {
        !std::mem::take(&mut self.part).is_empty()
    }

    /// Where in `heard` the part begins that was not shown. `same_boot` if the node surely has not started again since.
    ///
    /// What was shown before ends somewhere in `heard`: there all of its lines come before, or as many as there is room for.
    pub fn fresh(&self, heard: &[u8], same_boot: bool) -> usize {
        let lines: Vec<&[u8]> = heard.split_inclusive(|byte| *byte == b'\n').collect();
        let fits = |end: usize| {
            let count = end.min(self.lines.len());
            let shown = self.lines.iter().rev().take(count).map(Vec::as_slice);
            let enough = same_boot || count >= CHANCE;
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

    fn shown(text: &str) -> LogCursor {
        let mut seam = LogCursor::default();
        seam.show(text.as_bytes());
        seam
    }

    fn new<'h>(seam: &LogCursor, heard: &'h str, same_boot: bool) -> &'h str {
        &heard[seam.fresh(heard.as_bytes(), same_boot)..]
    }

    #[test]
    fn what_was_shown_is_left_out_wherever_the_node_begins() {
        let seam = shown("c\nd\ne\n");

        assert_eq!(new(&seam, "c\nd\ne\nf\n", true), "f\n");
        assert_eq!(new(&seam, "e\nf\n", true), "f\n");
        assert_eq!(new(&seam, "a\nb\nc\nd\ne\nf\n", true), "f\n");
        assert_eq!(new(&seam, "c\nd\ne\n", true), "");
        assert_eq!(new(&seam, "x\ny\n", true), "x\ny\n");
        assert_eq!(new(&seam, "b\nx\ne\nf\n", true), "b\nx\ne\nf\n");
    }

    #[test]
    fn after_another_boot_a_few_equal_lines_are_new() {
        assert_eq!(new(&shown("is running\n"), "is running\n", false), "is running\n");
        assert_eq!(new(&shown("is running\n"), "is running\n", true), "");
        assert_eq!(new(&shown("a\nb\nc\n"), "a\nb\nc\nd\n", false), "d\n");
    }

    #[test]
    fn a_line_that_broke_off_comes_again() {
        let mut seam = shown("a\nhal");

        assert!(seam.break_off());
        assert!(!seam.break_off());
        assert_eq!(new(&seam, "a\nhalf\n", true), "half\n");
    }

    #[test]
    fn no_more_is_remembered_than_is_asked_for_again() {
        let text = (0..REMEMBERED + 10).map(|nth| format!("{nth}\n")).collect::<Vec<_>>().concat();
        let seam = shown(&text);

        assert_eq!(seam.lines.len(), REMEMBERED);
        assert_eq!(new(&seam, &text, true), "");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_told_twice(lines in 1..60_usize, cut in 0..60_usize, kept in 1..60_usize) {
            let log: Vec<String> = (0..lines).map(|nth| format!("{nth}\n")).collect();
            let cut = cut.min(lines);
            let seam = shown(&log[..cut].concat());
            let heard = log[lines.saturating_sub(kept)..].concat();

            let more = new(&seam, &heard, true);

            let missed = lines.saturating_sub(kept).max(cut);
            prop_assert_eq!(more, log[missed..].concat());
        }

        #[test]
        fn what_is_new_begins_with_a_line(shown_before: Vec<u8>, heard: Vec<u8>, same: bool) {
            let mut seam = LogCursor::default();
            seam.show(&shown_before);
            let at = seam.fresh(&heard, same);
            prop_assert!(at == 0 || at == heard.len() || heard[at - 1] == b'\n');
        }
    }
}
