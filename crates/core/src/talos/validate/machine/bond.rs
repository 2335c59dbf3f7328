//! Bonds of the old form.

use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// The words an option takes. None of them is required.
const WORDS: [(&str, &[&str]); 8] = [
    (
        "mode",
        &["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"],
    ),
    ("xmitHashPolicy", &["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4"]),
    ("lacpRate", &["slow", "fast"]),
    ("arpValidate", &["none", "active", "backup", "all", "filter", "filter-active", "filter-backup"]),
    ("arpAllTargets", &["any", "all"]),
    ("primaryReselect", &["always", "better", "failure"]),
    ("failOverMac", &["none", "active", "follow"]),
    ("adSelect", &["stable", "bandwidth", "count"]),
];

/// Options that only some modes have, and from which number on they count as set.
const BY_MODE: [(&str, &[&str], i64); 8] = [
    ("lacpRate", &["802.3ad"], 1),
    ("arpValidate", &["balance-rr", "active-backup", "balance-xor", "broadcast"], 1),
    ("primary", &["active-backup", "balance-alb", "balance-tlb"], 1),
    ("arpInterval", &["balance-rr", "active-backup", "balance-xor", "broadcast"], 1),
    ("packetsPerSlave", &["balance-rr"], 2),
    ("tlbDynamicLb", &["balance-alb", "balance-tlb"], 1),
    ("adActorSysPrio", &["802.3ad"], 1),
    ("adUserPortKey", &["802.3ad"], 1),
];

/// Judges `bond` of an interface.
pub fn validate(bond: &Field<'_>, flaws: &mut Flaws) {
    for (option, words) in WORDS {
        let field = bond.get(option);
        if !field.is_empty() && !words.contains(&field.text()) {
            flaws.error(&field, format!("{:?} is not known: use one of {}", field.text(), words.join(", ")));
        }
    }
    delays(bond, flaws);
    for option in ["arpIPTarget", "adActorSystem"] {
        if !bond.get(option).is_empty() {
            flaws.error(&bond.get(option), "the option is not supported here: remove it");
        }
    }
    for (option, modes, from) in BY_MODE {
        let field = bond.get(option);
        if (!field.text().is_empty() || field.number() >= from) && !modes.contains(&mode(bond)) {
            flaws.error(&field, format!("{} does not have it: it is for {}", mode(bond), modes.join(", ")));
        }
    }
}

/// The mode of a bond. A word that is not known stands for the first, as Talos takes it.
fn mode<'v>(bond: &Field<'v>) -> &'v str {
    let word = bond.get("mode").text();
    if WORDS[0].1.contains(&word) { word } else { WORDS[0].1[0] }
}

fn delays(bond: &Field<'_>, flaws: &mut Flaws) {
    let every = bond.get("miimon").number();
    for delay in [bond.get("updelay"), bond.get("downdelay")] {
        if every == 0 && delay.number() != 0 {
            flaws.error(&delay, "a delay needs `miimon`");
        }
        if every != 0 && delay.number() % every != 0 {
            flaws.error(&delay, format!("the delay has to be a multiple of `miimon`, which is {every}"));
        }
    }
}
