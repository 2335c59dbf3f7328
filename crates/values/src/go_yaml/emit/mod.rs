//! Emits YAML as Talos and the Image Factory do: byte for byte as go-yaml.
//!
//! [`emit`] and [`emit_all`] write configurations. [`as_go`] and [`as_older_go`] write the input of hashes. They differ only
//! where go-yaml cannot read its own output: text of several lines whose first filled line starts with a space or tab, under
//! a list, and the line separators of Unicode. There `emit` takes double quotes.
//!
//! The rules are those of go-yaml v4 (`Marshal`): four spaces, lists indented under their key, never a folded line, single
//! quotes around text that would have another meaning as YAML, double quotes around text that would have another type.
//!
//! Not here: how unquoted scalars are resolved ([`scalar`](crate::go_yaml::scalar)).

mod style;

use serde_json::{Number, Value};

use style::{QuoteStyle, ScalarTraits, is_break, is_printable};

/// The indentation of a level, in spaces.
const STEP: usize = 4;

/// The longest key, in bytes, that is written on the line of its colon.
const LONGEST_KEY: usize = 128;

/// Emits one document.
pub fn emit(value: &Value) -> String {
    write(value, EmitMode::Readable)
}

/// Documents, joined as Talos joins those of a configuration.
pub fn emit_all(documents: &[Value]) -> String {
    documents.iter().map(emit).collect::<Vec<_>>().join("---\n")
}

/// One document exactly as go-yaml writes it, even where it could not read it back: the input of hashes.
pub fn as_go(node: &impl Emit) -> String {
    write(node, EmitMode::Exact)
}

/// One document exactly as go-yaml before 4.0.0-rc.5 writes it, which puts some texts into other quotes.
pub fn as_older_go(node: &impl Emit) -> String {
    write(node, EmitMode::ExactOlder)
}

/// Whether go-yaml before 4.0.0-rc.5 puts a text into other quotes than later releases: booleans of YAML 1.1 such as `yes`,
/// numbers with parts of sixty such as `12:34:56`, and `<<`.
pub fn quotes_vary(text: &str) -> bool {
    let traits = ScalarTraits::analyze(text);
    QuoteStyle::choose(text, &traits, false) != QuoteStyle::choose(text, &traits, true)
}

/// Whether go-yaml reads the same text back that it writes in this place of a document.
pub fn reads_back(text: &str, inside: EmitContext) -> bool {
    let style = QuoteStyle::choose(text, &ScalarTraits::analyze(text), false);
    style != QuoteStyle::Literal || is_readable(text, inside)
}

/// Which text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EmitMode {
    /// One that go-yaml reads back.
    Readable,
    /// That of go-yaml.
    Exact,
    /// That of go-yaml before 4.0.0-rc.5.
    ExactOlder,
}

fn write(node: &impl Emit, mode: EmitMode) -> String {
    let mut page = Emitter { out: String::new(), line_start: 0, whitespace: true, only_indent: true, mode };
    node.write(&mut page, EmitContext::Document);
    page.indent(0);
    page.out
}

/// A value that can be written.
pub trait Emit {
    /// Writes it at the end of the page.
    fn write(&self, page: &mut Emitter, inside: EmitContext);
}

/// The key of a map that represents an octal number, which JSON cannot distinguish from others.
const OCTAL: &str = "\0octal";

/// A number that is written in octal, as Talos writes the modes of files: `0o644`.
pub fn octal(number: u64) -> Value {
    Value::Object([(OCTAL.to_owned(), Value::from(number))].into_iter().collect())
}

/// The text of a number that is written in octal.
pub(crate) fn octal_text(value: &Value) -> Option<String> {
    let number = value.as_object().filter(|map| map.len() == 1)?.get(OCTAL)?.as_u64()?;
    Some(format!("0o{number:o}"))
}

impl Emit for Value {
    fn write(&self, page: &mut Emitter, inside: EmitContext) {
        match self {
            Value::Null => page.plain("null"),
            Value::Bool(flag) => page.plain(if *flag { "true" } else { "false" }),
            Value::Number(number) => page.plain(&digits(number)),
            Value::String(text) => page.text(text, inside),
            Value::Array(items) => page.list(items, inside),
            Value::Object(_) if octal_text(self).is_some() => {
                page.plain(&octal_text(self).unwrap_or_default());
            }
            Value::Object(entries) => {
                page.map(entries.iter().map(|(key, value)| (key.as_str(), value)), inside);
            }
        }
    }
}

