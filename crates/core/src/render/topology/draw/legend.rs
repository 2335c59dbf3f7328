//! The legend of the symbols that occur in the diagram.

use super::lines;
use crate::render::topology::diagram::Diagram;
use crate::render::topology::layout::MARGIN;
use crate::render::topology::layout::flow::{self, LegendEntry, SIGN};
use crate::render::topology::palette::{ACCENT, CABLE, MUTED, PAPER, SPEAKER, SPEAKER_EDGE};
use crate::render::topology::svg::{Rectangle, Svg, TextLine};

/// The legend, starting at `top`.
pub(crate) fn legend(svg: &mut Svg, diagram: &Diagram, top: i32, room: i32) {
    svg.open("legend", "");
    let entries = flow::entries(diagram);
    for (entry, (x, y)) in entries.iter().zip(flow::legend(&entries, room)) {
        let (x, y) = (MARGIN + x, top + y);
        draw_symbol(svg, *entry, x, y);
        svg.text(&TextLine { size: 12, ..TextLine::label((x + SIGN, y + 12), entry.label(), room) });
    }
    svg.close();
}

fn draw_symbol(svg: &mut Svg, entry: LegendEntry, x: i32, y: i32) {
    let small = Rectangle { x: x + 8, y, width: 20, height: 14 };
    let outline = format!(r#"stroke="{MUTED}" stroke-width="1.5""#);
    match entry {
        LegendEntry::Wire(kind) => svg.path(&format!("M{x} {}h36", y + 8), &lines::style(kind, MUTED, 2)),
        LegendEntry::RouterCable => {
            svg.path(&format!("M{x} {}h36", y + 8), &format!(r#"stroke="{CABLE}" stroke-width="2""#));
        }
        LegendEntry::Bfd(true) => svg.rectangle(small, 4, &format!(r#"fill="{MUTED}" {outline}"#)),
        LegendEntry::Bfd(false) => svg.rectangle(small, 4, &format!(r#"fill="{PAPER}" {outline}"#)),
        LegendEntry::Speaker => {
            svg.rectangle(small, 4, &format!(r#"fill="{SPEAKER}" stroke="{SPEAKER_EDGE}""#));
        }
        LegendEntry::Vip => svg.text(&TextLine { fill: ACCENT, ..TextLine::label((x, y + 12), "VIP", SIGN) }),
        LegendEntry::Anycast => {
            svg.text(&TextLine { fill: ACCENT, ..TextLine::label((x, y + 12), "anycast", SIGN) });
        }
        LegendEntry::Stack => {
            for shift in [6, 3, 0] {
                let area = Rectangle { x: small.x + shift, y: small.y + shift - 3, height: 10, ..small };
                svg.rectangle(area, 2, &format!(r#"fill="{PAPER}" {outline}"#));
            }
        }
    }
}
