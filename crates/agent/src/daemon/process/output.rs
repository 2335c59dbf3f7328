//! The output of a program, line by line in the log.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use crate::log;

/// The longest line that is logged in one piece.
const LONGEST: u64 = 4096;

/// Logs every line under the program's name until its output ends.
pub(super) fn forward(name: &str, from: Option<impl AsyncRead + Send + Unpin + 'static>) {
    let Some(from) = from else { return };
    let name = name.to_owned();
    tokio::spawn(async move {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while let Ok(1..) = (&mut from).take(LONGEST).read_until(b'\n', &mut line).await {
            let text = String::from_utf8_lossy(&line);
            if !text.trim().is_empty() {
                log::info(format_args!("{name}: {}", text.trim_end()));
            }
            line.clear();
        }
    });
}
