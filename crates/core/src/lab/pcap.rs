//! Packets in a file that tcpdump and Wireshark read: pcapng, with nanoseconds and the name of the port each packet came from.
//!
//! [`start`] comes first, then one [`packet`] after the other. The file is whole after each of them.

/// The longest packet that is kept whole. The kernel puts several into one where nobody sees it, but never more than this.
pub const LONGEST: u32 = 262_144;

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Tells the order of bytes.
const MAGIC: u32 = 0x1A2B_3C4D;
const ETHERNET: u16 = 1;

/// The start of a file, with the ports whose packets follow.
pub fn start(ports: &[String]) -> Vec<u8> {
    let mut head = Vec::new();
    head.extend(MAGIC.to_le_bytes());
    head.extend(1_u16.to_le_bytes());
    head.extend(0_u16.to_le_bytes());
    // How long it will be, nobody knows.
    head.extend(u64::MAX.to_le_bytes());
    let mut bytes = block(SECTION, &head);
    for port in ports {
        let mut body = Vec::new();
        body.extend(ETHERNET.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        body.extend(LONGEST.to_le_bytes());
        option(&mut body, 2, port.as_bytes());
        // Times count 10^-9 seconds.
        option(&mut body, 9, &[9]);
        option(&mut body, 0, &[]);
        bytes.extend(block(INTERFACE, &body));
    }
    bytes
}

/// A packet that came in on a port: its number, the time in nanoseconds since 1970, and what was kept of `whole` bytes.
pub fn packet(port: u32, time: u64, whole: usize, kept: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(kept.len() + 32);
    body.extend(port.to_le_bytes());
    // The upper half of the time comes first.
    let time = time.to_le_bytes();
    body.extend(&time[4..]);
    body.extend(&time[..4]);
    body.extend(length(kept.len()).to_le_bytes());
    body.extend(length(whole).to_le_bytes());
    pad(&mut body, kept);
    block(PACKET, &body)
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let whole = length(body.len() + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &whole, body, &whole].concat()
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend(u16::try_from(value.len()).expect("names of ports are short").to_le_bytes());
    pad(body, value);
}

/// Everything begins at a multiple of four.
fn pad(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn every_block_tells_its_length_at_both_ends() {
        let ports = ["cp1:eth0".to_owned(), "leaf1:swp1".to_owned()];
        let bytes = [start(&ports), packet(1, 1_794_837_319_000_000_007, 61, &[7; 61])].concat();

        let (mut at, mut kinds) = (0, Vec::new());
        while at < bytes.len() {
            let length = word(&bytes, at + 4) as usize;
            assert_eq!((length % 4, word(&bytes, at + length - 4) as usize), (0, length));
            kinds.push(word(&bytes, at));
            at += length;
        }

        assert_eq!(kinds, [SECTION, INTERFACE, INTERFACE, PACKET]);
    }

    #[test]
    fn a_time_is_cut_into_two_halves() {
        let bytes = packet(1, (5 << 32) + 6, 100, &[1, 2, 3]);

        assert_eq!([12, 16].map(|at| word(&bytes, at)), [5, 6]);
        assert_eq!([8, 20, 24].map(|at| word(&bytes, at)), [1, 3, 100]);
    }
}
