//! Work that is shared out between the processors.

use std::panic;
use std::thread;

use crate::progress::Progress;

/// Does something with each of `all`; the results are in their order.
pub(crate) fn shared_out<'a, T: Sync, R: Send>(
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
        let hands: Vec<_> =
            all.chunks(share).map(|part| scope.spawn(|| part.iter().map(done).collect::<Vec<_>>())).collect();
        // A panic of a thread is one of whoever waits for it.
        let join = |hand: thread::ScopedJoinHandle<'_, Vec<R>>| {
            hand.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        };
        hands.into_iter().flat_map(join).collect()
    })
}
