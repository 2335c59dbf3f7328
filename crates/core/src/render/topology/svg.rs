//! SVG writer with few shapes and inline styles only, because viewers differ in their support of others.

use std::fmt::Write;

use super::palette::MUTED;
use super::text::{self, FontFace};
use crate::render::xml::escape;

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rectangle {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

impl Rectangle {
    pub(crate) fn right(self) -> i32 {
        self.x + self.width
    }

    pub(crate) fn bottom(self) -> i32 {
        self.y + self.height
    }

    pub(crate) fn middle(self) -> i32 {
        self.x + self.width / 2
    }
}

/// One line of text: start of the base line, style and maximum width.
#[derive(Clone, Copy, Debug)]
pub struct TextLine<'t> {
    pub at: (i32, i32),
    pub text: &'t str,
    pub(crate) face: FontFace,
    pub size: i32,
    pub(crate) fill: &'t str,
    pub(crate) room: i32,
    pub(crate) anchor: TextAnchor,
}

/// The part of a line at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextAnchor {
    Start,
    Middle,
    End,
}

impl<'t> TextLine<'t> {
    /// A small, muted label.
    pub fn label(at: (i32, i32), text: &'t str, room: i32) -> Self {
        Self { at, text, face: FontFace::Plain, size: 11, fill: MUTED, room, anchor: TextAnchor::Start }
    }
}

/// An SVG document under construction.
#[derive(Debug, Default)]
pub(crate) struct Svg(String);

impl Svg {
    /// A rectangle with rounded corners; `style` is attributes.
    pub(crate) fn rectangle(&mut self, area: Rectangle, round: i32, style: &str) {
        let Rectangle { x, y, width, height } = area;
        self.write(format_args!(
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{round}" {style}/>"#
        ));
    }

    /// A path; `style` is attributes.
    pub fn path(&mut self, path: &str, style: &str) {
        self.write(format_args!(r#"<path d="{path}" {style}/>"#));
    }

    /// A disc.
    pub fn disc(&mut self, (x, y): (i32, i32), radius: i32, fill: &str) {
        self.write(format_args!(r#"<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}"/>"#));
    }

    /// A text, truncated to its maximum width; the tooltip then has the full text.
    pub fn text(&mut self, line: &TextLine<'_>) {
        let TextLine { at: (x, y), face, size, fill, .. } = *line;
        let shown = text::truncate(line.text, face, size, line.room);
        let family = match face {
            FontFace::Mono => {
                r#" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace""#
            }
            FontFace::Bold => r#" font-weight="bold""#,
            FontFace::Plain => "",
        };
        let anchor = match line.anchor {
            TextAnchor::Start => "",
            TextAnchor::Middle => r#" text-anchor="middle""#,
            TextAnchor::End => r#" text-anchor="end""#,
        };
        let title = if shown == line.text { String::new() } else { title(line.text) };
        let shown = escape(&shown);
        self.write(format_args!(
            r#"<text x="{x}" y="{y}" font-size="{size}" fill="{fill}"{family}{anchor}>{title}{shown}</text>"#
        ));
    }

    /// Opens a group, which [`close`](Self::close) ends.
    pub(crate) fn open(&mut self, class: &str, hover: &str) {
        let title = if hover.is_empty() { String::new() } else { title(hover) };
        self.write(format_args!(r#"<g class="{class}">{title}"#));
    }

    /// Closes a group.
    pub(crate) fn close(&mut self) {
        self.write(format_args!("</g>"));
    }

    /// Finishes the document.
    pub fn document(self, (width, height): (i32, i32), name: &str, paper: &str) -> String {
        let title = title(name);
        let body = self.0;
        format!(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="system-ui, 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif">
{title}
<rect width="{width}" height="{height}" fill="{paper}"/>
{body}</svg>
"#
        )
    }

    fn write(&mut self, piece: std::fmt::Arguments<'_>) {
        self.0.write_fmt(piece).expect("a string takes everything");
        self.0.push('\n');
    }
}

fn title(text: &str) -> String {
    format!("<title>{}</title>", escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_text_has_the_full_text_as_tooltip() {
        let mut svg = Svg::default();

        svg.text(&TextLine::label((0, 0), "much too long", 40));

        assert!(svg.0.contains("<title>much too long</title>"), "{}", svg.0);
        assert!(svg.0.contains("…</text>"), "{}", svg.0);
    }
}
