//! The report of a lab test: `lab/report.html` shows an example.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run -p ichor-core lab_report::` rewrites it; look at it in a browser before the diff is accepted.
#![expect(clippy::disallowed_methods, reason = "the case is a file")]

use std::path::Path;
use std::{env, fs};

use ichor_core::lab::comparison::{Comparison, CutMode, FailureComparison, InjectedFailure, Outage};
use ichor_core::lab::report;
use ichor_core::lab::state::Flow;

const PICTURE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"400\" \
                       height=\"60\"><text x=\"20\" y=\"36\" fill=\"#0f172a\">rack</text></svg>\n";

fn outage(ms: u64) -> Outage {
    let (source, to) = ("10.0.0.1".parse().unwrap(), "198.51.100.1".parse().unwrap());
    let worst = Flow { from: "outside".to_owned(), door: Some("leaf1".to_owned()), source, to };
    Outage { ms, hit: (usize::from(ms > 0), 40), worst: (ms > 0).then_some(worst) }
}

fn row(name: &str, kind: &str, noticed: u64, outages: Option<(u64, u64)>) -> FailureComparison {
    FailureComparison {
        without: Some(InjectedFailure { name: name.to_owned(), kind: kind.to_owned(), noticed }),
        expected: "nothing is lost".to_owned(),
        observed: "nothing is lost".to_owned(),
        outage: outages.map(|(ms, _)| outage(ms)),
        healing: outages.map(|(_, ms)| outage(ms)),
        differences: Vec::new(),
    }
}

fn comparison() -> Comparison {
    let summary = "16 sessions, 120 routes, 180 flows answered".to_owned();
    let intact = FailureComparison {
        without: None,
        expected: summary.clone(),
        observed: summary,
        ..row("", "", 0, None)
    };
    let wrong = FailureComparison {
        expected: "203.0.113.2/32 is gone; 12 of 180 flows end".to_owned(),
        observed: "203.0.113.2/32 and 10.0.0.2/32 are gone; 24 of 180 flows end".to_owned(),
        differences: vec![
            "leaf1 and leaf2: no route to 10.0.0.2/32, expected 1 path".to_owned(),
            "cp1 <by fab0>: no reply from 10.0.0.2".to_owned(),
        ],
        ..row("cp2:metallb", "speaker", 9000, Some((0, 0)))
    };
    Comparison {
        cluster: "rack & row".to_owned(),
        emulated: false,
        resolution: 45,
        cut: CutMode::Silent,
        deviations: vec!["FRR 8.4.4 runs instead of FRR 10.3.1 on leaf1 and leaf2".to_owned()],
        flows: 180,
        rows: vec![
            intact,
            row("leaf1", "router", 900, Some((912, 45))),
            row("spine1", "router", 9000, Some((8840, 0))),
            row("cp1", "node", 900, None),
            row("cp1:fab0", "link", 900, Some((39_120, 1210))),
            wrong,
        ],
    }
}

#[test]
fn the_report_is_the_expected_page() {
    let page = report::html(&comparison(), PICTURE);

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/report.html");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    similar_asserts::assert_eq!(page, wanted);
}

#[test]
fn the_page_is_self_contained_and_well_formed() {
    let page = report::html(&comparison(), PICTURE);

    let body = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
    let body = body.replace("<meta charset=\"utf-8\">", "");
    let start = body.find("<meta").unwrap();
    let end = start + body[start..].find('>').unwrap();
    let document = format!("{}{}", &body[..start], &body[end + 1..]);
    roxmltree::Document::parse(&document).unwrap();
    for foreign in ["<script", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("rack &amp; row") && page.contains("cp1 &lt;by fab0&gt;"));
}

#[test]
fn times_of_an_emulated_machine_are_marked_everywhere() {
    let page = report::html(&Comparison { emulated: true, ..comparison() }, PICTURE);

    assert!(page.contains("~912 ms") && page.contains("Emulated."));
    assert!(!page.contains(">912 ms"));
}
