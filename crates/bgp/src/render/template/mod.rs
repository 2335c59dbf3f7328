//! User templates, which replace the file that ichor would write.
//!
//! The language is Jinja2's with its default settings, except that the final newline is kept. Templates can use the
//! [`variables`](variables::template_variables); any other name is an error. They cannot read files, and end after a
//! bounded number of steps.

pub mod variables;

use std::collections::BTreeSet;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};
use serde_json::Value;

use ichor_values::nearest;

/// Steps after which a template is stopped: a second's work at most, and far more than a node's BGP needs.
const STEPS: u64 = 2_000_000;

/// The maximum output in bytes, far above any daemon's configuration of one node.
const LONGEST: usize = 4 << 20;

/// A template.
#[derive(Clone, Copy)]
pub struct Template<'a> {
    /// The path in the cluster file, for errors.
    pub path: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Why a template cannot be rendered. It contains no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}: {reason}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub(crate) struct TemplateError {
    /// The template.
    pub path: String,
    /// Its line, if the error has one.
    pub line: Option<usize>,
    /// The problem, and how to fix it.
    pub reason: String,
}

/// Renders a template with these variables; no error contains one of `secrets`.
pub(crate) fn render(
    template: Template<'_>,
    variables: &Value,
    secrets: &[&str],
) -> Result<String, TemplateError> {
    let environment = environment();
    let text = environment
        .template_from_named_str(template.path, template.text)
        .and_then(|parsed| parsed.render(minijinja::Value::from(Serde(variables))));
    let template_error = |line, reason| TemplateError { path: template.path.to_owned(), line, reason };
    match text {
        Ok(text) if text.is_empty() => Err(template_error(None, "it gives an empty file".to_owned())),
        Ok(text) if text.len() > LONGEST => {
            Err(template_error(None, format!("it gives {} bytes, and {LONGEST} are the most", text.len())))
        }
        Ok(text) => Ok(text),
        Err(error) => {
            Err(template_error(error.line(), redact(&reason(template.text, variables, &error), secrets)))
        }
    }
}

/// A text without secrets, including their quoted and escaped forms.
pub fn redact(text: &str, secrets: &[&str]) -> String {
    let quoted = secrets.iter().map(|secret| format!("{secret:?}").trim_matches('"').to_owned());
    let mut forms: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).chain(quoted).collect();
    // The longest first: a shorter one may be a part of it.
    forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    let full = forms.iter().filter(|form| !form.is_empty());
    full.fold(text.to_owned(), |text, form| text.replace(form, "***"))
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    // A daemon expects a newline at the end.
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters"));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(STEPS));
    environment.set_debug(true);
    environment
}

fn reason(text: &str, variables: &Value, error: &Error) -> String {
    match error.kind() {
        ErrorKind::UndefinedError => {
            let written = error.range().and_then(|range| text.get(range)).unwrap_or_default();
            undefined_reason(written, variables)
        }
        ErrorKind::OutOfFuel => format!("stopped after {STEPS} steps; is there a loop without an end?"),
        _ => error.detail().map_or_else(|| error.kind().to_string(), str::to_owned),
    }
}

/// The problem of an undefined expression.
fn undefined_reason(written: &str, variables: &Value) -> String {
    let mut known = BTreeSet::new();
    collect_names(variables, &mut known);
    let part = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    // The last unknown word: the ones before it may be the template's own names.
    let unknown_word = written.rsplit(part).find(|word| !word.is_empty() && !known.contains(word));
    let suggestion = unknown_word.and_then(|word| nearest(word, known.iter().copied()));
    let suggestion = suggestion.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    let hint =
        if suggestion.is_empty() { "; docs/reference/template-variables.md lists the variables" } else { "" };
    match written {
        "" => format!("something here is not defined{hint}"),
        _ => format!("`{written}` is not defined{suggestion}{hint}"),
    }
}

/// The names of all variables and their parts.
fn collect_names<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            found.insert(name);
            collect_names(value, found);
        }),
        Value::Array(list) => list.iter().for_each(|value| collect_names(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render_text(text: &str) -> Result<String, String> {
        let variables = json!({"node": "n1", "fabric": {"neighbors": [{"asn": 65001, "password": "hush"}]}});
        let rendered = render(Template { path: "my.j2", text }, &variables, &["hush"]);
        rendered.map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_or_oversized_file_is_rejected() {
        let (empty, long) = (render_text("").unwrap_err(), render_text("{{ 'x' * 5000000 }}").unwrap_err());

        assert_eq!(empty, "my.j2: it gives an empty file");
        assert_eq!(long, "my.j2: it gives 5000000 bytes, and 4194304 are the most");
    }

    #[test]
    fn the_final_newline_is_kept() {
        let text =
            render_text("router {{ node }}\n{% for one in fabric.neighbors %}{{ one.asn }}\n{% endfor %}");

        assert_eq!(text.unwrap(), "router n1\n65001\n");
        assert_eq!(render_text("{{ node }}\n").unwrap(), "n1\n");
    }

    #[test]
    fn an_unknown_variable_is_reported_with_its_line_and_a_suggestion() {
        let near = render_text("a\n{{ fabric.neighbours }}\n").unwrap_err();
        let far = render_text("{{ something_else }}").unwrap_err();
        let part = render_text("{% for one in fabric.neighbors %}\n{{ one.asm }}{% endfor %}").unwrap_err();

        assert_eq!(near, "my.j2:2: `fabric.neighbours` is not defined; did you mean `neighbors`?");
        assert_eq!(
            far,
            "my.j2:1: `something_else` is not defined; docs/reference/template-variables.md lists the variables"
        );
        assert_eq!(part, "my.j2:2: `one.asm` is not defined; did you mean `asn`?");
    }

    #[test]
    fn an_endless_template_is_stopped() {
        let loops = "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}";
        let calls = "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}";

        assert!(render_text(loops).unwrap_err().contains("steps"));
        assert!(render_text(calls).unwrap_err().contains("recursion"));
    }

    #[test]
    fn a_template_cannot_read_files() {
        for text in
            ["{% include \"/etc/passwd\" %}", "{% import \"/etc/passwd\" as p %}", "{% extends \"a\" %}"]
        {
            assert!(render_text(text).unwrap_err().starts_with("my.j2:1: "), "{text}");
        }
    }

    #[test]
    fn errors_contain_no_secret() {
        let error = render_text("{{ fabric.neighbors[0].password|int }}").unwrap_err();

        assert!(!error.contains("hush"), "{error}");
        assert_eq!(redact(r#"a "x\"y\\z" b x"y\z"#, &[r#"x"y\z"#]), r#"a "***" b ***"#);
    }
}
