//! The words of an expression.

use super::CelError;

/// A token and its column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// The column of its start, counted from 1.
    pub column: usize,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// A name, reserved or not.
    Name(String),
    /// A number without sign; the digits of a hexadecimal one are marked.
    Int { digits: String, hexadecimal: bool },
    /// The same with `u` at its end.
    Uint { digits: String, hexadecimal: bool },
    /// A number with a point or an exponent.
    Double(String),
    /// Text; its contents matter only where they name a field.
    Text(String),
    /// Bytes.
    Bytes,
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of the expression.
    End,
}

/// Longer signs first: `<=` is not `<` and `=`.
const SIGNS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+", "*",
    "/", "%", "<", ">",
];

/// Splits a text into words.
pub(crate) fn split(text: &str) -> Result<Vec<Token>, CelError> {
    let mut reader = Tokenizer { text: text.chars().collect(), next: 0 };
    let mut tokens = Vec::new();
    loop {
        reader.skip_blanks();
        let column = reader.next + 1;
        let kind = reader.token()?;
        let end = kind == TokenKind::End;
        tokens.push(Token { kind, column });
        if end {
            return Ok(tokens);
        }
    }
}

struct Tokenizer {
    text: Vec<char>,
    next: usize,
}

impl Tokenizer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.next + ahead).copied()
    }

    fn starts_with(&self, word: &str) -> bool {
        word.chars().enumerate().all(|(nth, c)| self.peek(nth) == Some(c))
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let start = self.next;
        while self.peek(0).is_some_and(&keep) {
            self.next += 1;
        }
        self.text[start..self.next].iter().collect()
    }

    fn skip_blanks(&mut self) {
        loop {
            self.take_while(|c| matches!(c, '\t' | ' ' | '\r' | '\n' | '\u{c}'));
            if !self.starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn token(&mut self) -> Result<TokenKind, CelError> {
        let Some(first) = self.peek(0) else { return Ok(TokenKind::End) };
        if let Some(text) = self.read_quoted()? {
            return Ok(text);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(TokenKind::Name(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')));
        }
        if first.is_ascii_digit() || (first == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit())) {
            return Ok(self.number());
        }
        match SIGNS.into_iter().find(|sign| self.starts_with(sign)) {
            Some(sign) => {
                self.next += sign.len();
                Ok(TokenKind::Sign(sign))
            }
            None => Err(CelError::new(self.next + 1, format!("`{first}` has no meaning here"))),
        }
    }

    fn number(&mut self) -> TokenKind {
        let hexadecimal = self.starts_with("0x") && self.peek(2).is_some_and(|c| c.is_ascii_hexdigit());
        if hexadecimal {
            self.next += 2;
        }
        let mut digits =
            self.take_while(|c| if hexadecimal { c.is_ascii_hexdigit() } else { c.is_ascii_digit() });
        let fraction = !hexadecimal && self.fraction(&mut digits);
        if !fraction && matches!(self.peek(0), Some('u' | 'U')) {
            self.next += 1;
            return TokenKind::Uint { digits, hexadecimal };
        }
        if fraction { TokenKind::Double(digits) } else { TokenKind::Int { digits, hexadecimal } }
    }

    /// The fraction or exponent that follows the integer part of a number, if any.
    fn fraction(&mut self, digits: &mut String) -> bool {
        let mut found = false;
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            self.next += 1;
            digits.push('.');
            digits.push_str(&self.take_while(|c| c.is_ascii_digit()));
            found = true;
        }
        let signed = usize::from(matches!(self.peek(1), Some('+' | '-')));
        if matches!(self.peek(0), Some('e' | 'E'))
            && self.peek(1 + signed).is_some_and(|c| c.is_ascii_digit())
        {
            digits.extend(&self.text[self.next..=self.next + signed]);
            self.next += 1 + signed;
            digits.push_str(&self.take_while(|c| c.is_ascii_digit()));
            found = true;
        }
        found
    }

    /// Text or bytes, if the next word is one: an optional `b`, an optional `r`, and quotes.
    fn read_quoted(&mut self) -> Result<Option<TokenKind>, CelError> {
        let start = self.next;
        let bytes = matches!(self.peek(0), Some('b' | 'B'));
        let raw = matches!(self.peek(usize::from(bytes)), Some('r' | 'R'));
        let prefix = usize::from(bytes) + usize::from(raw);
        let Some(quote @ ('"' | '\'')) = self.peek(prefix) else { return Ok(None) };
        self.next += prefix;
        let triple = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        let quotes = if triple { 3 } else { 1 };
        self.next += quotes;
        let mut text = String::new();
        while !(0..quotes).all(|nth| self.peek(nth) == Some(quote)) {
            match self.peek(0) {
                None => return Err(CelError::new(start + 1, "the quotes are not closed")),
                Some('\n' | '\r') if !triple => {
                    return Err(CelError::new(start + 1, "the quotes are not closed on their line"));
                }
                Some('\\') if !raw => text.push(self.escape(start)?),
                Some(other) => {
                    text.push(other);
                    self.next += 1;
                }
            }
        }
        self.next += quotes;
        Ok(Some(if bytes { TokenKind::Bytes } else { TokenKind::Text(text) }))
    }

    fn escape(&mut self, start: usize) -> Result<char, CelError> {
        let wrong = || CelError::new(start + 1, "an escape that the language does not have");
        let letter = self.peek(1).ok_or_else(wrong)?;
        let (digits, radix) = match letter {
            'x' | 'X' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='3' => (3, 8),
            _ => {
                self.next += 2;
                return simple_escape(letter).ok_or_else(wrong);
            }
        };
        let from = self.next + if radix == 8 { 1 } else { 2 };
        let code: String = self.text.iter().skip(from).take(digits).collect();
        if code.chars().count() < digits || !code.chars().all(|c| c.is_digit(radix)) {
            return Err(wrong());
        }
        self.next = from + digits;
        u32::from_str_radix(&code, radix).ok().and_then(char::from_u32).ok_or_else(wrong)
    }
}

fn simple_escape(letter: char) -> Option<char> {
    Some(match letter {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '"' | '\'' | '\\' | '?' | '`' => letter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_come_in_many_forms() {
        let kinds = |text: &str| -> Vec<TokenKind> {
            split(text).unwrap().into_iter().map(|token| token.kind).collect()
        };
        let int = |digits: &str| TokenKind::Int { digits: digits.to_owned(), hexadecimal: false };

        assert_eq!(
            kinds("1.5e-3 .5 2e9")[..3],
            ["1.5e-3", ".5", "2e9"].map(|text| TokenKind::Double(text.to_owned()))
        );
        assert_eq!(kinds("1.a")[..2], [int("1"), TokenKind::Sign(".")]);
        assert_eq!(kinds("0xfFu")[0], TokenKind::Uint { digits: "fF".to_owned(), hexadecimal: true });
        assert_eq!(
            kinds(r#"r'\d' """a"b""" b'\xff' '\u00e9\101'"#)[..4],
            [
                TokenKind::Text("\\d".to_owned()),
                TokenKind::Text("a\"b".to_owned()),
                TokenKind::Bytes,
                TokenKind::Text("éA".to_owned()),
            ]
        );
    }
}
