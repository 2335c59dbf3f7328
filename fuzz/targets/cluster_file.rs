//! Any bytes are either a cluster file or a list of problems, never both and never a panic.
//!
//! The input holds up to three files, parted by the byte 0xff, which no UTF-8 has: the cluster file, what it includes,
//! and its table of nodes. A file that is understood is printed, and read from there is the same file.
#![no_main]

use ichor_core::cluster::read::Read;
use ichor_core::cluster::{Files, load};

const NAME: &str = "ichor.yaml";

struct Parts<'a>(Vec<&'a [u8]>);

impl Files for Parts<'_> {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let part = match path {
            NAME => 0,
            table if table.ends_with(".csv") => 2,
            _ => 1,
        };
        self.0.get(part).map(|bytes| bytes.to_vec()).ok_or_else(|| "no such file".to_owned())
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, String> {
        Ok(vec![pattern.to_owned()])
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let loaded = load(NAME, &mut Parts(bytes.splitn(3, |&byte| byte == 0xff).collect()));
    match loaded.file {
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in &problems {
                let _ = (loaded.sources.locate(problem.place), loaded.sources.line(problem.place));
            }
        }
        Ok(file) => {
            let printed = file.print();
            let text = printed.to_yaml();
            let again = load(NAME, &mut Parts(vec![text.as_bytes()])).file;
            assert_eq!(again.map(|file| file.print()), Ok(printed), "{text}");
        }
    }
});
