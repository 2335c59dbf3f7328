//! ichor
