//! Every folder under `refused/` is a case: `ichor.yaml` in, `problems.txt` out.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run -p ichor-core refused::` rewrites `problems.txt`; the diff is reviewed.

use std::fmt::Write;

use ichor_core::model;

#[test]
fn rejected_files_have_their_expected_problems() {
    for case in ichor_testbed::cases("refused") {
        let loaded = ichor_testbed::load_case(&case, "ichor.yaml");
        let problems = model::validate(loaded.file, loaded.problems).expect_err(&case.display().to_string());
        let mut actual = String::new();
        for problem in &problems {
            let place = loaded.sources.locate(problem.place);
            let _ = writeln!(actual, "{place} {}: {}", problem.issue.subject, problem.issue.message);
            if let Some((place, note)) = &problem.also {
                let _ = writeln!(actual, "  {}: {note}", loaded.sources.locate(*place));
            }
            if let Some(want) = &problem.issue.help {
                let _ = writeln!(actual, "  {want}");
            }
        }

        ichor_testbed::assert_same(&case.join("problems.txt"), &actual);
    }
}
