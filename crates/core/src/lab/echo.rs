//! Echo requests and their answers (RFC 792, RFC 4443), with the number of a stream and of a packet in them.

const HEADER: usize = 8;

/// Bytes behind the header: stream and sequence, each of 32 bits.
const LOAD: usize = 8;

/// An echo request. The kernel computes the checksum of IPv6, which covers addresses.
pub fn request(v6: bool, token: u16, stream: usize, sequence: usize) -> Vec<u8> {
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

/// Stream and sequence of the answer to one of ours; none if it is anything else. A raw socket of IPv4 gives the IP header too.
pub fn reply(v6: bool, token: u16, packet: &[u8]) -> Option<(usize, usize)> {
    let packet = if v6 { packet } else { packet.get(usize::from(packet.first()? & 0xf) * 4..)? };
    let kind = if v6 { 129 } else { 0 };
    let of_us = packet.len() >= HEADER + LOAD && packet[0] == kind && packet[4..6] == token.to_be_bytes();
    let number = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().expect("four bytes"));
    of_us.then(|| (number(HEADER) as usize, number(HEADER + 4) as usize))
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
    fn an_answer_is_the_request_with_another_type() {
        let mut v6 = request(true, 7, 3, 70_000);
        v6[0] = 129;
        assert_eq!(reply(true, 7, &v6), Some((3, 70_000)));
        let mut v4 = request(false, 7, 3, 70_000);
        v4[0] = 0;
        let mut with_header = vec![0x45; 20];
        with_header.extend(v4);
        assert_eq!(reply(false, 7, &with_header), Some((3, 70_000)));
    }

    #[test]
    fn what_is_not_an_answer_to_us_is_none() {
        let mut packet = request(true, 7, 3, 1);
        assert_eq!(reply(true, 7, &packet), None);
        packet[0] = 129;
        assert_eq!(reply(true, 8, &packet), None);
        for length in 0..packet.len() {
            assert_eq!(reply(true, 7, &packet[..length]), None);
            assert_eq!(reply(false, 7, &packet[..length]), None);
        }
    }

    #[test]
    fn the_sum_over_a_request_with_its_checksum_is_zero() {
        assert_eq!(checksum(&request(false, 0xbeef, 1, 2)), 0);
    }
}
