//! Reading a configuration as Talos does: strictly, by the types of its release.
