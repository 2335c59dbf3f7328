//! A cluster file, written out again.
//!
//! Every value is written by its key's type and read again by it, so quotes are only needed where YAML itself would
//! take the text apart.

use std::fmt::Write;

/// A value that is printed as text.
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// `null`.
    Null,
    /// A single word.
    Scalar(String),
    /// A single word that must keep its quotes.
    Quoted(String),
    /// A list.
    List(Vec<Printed>),
    /// A map, in the order of its keys.
    Map(Vec<(String, Printed)>),
}

impl Printed {
    /// The value as a YAML document.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        match self {
            Self::Map(entries) if !entries.is_empty() => map(&mut out, entries, 0),
            other => out += &flow(other),
        }
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out
    }

    /// The value on one line, in flow style.
    pub fn to_flow(&self) -> String {
        flow(self)
    }

    /// The value under a key path such as `vm.cores` or `macs[1]`; list items also go by their name.
    pub fn at(&self, path: &str) -> Option<&Self> {
        path.split(['.', '[']).filter(|step| !step.is_empty()).try_fold(self, |value, step| {
            let step = step.trim_end_matches(']');
            match value {
                Self::Map(entries) => entries.iter().find(|(key, _)| key == step).map(|(_, value)| value),
                Self::List(items) => match step.parse::<usize>() {
                    Ok(number) => items.get(number),
                    Err(_) => {
                        items.iter().find(|item| item.at("name") == Some(&Self::Scalar(step.to_owned())))
                    }
                },
                Self::Null | Self::Scalar(_) | Self::Quoted(_) => None,
            }
        })
    }
}

fn map(out: &mut String, entries: &[(String, Printed)], indent: usize) {
    for (nth, (key, value)) in entries.iter().enumerate() {
        if nth > 0 || !out.ends_with("- ") {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        let key = word(key);
        match value {
            Printed::Map(inner) if !inner.is_empty() && !fits(value) => {
                let _ = writeln!(out, "{key}:");
                map(out, inner, indent + 2);
            }
            Printed::List(items) if !fits(value) => {
                let _ = writeln!(out, "{key}:");
                list(out, items, indent + 2);
            }
            value => {
                let _ = writeln!(out, "{key}: {}", flow(value));
            }
        }
    }
}

fn list(out: &mut String, items: &[Printed], indent: usize) {
    for item in items {
        out.extend(std::iter::repeat_n(' ', indent));
        out.push_str("- ");
        match item {
            Printed::Map(entries) if !fits(item) => map(out, entries, indent + 2),
            item => {
                let _ = writeln!(out, "{}", flow(item));
            }
        }
    }
}

/// Small values read better on one line.
fn fits(value: &Printed) -> bool {
    match value {
        Printed::Null | Printed::Scalar(_) | Printed::Quoted(_) => true,
        Printed::List(items) => items.iter().all(fits) && flow(value).len() <= 100,
        Printed::Map(entries) => entries.iter().all(|(_, value)| fits(value)) && flow(value).len() <= 100,
    }
}

fn flow(value: &Printed) -> String {
    match value {
        Printed::Null => "null".to_owned(),
        Printed::Scalar(text) => word(text),
        Printed::Quoted(text) => quote(text),
        Printed::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Printed::Map(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|(key, value)| format!("{}: {}", word(key), flow(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// `text` as a YAML scalar: unquoted if that is safe in every context, else in double quotes.
fn word(text: &str) -> String {
    if is_word(text) { text.to_owned() } else { quote(text) }
}

/// Whether `text` needs no quotes in any context.
pub(crate) fn is_word(text: &str) -> bool {
    let safe =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '+' | '@' | ':' | '=');
    let signed =
        text.strip_prefix(['-', '+']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let starts_well =
        signed || text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_'));
    let null = matches!(text, "null" | "Null" | "NULL");
    starts_well && text.chars().all(safe) && !text.ends_with(':') && !null && text != "..."
}

fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            '\t' => quoted += "\\t",
            c if c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}') => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_number_keeps_its_sign_without_quotes() {
        for text in ["-1", "+5", "-0.5"] {
            assert!(is_word(text), "{text}");
        }
        for text in ["-", "- 1", "-a", "--1", "+"] {
            assert!(!is_word(text), "{text}");
        }
    }
}
