//! The YAML that cluster files are mostly written in, read fast.
//!
//! [`parse`] knows block maps and lists, flow maps and lists, plain and quoted words on one line, and comments. Of
//! everything else (anchors, tags, block scalars, words over several lines, escapes, tabs, letters beyond ASCII, an empty
//! value, any mistake) it says nothing and leaves the text to the full parser. Where it answers, the full parser gives the
//! same tree: `the_fast_reader_agrees_with_the_full_one` in the tests compares them.
//!
//! It is here because the full parser alone takes as long as all the rest of `ichor check` together.

use super::source::Place;
use super::tree::{DEEPEST, Forest, Kind};

/// Adds the values of `text` to `forest` and returns its root, or leaves the forest as it was.
pub(super) fn parse(forest: &mut Forest<'_>, file: u16, text: &str) -> Option<u32> {
    let before = forest.mark();
    let bytes = text.as_bytes();
    // To the end, whatever is found: without a way out on every byte many are looked at in one step.
    if !bytes.iter().fold(true, |known, byte| known & matches!(byte, b' '..=b'~' | b'\n')) {
        return None;
    }
    let mut reader = Plain { forest, file, bytes, at: 0, line: 1, start: 0, pending: Vec::new() };
    let root = reader.document();
    if root.is_none() {
        forest.reset(before);
    }
    root
}

struct Plain<'a, 's> {
    forest: &'a mut Forest<'s>,
    file: u16,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    /// Where the line starts.
    start: usize,
    /// Children of what is open, the innermost last.
    pending: Vec<u32>,
}