fn digits(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => self::float(float),
        _ => number.to_string(),
    }
}

/// A number with a point as Go prints it (`%g`): with an exponent from a million up and below a ten-thousandth.
pub fn float(number: f64) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("Rust prints an exponent");
    let exponent: i32 = exponent.parse().expect("Rust prints a number there");
    if number != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    format!("{number}")
}

/// The collection around a value, which determines its indentation.
#[derive(Clone, Copy, Debug)]
pub enum EmitContext {
    /// None: it is the document.
    Document,
    /// A list at this column.
    List(usize),
    /// A map at this column.
    Map(usize),
}

impl EmitContext {
    /// The column of a list or map in there.
    pub fn block(self) -> usize {
        match self {
            EmitContext::Document => 0,
            EmitContext::List(column) => column + 2,
            EmitContext::Map(column) => (column + STEP) / STEP * STEP,
        }
    }

    /// The column of the lines of a text in there.
    fn lines(self) -> usize {
        match self {
            EmitContext::Document => STEP,
            inside => inside.block(),
        }
    }

    /// Whether a block is indented by four columns from its parent, the only indentation that go-yaml ever declares.
    fn is_one_step(self) -> bool {
        match self {
            EmitContext::Document => true,
            EmitContext::List(_) => false,
            EmitContext::Map(column) => self.lines() - column == STEP,
        }
    }
}

/// The text, and the state that go-yaml's emitter keeps about its end.
pub struct Emitter {
    out: String,
    line_start: usize,
    /// Whether the last thing written counts as a space.
    whitespace: bool,
    /// Whether the line holds nothing but indentation and the signs of lists and long keys.
    only_indent: bool,
    mode: EmitMode,
}

impl Emitter {
    /// A scalar that needs no quotes.
    pub fn plain(&mut self, text: &str) {
        if !self.whitespace && !text.is_empty() {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.end_scalar();
    }

    /// A list; its items are written under its key.
    pub fn list<N: Emit>(&mut self, items: &[N], inside: EmitContext) {
        if items.is_empty() {
            return self.empty("[", "]");
        }
        let column = inside.block();
        for item in items {
            self.indent(column);
            self.sign("-", true, true);
            item.write(self, EmitContext::List(column));
        }
    }

    /// A map, in the order given.
    pub fn map<'n, N: Emit + 'n>(
        &mut self,
        entries: impl Iterator<Item = (&'n str, &'n N)>,
        inside: EmitContext,
    ) {
        let column = inside.block();
        let mut entries = entries.peekable();
        if entries.peek().is_none() {
            return self.empty("{", "}");
        }
        for (key, value) in entries {
            self.indent(column);
            self.key(key, column);
            value.write(self, EmitContext::Map(column));
        }
    }

    fn empty(&mut self, open: &str, close: &str) {
        self.sign(open, true, false);
        self.sign(close, false, false);
    }

    fn key(&mut self, key: &str, column: usize) {
        let traits = ScalarTraits::analyze(key);
        let style = self.style(key, &traits);
        if traits.breaks || key.len() > LONGEST_KEY {
            self.sign("?", true, true);
            self.write_styled(key, style, EmitContext::Map(column));
            self.indent(column);
            self.sign(":", true, true);
        } else {
            self.write_styled(key, style, EmitContext::Map(column));
            self.sign(":", false, false);
        }
    }

    /// A text, with the quotes it needs.
    pub fn text(&mut self, text: &str, inside: EmitContext) {
        let style = self.style(text, &ScalarTraits::analyze(text));
        self.write_styled(text, style, inside);
    }

    fn style(&self, text: &str, traits: &ScalarTraits) -> QuoteStyle {
        QuoteStyle::choose(text, traits, self.mode == EmitMode::ExactOlder)
    }

    fn write_styled(&mut self, text: &str, style: QuoteStyle, inside: EmitContext) {
        let exact = self.mode != EmitMode::Readable;
        let separated = text.contains(['\u{2028}', '\u{2029}']);
        match style {
            _ if separated && !exact => self.double(text),
            QuoteStyle::Plain => self.plain(text),
            QuoteStyle::Single => self.single(text, inside),
            QuoteStyle::Double => self.double(text),
            QuoteStyle::Literal if exact || is_readable(text, inside) => self.literal(text, inside),
            QuoteStyle::Literal => self.double(text),
        }
    }

    fn single(&mut self, text: &str, inside: EmitContext) {
        self.sign("'", true, false);
        self.lines(text, inside, false, Some('\''));
        self.sign("'", false, false);
        self.end_scalar();
    }

    fn double(&mut self, text: &str) {
        self.sign("\"", true, false);
        // go-yaml compares every character with the byte order mark at the start of the text: all of them are escaped.
        let marked = text.starts_with('\u{feff}');
        for c in text.chars() {
            if marked || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.escape(c);
            } else {
                self.out.push(c);
            }
        }
        self.sign("\"", false, false);
        self.end_scalar();
    }

