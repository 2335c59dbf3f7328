//! A comparison as one self-contained HTML page: the topology, a chart of outages, a table and all differences. It has no
//! scripts or external resources and supports light and dark mode.

mod chart;

use super::comparison::{Comparison, CutMode, FailureComparison, Outage};
use crate::render::xml::escape;

/// Renders the page. `topology` is the cluster's diagram.
pub fn html(comparison: &Comparison, topology: &str) -> String {
    let name = escape(&comparison.cluster);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{name}: lab test</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    page += &head(comparison);
    page += &differences(comparison);
    page += "<h2>Outages</h2>\n";
    page += &about(comparison);
    page += &format!("<figure class=\"wide\">\n{}</figure>\n", chart::render_svg(comparison));
    page += "<h2>Every failure</h2>\n";
    page += &table(comparison);
    page += "<h2>Topology</h2>\n";
    // The XML declaration before the element is for a separate file.
    let picture = topology.find("<svg").map_or("", |start| &topology[start..]);
    page += &format!("<figure class=\"paper\">\n{picture}</figure>\n");
    if !comparison.deviations.is_empty() {
        page += "<h2>Differences of this lab from the cluster file</h2>\n<ul>\n";
        for line in &comparison.deviations {
            page += &format!("<li>{}</li>\n", escape(line));
        }
        page += "</ul>\n";
    }
    page += "</main>\n</body>\n</html>\n";
    page
}

/// Formats a time. Times of an emulated machine do not apply to a real one and are marked with ~.
pub fn format_time(ms: u64, emulated: bool) -> String {
    let about = if emulated { "~" } else { "" };
    match ms {
        0..1000 => format!("{about}{ms} ms"),
        1000..100_000 => format!("{about}{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{about}{} s", ms / 1000),
    }
}

/// Formats an outage.
pub fn format_outage(outage: Option<&Outage>, comparison: &Comparison) -> String {
    match outage {
        None => "–".to_owned(),
        Some(outage) if outage.ms == 0 => "none".to_owned(),
        Some(outage) => format_time(outage.ms, comparison.emulated),
    }
}

/// The name of a row's failure.
pub fn failure_name(row: &FailureComparison) -> &str {
    row.without.as_ref().map_or("nothing", |without| &without.name)
}

fn head(comparison: &Comparison) -> String {
    let name = escape(&comparison.cluster);
    let wrong = comparison.rows.iter().filter(|row| !row.differences.is_empty()).count();
    let (class, answer) = match wrong {
        0 => ("good", "as predicted".to_owned()),
        1 => ("bad", "1 difference".to_owned()),
        many => ("bad", format!("{many} differences")),
    };
    let failures = comparison.rows.iter().filter(|row| row.without.is_some()).count();
    let worst = |select: fn(&FailureComparison) -> Option<&Outage>| {
        let all = comparison.rows.iter().filter_map(select);
        format_outage(all.max_by_key(|outage| outage.ms), comparison)
    };
    let mut text = format!(
        "<header>\n<h1>{name} <span class=\"badge {class}\">{answer}</span></h1>\n\
         <p class=\"lead\">The fabric of this cluster, run on real daemons and compared with the prediction of <code>ichor prove</code>.</p>\n\
         <dl class=\"facts\">\n{}{}{}{}</dl>\n</header>\n",
        fact("failures tried", &failures.to_string()),
        fact("flows", &comparison.flows.to_string()),
        fact("longest outage", &worst(|row| row.outage.as_ref())),
        fact("longest outage during recovery", &worst(|row| row.healing.as_ref())),
    );
    if comparison.emulated {
        text += "<p class=\"note\"><strong>Emulated.</strong> This lab ran on an emulated machine. Times are marked with ~, do not apply to \
                 a real fabric and are not checked.</p>\n";
    }
    text
}

fn fact(name: &str, value: &str) -> String {
    format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value))
}

fn differences(comparison: &Comparison) -> String {
    if comparison.is_match() {
        return String::new();
    }
    let mut text = "<h2>Differences</h2>\n".to_owned();
    for row in comparison.rows.iter().filter(|row| !row.differences.is_empty()) {
        let about = match &row.without {
            Some(without) => {
                format!("Without the {} <strong>{}</strong>", without.kind, escape(&without.name))
            }
            None => "Without a failure".to_owned(),
        };
        text += &format!("<section class=\"difference\">\n<p>{about}</p>\n<ul>\n");
        for line in &row.differences {
            text += &format!("<li>{}</li>\n", escape(line));
        }
        text += "</ul>\n</section>\n";
    }
    text
}

