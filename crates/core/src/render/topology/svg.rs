//! SVG as text: few shapes, every style on the shape itself, because viewers differ in what else they understand.

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

/// One line of text: where its base line starts, how it looks and how much room it has.
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

/// Which part of a line is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextAnchor {
    Start,
    Middle,
    End,
}

impl<'t> TextLine<'t> {
    /// Small and muted.
    pub fn label(at: (i32, i32), text: &'t str, room: i32) -> Self {
        Self { at, text, face: FontFace::Plain, size: 11, fill: MUTED, room, anchor: TextAnchor::Start }
    }
}

/// A document that grows from front to end.
#[derive(Debug, Default)]
pub(crate) struct Svg(String);

impl Svg {
    /// A rectangle with rounded corners; `style` is attributes.
    pub(crate) fn rectangle(&mut self, area: Rectangle, round: i32, style: &str) {
        let Rectangle { x, y, width, height } = area;
        self.put(format_args!(
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{round}" {style}/>"#
        ));
    }

    /// A path; `style` is attributes.
    pub fn path(&mut self, path: &str, style: &str) {
        self.put(format_args!(r#"<path d="{path}" {style}/>"#));
    }

    /// A disc.
    pub fn disc(&mut self, (x, y): (i32, i32), radius: i32, fill: &str) {
        self.put(format_args!(r#"<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}"/>"#));
    }

    /// A text, cut to its room; then the whole text shows when the pointer rests on it.
    pub fn text(&mut self, line: &TextLine<'_>) {
        let TextLine { at: (x, y), face, size, fill, .. } = *line;
        let shown = text::fit(line.text, face, size, line.room);
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
        self.put(format_args!(
            r#"<text x="{x}" y="{y}" font-size="{size}" fill="{fill}"{family}{anchor}>{title}{shown}</text>"#
        ));
    }

    /// What follows belongs together, until [`close`](Self::close).
    pub(crate) fn open(&mut self, class: &str, hover: &str) {
        let title = if hover.is_empty() { String::new() } else { title(hover) };
        self.put(format_args!(r#"<g class="{class}">{title}"#));
    }

    /// Ends what [`open`](Self::open) began.
    pub(crate) fn close(&mut self) {
        self.put(format_args!("</g>"));
    }

    /// The whole document.
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

    fn put(&mut self, piece: std::fmt::Arguments<'_>) {
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
    fn a_text_that_was_cut_is_whole_in_its_title() {
        let mut svg = Svg::default();

        svg.text(&TextLine::label((0, 0), "much too long", 40));

        assert!(svg.0.contains("<title>much too long</title>"), "{}", svg.0);
        assert!(svg.0.contains("…</text>"), "{}", svg.0);
    }
}
