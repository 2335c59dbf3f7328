//! The routing daemon: its processes, its configuration, and what it tells.
