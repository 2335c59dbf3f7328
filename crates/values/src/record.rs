//! `record!` and `choice!`: the keys and words of the cluster file, each declared once.
//!
//! From one description come the type, the reader, the printer, the override ladder, the JSON Schema and the
//! reference.

use crate::ValueError;

/// Defines a map with known keys.
///
/// ```text
/// record! {
///     /// Gateways of the node network.
///     Gateway "gateways" {
///         /// IPv4 gateway.
///         v4: Ipv4Addr = "none", "10.101.0.1";
///     }
/// }
/// ```
///
/// The word behind the name is what an error expects there; each key has its default and an example.
/// `..rung: Rung` at the end adds all keys of another record.
#[macro_export]
macro_rules! record {
    ($(#[doc = $doc:literal])+ $name:ident $want:literal {
        $( $(#[doc = $fdoc:literal])+ $field:ident : $ty:ty = $default:literal, $example:literal; )*
        $( ..$inner:ident : $innerty:ty )?
    }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $( $(#[doc = $fdoc])+ pub $field: $crate::key::Key<$ty>, )*
            $( /// The keys it shares.
               pub $inner: $innerty, )?
        }

        impl $crate::key::MergeOver for $name {
            const MERGES: bool = true;

            fn merge_over(&self, base: &Self) -> Self {
                Self {
                    $( $field: self.$field.merge_over(&base.$field), )*
                    $( $inner: self.$inner.merge_over(&base.$inner), )?
                }
            }
        }

        impl $crate::read::Record for $name {
            fn shape_of() -> &'static $crate::schema::RecordShape {
                static SHAPE: $crate::schema::RecordShape = $crate::schema::RecordShape {
                    name: stringify!($name),
                    doc: concat!($($doc),+).trim_ascii(),
                    want: $want,
                };
                &SHAPE
            }

            fn fields() -> Vec<$crate::schema::FieldShape> {
                #[allow(unused_mut, reason = "only extended where another record is taken in")]
                let mut fields = vec![ $( $crate::schema::FieldShape {
                    name: $crate::record::key_name(stringify!($field)),
                    doc: concat!($($fdoc),+).trim_ascii(),
                    default: $default,
                    example: $example,
                    shape: <$ty as $crate::read::Read>::shape,
                } ),* ];
                $( fields.extend(<$innerty as $crate::read::Record>::fields()); )?
                fields
            }

            fn set<'f>(
                &mut self,
                key: &str,
                value: $crate::tree::Tree<'f>,
                reader: &mut $crate::read::Reader<'f>,
            ) -> bool {
                $( if key == $crate::record::key_name(stringify!($field)) {
                    self.$field = reader.key(value);
                    return true;
                } )*
                $( if self.$inner.set(key, value, reader) {
                    return true;
                } )?
                false
            }

            fn entries(&self) -> Vec<(String, $crate::print::Printed)> {
                let mut entries = Vec::new();
                $( if self.$field.is_written() {
                    let name = $crate::record::key_name(stringify!($field));
                    entries.push((name.to_owned(), self.$field.print()));
                } )*
                $( entries.extend(self.$inner.entries()); )?
                entries
            }
        }

        impl $crate::read::Read for $name {
            fn read<'f>(
                tree: $crate::tree::Tree<'f>,
                reader: &mut $crate::read::Reader<'f>,
            ) -> Option<Self> {
                reader.record(tree)
            }

            fn shape() -> $crate::schema::Shape {
                use $crate::read::Record;
                $crate::schema::Shape::Record { record: Self::shape_of(), fields: Self::fields }
            }

            fn print(&self) -> $crate::print::Printed {
                $crate::print::Printed::Map($crate::read::Record::entries(self))
            }

            fn lookup(&self, steps: &[&str]) -> Option<($crate::print::Printed, $crate::Location)> {
                let (step, _rest) = steps.split_first()?;
                $( if *step == $crate::record::key_name(stringify!($field)) {
                    return self.$field.lookup(_rest);
                } )*
                $( if let Some(found) = self.$inner.lookup(steps) {
                    return Some(found);
                } )?
                None
            }

            fn secrets<'s>(
                &'s self,
                path: &str,
                _place: $crate::Location,
                found: &mut Vec<$crate::read::Reference<'s>>,
            ) {
                let dot = if path.is_empty() { "" } else { "." };
                $( if self.$field.is_written() {
                    let name = $crate::record::key_name(stringify!($field));
                    self.$field.secrets(&format!("{path}{dot}{name}"), found);
                } )*
                $( self.$inner.secrets(path, _place, found); )?
            }
        }
    };
}

/// Defines a value that is one of a few words.
#[macro_export]
macro_rules! choice {
    ($(#[doc = $doc:literal])+ $name:ident $noun:literal { $( $(#[doc = $vdoc:literal])+ $variant:ident = $word:literal, )+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $( $(#[doc = $vdoc])+ $variant, )+ }

        impl $name {
            /// Every word there is.
            pub const ALL: &'static [Self] = &[ $( Self::$variant ),+ ];

            /// The word it is written as.
            pub fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl $crate::read::Scalar for $name {
            fn parse(text: &str) -> Result<Self, $crate::ValueError> {
                match text {
                    $( $word => Ok(Self::$variant), )+
                    _ => Err($crate::record::not_a_word(text, $noun, &[$($word),+])),
                }
            }

            fn form() -> $crate::read::ScalarForm {
                $crate::read::ScalarForm {
                    name: concat!($($word, " / ",)+ "").strip_suffix(" / ").unwrap_or_default(),
                    want: concat!("one of: ", $($word, ", ",)+ "").strip_suffix(", ").unwrap_or_default(),
                    schema: serde_json::json!({"enum": [$($word),+]}),
                }
            }

            fn text(&self) -> String {
                self.word().to_owned()
            }
        }

        impl $crate::key::MergeOver for $name {}

        $crate::written!($name);
    };
}

/// A Rust field name as a key: `r#in` is `in`.
pub const fn key_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// The error for `text` that is not one of `words`, with the closest word.
pub fn not_a_word(text: &str, noun: &str, words: &[&'static str]) -> ValueError {
    ValueError::new(match crate::nearest::nearest(text, words.iter().copied()) {
        Some(near) => format!("not a known {noun}; did you mean `{near}`?"),
        None => format!("not a known {noun}"),
    })
}