impl Plain<'_, '_> {
    fn document(&mut self) -> Option<u32> {
        self.next_line()?;
        if self.bytes[self.at..].starts_with(b"---") && self.column() == 0 {
            self.at += 3;
            self.end_of_line()?;
            self.next_line()?;
        }
        let root = self.block(self.column(), 0)?;
        (self.at == self.bytes.len()).then_some(root)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn column(&self) -> usize {
        self.at - self.start
    }

    fn place(&self, length: usize) -> Place {
        Place {
            file: self.file,
            line: self.line,
            column: u32::try_from(self.column() + 1).unwrap_or(u32::MAX),
            length: u16::try_from(length).unwrap_or(u16::MAX),
        }
    }

    fn spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Passes blanks and a comment; whether the line ends there.
    fn blank(&mut self) -> bool {
        let from = self.at;
        self.spaces();
        match self.peek() {
            None => true,
            Some(b'\n') => true,
            Some(b'#') if self.at > from || self.column() == 0 => {
                while self.peek().is_some_and(|byte| byte != b'\n') {
                    self.at += 1;
                }
                true
            }
            Some(_) => false,
        }
    }

    /// Goes to the end of the line; nothing but blanks and a comment may stand there.
    fn end_of_line(&mut self) -> Option<()> {
        self.blank().then_some(())
    }

    /// Goes to the next text, which is at the end of the file or the first of its line.
    fn next_line(&mut self) -> Option<()> {
        while self.blank() && self.at < self.bytes.len() {
            self.at += 1;
            self.line = self.line.checked_add(1)?;
            self.start = self.at;
        }
        Some(())
    }

    /// A map or list whose entries start in column `indent`.
    fn block(&mut self, indent: usize, depth: usize) -> Option<u32> {
        if depth == DEEPEST {
            return None;
        }
        if self.is_dash() { self.block_list(indent, depth, false) } else { self.block_map(indent, depth) }
    }

    fn is_dash(&self) -> bool {
        self.peek() == Some(b'-') && matches!(self.bytes.get(self.at + 1), None | Some(b' ' | b'\n'))
    }

    /// A list; one `beside` the key it belongs to ends at the next key in that column.
    fn block_list(&mut self, indent: usize, depth: usize, beside: bool) -> Option<u32> {
        let (mut place, from) = (self.place(0), self.pending.len());
        while self.is_dash() && self.column() == indent {
            self.at += 1;
            self.spaces();
            if beside && self.pending.len() == from {
                place = self.place(0); // as the full parser has it
            }
            let item = match self.peek()? {
                b'{' | b'[' => self.flow_value(indent, depth)?,
                _ if self.is_dash() || self.is_key() => self.block(self.column(), depth + 1)?,
                _ => self.scalar_value(indent)?,
            };
            self.pending.push(item);
        }
        self.ends(if beside { indent + 1 } else { indent })?;
        Some(self.forest.list(place, self.pending.drain(from..)))
    }

    fn block_map(&mut self, indent: usize, depth: usize) -> Option<u32> {
        let (place, from) = (self.place(0), self.pending.len());
        loop {
            let key = self.key(from)?;
            self.pending.push(key);
            self.at += 1;
            self.spaces();
            let value = match self.peek()? {
                b'{' | b'[' => self.flow_value(indent, depth)?,
                b'\n' | b'#' => self.below(indent, depth)?,
                _ => self.scalar_value(indent)?,
            };
            self.pending.push(value);
            if self.column() != indent || self.at == self.bytes.len() || self.is_dash() {
                break;
            }
        }
        self.ends(indent)?;
        Some(self.forest.map(place, self.pending.drain(from..)))
    }

    /// What stands behind a block must belong to one around it.
    fn ends(&self, indent: usize) -> Option<()> {
        (self.at == self.bytes.len() || self.column() < indent).then_some(())
    }

    /// The value of a key that stands on the lines below it; a list may start in the key's own column.
    fn below(&mut self, indent: usize, depth: usize) -> Option<u32> {
        self.end_of_line()?;
        self.next_line()?;
        if self.column() == indent && self.is_dash() {
            return self.block_list(indent, depth + 1, true);
        }
        (self.column() > indent).then_some(())?;
        self.block(self.column(), depth + 1)
    }

    /// A word to the end of its line, which the next line does not continue.
    fn scalar_value(&mut self, indent: usize) -> Option<u32> {
        let scalar = self.scalar(false)?;
        self.leave(indent)?;
        Some(scalar)
    }

    fn flow_value(&mut self, indent: usize, depth: usize) -> Option<u32> {
        let value = self.flow(indent, depth + 1)?;
        self.leave(indent)?;
        Some(value)
    }

    fn leave(&mut self, indent: usize) -> Option<()> {
        self.end_of_line()?;
        self.next_line()?;
        (self.column() <= indent || self.at == self.bytes.len()).then_some(())
    }

    /// Whether a key of a block map stands here.
    fn is_key(&self) -> bool {
        let rest = &self.bytes[self.at..];
        let end = match rest.first() {
            Some(quote @ (b'"' | b'\'')) => match rest[1..].iter().position(|byte| byte == quote) {
                Some(end) => end + 2,
                None => return false,
            },
            _ => match self.plain_end(false) {
                Some(end) => end - self.at,
                None => return false,
            },
        };
        rest.get(end) == Some(&b':')
    }

    /// A key up to its colon, unlike all others since `from`.
    fn key(&mut self, from: usize) -> Option<u32> {
        let key = self.scalar(false)?;
        (self.peek() == Some(b':') && self.is_new(key, from)).then_some(key)
    }

    /// Whether `key` is unlike all others since `from`, and an ordinary one.
    fn is_new(&self, key: u32, from: usize) -> bool {
        let (word, before) = (self.word(key), &self.pending[from..]);
        // A map as wide as that is not a cluster file's; the full parser has a better way to look for doubles.
        before.len() <= 64
            && word != b"<<"
            && !before.iter().step_by(2).any(|&other| self.word(other) == word)
    }

    /// The text of a scalar that was read here.
    fn word(&self, scalar: u32) -> &[u8] {
        match self.forest.values[scalar as usize].1 {
            Kind::Slice { from, length, .. } => &self.bytes[from as usize..(from + length) as usize],
            Kind::Text { .. } | Kind::List { .. } | Kind::Map { .. } => b"",
        }
    }

    fn scalar(&mut self, flow: bool) -> Option<u32> {
        match self.peek()? {
            quote @ (b'"' | b'\'') => self.quoted(quote),
            _ => {
                let end = self.plain_end(flow)?;
                let (place, from) = (self.place(end - self.at), self.at);
                self.at = end;
                Some(self.forest.slice_of(place, from, end - from, true))
            }
        }
    }

    /// Where the plain word that starts here ends, if it is one without doubt.
    fn plain_end(&self, flow: bool) -> Option<usize> {
        let rest = &self.bytes[self.at..];
        let first = *rest.first()?;
        if !(first.is_ascii_alphanumeric() || matches!(first, b'_' | b'/' | b'.' | b'~'))
            || rest.starts_with(b"...")
        {
            return None;
        }
        let next = |at: usize| rest.get(at + 1).copied().unwrap_or(b'\n');
        let mut end = 0;
        for (at, &byte) in rest.iter().enumerate() {
            match byte {
                b'\n' => break,
                b',' | b'[' | b']' | b'{' | b'}' if flow => break,
                b':' if matches!(next(at), b' ' | b'\n')
                    || flow && matches!(next(at), b',' | b'[' | b']' | b'{' | b'}') =>
                {
                    break;
                }
                b' ' if next(at) == b'#' => break,
                b' ' => {}
                _ => end = at + 1,
            }
        }
        Some(self.at + end)
    }

    fn quoted(&mut self, quote: u8) -> Option<u32> {
        let rest = &self.bytes[self.at + 1..];
        let length =
            rest.iter().position(|&byte| byte == quote || byte == b'\n' || byte == b'\\' && quote == b'"')?;
        let doubled = quote == b'\'' && rest.get(length + 1) == Some(&quote);
        (rest[length] == quote && !doubled).then_some(())?;
        let (place, from) = (self.place(length + 2), self.at + 1);
        self.at += length + 2;
        Some(self.forest.slice_of(place, from, length, false))
    }

    /// A map or list in brackets; its lines stand deeper than column `indent`.
    fn flow(&mut self, indent: usize, depth: usize) -> Option<u32> {
        if depth == DEEPEST {
            return None;
        }
        let is_map = self.peek()? == b'{';
        let close = if is_map { b'}' } else { b']' };
        let (mut place, opened, line, from) = (self.place(1), self.at, self.line, self.pending.len());
        self.at += 1;
        loop {
            self.flow_space(indent)?;
            if self.peek()? == close {
                break;
            }
            if is_map {
                let key = self.flow_key(from)?;
                self.pending.push(key);
            }
            let value = match self.peek()? {
                b'{' | b'[' => self.flow(indent, depth + 1)?,
                _ => self.scalar(true)?,
            };
            self.pending.push(value);
            self.flow_space(indent)?;
            match self.peek()? {
                b',' => self.at += 1,
                other if other == close => break,
                _ => return None,
            }
        }
        self.at += 1;
        place.length =
            if line == self.line { u16::try_from(self.at - opened).unwrap_or(u16::MAX) } else { 0 };
        let children = self.pending.drain(from..);
        Some(if is_map { self.forest.map(place, children) } else { self.forest.list(place, children) })
    }

    /// A key of a flow map with its colon and the blanks behind it.
    fn flow_key(&mut self, from: usize) -> Option<u32> {
        let key = self.scalar(true)?;
        let colon = self.peek() == Some(b':') && self.bytes.get(self.at + 1) == Some(&b' ');
        (colon && self.is_new(key, from)).then_some(())?;
        self.at += 1;
        self.spaces();
        Some(key)
    }

    /// Passes blanks, comments and line ends inside brackets.
    fn flow_space(&mut self, indent: usize) -> Option<()> {
        let line = self.line;
        self.next_line()?;
        (self.line == line || self.column() > indent).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tree::{Tree, View};
    use super::*;
    use crate::parse as full;

    /// Everything about a tree, a line for each value; where a block ends is the parsers' own business.
    fn dump(tree: Tree<'_>, told: &mut Vec<String>) {
        let place = tree.place();
        let at = format!("{}:{}", place.line, place.column);
        match tree.view() {
            View::Null | View::Scalar(_) => {
                told.push(format!("{at}+{} {} {:?}", place.length, tree.is_plain(), tree.text()));
            }
            View::List(items) => {
                told.push(format!("{at} list of {}", items.len()));
                items.iter().for_each(|item| dump(item, told));
            }
            View::Map(entries) => {
                told.push(format!("{at} map of {}", entries.len()));
                for (key, value) in entries.iter() {
                    dump(key, told);
                    dump(value, told);
                }
            }
        }
    }

    fn tell(forest: &Forest<'_>, root: u32) -> Vec<String> {
        let mut told = Vec::new();
        dump(forest.tree(root), &mut told);
        told
    }

    /// Whether the fast reader answers; where it does, it answers as the full one does.
    fn agrees(text: &str) -> Result<bool, String> {
        let (mut fast, mut slow, mut problems) = (Forest::default(), Forest::default(), Vec::new());
        fast.open(text);
        slow.open(text);
        let Some(root) = parse(&mut fast, 0, text) else { return Ok(false) };
        let full = full::parse(&mut slow, 0, text, &mut problems);
        let Some(full) = full.filter(|_| problems.is_empty()) else {
            return Err(format!("only the fast reader takes {text:?}: {problems:?}"));
        };
        let (fast, slow) = (tell(&fast, root), tell(&slow, full));
        if fast == slow { Ok(true) } else { Err(format!("{text:?}\nfast {fast:#?}\nfull {slow:#?}")) }
    }

    #[test]
    fn ordinary_files_are_read_fast() {
        for text in [
            "cluster: {name: sol, id: 101}\nnodes:\n  - {name: a, macs: [\"02:00:00:00:00:01\"]}\n  - name: b\n    index: 2\n",
            "---\n# comment\na: 1 # one\nb:\n- x\n- y: 1\n  z: 'two words'\n- - deep\n  - er\nc: [1, 2,\n  3] # end\n",
            "a:\n  b:\n    c: d\n  e: {f: g, h: [i, {j: k}]}\n\n\nl: m",
        ] {
            assert_eq!(agrees(text), Ok(true), "{text}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_full_parser() {
        for text in [
            "",
            "a: &x 1",
            "a: *x",
            "a: !t 1",
            "a: |\n  text",
            "a: one\n  two",
            "a: \"one\\n\"",
            "a:\t1",
            "a: é",
            "a:\nb: 1",
            "a: 1\na: 2",
            "<<: {a: 1}",
            "a: 'it''s'",
            "{a: 1}",
            "a: b: c",
            "a: [1, 2",
            "a: 1\n b: 2",
            "- a\nb: 1",
            "a: 1\n---\nb: 2",
            "? a\n: b",
            "a: [b: c]",
            "a: {b}",
            "a: -1",
            "a: [1,\n2]",
            "a: 1\n...\n",
            "a: # nothing",
            "'a' : 1",
        ] {
            assert_ne!(agrees(text), Ok(true), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_fast_reader_agrees_with_the_full_one(
            lines in prop::collection::vec(
                (
                    0_usize..6,
                    prop::sample::select(vec!["", "- ", "- - ", "a: ", "b:", "c: ", "\"d\": ", "e.f/g: ", "# h", "- i: ", "j :", "---"]),
                    prop::sample::select(vec![
                        "", "x", "two words", "'q'", "\"r: s\"", "1.10", "bc:24:11", "[k, l]", "{m: n, o: [p]}", "[", "]", "{", "}", ",", "t # u", "v: w",
                        "x#y", "- z", "&a b", "*a", "~", "null", "{a: }", "[a, ]", "{a: 1, a: 2}", "[a:b]", "a:", "http://h:1/p?q", "'it''s'", "\"\\n\"", "|", ">-",
                        "{\"a\": 'b'}", "[[], {}]", "{a: b c, d: e}", "...", "<<: x", "10:20:30", "a, b", "\"a\" b", "'a' # b",
                    ]),
                    prop::sample::select(vec!["\n", "\n", "\n", " \n", " # c\n", "\n\n", ""]),
                ),
                1..9,
            ),
        ) {
            let text: String = lines
                .iter()
                .flat_map(|(indent, start, rest, end)| [" ".repeat(*indent), (*start).to_owned(), (*rest).to_owned(), (*end).to_owned()])
                .collect();

            prop_assert!(agrees(&text).is_ok(), "{}", agrees(&text).unwrap_err());
        }
    }
}
