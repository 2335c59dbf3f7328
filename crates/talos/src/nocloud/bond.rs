//! Bonds as nocloud makes them.

use serde_json::{Value, json};

use super::NocloudNetworkError;
use crate::release;
use ichor_values::TalosVersion;

const MODES: &[&str] =
    &["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];
const POLICIES: &[&str] = &["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4"];
const RATES: &[&str] = &["slow", "fast"];

/// The options of a bond, under either key style.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub mode: String,
    pub(crate) hash_policy: String,
    pub(crate) lacp_rate: String,
    pub(crate) miimon: u32,
    pub(crate) up_delay: u32,
    pub(crate) down_delay: u32,
}

impl Options {
    /// The bond itself, with the defaults that Talos fills in.
    pub(super) fn master(&self, name: &str, talos: &TalosVersion) -> Result<Value, NocloudNetworkError> {
        let of = |what: &str| format!("{what} of {name}");
        let mode = known(&self.mode, MODES, || of("the mode"), "a mode that Talos knows, such as 802.3ad")?;
        let policy = known(
            &self.hash_policy,
            POLICIES,
            || of("the hash policy"),
            "one that Talos knows, such as layer3+4",
        )?;
        let rate = known(&self.lacp_rate, RATES, || of("the LACP rate"), "slow or fast")?;
        let (is_lacp, is_balancing) = (mode == "802.3ad", ["balance-tlb", "balance-alb"].contains(&mode));
        let mut bond = json!({
            "mode": mode,
            "xmitHashPolicy": policy,
            "lacpRate": rate,
            "miimon": self.miimon,
            "updelay": self.up_delay,
            "downdelay": self.down_delay,
            "resendIgmp": 1,
            "lpInterval": 1,
            "packetsPerSlave": 1,
            "numPeerNotif": 1,
            "tlbLogicalLb": u8::from(!is_balancing),
            "useCarrier": release::at_least(talos, 12),
            "adActorSysPrio": if is_lacp { 65535 } else { 0 },
            "missedMax": if is_lacp || is_balancing { 0 } else { 2 },
        });
        // 1.12 sets it for all bonds, later ones where it means something.
        if is_lacp || !release::at_least(talos, 13) {
            bond["adLacpActive"] = json!("on");
        }
        Ok(bond)
    }
}

/// One of a list of words; an empty text is the first. Talos wants it in exactly this form.
fn known<'w>(
    text: &str,
    words: &[&'w str],
    what: impl FnOnce() -> String,
    want: &'static str,
) -> Result<&'w str, NocloudNetworkError> {
    if text.is_empty() {
        return Ok(words[0]);
    }
    let found = words.iter().find(|word| **word == text);
    found.copied().ok_or_else(|| NocloudNetworkError::Value { what: what(), value: text.to_owned(), want })
}
