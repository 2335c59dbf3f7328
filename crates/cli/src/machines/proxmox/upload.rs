//! A file on its way: a form of several parts (RFC 7578), the file last.

use std::io::{self, Cursor, Read};

use ichor_core::machines::proxmox::Request;
use sha2::{Digest as _, Sha256};

use crate::machines::{Onlooker, Supply};

/// What parts the parts. Nothing that is sent before the file holds it, and what is in the file does not matter: the server
/// looks for it at the end.
const BOUNDARY: &str = "----ichor-c2b7a1de5f0943";

/// The kind of content that is sent.
pub(super) fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// A form with a file, read while it is sent.
pub(super) struct Upload<'o> {
    parts: Box<dyn Read + Send>,
    length: u64,
    done: u64,
    name: String,
    onlooker: &'o dyn Onlooker,
}

impl<'o> Upload<'o> {
    /// The parameters of `request`, and a file of this name.
    pub(super) fn new(
        request: &Request,
        name: &str,
        (file, length): (Box<dyn Read + Send>, u64),
        onlooker: &'o dyn Onlooker,
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
        Self { parts, length, done: 0, name: name.to_owned(), onlooker }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

impl Read for Upload<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.parts.read(buffer)?;
        self.done += count as u64;
        self.onlooker.bytes(&self.name, self.done, self.length);
        Ok(count)
    }
}

/// The SHA-256 of what is sent, in hex; none where it is not on this machine.
pub(super) fn sum(supply: &Supply) -> io::Result<Option<String>> {
    let Some((mut file, _)) = supply.open()? else { return Ok(None) };
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut hash)?;
    Ok(Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()))
}
