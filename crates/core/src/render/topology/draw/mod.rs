//! Writes a placed scene down as SVG, from the ground up: frames, lines, boxes, marks on the boxes.

mod boxes;
mod legend;
mod lines;

use super::layout::{Layout, MARGIN, flow};
use super::palette::{INK, PAPER, RULE};
use super::scene::{Diagram, Title};
use super::svg::{Svg, TextLine};
use super::text::FontFace;

/// The whole picture.
pub fn document(scene: &Diagram, layout: &Layout) -> String {
    let mut svg = Svg::default();
    let room = layout.size.0 - 2 * MARGIN;
    title(&mut svg, &scene.title, room);
    for (frame, area) in scene.frames.iter().zip(&layout.frames) {
        boxes::frame(&mut svg, frame, *area);
    }
    lines::cables(&mut svg, scene, layout);
    lines::strands(&mut svg, scene, layout);
    for (nth, (hub, area)) in scene.hubs.iter().zip(&layout.hubs).enumerate() {
        boxes::hub(&mut svg, hub, *area, &layout.measures, boxes::colour(scene, nth));
    }
    for (frame, areas) in scene.frames.iter().zip(&layout.cards) {
        for (card, area) in frame.cards.iter().zip(areas) {
            boxes::card(&mut svg, card, *area, &layout.measures);
        }
    }
    lines::ports(&mut svg, scene, layout);
    legend::legend(&mut svg, scene, layout.legend, room);
    svg.document(layout.size, &format!("Topology of {}", scene.title.name), PAPER)
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
