//! Versions of Talos, Kubernetes and routing software.

use std::fmt;

use crate::ValueError;
use crate::scalar::scalar;

/// A dotted version with up to three numbers and an optional pre-release, such as `1.14.0-rc.1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct DottedNumber {
    numbers: [Option<u16>; 3],
    /// Empty sorts after any pre-release, as in semantic versioning.
    pre: PreRelease,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PreRelease {
    Release(Box<str>),
    Final,
}

impl DottedNumber {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (numbers, pre) = match text.split_once('-') {
            Some((numbers, pre))
                if !pre.is_empty()
                    && pre.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-') =>
            {
                (numbers, PreRelease::Release(pre.into()))
            }
            Some(_) => return None,
            None => (text, PreRelease::Final),
        };
        let mut parsed = [None; 3];
        for (nth, part) in numbers.split('.').enumerate() {
            let digits = !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_digit())
                && (part == "0" || !part.starts_with('0'));
            *parsed.get_mut(nth)? = Some(part.parse().ok().filter(|_| digits)?);
        }
        if parsed[2].is_none() && pre != PreRelease::Final {
            return None;
        }
        Some(Self { numbers: parsed, pre })
    }
}

impl fmt::Display for DottedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.numbers.iter().flatten().map(ToString::to_string).collect();
        write!(f, "{}", numbers.join("."))?;
        if let PreRelease::Release(pre) = &self.pre {
            write!(f, "-{pre}")?;
        }
        Ok(())
    }
}

macro_rules! version {
    ($(#[doc = $doc:literal])+ $ty:ident, $name:literal, $want:literal, $prefix:literal, $least:literal) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $ty(DottedNumber);

        impl $ty {
            /// Reads it with or without a leading `v`.
            pub fn parse(text: &str) -> Result<Self, ValueError> {
                DottedNumber::parse(text)
                    .filter(|version| version.numbers[$least - 1].is_some())
                    .map(Self)
                    .ok_or_else(|| ValueError::new(concat!("not a ", $name)))
            }

            /// Major and minor number.
            pub fn minor(&self) -> (u16, u16) {
                (self.0.numbers[0].unwrap_or(0), self.0.numbers[1].unwrap_or(0))
            }

            /// The patch number, where one was written.
            pub fn patch(&self) -> Option<u16> {
                self.0.numbers[2]
            }

            /// Whether it comes before the release of its number.
            pub fn is_pre_release(&self) -> bool {
                self.0.pre != PreRelease::Final
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&format!("{}{}", $prefix, self.0))
            }
        }

        scalar!($ty, $name, $want, {"type": ["string", "number"]});
    };
}

version!(
    /// A release of Talos.
    TalosVersion, "Talos version", "a release such as v1.13.9", "v", 2
);
version!(
    /// A release of Kubernetes.
    KubernetesVersion, "Kubernetes version", "a release such as v1.36.3", "v", 3
);
version!(
    /// A release of routing software.
    SoftwareVersion, "software version", "a release such as 10.3.1", "", 1
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talos_versions_are_read_with_and_without_v_and_patch() {
        for (text, printed) in
            [("1.12", "v1.12"), ("v1.12", "v1.12"), ("v1.12.4", "v1.12.4"), ("1.14.0-rc.1", "v1.14.0-rc.1")]
        {
            assert_eq!(TalosVersion::parse(text).unwrap().to_string(), printed);
        }
        for text in
            ["", "v", "1", "1.12.4.5", "v1.x", "1.012", "1.12-rc.1", "latest", "1.12.", "99999999999.1"]
        {
            assert!(TalosVersion::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pre_release_comes_before_its_release() {
        let [pre, release] = ["v1.14.0-rc.1", "v1.14.0"].map(|text| TalosVersion::parse(text).unwrap());

        assert!(pre < release);
        assert!(pre.is_pre_release());
        assert_eq!(pre.minor(), (1, 14));
    }
}
