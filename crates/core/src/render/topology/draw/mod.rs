//! Draws a diagram as SVG, from back to front: frames, lines, boxes, port marks.

mod boxes;
mod legend;
mod lines;

use super::diagram::{Diagram, Title};
use super::layout::{Layout, MARGIN, flow};
use super::palette::{INK, PAPER, RULE};
use super::svg::{Svg, TextLine};
use super::text::FontFace;

/// The SVG document.
pub fn document(diagram: &Diagram, layout: &Layout) -> String {
    let mut svg = Svg::default();
    let room = layout.size.0 - 2 * MARGIN;
    title(&mut svg, &diagram.title, room);
    for (frame, area) in diagram.frames.iter().zip(&layout.frames) {
        boxes::frame(&mut svg, frame, *area);
    }
    lines::cables(&mut svg, diagram, layout);
    lines::wires(&mut svg, diagram, layout);
    for (nth, (hub, area)) in diagram.hubs.iter().zip(&layout.hubs).enumerate() {
        boxes::hub(&mut svg, hub, *area, &layout.measures, boxes::colour(diagram, nth));
    }
    for (frame, areas) in diagram.frames.iter().zip(&layout.cards) {
        for (card, area) in frame.cards.iter().zip(areas) {
            boxes::card(&mut svg, card, *area, &layout.measures);
        }
    }
    lines::ports(&mut svg, diagram, layout);
    legend::legend(&mut svg, diagram, layout.legend, room);
    svg.document(layout.size, &format!("Topology of {}", diagram.title.name), PAPER)
}

fn title(svg: &mut Svg, title: &Title, room: i32) {
    svg.open("title", "");
    let name = TextLine {
        face: FontFace::Bold,
        size: 24,
        fill: INK,
        ..TextLine::label((MARGIN, MARGIN + 20), &title.name, room)
    };
    svg.text(&name);
    for (fact, (x, y)) in title.facts.iter().zip(flow::title(title, room)) {
        let (x, y) = (MARGIN + x, MARGIN + y);
        let room = flow::fact_width(fact);
        svg.text(&TextLine::label((x, y + 8), &fact.label, room));
        let value = TextLine::label((x, y + 25), &fact.value, room);
        svg.text(&TextLine { face: FontFace::Mono, size: 13, fill: INK, ..value });
    }
    let under = MARGIN + flow::title_height(title, room) - 22;
    svg.path(&format!("M{MARGIN} {under}h{room}"), &format!(r#"stroke="{RULE}""#));
    svg.close();
}
