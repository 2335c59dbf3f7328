//! File uploads as multipart forms (RFC 7578) with the file last.

use std::io::{self, Cursor, Read};

use ichor_core::machines::proxmox::ProxmoxRequest;
use sha2::{Digest as _, Sha256};

use crate::machines::{MediumContent, ProgressSink};

/// Boundary of the parts. No parameter contains it; the contents of the file do not matter because Proxmox searches for it
/// from the end.
const BOUNDARY: &str = "----ichor-c2b7a1de5f0943";

/// Value of the header `content-type`.
pub(super) fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// A form with a file, streamed while it is sent.
pub(super) struct UploadForm<'o> {
    parts: Box<dyn Read + Send>,
    length: u64,
    done: u64,
    name: String,
    progress: &'o dyn ProgressSink,
}

impl<'o> UploadForm<'o> {
    /// Creates a form from the parameters of `request` and a file.
    pub(super) fn new(
        request: &ProxmoxRequest,
        name: &str,
        (file, length): (Box<dyn Read + Send>, u64),
        progress: &'o dyn ProgressSink,
    ) -> Self {
        let mut head = String::new();
        for (key, value) in &request.parameters {
            head +=
                &format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{key}\"\r\n\r\n{value}\r\n");
        }
        head += &format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        let tail = format!("\r\n--{BOUNDARY}--\r\n");
        let length = head.len() as u64 + length + tail.len() as u64;
        let parts =
            Box::new(Cursor::new(head.into_bytes()).chain(file).chain(Cursor::new(tail.into_bytes())));
        Self { parts, length, done: 0, name: name.to_owned(), progress }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

impl Read for UploadForm<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.parts.read(buffer)?;
        self.done += count as u64;
        self.progress.transferred(&self.name, self.done, self.length);
        Ok(count)
    }
}

/// SHA-256 of the contents in hex; none for a URL.
pub(super) fn sha256(content: &MediumContent) -> io::Result<Option<String>> {
    let Some((mut file, _)) = content.open()? else { return Ok(None) };
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash)?;
    Ok(Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()))
}