fn about(comparison: &Comparison) -> String {
    let cut = match comparison.cut {
        CutMode::Silent => "Links were cut silently: packets were lost while both ends kept their carrier.",
        CutMode::Carrier => "Links were cut with their carrier: both ends detected it at once.",
    };
    format!(
        "<p>The longest time without replies on any flow that still has a path: after the failure, and during the recovery. \
         {cut} Every flow sends a packet every {} ms, so shorter outages are not detected.</p>\n",
        comparison.resolution
    )
}

fn table(comparison: &Comparison) -> String {
    let mut text = "<div class=\"wide\"><table>\n<thead><tr><th>Failure</th><th></th><th>Expected</th><th>Observed</th>\
                    <th class=\"number\">Outage</th><th class=\"number\">Recovery</th><th>Result</th></tr></thead>\n<tbody>\n"
        .to_owned();
    for row in &comparison.rows {
        let kind = row.without.as_ref().map_or("", |without| &without.kind);
        let (class, answer) =
            if row.differences.is_empty() { ("good", "as predicted") } else { ("bad", "differs") };
        text += &format!(
            "<tr><th scope=\"row\">{}</th><td class=\"muted\">{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td><span class=\"badge {class}\">{answer}</span></td></tr>\n",
            escape(failure_name(row)),
            escape(kind),
            escape(&row.expected),
            escape(&row.observed),
            format_outage(row.outage.as_ref(), comparison),
            format_outage(row.healing.as_ref(), comparison),
        );
    }
    text += "</tbody>\n</table></div>\n";
    text
}

const STYLE: &str = "
:root { color-scheme: light dark; --paper: #ffffff; --ink: #0f172a; --muted: #475569; --rule: #e2e8f0; --card: #f8fafc;
  --outage: #c2410c; --healing: #0369a1; --notice: #64748b; --good: #15803d; --good-ground: #dcfce7; --bad: #b91c1c; --bad-ground: #fee2e2;
  --note-ground: #fef3c7; }
@media (prefers-color-scheme: dark) { :root { --paper: #0b1120; --ink: #e2e8f0; --muted: #94a3b8; --rule: #1e293b; --card: #111a2e;
  --outage: #fb923c; --healing: #38bdf8; --notice: #94a3b8; --good: #4ade80; --good-ground: #14301f; --bad: #f87171; --bad-ground: #3b1416;
  --note-ground: #3a2c0c; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; margin: 0 0 .25rem; display: flex; align-items: center; gap: .75rem; flex-wrap: wrap; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
p { margin: .25rem 0 .75rem; } .lead, .muted { color: var(--muted); }
code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .92em; }
.badge { display: inline-block; border-radius: 999px; padding: .1rem .65rem; font-size: .8rem; font-weight: 600; white-space: nowrap; }
.badge.good { background: var(--good-ground); color: var(--good); } .badge.bad { background: var(--bad-ground); color: var(--bad); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .75rem; margin: 1.25rem 0; }
.facts div { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: .7rem .9rem; }
.facts dt { color: var(--muted); font-size: .82rem; } .facts dd { margin: 0; font-size: 1.35rem; font-weight: 600; }
.note { background: var(--note-ground); border-radius: 10px; padding: .7rem .9rem; }
.difference { border-left: 4px solid var(--bad); background: var(--card); border-radius: 0 10px 10px 0; padding: .6rem 1rem; margin: .75rem 0; }
.difference p { margin: 0; } .difference ul { margin: .25rem 0; padding-left: 1.2rem; }
.wide { overflow-x: auto; margin: 0; } .paper { background: #ffffff; border: 1px solid var(--rule); border-radius: 10px; margin: .5rem 0; padding: .75rem; overflow-x: auto; }
.paper svg { max-width: 100%; height: auto; display: block; margin: 0 auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .6rem; border-bottom: 1px solid var(--rule); }
thead th { color: var(--muted); font-weight: 600; font-size: .82rem; } tbody th { font-weight: 600; white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.chart { width: 100%; height: auto; font: 12px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; }
.chart text { fill: var(--ink); } .chart .axis { fill: var(--muted); } .chart .grid { stroke: var(--rule); stroke-width: 1; }
.chart .value { font-size: 11px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.chart .outage { fill: var(--outage); } .chart .healing { fill: var(--healing); } .chart .notice { stroke: var(--notice); stroke-width: 2; stroke-dasharray: 3 2; }
@media print { main { max-width: none; } }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_and_emulated_ones_are_marked() {
        assert_eq!(
            [(0, false), (870, false), (9040, false), (120_000, false), (870, true)]
                .map(|(ms, emulated)| format_time(ms, emulated)),
            ["0 ms", "870 ms", "9.0 s", "120 s", "~870 ms"]
        );
    }
}
