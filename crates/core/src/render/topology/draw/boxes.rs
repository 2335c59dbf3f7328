//! Frames, hubs and cards.

use crate::render::topology::diagram::{Card, Diagram, Fact, Frame, Hub, HubKind, SpeakerBox};
use crate::render::topology::layout::measure::{HEAD, LINE, Measures, PAD, speaker_height};
use crate::render::topology::layout::{flow, int};
use crate::render::topology::palette::{self, ACCENT, FRAME, INK, MUTED, PAPER, RULE, SPEAKER, SPEAKER_EDGE};
use crate::render::topology::svg::{Rectangle, Svg, TextAnchor, TextLine};
use crate::render::topology::text::{FontFace, width};

/// The colour of hub `nth` and its wires.
pub(crate) fn colour(diagram: &Diagram, nth: usize) -> &'static str {
    let kind = diagram.hubs[nth].kind;
    let spines = diagram.hubs.iter().filter(|hub| hub.kind == HubKind::Spine).count();
    palette::hub(kind, nth.saturating_sub(spines))
}

/// The background of the cards of a site or role.
pub(crate) fn frame(svg: &mut Svg, frame: &Frame, area: Rectangle) {
    svg.open("frame", "");
    svg.rectangle(area, 10, &format!(r#"fill="{FRAME}" stroke="{RULE}""#));
    let at = (area.x + 16, area.bottom() - 10);
    let room = area.width - 32;
    let label =
        TextLine { face: FontFace::Bold, size: 13, fill: INK, ..TextLine::label(at, &frame.label, room) };
    svg.text(&label);
    let mut used = width(&frame.label, FontFace::Bold, 13) + 12;
    for (note, fill) in [(&frame.shared, ACCENT), (&frame.note, MUTED)] {
        if !note.is_empty() && used + 40 < room {
            let note = TextLine::label((at.0 + used, at.1), note, room - used);
            svg.text(&TextLine { size: 12, fill, ..note });
        }
        used += width(note, FontFace::Plain, 12) + 12;
    }
    svg.close();
}

/// A router, or a bar for a network.
pub(crate) fn hub(svg: &mut Svg, hub: &Hub, area: Rectangle, measures: &Measures, colour: &str) {
    svg.open("hub", &hub.detail());
    let background = palette::background(hub.kind);
    let dash = if hub.kind == HubKind::Neighbor { r#" stroke-dasharray="5 3""# } else { "" };
    let style = format!(r#"fill="{background}" stroke="{colour}" stroke-width="1.5"{dash}"#);
    shadows(svg, hub.count, area, &style);
    svg.rectangle(area, 6, &format!(r#"class="box" {style}"#));
    if hub.kind.is_band() {
        band(svg, hub, area, colour);
    } else {
        router(svg, hub, area, measures, colour);
    }
    svg.close();
}

fn band(svg: &mut Svg, hub: &Hub, area: Rectangle, colour: &str) {
    let mut x = area.x + 16;
    let name = TextLine::label((x, area.y + area.height / 2 + 5), &hub.name, area.width - 32);
    svg.text(&TextLine { face: FontFace::Bold, size: 14, fill: colour, ..name });
    x += width(&hub.name, FontFace::Bold, 14) + 32;
    for fact in &hub.facts {
        let room = flow::fact_width(fact).min(area.right() - 16 - x);
        if room > 40 {
            svg.text(&TextLine::label((x, area.y + 17), &fact.label, room));
            let value = TextLine::label((x, area.y + 34), &fact.value, room);
            svg.text(&TextLine { face: FontFace::Mono, size: 13, fill: INK, ..value });
        }
        x += room + 32;
    }
}

fn router(svg: &mut Svg, hub: &Hub, area: Rectangle, measures: &Measures, colour: &str) {
    let word = if hub.count > 1 { "" } else { hub.kind.word() };
    let beside = width(word, FontFace::Plain, 11);
    let room = area.width - 2 * PAD;
    let name = TextLine::label((area.x + PAD, area.y + 20), &hub.name, room - beside - 8);
    svg.text(&TextLine { face: FontFace::Bold, size: 14, fill: colour, ..name });
    svg.text(&TextLine {
        anchor: TextAnchor::End,
        ..TextLine::label((area.right() - PAD, area.y + 20), word, beside)
    });
    facts(svg, &hub.facts, Rectangle { y: area.y + HEAD - 2, ..area }, measures.hub_label);
}

/// A node, or a stack of similar nodes.
pub(crate) fn card(svg: &mut Svg, card: &Card, area: Rectangle, measures: &Measures) {
    let head = palette::role(card.role);
    svg.open("card", &card.detail);
    let style = format!(r#"fill="{PAPER}" stroke="{head}" stroke-width="1.5""#);
    shadows(svg, card.count, area, &style);
    svg.rectangle(area, 8, &format!(r#"class="box" {style}"#));
    let Rectangle { x, y, width: wide, .. } = area;
    svg.path(
        &format!("M{x} {}V{}a8 8 0 0 1 8 -8H{}a8 8 0 0 1 8 8V{}Z", y + HEAD, y + 8, x + wide - 8, y + HEAD),
        &format!(r#"fill="{head}""#),
    );
    let room = wide - 2 * PAD;
    let beside = width(&card.caption, FontFace::Plain, 11);
    // A long name replaces the caption: the colour of the header shows the role as well.
    let caption = !card.caption.is_empty() && width(&card.name, FontFace::Bold, 14) <= room - beside;
    let name = TextLine::label((x + PAD, y + 23), &card.name, if caption { room - beside } else { room });
    svg.text(&TextLine { face: FontFace::Bold, size: 14, fill: PAPER, ..name });
    if caption {
        let caption = TextLine::label((area.right() - PAD, y + 23), &card.caption, beside);
        svg.text(&TextLine { anchor: TextAnchor::End, fill: PAPER, ..caption });
    }
    facts(svg, &card.facts, Rectangle { y: y + HEAD + 4, ..area }, measures.label);
    if let Some(inside) = &card.speaker {
        speaker(svg, inside, area);
    }
    svg.close();
}

/// The edges of a stack below its top box.
fn shadows(svg: &mut Svg, count: usize, area: Rectangle, style: &str) {
    if count > 1 {
        for shift in [6, 3] {
            svg.rectangle(Rectangle { x: area.x + shift, y: area.y + shift, ..area }, 8, style);
        }
    }
}

fn facts(svg: &mut Svg, facts: &[Fact], area: Rectangle, label: i32) {
    for (nth, fact) in facts.iter().enumerate() {
        let y = area.y + 14 + LINE * int(nth);
        let room = area.width - 2 * PAD;
        let indent = if fact.label.is_empty() && nth == 0 { 0 } else { label };
        svg.text(&TextLine::label((area.x + PAD, y), &fact.label, label - 4));
        let value = TextLine::label((area.x + PAD + indent, y), &fact.value, room - indent);
        let fill = if fact.accent { ACCENT } else { INK };
        svg.text(&TextLine { face: FontFace::Mono, size: 12, fill, ..value });
    }
}

fn speaker(svg: &mut Svg, speaker: &SpeakerBox, card: Rectangle) {
    let height = speaker_height(speaker.lines.len());
    let area = Rectangle { x: card.x + 8, y: card.bottom() - 8 - height, width: card.width - 16, height };
    svg.rectangle(area, 4, &format!(r#"fill="{SPEAKER}" stroke="{SPEAKER_EDGE}""#));
    let (x, y) = (area.x + 8, area.y + 16);
    let room = area.width - 16;
    let name = TextLine { face: FontFace::Bold, fill: INK, ..TextLine::label((x, y), &speaker.name, room) };
    svg.text(&name);
    let beside = width(&speaker.name, FontFace::Bold, 11) + 8;
    for (nth, line) in speaker.lines.iter().enumerate() {
        let indent = if nth == 0 { beside } else { 0 };
        svg.text(&TextLine::label((x + indent, y + 16 * int(nth)), line, room - indent));
    }
}
