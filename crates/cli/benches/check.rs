//! Measures the work of `ichor check` without process start: `check FILE ROUNDS` prints the median in seconds.
//!
//! `scripts/bench` compares it with PyYAML loading the same file, with the same number of rounds.

use std::env;
use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use ichor_core::cluster::{FileError, Files, load};
use ichor_core::plan::attachment::Attachments;
use ichor_core::rules::{self, RuleContext};
use ichor_core::{model, plan};
use mimalloc::MiMalloc;

/// The allocator of `ichor`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

struct Disk;

impl Files for Disk {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        fs::read(path).map_err(FileError::new)
    }

    fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
        Ok(Vec::new())
    }
}

/// Loads, plans and checks a file. The result is freed outside of the measured time, because `ichor check` never frees it.
fn seconds(path: &str) -> Option<f64> {
    let start = Instant::now();
    let loaded = load(path, &mut Disk);
    let cluster = model::validate(loaded.file, loaded.problems).ok()?;
    let plan = plan::plan(&cluster);
    let attachments = Attachments::gather(&cluster, path, &mut Disk);
    let findings = rules::check(&RuleContext { cluster: &cluster, plan: &plan, attachments: &attachments });
    let seconds = start.elapsed().as_secs_f64();
    (findings.len() < plan.nodes.len()).then_some(seconds)
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    let [path, rounds] = words.as_slice() else {
        eprintln!("usage: check FILE ROUNDS");
        return ExitCode::from(2);
    };
    let rounds = rounds.parse().unwrap_or(1);
    let Some(mut taken) = (0..rounds).map(|_| seconds(path)).collect::<Option<Vec<_>>>() else {
        eprintln!("error: {path} has problems, or more findings than nodes");
        return ExitCode::FAILURE;
    };
    taken.sort_by(f64::total_cmp);
    println!("{}", taken[taken.len() / 2]);
    ExitCode::SUCCESS
}
