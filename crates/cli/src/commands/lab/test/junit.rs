//! The test result as JUnit XML: one suite per lab, one case per failure.

use ichor_core::lab::comparison::{Comparison, FailureComparison};
use ichor_core::lab::report::{failure_name, format_outage};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

/// The report as JUnit XML.
pub(super) fn report(verdict: &Comparison) -> std::io::Result<Vec<u8>> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let failures = verdict.rows.iter().filter(|row| !row.differences.is_empty()).count();
    let mut suite = BytesStart::new("testsuite");
    suite.push_attribute(("name", verdict.cluster.as_str()));
    suite.push_attribute(("tests", verdict.rows.len().to_string().as_str()));
    suite.push_attribute(("failures", failures.to_string().as_str()));
    xml.write_event(Event::Start(BytesStart::new("testsuites")))?;
    xml.write_event(Event::Start(suite))?;
    for row in &verdict.rows {
        case(&mut xml, row, verdict)?;
    }
    xml.write_event(Event::End(BytesEnd::new("testsuite")))?;
    xml.write_event(Event::End(BytesEnd::new("testsuites")))?;
    let mut bytes = xml.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

fn case(xml: &mut Writer<Vec<u8>>, row: &FailureComparison, verdict: &Comparison) -> std::io::Result<()> {
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("name", format!("without {}", failure_name(row)).as_str()));
    start.push_attribute(("classname", verdict.cluster.as_str()));
    xml.write_event(Event::Start(start))?;
    if let Some(first) = row.differences.first() {
        let mut failure = BytesStart::new("failure");
        failure.push_attribute(("message", first.as_str()));
        write_text(xml, failure, &row.differences.join("\n"))?;
    }
    let text = format!(
        "expected: {}\nobserved: {}\noutage: {}\nhealing: {}",
        row.expected,
        row.observed,
        format_outage(row.outage.as_ref(), verdict),
        format_outage(row.healing.as_ref(), verdict)
    );
    write_text(xml, BytesStart::new("system-out"), &text)?;
    xml.write_event(Event::End(BytesEnd::new("testcase")))
}

fn write_text(xml: &mut Writer<Vec<u8>>, start: BytesStart<'_>, text: &str) -> std::io::Result<()> {
    let end = start.to_end().into_owned();
    xml.write_event(Event::Start(start))?;
    xml.write_event(Event::Text(BytesText::new(text)))?;
    xml.write_event(Event::End(end))
}

#[cfg(test)]
mod tests {
    use ichor_core::lab::comparison::{CutMode, InjectedFailure};

    use super::*;

    #[test]
    fn a_difference_is_a_failure_with_its_words_escaped() {
        let without = InjectedFailure { name: "leaf1".to_owned(), kind: "router".to_owned(), noticed: 900 };
        let row = FailureComparison {
            without: Some(without),
            expected: "nothing is lost".to_owned(),
            observed: "nothing is lost".to_owned(),
            outage: None,
            healing: None,
            differences: vec!["a < b".to_owned(), "c".to_owned()],
        };
        let intact = FailureComparison { without: None, differences: Vec::new(), ..row.clone() };
        let verdict = Comparison {
            cluster: "rack".to_owned(),
            emulated: false,
            resolution: 10,
            cut: CutMode::Silent,
            deviations: Vec::new(),
            flows: 1,
            rows: vec![intact, row],
        };

        let text = String::from_utf8(report(&verdict).unwrap()).unwrap();

        let document = roxmltree::Document::parse(&text).unwrap();
        let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
        assert_eq!((suite.attribute("tests"), suite.attribute("failures")), (Some("2"), Some("1")));
        let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
        assert_eq!((failure.attribute("message"), failure.text()), (Some("a < b"), Some("a < b\nc")));
    }
}
