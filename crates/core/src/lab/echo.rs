//! ICMP echo requests and replies (RFC 792, RFC 4443) that carry the numbers of a stream and a packet.

const HEADER: usize = 8;

/// Bytes after the header: stream and sequence, 32 bits each.
const LOAD: usize = 8;

/// An echo request. The kernel computes the checksum of ICMPv6, which covers the addresses.
pub fn build_request(v6: bool, token: u16, stream: usize, sequence: usize) -> Vec<u8> {
    let mut packet = vec![if v6 { 128 } else { 8 }, 0, 0, 0];
    packet.extend(token.to_be_bytes());
    packet.extend(low(sequence).to_be_bytes().iter().skip(2));
    packet.extend(low(stream).to_be_bytes());
    packet.extend(low(sequence).to_be_bytes());
    if !v6 {
        let sum = checksum(&packet);
        packet[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

/// Stream and sequence of the parse_reply to one of our requests, or `None` for other packets. A raw IPv4 socket includes the IP
/// header.
pub fn parse_reply(v6: bool, token: u16, packet: &[u8]) -> Option<(usize, usize)> {
    let packet = if v6 { packet } else { packet.get(usize::from(packet.first()? & 0xf) * 4..)? };
    let kind = if v6 { 129 } else { 0 };
    let is_ours = packet.len() >= HEADER + LOAD && packet[0] == kind && packet[4..6] == token.to_be_bytes();
    let number = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().expect("four bytes"));
    is_ours.then(|| (number(HEADER) as usize, number(HEADER + 4) as usize))
}

fn low(number: usize) -> u32 {
    u32::try_from(number & 0xffff_ffff).expect("32 bits")
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("folded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_the_request_with_another_type() {
        let mut v6 = build_request(true, 7, 3, 70_000);
        v6[0] = 129;
        assert_eq!(parse_reply(true, 7, &v6), Some((3, 70_000)));
        let mut v4 = build_request(false, 7, 3, 70_000);
        v4[0] = 0;
        let mut with_header = vec![0x45; 20];
        with_header.extend(v4);
        assert_eq!(parse_reply(false, 7, &with_header), Some((3, 70_000)));
    }

    #[test]
    fn other_packets_are_ignored() {
        let mut packet = build_request(true, 7, 3, 1);
        assert_eq!(parse_reply(true, 7, &packet), None);
        packet[0] = 129;
        assert_eq!(parse_reply(true, 8, &packet), None);
        for length in 0..packet.len() {
            assert_eq!(parse_reply(true, 7, &packet[..length]), None);
            assert_eq!(parse_reply(false, 7, &packet[..length]), None);
        }
    }

    #[test]
    fn the_sum_over_a_request_with_its_checksum_is_zero() {
        assert_eq!(checksum(&build_request(false, 0xbeef, 1, 2)), 0);
    }
}
