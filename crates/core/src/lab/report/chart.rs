//! Outages as bars on a logarithmic scale that begins at the resolution of the measurement.

use std::fmt::Write;

use super::{failure_name, format_time};
use crate::lab::comparison::{Comparison, FailureComparison, Outage};
use crate::lab::state::Flow;
use crate::render::xml::escape;

const WIDTH: u32 = 1040;
const LEFT: u32 = 190;
const RIGHT: u32 = 90;
const TOP: u32 = 44;
const ROW: u32 = 34;
const BAR: u32 = 11;

/// Renders the chart: two bars for each failure.
pub(super) fn render_svg(comparison: &Comparison) -> String {
    let rows: Vec<&FailureComparison> = comparison.rows.iter().filter(|row| row.without.is_some()).collect();
    if rows.is_empty() {
        return "<p class=\"muted\">No failure was injected.</p>\n".to_owned();
    }
    let scale = Scale::new(&rows, comparison.resolution);
    let height = TOP + ROW * u32::try_from(rows.len()).unwrap_or(u32::MAX / ROW - TOP) + 10;
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Outage of every failure\">\n"
    );
    draw_legend(&mut svg);
    for (x, ms) in scale.ticks() {
        write_line(
            &mut svg,
            format_args!("<line class=\"grid\" x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{}\"/>", height - 8),
        );
        write_line(
            &mut svg,
            format_args!(
                "<text class=\"axis\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                TOP - 8,
                tick_label(ms)
            ),
        );
    }
    for (nth, row) in (0..).zip(rows) {
        let top = TOP + ROW * nth;
        let name = escape(failure_name(row));
        write_line(
            &mut svg,
            format_args!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", LEFT - 12, top + 21),
        );
        let bars = [
            Bar::new(&scale, row.outage.as_ref(), (top + 5, "outage"), comparison),
            Bar::new(&scale, row.healing.as_ref(), (top + 5 + BAR + 1, "healing"), comparison),
        ];
        for bar in &bars {
            bar.draw(&mut svg);
        }
        draw_detection_limit(&mut svg, &scale, row, top, comparison);
        // Labels are drawn last, above the line.
        for bar in &bars {
            bar.draw_label(&mut svg);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw_legend(svg: &mut String) {
    for (x, class, text) in [(LEFT, "outage", "outage"), (LEFT + 90, "healing", "recovery")] {
        write_line(
            svg,
            format_args!("<rect class=\"{class}\" x=\"{x}\" y=\"4\" width=\"10\" height=\"10\" rx=\"2\"/>"),
        );
        write_line(svg, format_args!("<text x=\"{}\" y=\"13\">{text}</text>", x + 15));
    }
    let x = LEFT + 210;
    write_line(svg, format_args!("<line class=\"notice\" x1=\"{x}\" y1=\"3\" x2=\"{x}\" y2=\"15\"/>"));
    write_line(svg, format_args!("<text x=\"{}\" y=\"13\">latest detection, by BFD or timers</text>", x + 9));
}

/// A line at the time when all neighbours have detected the failure.
fn draw_detection_limit(
    svg: &mut String,
    scale: &Scale,
    row: &FailureComparison,
    top: u32,
    comparison: &Comparison,
) {
    let noticed = row.without.as_ref().map_or(0, |without| without.noticed);
    if row.outage.is_none() || noticed == 0 {
        return;
    }
    let x = scale.x(noticed);
    write_line(
        svg,
        format_args!(
            "<line class=\"notice\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{}\"><title>detected after {} at the latest</title></line>",
            top + 3,
            top + ROW - 4,
            format_time(noticed, comparison.emulated)
        ),
    );
}

/// A bar with its label.
struct Bar<'r> {
    class: &'static str,
    y: u32,
    width: u32,
    text: String,
    worst: Option<&'r Flow>,
}

impl<'r> Bar<'r> {
    fn new(
        scale: &Scale,
        outage: Option<&'r Outage>,
        (y, class): (u32, &'static str),
        comparison: &Comparison,
    ) -> Self {
        let (width, text) = match outage {
            None => (0, "not measured: no other path".to_owned()),
            Some(outage) if outage.ms == 0 => (3, "none".to_owned()),
            Some(outage) => ((scale.x(outage.ms) - LEFT).max(4), format_time(outage.ms, comparison.emulated)),
        };
        Self { class, y, width, text, worst: outage.and_then(|outage| outage.worst.as_ref()) }
    }

    fn draw(&self, svg: &mut String) {
        let Self { class, y, width, .. } = self;
        let title = |flow: &Flow| format!("<title>{} to {}</title>", escape(&flow.sender()), flow.to);
        let title = self.worst.map(title).unwrap_or_default();
        if *width > 0 {
            write_line(
                svg,
                format_args!(
                    "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width}\" height=\"{BAR}\" rx=\"2\">{title}</rect>"
                ),
            );
        }
    }

    fn draw_label(&self, svg: &mut String) {
        let class = if self.width > 3 { "value" } else { "value axis" };
        let (x, y) = (LEFT + self.width + 6, self.y + BAR - 1);
        write_line(svg, format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", self.text));
    }
}

/// The label of a power of ten on the axis.
fn tick_label(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{} s", ms / 1000) }
}

/// A logarithmic scale in decades, from the decade of the resolution.
struct Scale {
    first: u32,
    decades: u32,
}

impl Scale {
    fn new(rows: &[&FailureComparison], resolution: u64) -> Self {
        let outages =
            rows.iter().flat_map(|row| [&row.outage, &row.healing]).flatten().map(|outage| outage.ms);
        let noticed = rows.iter().filter_map(|row| row.without.as_ref()).map(|without| without.noticed);
        let longest = outages.chain(noticed).max().unwrap_or_default().max(resolution);
        let first = resolution.max(1).ilog10();
        let last = longest.max(1).ilog10() + 1;
        Self { first, decades: (last - first).max(1) }
    }

    /// The position of a time. Logarithms are integers, so that a chart has the same bytes on every machine.
    fn x(&self, ms: u64) -> u32 {
        let room = u64::from(WIDTH - LEFT - RIGHT);
        let ms = ms.max(10_u64.pow(self.first));
        let decade = ms.ilog10();
        let low = 10_u64.pow(decade);
        let part = log10_thousandths(ms * 1000 / low);
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

/// A thousand times the decimal logarithm of a number between 1 and 10 in thousandths, by repeated squaring.
fn log10_thousandths(thousandths: u64) -> u64 {
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

fn write_line(svg: &mut String, piece: std::fmt::Arguments<'_>) {
    svg.write_fmt(piece).expect("writing to a string cannot fail");
    svg.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_correct_to_three_digits() {
        assert_eq!([1000, 2000, 5000, 9990].map(log10_thousandths), [0, 301, 698, 999]);
    }

    #[test]
    fn decades_are_equally_wide() {
        let scale = Scale { first: 1, decades: 3 };

        let at: Vec<u32> = scale.ticks().map(|(x, _)| x - LEFT).collect();

        assert_eq!(at, [0, 253, 506, 760]);
        assert_eq!(scale.x(1), LEFT);
    }
}