    fn escape(&mut self, c: char) {
        self.out.push('\\');
        let letter = match c {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0b' => 'v',
            '\x0c' => 'f',
            '\r' => 'r',
            '\x1b' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(c);
                self.out.push_str(&match code {
                    0..=0xff => format!("x{code:02X}"),
                    0x100..=0xffff => format!("u{code:04X}"),
                    _ => format!("U{code:08X}"),
                });
                return;
            }
        };
        self.out.push(letter);
    }

    fn literal(&mut self, text: &str, inside: EmitContext) {
        self.sign("|", true, false);
        if text.starts_with(' ') {
            self.sign("4", false, false);
        }
        let mut ends = text.chars().rev();
        match (ends.next().is_some_and(is_break), ends.next().is_none_or(is_break)) {
            (false, _) => self.sign("-", false, false),
            (true, true) => self.sign("+", false, false),
            (true, false) => {}
        }
        self.line_break();
        self.whitespace = true;
        self.lines(text, inside, true, None);
    }

    /// A text over several lines; `quote` is written twice. `broken`: it starts on a line of its own.
    fn lines(&mut self, text: &str, inside: EmitContext, mut broken: bool, quote: Option<char>) {
        for c in text.chars() {
            if is_break(c) {
                self.out.push(c);
                self.line_start = self.out.len();
                self.only_indent = true;
                broken = true;
                continue;
            }
            if broken {
                self.indent(inside.lines());
                broken = false;
            }
            if quote == Some(c) {
                self.out.push(c);
            }
            self.out.push(c);
            self.only_indent = false;
        }
    }

    fn end_scalar(&mut self) {
        self.whitespace = false;
        self.only_indent = false;
    }

    fn column(&self) -> usize {
        self.out.len() - self.line_start
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.line_start = self.out.len();
        self.only_indent = true;
    }

    /// Starts a line at a column, or continues the current one if it is still empty.
    fn indent(&mut self, column: usize) {
        if !self.only_indent || self.column() > column || (self.column() == column && !self.whitespace) {
            self.line_break();
        }
        for _ in self.column()..column {
            self.out.push(' ');
        }
        self.whitespace = true;
    }

    fn sign(&mut self, sign: &str, apart: bool, indents: bool) {
        if apart && !self.whitespace {
            self.out.push(' ');
        }
        self.out.push_str(sign);
        self.whitespace = matches!(sign, "[" | "{");
        self.only_indent &= indents;
    }
}

