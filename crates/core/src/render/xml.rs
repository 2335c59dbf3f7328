//! XML for the diagram and libvirt's documents.

use std::fmt::{self, Display, Write as _};

/// An element with attributes, and either child elements or text.
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

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// Appends a child element.
    #[must_use]
    pub fn child(mut self, child: XmlElement) -> Self {
        self.children.push(child);
        self
    }

    /// Appends child elements.
    pub(crate) fn children(mut self, children: impl IntoIterator<Item = XmlElement>) -> Self {
        self.children.extend(children);
        self
    }

    /// Sets the text.
    pub(crate) fn text(mut self, text: impl Display) -> Self {
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

/// The element as a document.
impl Display for XmlElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}

/// `text` as XML character data or attribute value.
///
/// XML 1.0 cannot represent most control characters: they become U+FFFD.
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

/// Escapes line breaks and tabs as well, which XML parsers otherwise normalise to spaces in attributes.
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
    fn markup_in_text_is_escaped() {
        assert_eq!(escape(r#"<a b="c">&'"#), "&lt;a b=&quot;c&quot;&gt;&amp;'");
        assert_eq!(escape("a\0b\u{1b}c\u{ffff}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
    }

    #[test]
    fn special_characters_survive_a_round_trip() {
        let special = "a\nb\tc<d>&'\"e";
        let element = XmlElement::new("a").with("b", special).child(XmlElement::new("c").text(special));

        let text = element.to_string();
        let read = roxmltree::Document::parse(&text).unwrap();

        assert_eq!(read.root_element().attribute("b"), Some(special), "{text}");
        let inner = read.descendants().find(|node| node.has_tag_name("c")).unwrap();
        assert_eq!(inner.text(), Some(special), "{text}");
    }
}
