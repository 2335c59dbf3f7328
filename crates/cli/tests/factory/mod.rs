//! Schematics on the Image Factory's own code.

mod lab;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Run, folder, root};

/// Texts of one line that YAML writes with quotes, or that look as if it did.
const WORDS: &[&str] = &[
    "yes",
    "Yes",
    "no",
    "NO",
    "on",
    "off",
    "y",
    "n",
    "true",
    "~",
    "null",
    "12:30:45",
    "1:2:3.5",
    "-1:30",
    "02:00:00:00:00:11",
    "52:54:00:12:34:5f",
    "12:60:45",
    "<<",
    "=",
    "",
    "0o17",
    "017",
    "0x1f",
    "1_000",
    "1e3",
    "1e400",
    ".inf",
    ".nan",
    "2001-01-01",
    "2001-01-01T00:00:00Z",
    " lead",
    "trail ",
    "a\tb",
    "\ttab",
    "a: b",
    "a:",
    "a #b",
    "#a",
    "- x",
    "-x",
    "? x",
    "'q",
    "it's",
    "\"q\"",
    "%d",
    "@a",
    "`a",
    "!t",
    "&a",
    "*a",
    "|",
    ">",
    "[a]",
    "{a}",
    "a,b",
    "---",
    "--- a",
    "...",
    "☃",
    "🦀",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "a\u{2029}b",
    "\u{feff}a",
    "a\rb",
    "a\\nb",
];

/// Texts of several lines.
const BLOCKS: &[&str] = &[
    "a\nb",
    "a\nb\n",
    "a\n\n",
    "\n",
    "\na\n",
    "\n  a\nb\n",
    "  a\nb\n",
    "\ta\nb\n",
    "a\n  b\n",
    "a\n\tb\n",
    "a \nb\n",
    "a\r\nb\r\n",
    "a\n---\nb\n",
    "yes\n",
    "a\u{2028}b\nc\n",
];

/// A YAML text in double quotes, in ASCII.
fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        _ => format!("\\U{:08X}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Every schematic of the recorded ones that Image Factory's package accepts.
fn recorded() -> Vec<String> {
    let data: PathBuf = root().join("crates/talos/tests/data/schematics");
    let cases: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(data.join("ids.json")).unwrap()).unwrap();
    let good = cases.iter().filter(|case| case.get("error").is_none());
    let files = good.map(|case| case["file"].as_str().unwrap());
    files.map(|file| fs::read_to_string(data.join(file)).unwrap()).collect()
}

/// A schematic for each text in each place where text may be.
fn with_texts() -> Vec<String> {
    let mut all = Vec::new();
    for text in WORDS.iter().chain(BLOCKS) {
        let text = quoted(text);
        all.push(format!("customization: {{extraKernelArgs: [a, {text}, b]}}\n"));
        all.push(format!("customization: {{meta: [{{key: 10, value: {text}}}, {{key: 11, value: a}}]}}\n"));
        all.push(format!("overlay: {{name: n1, image: i, options: {{a: {text}, {text}: b}}}}\n"));
    }
    all
}

/// A folder with a file for each schematic, and the names of the files.
fn schematics() -> (TempDir, Vec<String>) {
    let texts: Vec<_> = recorded().into_iter().chain(with_texts()).collect();
    let names: Vec<_> = (0..texts.len()).map(|nth| format!("{nth:03}.yaml")).collect();
    let files: Vec<_> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    (folder(&files), names)
}

/// What `ichor schematic id` prints about a schematic.
#[derive(Debug, Default, PartialEq)]
struct Judgement {
    id: String,
    older_id: Option<String>,
    is_unreadable: bool,
}

/// The judgements of a run of `ichor schematic id` with these files.
fn judgements(run: &Run, names: &[String]) -> Vec<Judgement> {
    assert_eq!((run.code, run.stdout.lines().count()), (0, names.len()), "{}", run.all());
    let judge = |(name, id): (&String, &str)| {
        let lines = run.stderr.lines().skip_while(|line| !line.contains(name.as_str()));
        let own = lines.take_while(|line| line.contains(name.as_str()) || line.starts_with("hint: "));
        let own: Vec<_> = own.collect();
        Judgement {
            id: id.to_owned(),
            older_id: own.iter().find_map(|line| Some(word_after(line, "or use ")?.to_owned())),
            is_unreadable: own.iter().any(|line| line.contains("cannot read this text")),
        }
    };
    names.iter().zip(run.stdout.lines()).map(judge).collect()
}

/// The word after a mark, without punctuation.
fn word_after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(mark)?;
    rest.split([' ', ';', '\n']).next()
}
