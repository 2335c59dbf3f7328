//! Macros that make checked values: a type with `parse` and `Display` becomes one that files hold.

/// Makes a scalar of a type that has `parse` and `Display`; a higher rung replaces its value.
macro_rules! scalar {
    ($ty:ty, $name:literal, $want:literal, $schema:tt) => {
        impl $crate::read::Scalar for $ty {
            fn parse(text: &str) -> Result<Self, $crate::ValueError> {
                Self::parse(text)
            }

            fn form() -> $crate::read::ScalarForm {
                $crate::read::ScalarForm { name: $name, want: $want, schema: serde_json::json!($schema) }
            }

            fn text(&self) -> String {
                self.to_string()
            }
        }

        impl $crate::key::MergeOver for $ty {}

        $crate::written!($ty);
    };
}
pub(crate) use scalar;

/// Makes a type that has `Display` and [`Scalar`](crate::read::Scalar) one that other files hold as its text.
#[doc(hidden)]
#[macro_export]
macro_rules! written {
    ($ty:ty) => {
        impl serde::Serialize for $ty {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $ty {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(from)?;
                <Self as $crate::read::Scalar>::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Makes a checked text type: a value must pass its `check`.
macro_rules! text {
    ($(#[doc = $doc:literal])+ $ty:ident, $name:literal, $want:literal, $schema:tt, $check:expr) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $ty(std::sync::Arc<str>);

        impl $ty {
            /// Parses `text`, or returns why it is invalid.
            pub fn parse(text: &str) -> Result<Self, $crate::ValueError> {
                let check: fn(&str) -> Result<(), $crate::ValueError> = $check;
                check(text).map(|()| Self(text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $ty {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        $crate::scalar::scalar!($ty, $name, $want, $schema);
    };
}
pub(crate) use text;
