//! Users and groups: those the daemon runs as. FRR looks them up by name, and does not start without them.

use super::recipe::DaemonRecipe;

/// `/etc/passwd`, `/etc/group`, and where glibc looks them up.
pub(super) fn files(recipe: &DaemonRecipe) -> [(&'static str, String); 3] {
    let mut users = "root:x:0:0:root:/:/bin/false\n".to_owned();
    let mut groups = "root:x:0:\n".to_owned();
    for user in recipe.users {
        users.push_str(&format!("{0}:x:{1}:{1}:{0}:/:/bin/false\n", user.name, user.number));
        groups.push_str(&format!("{}:x:{}:\n", user.name, user.number));
    }
    for (name, number, members) in recipe.groups {
        groups.push_str(&format!("{name}:x:{number}:{members}\n"));
    }
    let lookup = "passwd: files\ngroup: files\nhosts: files dns\n".to_owned();
    [("etc/passwd", users), ("etc/group", groups), ("etc/nsswitch.conf", lookup)]
}
