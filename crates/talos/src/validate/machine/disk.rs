//! Disks that Talos partitions.

use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `machine.disks`.
pub(crate) fn validate(disks: &Field<'_>, issues: &mut DocumentIssues) {
    for disk in disks.items() {
        if !disk.is_set() {
            issues.error(&disk, "a disk without anything: remove the entry");
        }
        let partitions: Vec<_> = disk.get("partitions").items().collect();
        for (nth, partition) in partitions.iter().enumerate() {
            if !partition.is_set() {
                issues.error(partition, "a partition without anything: remove the entry");
            } else if is_rest(&partition.get("size")) && nth + 1 != partitions.len() {
                issues.error(
                    partition,
                    "a partition without size takes the rest of the disk, so it has to be the last",
                );
            }
        }
    }
}

/// Whether a size means all that is left. A size is a number of bytes, or text such as `100GB` that is not zero.
fn is_rest(size: &Field<'_>) -> bool {
    size.text().is_empty() && size.number() == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn only_the_last_partition_takes_the_rest() {
        let disks = json!([null, {"partitions": [{"mountpoint": "/a"}, {"size": 5, "mountpoint": "/b"}, {"mountpoint": "/c"}]}]);

        let want = ["error machine.disks[0]", "error machine.disks[1].partitions[0]"];
        assert_eq!(control_plane("1.12", &[("machine.disks", disks)]), want);
    }
}
