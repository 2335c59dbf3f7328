//! The verdict on an extension.

use ichor_values::{Issue, Severity};

/// As many remarks of each sort are kept; the others are counted.
pub(super) const MOST: usize = 200;

/// The verdict of a release: problems and warnings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The problems for which Talos rejects it.
    pub problems: Vec<Remark>,
    /// Likely mistakes that Talos accepts or ignores.
    pub warnings: Vec<Remark>,
    /// The number of further problems.
    pub more_problems: usize,
    /// The number of further warnings.
    pub more_warnings: usize,
}

/// A remark about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The file, by its path in the extension.
    pub file: String,
    /// The line in it, counted from 1; 0 if it is about the complete file.
    pub line: u32,
    /// The problem and its fix. The subject is the key path, such as `container.mounts[0].source`;
    /// empty if it is about the complete file.
    pub issue: Issue,
}

impl Remark {
    /// A remark about a complete file.
    pub(super) fn for_file(file: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(file, 0, Issue::error("", message).with_help(fix))
    }

    /// The same about a line of it.
    pub(super) fn at(self, line: u32, path: impl Into<String>) -> Self {
        let issue = Issue { subject: path.into(), ..self.issue };
        Remark { line, issue, ..self }
    }

    /// A remark about a line of a file.
    pub(super) fn new(file: &str, line: u32, issue: Issue) -> Self {
        Remark { file: file.to_owned(), line, issue }
    }

    /// The fix.
    pub fn fix(&self) -> &str {
        self.issue.help.as_deref().unwrap_or_default()
    }
}

impl Verdict {
    /// Whether Talos takes it.
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn problem(&mut self, remark: Remark) {
        push(&mut self.problems, &mut self.more_problems, Severity::Error, remark);
    }

    pub(super) fn warn(&mut self, remark: Remark) {
        push(&mut self.warnings, &mut self.more_warnings, Severity::Warning, remark);
    }

    pub(super) fn warn_all(&mut self, remarks: impl IntoIterator<Item = Remark>) {
        remarks.into_iter().for_each(|remark| self.warn(remark));
    }
}

fn push(remarks: &mut Vec<Remark>, more: &mut usize, severity: Severity, remark: Remark) {
    if remarks.len() < MOST {
        remarks.push(Remark { issue: Issue { severity, ..remark.issue }, ..remark });
    } else {
        *more += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_beyond_the_limit_are_counted() {
        let mut verdict = Verdict::default();

        (0..MOST + 5).for_each(|nth| verdict.problem(Remark::for_file(&nth.to_string(), "wrong", "right")));

        assert_eq!((verdict.problems.len(), verdict.more_problems), (MOST, 5));
        assert!(!verdict.is_valid());
    }
}
