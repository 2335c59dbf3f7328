//! Captured packets as pcapng for tcpdump and Wireshark, with nanoseconds and the port of each packet.
//!
//! A file is [`file_header`] followed by [`packet_block`]s, and is valid after each of them.

/// The snapshot length. The kernel may merge packets (GRO), but into no more than this.
pub const SNAPSHOT_LENGTH: u32 = 262_144;

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// The byte-order magic.
const MAGIC: u32 = 0x1A2B_3C4D;
const ETHERNET: u16 = 1;

/// The blocks at the start of a file, with the ports of the packets.
pub fn file_header(ports: &[String]) -> Vec<u8> {
    let mut head = Vec::new();
    head.extend(MAGIC.to_le_bytes());
    head.extend(1_u16.to_le_bytes());
    head.extend(0_u16.to_le_bytes());
    // The length of the section is unknown.
    head.extend(u64::MAX.to_le_bytes());
    let mut bytes = block(SECTION, &head);
    for port in ports {
        let mut body = Vec::new();
        body.extend(ETHERNET.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        body.extend(SNAPSHOT_LENGTH.to_le_bytes());
        add_option(&mut body, 2, port.as_bytes());
        // The unit of times is 10^-9 seconds.
        add_option(&mut body, 9, &[9]);
        add_option(&mut body, 0, &[]);
        bytes.extend(block(INTERFACE, &body));
    }
    bytes
}

/// A packet received on a port: the port's number, the time in nanoseconds since 1970, the packet's length and its captured
/// bytes.
pub fn packet_block(port: u32, time: u64, packet_length: usize, captured: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(captured.len() + 32);
    body.extend(port.to_le_bytes());
    // The upper half of the time comes first.
    let time = time.to_le_bytes();
    body.extend(&time[4..]);
    body.extend(&time[..4]);
    body.extend(length(captured.len()).to_le_bytes());
    body.extend(length(packet_length).to_le_bytes());
    add_padded(&mut body, captured);
    block(PACKET, &body)
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let total = length(body.len() + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &total, body, &total].concat()
}

fn add_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend(u16::try_from(value.len()).expect("names of ports are short").to_le_bytes());
    add_padded(body, value);
}

/// Adds bytes padded to a multiple of four.
fn add_padded(body: &mut Vec<u8>, bytes: &[u8]) {
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
    fn blocks_have_their_length_at_both_ends() {
        let ports = ["cp1:eth0".to_owned(), "leaf1:swp1".to_owned()];
        let bytes = [file_header(&ports), packet_block(1, 1_794_837_319_000_000_007, 61, &[7; 61])].concat();

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
    fn a_time_is_split_into_two_halves() {
        let bytes = packet_block(1, (5 << 32) + 6, 100, &[1, 2, 3]);

        assert_eq!([12, 16].map(|at| word(&bytes, at)), [5, 6]);
        assert_eq!([8, 20, 24].map(|at| word(&bytes, at)), [1, 3, 100]);
    }
}
