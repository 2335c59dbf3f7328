//! Parallel map.

use std::panic;
use std::thread;

use crate::progress::Progress;

/// Maps `all` on all processors and keeps their order.
pub(crate) fn map_parallel<'a, T: Sync, R: Send>(
    all: &'a [T],
    progress: &Progress,
    work: impl Fn(&'a T) -> R + Sync,
) -> Vec<R> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = all.len().div_ceil(workers).max(1);
    let done = |one| {
        let result = work(one);
        progress.step();
        result
    };
    thread::scope(|scope| {
        let handles: Vec<_> =
            all.chunks(share).map(|part| scope.spawn(|| part.iter().map(done).collect::<Vec<_>>())).collect();
        // A panic of a worker is passed on.
        let join = |handle: thread::ScopedJoinHandle<'_, Vec<R>>| {
            handle.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        };
        handles.into_iter().flat_map(join).collect()
    })
}
