//! Any bytes are either a cluster file or a list of problems, never both and never a panic.
//!
//! The input holds up to three files, parted by the byte 0xff, which no UTF-8 has: the cluster file, what it includes,
//! and its table of nodes. A file that is understood is printed, and read from there is the same file.
#![no_main]

use ichor_core::cluster::{FileError, Files, load};
use ichor_core::plan::attachment::Attachments;
use ichor_core::render::topology;
use ichor_core::rules::{self, RuleContext};
use ichor_core::{model, plan};
use ichor_values::read::Read;

const NAME: &str = "ichor.yaml";

struct Parts<'a>(Vec<&'a [u8]>);

impl Files for Parts<'_> {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        let part = match path {
            NAME => 0,
            table if table.ends_with(".csv") => 2,
            _ => 1,
        };
        self.0.get(part).map(|bytes| bytes.to_vec()).ok_or_else(|| FileError::new("no such file"))
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, FileError> {
        Ok(vec![pattern.to_owned()])
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let loaded = load(NAME, &mut Parts(bytes.splitn(3, |&byte| byte == 0xff).collect()));
    if loaded.problems.is_empty() {
        let file = loaded.file.as_ref().expect("read, for there are no problems");
        let text = file.print().to_yaml();
        let again = load(NAME, &mut Parts(vec![text.as_bytes()]));
        assert_eq!(again.file.as_ref(), Some(file), "{text}");
    }
    match model::validate(loaded.file, loaded.problems) {
        Ok(cluster) => {
            let plan = plan::plan(&cluster);
            let attachments = Attachments::gather(&cluster, NAME, &mut Parts(Vec::new()));
            let _ = rules::check(&RuleContext { cluster: &cluster, plan: &plan, attachments: &attachments });
            let _ = topology::render(&cluster, &plan);
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in &problems {
                let _ = (loaded.sources.locate(problem.place), loaded.sources.line(problem.place));
            }
        }
    }
});
