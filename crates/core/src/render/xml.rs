//! XML as text: what the picture and libvirt's documents have in common.

use std::fmt::{self, Display, Write as _};

/// An element with its attributes, and either elements or a text in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlElement {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<XmlElement>,
    text: String,
}

impl XmlElement {
    /// An empty element.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, attributes: Vec::new(), children: Vec::new(), text: String::new() }
    }

    /// With one more attribute.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// With one more element at its end.
    #[must_use]
    pub fn hold(mut self, child: XmlElement) -> Self {
        self.children.push(child);
        self
    }

    /// With more elements at its end.
    pub(crate) fn hold_all(mut self, children: impl IntoIterator<Item = XmlElement>) -> Self {
        self.children.extend(children);
        self
    }

    /// With this text in it.
    pub(crate) fn say(mut self, text: impl Display) -> Self {
        self.text = text.to_string();
        self
    }

    fn write(&self, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (indent, name) = ("  ".repeat(depth), self.name);
        write!(f, "{indent}<{name}")?;
        for (key, value) in &self.attributes {
            write!(f, " {key}=\"{}\"", escape_attribute(value))?;
        }
        if !self.children.is_empty() {
            f.write_str(">\n")?;
            for child in &self.children {
                child.write(depth + 1, f)?;
            }
            writeln!(f, "{indent}</{name}>")
        } else if !self.text.is_empty() {
            writeln!(f, ">{}</{name}>", escape(&self.text))
        } else {
            f.write_str("/>\n")
        }
    }
}

/// The element as a whole document.
impl Display for XmlElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}

/// `text` as XML character data or attribute value.
///
/// XML 1.0 has no way at all to write most control characters: they become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Readers turn line breaks and tabs of an attribute into spaces, unless they are written as numbers.
fn escape_attribute(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in escape(text).chars() {
        match letter {
            '\n' | '\t' => _ = write!(escaped, "&#{};", u32::from(letter)),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_text_stays_text() {
        assert_eq!(escape(r#"<a b="c">&'"#), "&lt;a b=&quot;c&quot;&gt;&amp;'");
        assert_eq!(escape("a\0b\u{1b}c\u{ffff}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
    }

    #[test]
    fn what_was_put_in_is_read_back() {
        let strange = "a\nb\tc<d>&'\"e";
        let element = XmlElement::new("a").with("b", strange).hold(XmlElement::new("c").say(strange));

        let text = element.to_string();
        let read = roxmltree::Document::parse(&text).unwrap();

        assert_eq!(read.root_element().attribute("b"), Some(strange), "{text}");
        let inner = read.descendants().find(|node| node.has_tag_name("c")).unwrap();
        assert_eq!(inner.text(), Some(strange), "{text}");
    }
}
