//! Cables, wires, and port marks.

use super::boxes::colour;
use crate::render::topology::diagram::{Diagram, WireKind};
use crate::render::topology::layout::Layout;
use crate::render::topology::layout::measure::PORT;
use crate::render::topology::layout::wiring::PortMark;
use crate::render::topology::palette::{CABLE, PAPER};
use crate::render::topology::svg::{Rectangle, Svg, TextAnchor, TextLine};

/// The cables between routers.
pub fn cables(svg: &mut Svg, diagram: &Diagram, layout: &Layout) {
    for cable in &diagram.cables {
        let (upper, lower) = (layout.hubs[cable.ends.0], layout.hubs[cable.ends.1]);
        let path = format!(
            "M{} {}L{} {}",
            upper.middle(),
            upper.y + upper.height / 2,
            lower.middle(),
            lower.y + lower.height / 2
        );
        svg.open("cable", &cable.detail);
        svg.path(&path, &format!(r#"fill="none" stroke="{CABLE}" stroke-width="2""#));
        svg.close();
    }
}

/// The style of a wire of this kind.
pub(crate) fn style(kind: WireKind, colour: &str, weight: i32) -> String {
    let dash = match kind {
        WireKind::Unnumbered | WireKind::Attached => "",
        WireKind::Numbered => r#" stroke-dasharray="7 4""#,
        WireKind::Cable => r#" stroke-opacity="0.5""#,
        WireKind::Tunnel => r#" stroke-dasharray="2 4" stroke-linecap="round""#,
    };
    format!(r#"fill="none" stroke="{colour}" stroke-width="{weight}"{dash}"#)
}

/// The wires, and dots at their junctions.
pub(crate) fn wires(svg: &mut Svg, diagram: &Diagram, layout: &Layout) {
    for line in &layout.wiring.lines {
        svg.open("wire", &line.detail);
        svg.path(&line.path, &style(line.kind, colour(diagram, line.hub), if line.shared { 3 } else { 2 }));
        svg.close();
    }
    for dot in &layout.wiring.dots {
        svg.disc(dot.at, 4, colour(diagram, dot.hub));
    }
}

/// The port marks.
pub fn ports(svg: &mut Svg, diagram: &Diagram, layout: &Layout) {
    for port in &layout.wiring.ports {
        svg.open("port", &port.detail);
        draw_port(svg, port, colour(diagram, port.hub));
        svg.close();
    }
}

fn draw_port(svg: &mut Svg, port: &PortMark, colour: &str) {
    let height = if port.name.is_empty() { 8 } else { PORT };
    let (x, y) = port.at;
    let area = Rectangle { x: x - port.width / 2, y: y - height / 2, width: port.width, height };
    let filled = port.bfd;
    let fill = if filled { colour } else { PAPER };
    svg.rectangle(area, height / 4, &format!(r#"fill="{fill}" stroke="{colour}" stroke-width="1.5""#));
    if !port.name.is_empty() {
        let line = TextLine::label((x, y + 4), &port.name, port.width);
        svg.text(&TextLine { fill: if filled { PAPER } else { colour }, anchor: TextAnchor::Middle, ..line });
    }
}
