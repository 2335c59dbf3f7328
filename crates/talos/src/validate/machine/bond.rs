//! Bonds of the old form.

use crate::validate::DocumentIssues;
use crate::validate::field::Field;

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
pub(crate) fn validate(bond: &Field<'_>, issues: &mut DocumentIssues) {
    for (option, words) in WORDS {
        let field = bond.get(option);
        if !field.is_empty() && !words.contains(&field.text()) {
            issues.error(&field, format!("{:?} is not known: use one of {}", field.text(), words.join(", ")));
        }
    }
    delays(bond, issues);
    for option in ["arpIPTarget", "adActorSystem"] {
        if !bond.get(option).is_empty() {
            issues.error(&bond.get(option), "the option is not supported here: remove it");
        }
    }
    for (option, modes, from) in BY_MODE {
        let field = bond.get(option);
        if (!field.text().is_empty() || field.number() >= from) && !modes.contains(&mode(bond)) {
            issues.error(&field, format!("{} does not have it: it is for {}", mode(bond), modes.join(", ")));
        }
    }
}

/// The mode of a bond. Talos takes an unknown word for the first mode.
fn mode<'v>(bond: &Field<'v>) -> &'v str {
    let word = bond.get("mode").text();
    if WORDS[0].1.contains(&word) { word } else { WORDS[0].1[0] }
}

fn delays(bond: &Field<'_>, issues: &mut DocumentIssues) {
    let every = bond.get("miimon").number();
    for delay in [bond.get("updelay"), bond.get("downdelay")] {
        if every == 0 && delay.number() != 0 {
            issues.error(&delay, "a delay needs `miimon`");
        }
        if every != 0 && delay.number() % every != 0 {
            issues.error(&delay, format!("the delay has to be a multiple of `miimon`, which is {every}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    fn judge(bond: &serde_json::Value) -> Vec<String> {
        let interfaces = json!([{"interface": "bond0", "bond": bond}]);
        let found = control_plane("1.12", &[("machine.network.interfaces", interfaces)]);
        found.into_iter().map(|line| line.replace("error machine.network.interfaces[0].bond.", "")).collect()
    }

    #[test]
    fn an_option_accepts_its_known_words() {
        assert!(
            judge(&json!({"mode": "802.3ad", "lacpRate": "fast", "xmitHashPolicy": "layer3+4"})).is_empty()
        );
        assert_eq!(judge(&json!({"mode": "lacp", "failOverMac": "1"})), ["mode", "failOverMac"]);
        assert_eq!(
            judge(&json!({"arpIPTarget": ["10.0.0.1"], "adActorSystem": "x"})),
            ["arpIPTarget", "adActorSystem"]
        );
    }

    #[test]
    fn an_option_is_for_some_modes() {
        let odd = json!({"lacpRate": "slow", "primary": "eth0", "tlbDynamicLb": 1, "adActorSysPrio": 1, "adUserPortKey": 1,
            "packetsPerSlave": 2, "arpInterval": 5});
        assert_eq!(judge(&odd), ["lacpRate", "primary", "tlbDynamicLb", "adActorSysPrio", "adUserPortKey"]);

        let lacp = json!({"mode": "802.3ad", "packetsPerSlave": 2, "arpInterval": 5, "arpValidate": "all"});
        assert_eq!(judge(&lacp), ["arpValidate", "arpInterval", "packetsPerSlave"]);
        assert!(judge(&json!({"mode": "802.3ad", "packetsPerSlave": 1})).is_empty());
    }

    #[test]
    fn a_delay_is_a_multiple_of_the_interval() {
        assert!(judge(&json!({"miimon": 100, "updelay": 200})).is_empty());
        assert_eq!(judge(&json!({"miimon": 100, "updelay": 150, "downdelay": 99})), ["updelay", "downdelay"]);
        assert_eq!(judge(&json!({"updelay": 150})), ["updelay"]);
    }
}
