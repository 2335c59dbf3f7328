//! Runs the cases of a job on all processors, and reduces those whose answers differ.

use std::env;
use std::fmt::Display;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// How many runs the reduction of a case may take.
const REDUCTION: usize = 150;

/// How many differing cases are shown.
const SHOWN: usize = 3;

/// A case of a job.
pub(super) trait Case: Display + Clone + Send + Sync {
    /// The difference between the answers, if there is one.
    fn difference(&self) -> Option<String>;

    /// Smaller cases, the smallest first.
    fn smaller(&self) -> Vec<Self>;
}

/// Judges as many cases as `ICHOR_JUDGE_CASES` says, else `count`, beginning with number `ICHOR_JUDGE_FIRST`.
pub(super) fn judge<C: Case>(count: u64, make: impl Fn(u64) -> C + Sync) {
    let first = number("ICHOR_JUDGE_FIRST").unwrap_or(0);
    let end = first + number("ICHOR_JUDGE_CASES").unwrap_or(count);
    let (next, found) = (AtomicU64::new(first), AtomicUsize::new(0));
    let shown = Mutex::new(Vec::new());
    let work = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            if nth >= end || found.load(Ordering::Relaxed) >= SHOWN {
                return;
            }
            let case = make(nth);
            if case.difference().is_some() && found.fetch_add(1, Ordering::Relaxed) < SHOWN {
                let text = describe(nth, case);
                shown.lock().expect("no panic").push(text);
            }
        }
    };
    // A run mostly waits for the start of its process.
    let workers = thread::available_parallelism().map_or(2, usize::from) + 1;
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let shown = shown.into_inner().expect("no panic");
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

fn describe<C: Case>(nth: u64, case: C) -> String {
    let case = reduce(case);
    let difference = case.difference().unwrap_or_else(|| "the answers differ only sometimes".to_owned());
    format!("==== case {nth}, reduced\n{case}\n{difference}\n")
}

/// The smallest case found that still differs.
fn reduce<C: Case>(mut case: C) -> C {
    let mut left = REDUCTION;
    loop {
        let candidates = case.smaller();
        let found = candidates.into_iter().take_while(|_| {
            let runs = left > 0;
            left = left.saturating_sub(1);
            runs
        });
        match found.into_iter().find(|smaller| smaller.difference().is_some()) {
            Some(smaller) => case = smaller,
            None => return case,
        }
    }
}
