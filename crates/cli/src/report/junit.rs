//! Findings as JUnit XML for CI servers: a suite per cluster file, a case per rule.

use ichor_core::rules::{self, Finding};
use ichor_values::source::Sources;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use crate::commands::check::CheckedFile;

/// Renders the report of several files.
pub(crate) fn junit(files: &[CheckedFile], fails: &dyn Fn(&Finding) -> bool) -> std::io::Result<Vec<u8>> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.write_event(Event::Start(BytesStart::new("testsuites")))?;
    for file in files {
        suite(&mut xml, file, fails)?;
    }
    xml.write_event(Event::End(BytesEnd::new("testsuites")))?;
    let mut bytes = xml.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

fn suite(
    xml: &mut Writer<Vec<u8>>,
    file: &CheckedFile,
    fails: &dyn Fn(&Finding) -> bool,
) -> std::io::Result<()> {
    let cases = rules::all().count() + 1;
    let failed: std::collections::BTreeSet<_> =
        file.findings.iter().filter(|f| fails(f)).map(|f| f.rule.id).collect();
    let failures = failed.len() + usize::from(!file.problems.is_empty());
    let mut start = BytesStart::new("testsuite");
    start.push_attribute(("name", file.name.as_str()));
    start.push_attribute(("tests", cases.to_string().as_str()));
    start.push_attribute(("failures", failures.to_string().as_str()));
    let skips = if file.problems.is_empty() { 0 } else { cases - 1 };
    start.push_attribute(("skipped", skips.to_string().as_str()));
    xml.write_event(Event::Start(start))?;
    let lines = file.problems.iter().map(|problem| {
        format!("{} {}: {}", file.sources.locate(problem.place), problem.issue.subject, problem.issue.message)
    });
    case(xml, "understood", &file.name, &lines.collect::<Vec<_>>(), &[])?;
    for rule in rules::all() {
        if !file.problems.is_empty() {
            skipped(xml, rule.id, &file.name)?;
            continue;
        }
        let of_rule = || file.findings.iter().filter(|finding| finding.rule.id == rule.id);
        let failed: Vec<_> = of_rule().filter(|f| fails(f)).map(|f| line(&file.sources, f)).collect();
        let passed: Vec<_> = of_rule().filter(|f| !fails(f)).map(|f| line(&file.sources, f)).collect();
        case(xml, rule.id, &file.name, &failed, &passed)?;
    }
    xml.write_event(Event::End(BytesEnd::new("testsuite")))
}

/// Writes a rule that was not applied because the cluster file is invalid.
fn skipped(xml: &mut Writer<Vec<u8>>, name: &str, class: &str) -> std::io::Result<()> {
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("name", name));
    start.push_attribute(("classname", class));
    xml.write_event(Event::Start(start))?;
    xml.write_event(Event::Empty(BytesStart::new("skipped")))?;
    xml.write_event(Event::End(BytesEnd::new("testcase")))
}

fn line(sources: &Sources, finding: &Finding) -> String {
    format!("{} {}: {}", sources.locate(finding.place), finding.issue.subject, finding.issue.message)
}

fn case(
    xml: &mut Writer<Vec<u8>>,
    name: &str,
    class: &str,
    failed: &[String],
    passed: &[String],
) -> std::io::Result<()> {
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("name", name));
    start.push_attribute(("classname", class));
    if failed.is_empty() && passed.is_empty() {
        return xml.write_event(Event::Empty(start));
    }
    xml.write_event(Event::Start(start))?;
    for (tag, lines) in [("failure", failed), ("system-out", passed)] {
        if let Some(first) = lines.first() {
            let mut start = BytesStart::new(tag);
            if tag == "failure" {
                start.push_attribute(("message", first.as_str()));
            }
            xml.write_event(Event::Start(start))?;
            xml.write_event(Event::Text(BytesText::new(&lines.join("\n"))))?;
            xml.write_event(Event::End(BytesEnd::new(tag)))?;
        }
    }
    xml.write_event(Event::End(BytesEnd::new("testcase")))
}
