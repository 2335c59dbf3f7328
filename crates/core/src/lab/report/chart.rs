//! Outages as bars, from the resolution of the measure upward on a scale of decades.

use std::fmt::Write;

use super::{subject, time};
use crate::lab::state::Flow;
use crate::lab::verdict::{Comparison, FailureComparison, Outage};
use crate::render::xml::escape;

const WIDTH: u32 = 1040;
const LEFT: u32 = 190;
const RIGHT: u32 = 90;
const TOP: u32 = 44;
const ROW: u32 = 34;
const BAR: u32 = 11;

/// The chart: two bars for everything that failed.
pub(super) fn svg(verdict: &Comparison) -> String {
    let rows: Vec<&FailureComparison> = verdict.rows.iter().filter(|row| row.without.is_some()).collect();
    if rows.is_empty() {
        return "<p class=\"muted\">Nothing was taken away.</p>\n".to_owned();
    }
    let scale = Scale::of(&rows, verdict.resolution);
    let height = TOP + ROW * u32::try_from(rows.len()).unwrap_or(u32::MAX / ROW - TOP) + 10;
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Outage of every failure\">\n"
    );
    legend(&mut svg);
    for (x, ms) in scale.ticks() {
        put(
            &mut svg,
            format_args!("<line class=\"grid\" x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{}\"/>", height - 8),
        );
        put(
            &mut svg,
            format_args!(
                "<text class=\"axis\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                TOP - 8,
                tick(ms)
            ),
        );
    }
    for (nth, row) in (0..).zip(rows) {
        let top = TOP + ROW * nth;
        let name = escape(subject(row));
        put(
            &mut svg,
            format_args!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", LEFT - 12, top + 21),
        );
        let bars = [
            Bar::of(&scale, row.outage.as_ref(), (top + 5, "outage"), verdict),
            Bar::of(&scale, row.healing.as_ref(), (top + 5 + BAR + 1, "healing"), verdict),
        ];
        for bar in &bars {
            bar.draw(&mut svg);
        }
        notice(&mut svg, &scale, row, top, verdict);
        // What is written stays readable above the line.
        for bar in &bars {
            bar.label(&mut svg);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn legend(svg: &mut String) {
    for (x, class, text) in [(LEFT, "outage", "outage"), (LEFT + 90, "healing", "while healing")] {
        put(
            svg,
            format_args!("<rect class=\"{class}\" x=\"{x}\" y=\"4\" width=\"10\" height=\"10\" rx=\"2\"/>"),
        );
        put(svg, format_args!("<text x=\"{}\" y=\"13\">{text}</text>", x + 15));
    }
    let x = LEFT + 210;
    put(svg, format_args!("<line class=\"notice\" x1=\"{x}\" y1=\"3\" x2=\"{x}\" y2=\"15\"/>"));
    put(svg, format_args!("<text x=\"{}\" y=\"13\">given up at the latest, by BFD or timers</text>", x + 9));
}

/// A line where everyone has noticed.
fn notice(svg: &mut String, scale: &Scale, row: &FailureComparison, top: u32, verdict: &Comparison) {
    let noticed = row.without.as_ref().map_or(0, |without| without.noticed);
    if row.outage.is_none() || noticed == 0 {
        return;
    }
    let x = scale.x(noticed);
    put(
        svg,
        format_args!(
            "<line class=\"notice\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{}\"><title>given up after {} at the latest</title></line>",
            top + 3,
            top + ROW - 4,
            time(noticed, verdict.emulated)
        ),
    );
}

/// A bar with what is written beside it.
struct Bar<'r> {
    class: &'static str,
    y: u32,
    width: u32,
    text: String,
    worst: Option<&'r Flow>,
}

impl<'r> Bar<'r> {
    fn of(
        scale: &Scale,
        outage: Option<&'r Outage>,
        (y, class): (u32, &'static str),
        verdict: &Comparison,
    ) -> Self {
        let (width, text) = match outage {
            None => (0, "not measured: no other way is left".to_owned()),
            Some(outage) if outage.ms == 0 => (3, "none".to_owned()),
            Some(outage) => ((scale.x(outage.ms) - LEFT).max(4), time(outage.ms, verdict.emulated)),
        };
        Self { class, y, width, text, worst: outage.and_then(|outage| outage.worst.as_ref()) }
    }

    fn draw(&self, svg: &mut String) {
        let Self { class, y, width, .. } = self;
        let title = |flow: &Flow| format!("<title>{} to {}</title>", escape(&flow.who()), flow.to);
        let title = self.worst.map(title).unwrap_or_default();
        if *width > 0 {
            put(
                svg,
                format_args!(
                    "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width}\" height=\"{BAR}\" rx=\"2\">{title}</rect>"
                ),
            );
        }
    }

    fn label(&self, svg: &mut String) {
        let class = if self.width > 3 { "value" } else { "value axis" };
        let (x, y) = (LEFT + self.width + 6, self.y + BAR - 1);
        put(svg, format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", self.text));
    }
}

/// A power of ten on the axis.
fn tick(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{} s", ms / 1000) }
}

/// Decades, from the one that the resolution is in.
struct Scale {
    first: u32,
    decades: u32,
}

impl Scale {
    fn of(rows: &[&FailureComparison], resolution: u64) -> Self {
        let outages =
            rows.iter().flat_map(|row| [&row.outage, &row.healing]).flatten().map(|outage| outage.ms);
        let noticed = rows.iter().filter_map(|row| row.without.as_ref()).map(|without| without.noticed);
        let longest = outages.chain(noticed).max().unwrap_or_default().max(resolution);
        let first = resolution.max(1).ilog10();
        let last = longest.max(1).ilog10() + 1;
        Self { first, decades: (last - first).max(1) }
    }

    /// Where a time is: logarithms are taken in fixed steps, so that the same chart is the same bytes everywhere.
    fn x(&self, ms: u64) -> u32 {
        let room = u64::from(WIDTH - LEFT - RIGHT);
        let ms = ms.max(10_u64.pow(self.first));
        let decade = ms.ilog10();
        let low = 10_u64.pow(decade);
        let part = fraction(ms * 1000 / low);
        let along = u64::from(decade - self.first) * 1000 + part;
        LEFT + u32::try_from((along * room / (u64::from(self.decades) * 1000)).min(room)).unwrap_or_default()
    }

    fn ticks(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..=self.decades).map(|nth| {
            let ms = 10_u64.pow(self.first + nth);
            (self.x(ms), ms)
        })
    }
}

/// A thousand times the logarithm of a number of thousandths from 1 to 10, by halving.
fn fraction(thousandths: u64) -> u64 {
    let mut bits = 0;
    // 32 fraction bits.
    let mut value = (u128::from(thousandths) << 32) / 1000;
    let ten = 10_u128 << 32;
    for _ in 0..16 {
        bits <<= 1;
        value = (value * value) >> 32;
        if value >= ten {
            value /= 10;
            bits |= 1;
        }
    }
    (bits * 1000) >> 16
}

fn put(svg: &mut String, piece: std::fmt::Arguments<'_>) {
    svg.write_fmt(piece).expect("a string takes everything");
    svg.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_book() {
        assert_eq!([1000, 2000, 5000, 9990].map(fraction), [0, 301, 698, 999]);
    }

    #[test]
    fn decades_are_equally_wide() {
        let scale = Scale { first: 1, decades: 3 };

        let at: Vec<u32> = scale.ticks().map(|(x, _)| x - LEFT).collect();

        assert_eq!(at, [0, 253, 506, 760]);
        assert_eq!(scale.x(1), LEFT);
    }
}
