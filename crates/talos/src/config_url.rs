//! `talos.config=URL` on metal: the variables in it, and the URL that Talos requests.
//!
//! [`expand`] inserts the values of a machine into the query only. As soon as one known variable is there,
//! Go rewrites the complete URL: the query sorted and escaped, whether the values are known or not.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};

use super::go::url::{self, Query};

/// The names of the variables.
pub(crate) const VARIABLES: [&str; 5] = ["uuid", "serial", "mac", "hostname", "code"];

/// A URL with its variables in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandedUrl {
    /// The requested URL.
    pub url: String,
    /// The variables in it that have no value: Talos waits for them, then requests the URL without.
    pub missing: Vec<&'static str>,
}

/// The URL that Talos requests on a machine with these values. An empty value counts as missing.
pub fn expand(text: &str, known: &BTreeMap<String, String>) -> Result<ExpandedUrl, &'static str> {
    let written = url::parts(text)?;
    let mut query = Query::parse(written.query);
    let active: Vec<Variable> =
        VARIABLES.into_iter().map(Variable::new).filter(|variable| variable.is_in(&query)).collect();
    if active.is_empty() {
        return Ok(ExpandedUrl { url: text.to_owned(), missing: Vec::new() });
    }
    let mut missing = Vec::new();
    for variable in &active {
        match known.get(variable.name).filter(|value| !value.is_empty()) {
            Some(value) => variable.replace(&mut query, value),
            None => missing.push(variable.name),
        }
    }
    Ok(ExpandedUrl { url: written.with_query(&query), missing })
}

struct Variable {
    name: &'static str,
    pattern: Regex,
}

impl Variable {
    fn new(name: &'static str) -> Self {
        let pattern =
            RegexBuilder::new(&regex::escape(&format!("${{{name}}}"))).case_insensitive(true).build();
        Variable { name, pattern: pattern.expect("a name between braces") }
    }

    /// `?uuid=` without a value is of the past, and still filled in.
    fn fills(&self, key: &str, values: &[String]) -> bool {
        self.name == "uuid" && key == self.name && !matches!(values, [one] if !one.trim().is_empty())
    }

    fn is_in(&self, query: &Query) -> bool {
        query.0.iter().any(|(key, values)| {
            self.fills(key, values) || values.iter().any(|value| self.pattern.is_match(value))
        })
    }

    fn replace(&self, query: &mut Query, with: &str) {
        for (key, values) in &mut query.0 {
            if self.fills(key, values) {
                *values = vec![with.to_owned()];
                continue;
            }
            for value in values {
                // As in Go, a `$1` in the value refers to a group, and the pattern has none.
                *value = self.pattern.replace_all(value, with).into_owned();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expanded(text: &str, known: &[(&str, &str)]) -> String {
        let known = known.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        expand(text, &known).unwrap().url
    }

    #[test]
    fn variables_are_expanded_in_the_query_only() {
        let known = [("uuid", "u"), ("mac", "m")];

        assert_eq!(expanded("http://a/${uuid}", &known), "http://a/${uuid}");
        assert_eq!(expanded("HTTP://a/${uuid}?m=${MAC}#x y", &known), "http://a/$%7Buuid%7D?m=m#x%20y");
        assert_eq!(expanded("http://a?uuid=x&m=${mac}", &known), "http://a?m=m&uuid=x");
        assert_eq!(expanded("http://a?uuid=x&uuid=y", &known), "http://a?uuid=u");
    }

    #[test]
    fn a_url_is_written_anew_as_go_writes_it() {
        let known = [("mac", "m")];

        assert_eq!(
            expanded("http://u:p!@a:80/x%2fy?b&a=${mac}&a;b=1&%zz=1", &known),
            "http://u:p%21@a:80/x%2fy?a=m&b="
        );
        assert_eq!(expanded("host:80/x?m=${mac}", &known), "host:80/x?m=m");
        assert_eq!(expanded("a%3Ab{?m=${mac}", &known), "./a:b%7B?m=m");
        assert_eq!(expanded("http://a/ä?m=${mac}#", &known), "http://a/%C3%A4?m=m");
    }

    #[test]
    fn an_invalid_url_is_rejected() {
        assert!(expand("10.0.0.1:80/x?uuid=", &BTreeMap::new()).is_err());
        assert!(expand("http://a/%zz", &BTreeMap::new()).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_or_an_error(text in "(http://|\\$\\{(uuid|mac)\\}|[?&=%;#@:/+a-z0-9 ]|\\PC){0,30}") {
            let known = BTreeMap::from([("uuid".to_owned(), "$1x${y}".to_owned())]);
            let _ = expand(&text, &known);
        }
    }
}
