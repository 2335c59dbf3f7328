//! The journal of simulated nodes, as JSON lines: every call, and every stage.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// A file that lines are added to.
pub(crate) struct Journal(Mutex<File>);

impl Journal {
    /// Starts an empty journal.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
        Ok(Self(Mutex::new(file)))
    }

    /// Adds a line, with the time since the start.
    pub fn write(&self, at: Duration, mut what: Value) {
        if let Value::Object(map) = &mut what {
            map.shift_insert(0, "at".to_owned(), json!(at.as_secs_f64()));
        }
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not stop the nodes; readers see that the journal ends.
        let _ = writeln!(file, "{what}");
    }
}
