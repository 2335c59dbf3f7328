//! Blocks, made shorter on all processors.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ichor_image::media::squashfs::Presser;

/// Makes blocks shorter, in their order. Whoever is done with one takes the next: some take longer than others.
pub(crate) fn on_all_processors(blocks: &[Vec<u8>]) -> io::Result<Vec<Vec<u8>>> {
    let pressed: Vec<Mutex<Vec<u8>>> = blocks.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut presser = Presser::new()?;
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(block) = blocks.get(nth) else { return Ok(()) };
            let shorter = presser.press(block)?;
            *pressed[nth].lock().expect("nobody else has this block") = shorter;
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(blocks.len());
    thread::scope(|scope| {
        let hands: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let join = |hand: thread::ScopedJoinHandle<'_, io::Result<()>>| {
            hand.join().map_err(|_| io::Error::other("a thread that compresses failed"))?
        };
        hands.into_iter().try_for_each(join)
    })?;
    Ok(pressed.into_iter().map(|block| block.into_inner().expect("nobody failed")).collect())
}

#[cfg(test)]
mod tests {
    use ichor_image::media::squashfs::one_by_one;

    use super::*;

    #[test]
    fn blocks_stay_in_their_order() {
        let blocks: Vec<Vec<u8>> = (0..40_u8).map(|nth| vec![nth; 1000 + usize::from(nth) * 99]).collect();

        assert_eq!(on_all_processors(&blocks).unwrap(), one_by_one(&blocks).unwrap());
        assert_eq!(on_all_processors(&[]).unwrap(), Vec::<Vec<u8>>::new());
    }
}
