//! ISC dhcpd's leases: a block for each, to which another is appended whenever it changes. Those of IPv6 are left out.

use std::net::IpAddr;

use super::{Lease, Told, moment};
use ichor_values::Mac;
use ichor_values::Moment;

/// Whether a line begins a statement that dhcpd writes.
pub(super) fn is_statement(line: &str) -> bool {
    let known =
        ["lease ", "server-duid ", "authoring-byte-order ", "host ", "failover peer ", "ia-na ", "ia-pd "];
    known.iter().any(|word| line.starts_with(word))
}

/// What is known of a block that is being read.
#[derive(Default)]
struct Block {
    address: Option<IpAddr>,
    mac: Option<Mac>,
    begun: Option<Moment>,
    ends: Option<Moment>,
    /// Whether a machine has it.
    active: bool,
    /// A time of it is not understood.
    broken: bool,
}

pub(super) fn read(text: &str) -> Told {
    let mut told = Told::default();
    let mut block: Option<Block> = None;
    // How deep we are in blocks that are of no interest.
    let mut depth = 0_usize;
    for (nth, line) in text.lines().map(str::trim).enumerate() {
        let opens = line.ends_with('{');
        match &mut block {
            None if depth == 0 && line.starts_with("lease ") && opens => {
                let text = line["lease ".len()..].trim_end_matches('{').trim();
                let address = text.parse().ok();
                if address.is_none() {
                    told.wrong(nth + 1, format!("`{text}` is no address"));
                }
                block = Some(Block { address, ..Block::default() });
            }
            None if opens => depth += 1,
            None if line == "}" => depth = depth.saturating_sub(1),
            None => {}
            Some(_) if depth > 0 && line == "}" => depth -= 1,
            Some(_) if opens => depth += 1,
            Some(_) if depth > 0 => {}
            Some(inner) if line == "}" => {
                if let Some(address) = inner.address {
                    told.leases.insert(address, inner.lease());
                }
                block = None;
            }
            Some(inner) => {
                if let Err(reason) = inner.hear(line) {
                    inner.broken = true;
                    told.wrong(nth + 1, reason);
                }
            }
        }
    }
    told
}

impl Block {
    fn hear(&mut self, line: &str) -> Result<(), String> {
        // Behind `epoch` times, dhcpd writes the same for people.
        let statement = line.split(';').next().unwrap_or(line);
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words.as_slice() {
            ["starts", when @ ..] => self.begun = time(when)?,
            ["ends", when @ ..] => self.ends = time(when)?,
            ["binding", "state", state] => self.active = *state == "active",
            ["hardware", "ethernet", mac] => {
                self.mac = Some(Mac::parse(mac).map_err(|reason| format!("`{mac}`: {reason}"))?);
            }
            _ => {}
        }
        Ok(())
    }

    fn lease(&self) -> Option<Lease> {
        let (mac, address) = (self.mac?, self.address?);
        (self.active && !self.broken).then_some(Lease { mac, address, ends: self.ends, begun: self.begun })
    }
}

/// A time: `never`, `epoch SECONDS`, or the day of the week, the date and the time, in UTC.
fn time(words: &[&str]) -> Result<Option<Moment>, String> {
    match words {
        ["never"] => Ok(None),
        ["epoch", seconds] => moment(seconds).map(Some),
        [_, date, time] => {
            let text = format!("{}T{time}Z", date.replace('/', "-"));
            Moment::parse(&text).map(Some).ok_or_else(|| format!("`{date} {time}` is no time"))
        }
        _ => Err(format!("`{}` is no time", words.join(" "))),
    }
}