/// Whether go-yaml reads the block back that it would write.
fn is_readable(text: &str, inside: EmitContext) -> bool {
    match text.trim_start_matches('\n').chars().next() {
        Some(' ') => text.starts_with(' ') && inside.is_one_step(),
        Some('\t') => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_written_under_their_keys() {
        let value = json!({"a": {"list": [{"key": 10, "value": "x\ny\n"}, [1, [2]], {}, []], "empty": {}}, "b": null});

        let want = "a:\n    list:\n        - key: 10\n          value: |\n            x\n            y\n        - - 1\n          \
                    - - 2\n        - {}\n        - []\n    empty: {}\nb: null\n";
        assert_eq!(emit(&value), want);
    }

    #[test]
    fn documents_are_joined_by_three_dashes() {
        assert_eq!(emit_all(&[json!({"a": 1}), json!({"b": "c"})]), "a: 1\n---\nb: c\n");
        assert_eq!(emit_all(&[]), "");
    }

    #[test]
    fn quotes_match_go() {
        for (text, want) in [
            ("", r#""""#),
            ("1", r#""1""#),
            ("null", r#""null""#),
            ("0o17", r#""0o17""#),
            ("1_000", r#""1_000""#),
            ("2001-01-01", r#""2001-01-01""#),
            (".inf", r#"".inf""#),
            ("yes", "'yes'"),
            ("y", "'y'"),
            ("<<", "'<<'"),
            ("12:34:56", "'12:34:56'"),
            ("02:00:00:00:00:11", "'02:00:00:00:00:11'"),
            ("52:54:00:12:34:5f", "52:54:00:12:34:5f"),
            ("1e400", "1e400"),
            ("=", "="),
            ("a: b", "'a: b'"),
            ("a:b", "a:b"),
            ("a #b", "'a #b'"),
            ("- x", "'- x'"),
            ("-x", "-x"),
            ("--- a", "'--- a'"),
            ("it's", "it's"),
            ("'it", "'''it'"),
            (" a", "' a'"),
            ("a\tb", r#""a\tb""#),
            ("\u{7f}", r#""\x7F""#),
            ("☃", "☃"),
            ("🦀", r#""\U0001F980""#),
            ("\u{feff}a", r#""\uFEFF\x61""#),
            ("a\u{feff}", r#""a\uFEFF""#),
        ] {
            assert_eq!(emit(&json!(text)), format!("{want}\n"), "{text:?}");
            assert_eq!(emit(&json!({text: [text]})), format!("{want}:\n    - {want}\n"), "{text:?}");
        }
        assert_eq!(emit(&json!(["a\rb", "\n", "\u{85}"])), "- \"a\\rb\"\n- \"\\n\"\n- \"\\N\"\n");
    }

    #[test]
    fn block_headers_give_chomping_and_indentation() {
        for (text, want) in [
            ("a\nb", "k: |-\n    a\n    b\n"),
            ("a\nb\n\n", "k: |+\n    a\n    b\n\n"),
            ("  a\nb\n", "k: |4\n      a\n    b\n"),
            ("\na\n", "k: |\n\n    a\n"),
            ("a \nb", "k: \"a \\nb\"\n"),
            ("\ta\nb", "k: \"\\ta\\nb\"\n"),
            ("\n a\n", "k: \"\\n a\\n\"\n"),
        ] {
            assert_eq!(emit(&json!({"k": text})), want, "{text:?}");
        }
    }

    #[test]
    fn hashed_text_keeps_block_scalars() {
        assert_eq!(as_go(&json!(["  a\nb\n"])), "- |4\n    a\n  b\n");
        assert_eq!(emit(&json!(["  a\nb\n"])), "- \"  a\\nb\\n\"\n");
        assert_eq!(as_go(&json!({"k": "\ta\nb\n"})), "k: |\n    \ta\n    b\n");
        assert_eq!(as_go(&json!({"k": "a\u{2028}b"})), "k: 'a\u{2028}    b'\n");
    }

    #[test]
    fn a_long_key_or_one_of_several_lines_gets_a_question_mark() {
        let long = "k".repeat(129);

        assert_eq!(emit(&json!({&long: {"a": 1}})), format!("? {long}\n:   a: 1\n"));
        assert_eq!(emit(&json!({"a\nb\n": "c"})), "? |\n    a\n    b\n: c\n");
    }

    #[test]
    fn numbers_are_printed_as_go_prints_them() {
        for (number, want) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (123_456.7, "123456.7"),
            (1e6, "1e+06"),
            (1_234_567.5, "1.2345675e+06"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (-1e100, "-1e+100"),
            (-0.0, "-0"),
        ] {
            assert_eq!(float(number), want);
        }
        assert_eq!(emit(&json!([u64::MAX, i64::MIN])), "- 18446744073709551615\n- -9223372036854775808\n");
    }
}
