//! The OOM handler.

use super::{expression, not_negative};
use crate::cel::Environment;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Judges the OOM killer.
pub(crate) fn oom(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    expression(&document.get("triggerExpression"), Environment::OomTrigger, setting, issues);
    expression(&document.get("cgroupRankingExpression"), Environment::OomRanking, setting, issues);
    not_negative(&document.get("sampleInterval"), issues);
}

/// Judges compressed swap.
pub(crate) fn zswap(document: &Field<'_>, issues: &mut DocumentIssues) {
    let percent = document.get("maxPoolPercent");
    if !(0..=100).contains(&percent.number()) {
        issues.error(&percent, format!("want a percentage between 0 and 100, not {}", percent.number()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn expressions_are_checked() {
        check(
            "OOMConfig",
            &[
                (
                    "triggerExpression: memory_full_avg10 > 10.0\ncgroupRankingExpression: '1.0'\nsampleInterval: 100ms",
                    &[],
                ),
                (
                    "triggerExpression: memory_full_avg10\ncgroupRankingExpression: 'true'\nsampleInterval: -1s",
                    &["!triggerExpression", "!cgroupRankingExpression", "!sampleInterval"],
                ),
            ],
        );
    }

    #[test]
    fn a_share_of_memory_is_a_percentage() {
        check(
            "ZswapConfig",
            &[
                ("maxPoolPercent: 100", &[]),
                ("shrinkerEnabled: true", &[]),
                ("maxPoolPercent: 101", &["!maxPoolPercent"]),
                ("maxPoolPercent: -1", &["!maxPoolPercent"]),
            ],
        );
    }
}
