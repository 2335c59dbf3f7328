//! Queries FRR's daemons through the vty sockets of vtysh: a command ends with a zero byte, an answer with three and a status.

use std::io::{self, Write as _};

/// Runs a command on a daemon of a machine.
pub(super) fn query(pid: i32, daemon: &str, command: &str) -> io::Result<String> {
    let mut stream = super::connect(pid, &format!("run/frr/{daemon}.vty"))?;
    let mut answer = String::new();
    // bfdd rejects show commands outside of enable mode.
    for command in ["enable", command] {
        stream.write_all(format!("{command}\0").as_bytes())?;
        answer = read_answer(&stream)?;
    }
    Ok(answer)
}

fn read_answer(mut from: impl io::Read) -> io::Result<String> {
    let (mut answer, mut part) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let read = from.read(&mut part)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        answer.extend_from_slice(&part[..read]);
        if let [text @ .., 0, 0, 0, status] = answer.as_slice() {
            let text = String::from_utf8_lossy(text).into_owned();
            return if *status == 0 { Ok(text) } else { Err(io::Error::other(format!("status {status}"))) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_with_its_status() {
        assert_eq!(read_answer(&b"{}\n\0\0\0\0"[..]).unwrap(), "{}\n");
        assert_eq!(read_answer(&b"% Unknown\0\0\0\x02"[..]).unwrap_err().to_string(), "status 2");
        assert_eq!(read_answer(&b"{\0\0"[..]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
