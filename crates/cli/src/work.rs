//! Work that is shared out between the processors.

use std::thread;

use anyhow::anyhow;

use crate::progress::Progress;

/// Does something with each of `all`; the results are in their order.
pub(crate) fn shared_out<'a, T: Sync, R: Send>(
    all: &'a [T],
    progress: &Progress,
    work: impl Fn(&'a T) -> R + Sync,
) -> anyhow::Result<Vec<R>> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = all.len().div_ceil(workers).max(1);
    let done = |one| {
        let result = work(one);
        progress.step();
        result
    };
    let parts = thread::scope(|scope| {
        let hands: Vec<_> =
            all.chunks(share).map(|part| scope.spawn(|| part.iter().map(done).collect::<Vec<_>>())).collect();
        let join =
            |hand: thread::ScopedJoinHandle<'_, _>| hand.join().map_err(|_| anyhow!("a thread failed"));
        hands.into_iter().map(join).collect::<anyhow::Result<Vec<_>>>()
    })?;
    Ok(parts.into_iter().flatten().collect())
}
