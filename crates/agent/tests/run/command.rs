//! What needs no daemon.
