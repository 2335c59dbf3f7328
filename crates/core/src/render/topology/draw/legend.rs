//! What the signs in the picture mean; only those that are in it.

use super::lines;
use crate::render::topology::layout::MARGIN;
use crate::render::topology::layout::flow::{self, Entry, SIGN};
use crate::render::topology::palette::{ACCENT, CABLE, MUTED, PAPER, SPEAKER, SPEAKER_EDGE};
use crate::render::topology::scene::Scene;
use crate::render::topology::svg::{Area, Line, Svg};

/// The legend, from `top` down.
pub(crate) fn legend(svg: &mut Svg, scene: &Scene, top: i32, room: i32) {
    svg.open("legend", "");
    let entries = flow::entries(scene);
    for (entry, (x, y)) in entries.iter().zip(flow::legend(&entries, room)) {
        let (x, y) = (MARGIN + x, top + y);
        sign(svg, *entry, x, y);
        svg.text(&Line { size: 12, ..Line::label((x + SIGN, y + 12), entry.words(), room) });
    }
    svg.close();
}

fn sign(svg: &mut Svg, entry: Entry, x: i32, y: i32) {
    let small = Area { x: x + 8, y, width: 20, height: 14 };
    let outline = format!(r#"stroke="{MUTED}" stroke-width="1.5""#);
    match entry {
        Entry::Wire(kind) => svg.path(&format!("M{x} {}h36", y + 8), &lines::style(kind, MUTED, 2)),
        Entry::RouterCable => {
            svg.path(&format!("M{x} {}h36", y + 8), &format!(r#"stroke="{CABLE}" stroke-width="2""#));
        }
        Entry::Bfd(true) => svg.rectangle(small, 4, &format!(r#"fill="{MUTED}" {outline}"#)),
        Entry::Bfd(false) => svg.rectangle(small, 4, &format!(r#"fill="{PAPER}" {outline}"#)),
        Entry::Speaker => {
            svg.rectangle(small, 4, &format!(r#"fill="{SPEAKER}" stroke="{SPEAKER_EDGE}""#));
        }
        Entry::Vip => svg.text(&Line { fill: ACCENT, ..Line::label((x, y + 12), "VIP", SIGN) }),
        Entry::Anycast => svg.text(&Line { fill: ACCENT, ..Line::label((x, y + 12), "anycast", SIGN) }),
        Entry::Stack => {
            for shift in [6, 3, 0] {
                let area = Area { x: small.x + shift, y: small.y + shift - 3, height: 10, ..small };
                svg.rectangle(area, 2, &format!(r#"fill="{PAPER}" {outline}"#));
            }
        }
    }
}
