//! The files of each daemon.

use ichor_values::Backend;

/// The search path of programs.
pub(super) const FOLDERS: [&str; 7] = [
    "usr/lib/frr",
    "usr/libexec/frr",
    "usr/sbin",
    "usr/bin",
    "usr/local/sbin",
    "usr/local/bin",
    "usr/local/lib/frr",
];

/// A program of a daemon.
pub(super) struct DaemonProgram {
    /// Its name.
    pub name: &'static str,
    /// The folder in which the agent expects it.
    pub folder: &'static str,
    /// Whether every release has it.
    pub(crate) always: bool,
}

/// A user that a daemon runs as; its group has the same name and number.
pub(super) struct DaemonUser {
    pub name: &'static str,
    pub number: u32,
}

/// The files of a daemon.
pub struct DaemonRecipe {
    /// Its name, for people.
    pub product: &'static str,
    /// The image it is taken from unless another is named.
    pub image: Option<&'static str>,
    /// The package of Debian's that has it.
    pub package: &'static str,
    /// Its licence, in SPDX' words.
    pub(super) licence: &'static str,
    /// The home page of its project.
    pub(super) home: &'static str,
    pub(super) programs: &'static [DaemonProgram],
    pub(super) users: &'static [DaemonUser],
    /// Groups besides those of the users, with their members.
    pub(super) groups: &'static [(&'static str, u32, &'static str)],
    /// Folders that it wants to be there.
    pub(super) folders: &'static [&'static str],
    /// Files that it wants to be there, with their texts.
    pub(super) files: &'static [(&'static str, &'static str)],
}

const fn program(folder: &'static str, name: &'static str) -> DaemonProgram {
    DaemonProgram { name, folder, always: true }
}

const FRR: DaemonRecipe = DaemonRecipe {
    product: "FRR",
    image: Some("quay.io/frrouting/frr:10.5.1"),
    package: "frr",
    licence: "GPL-2.0-or-later",
    home: "https://frrouting.org",
    programs: &[
        program("usr/lib/frr", "zebra"),
        // From FRR 9 on.
        DaemonProgram { name: "mgmtd", folder: "usr/lib/frr", always: false },
        program("usr/lib/frr", "bgpd"),
        program("usr/lib/frr", "staticd"),
        program("usr/lib/frr", "bfdd"),
        program("usr/bin", "vtysh"),
    ],
    // The numbers that FRR's own packages for other systems have had for long. Its daemons refuse to run as root.
    users: &[DaemonUser { name: "frr", number: 92 }],
    groups: &[("frrvty", 85, "frr")],
    // The daemons have their YANG models built in, and complain if the folder for others is missing.
    folders: &["etc/frr", "usr/share/yang", "var/lib/frr", "var/log/frr"],
    // Debian's vtysh authenticates other users with PAM, which is not installed. Without the file vtysh complains at every start.
    files: &[("etc/frr/vtysh.conf", "service integrated-vtysh-config\nusername root nopassword\n")],
};

const BIRD: DaemonRecipe = DaemonRecipe {
    product: "BIRD",
    image: None,
    package: "bird2",
    licence: "GPL-2.0-or-later",
    home: "https://bird.network.cz",
    programs: &[program("usr/sbin", "bird"), program("usr/sbin", "birdc")],
    users: &[DaemonUser { name: "bird", number: 93 }],
    groups: &[],
    folders: &["etc/bird"],
    files: &[],
};

const GOBGP: DaemonRecipe = DaemonRecipe {
    product: "GoBGP",
    image: None,
    package: "gobgpd",
    licence: "Apache-2.0",
    home: "https://osrg.github.io/gobgp",
    programs: &[program("usr/bin", "gobgpd"), program("usr/bin", "gobgp")],
    users: &[],
    groups: &[],
    folders: &["etc/gobgp"],
    files: &[],
};

impl DaemonRecipe {
    /// The recipe of a backend's daemon; none if Talos itself runs BGP.
    pub fn for_backend(backend: Backend) -> Option<DaemonRecipe> {
        match backend {
            Backend::Frr => Some(FRR),
            Backend::Bird => Some(BIRD),
            Backend::Gobgp => Some(GOBGP),
            Backend::Native => None,
        }
    }
}
