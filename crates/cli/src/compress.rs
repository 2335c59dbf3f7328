//! Parallel compression of SquashFS blocks.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ichor_image::media::squashfs::BlockCompressor;

/// Compresses blocks on all processors and keeps their order. Workers take the next block when they finish one.
pub(crate) fn compress_blocks(blocks: &[Vec<u8>]) -> io::Result<Vec<Vec<u8>>> {
    let compressed: Vec<Mutex<Vec<u8>>> = blocks.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut compressor = BlockCompressor::new()?;
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(block) = blocks.get(nth) else { return Ok(()) };
            let packed = compressor.press(block)?;
            *compressed[nth].lock().expect("each block has one worker") = packed;
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(blocks.len());
    thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let join = |handle: thread::ScopedJoinHandle<'_, io::Result<()>>| {
            handle.join().map_err(|_| io::Error::other("a compression thread panicked"))?
        };
        handles.into_iter().try_for_each(join)
    })?;
    Ok(compressed.into_iter().map(|block| block.into_inner().expect("no worker panicked")).collect())
}

#[cfg(test)]
mod tests {
    use ichor_image::media::squashfs::compress_in_order;

    use super::*;

    #[test]
    fn compressed_blocks_keep_their_order() {
        let blocks: Vec<Vec<u8>> = (0..40_u8).map(|nth| vec![nth; 1000 + usize::from(nth) * 99]).collect();

        assert_eq!(compress_blocks(&blocks).unwrap(), compress_in_order(&blocks).unwrap());
        assert_eq!(compress_blocks(&[]).unwrap(), Vec::<Vec<u8>>::new());
    }
}
