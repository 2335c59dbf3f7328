//! Which cables do not carry.

use serde::Serialize;

use crate::lab::scene::{Cable, Plug, Scene};

/// A cable that does not carry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cut {
    /// Its name; of a network some of whose plugs are out, that of a plug, as `leaf1:lan0`.
    pub link: String,
    /// Whether its ends do not notice: they have a carrier.
    pub silent: bool,
}

/// How an end of a cable is plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Packets pass.
    Whole,
    /// It has none.
    Down,
    /// It has one, and packets are lost.
    Lost,
}

impl Cut {
    /// Every cable that does not carry; `carrier` knows an end by the numbers of its cable and of itself.
    pub fn all(scene: &Scene, carrier: impl Fn(usize, usize) -> Carrier) -> Vec<Self> {
        let of = |(nth, cable): (usize, &Cable)| {
            let ends: Vec<Carrier> = (0..cable.ends.len()).map(|end| carrier(nth, end)).collect();
            let out = ends.iter().filter(|end| **end != Carrier::Whole).count();
            let silent = !ends.contains(&Carrier::Down);
            if out == 0 {
                Vec::new()
            } else if ends.len() <= 2 || out == ends.len() {
                vec![Self { link: cable.name.clone(), silent }]
            } else {
                let plugs = cable.ends.iter().zip(ends).filter(|(_, end)| *end != Carrier::Whole);
                plugs
                    .map(|(plug, end)| Self { link: scene.plug(*plug), silent: end == Carrier::Lost })
                    .collect()
            }
        };
        scene.cables.iter().enumerate().flat_map(of).collect()
    }
}

impl Scene {
    /// What a plug is called: its machine and its port, as the cluster file calls it.
    pub fn plug(&self, plug: Plug) -> String {
        let machine = &self.machines[plug.machine];
        let port = &machine.ports[plug.port];
        format!("{}:{}", machine.name, port.alias.as_ref().unwrap_or(&port.name))
    }
}
