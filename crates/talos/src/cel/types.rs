//! The types of expressions and their compatibility.

use std::fmt;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CelType {
    /// Known only when the expression runs.
    Dyn,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A signed integer.
    Int,
    /// An unsigned integer.
    Uint,
    /// A number with a fraction.
    Double,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// A span of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// A message with fields, by name.
    Message(&'static str),
    /// A list.
    List(Box<CelType>),
    /// A map.
    Map(Box<CelType>, Box<CelType>),
    /// A value or none.
    Optional(Box<CelType>),
    /// A type as a value.
    Kind(Box<CelType>),
    /// A parameter of a signature.
    Parameter(char),
    /// A type that is still to be found.
    Unknown(usize),
}

impl fmt::Display for CelType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CelType::Dyn | CelType::Unknown(_) => f.write_str("dyn"),
            CelType::Null => f.write_str("null"),
            CelType::Bool => f.write_str("bool"),
            CelType::Int => f.write_str("int"),
            CelType::Uint => f.write_str("uint"),
            CelType::Double => f.write_str("double"),
            CelType::Text => f.write_str("string"),
            CelType::Bytes => f.write_str("bytes"),
            CelType::Duration => f.write_str("duration"),
            CelType::Timestamp => f.write_str("timestamp"),
            CelType::Message(name) => f.write_str(name),
            CelType::List(item) => write!(f, "list({item})"),
            CelType::Map(key, value) => write!(f, "map({key}, {value})"),
            CelType::Optional(value) => write!(f, "optional({value})"),
            CelType::Kind(of) => write!(f, "type({of})"),
            CelType::Parameter(name) => write!(f, "{name}"),
        }
    }
}

impl CelType {
    /// A list of it.
    pub fn list(item: CelType) -> Self {
        CelType::List(Box::new(item))
    }

    /// It, or none.
    pub(crate) fn optional(value: CelType) -> Self {
        CelType::Optional(Box::new(value))
    }

    fn parts(&self) -> Vec<&CelType> {
        match self {
            CelType::List(one) | CelType::Optional(one) | CelType::Kind(one) => vec![one],
            CelType::Map(one, other) => vec![one, other],
            _ => Vec::new(),
        }
    }

    /// The same type with each of its parts replaced.
    pub(crate) fn map_parts(&self, mut replace: impl FnMut(&CelType) -> CelType) -> CelType {
        match self {
            CelType::List(one) => CelType::list(replace(one)),
            CelType::Optional(one) => CelType::optional(replace(one)),
            CelType::Kind(one) => CelType::Kind(Box::new(replace(one))),
            CelType::Map(one, other) => CelType::Map(Box::new(replace(one)), Box::new(replace(other))),
            whole => whole.clone(),
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(
            self,
            CelType::Null
                | CelType::Optional(_)
                | CelType::Message(_)
                | CelType::Duration
                | CelType::Timestamp
        )
    }

    fn is_open(&self) -> bool {
        matches!(self, CelType::Dyn | CelType::Unknown(_))
    }

    /// Whether it is as specific as `other` or less.
    fn is_as_general_as(&self, other: &CelType) -> bool {
        if self.is_open() || other.is_open() {
            return self.is_open();
        }
        match (self, other) {
            (CelType::Kind(_), CelType::Kind(_)) => true,
            (CelType::List(_), CelType::List(_))
            | (CelType::Map(..), CelType::Map(..))
            | (CelType::Optional(_), CelType::Optional(_)) => {
                self.parts().into_iter().zip(other.parts()).all(|(one, other)| one.is_as_general_as(other))
            }
            _ => self == other,
        }
    }
}

/// The less specific of two types.
pub(crate) fn more_general(one: CelType, other: CelType) -> CelType {
    if one.is_as_general_as(&other) { one } else { other }
}

/// The types inferred for unknown ones.
#[derive(Debug, Default)]
pub struct TypeBindings {
    found: Vec<Option<CelType>>,
    /// The changes of the current attempt, to undo them if it fails.
    changed: Vec<(usize, Option<CelType>)>,
}

impl TypeBindings {
    /// A type that is still to be found.
    pub(crate) fn fresh(&mut self) -> CelType {
        self.found.push(None);
        CelType::Unknown(self.found.len() - 1)
    }

    /// A type with all bindings applied.
    pub(crate) fn resolve(&self, of: &CelType) -> CelType {
        match of {
            CelType::Unknown(number) => match &self.found[*number] {
                Some(found) => self.resolve(found),
                None => of.clone(),
            },
            _ => of.map_parts(|part| self.resolve(part)),
        }
    }

    /// Whether the types are compatible, pair by pair; if so, the bindings that follow are kept.
    pub(crate) fn unify_all(&mut self, pairs: &[(&CelType, &CelType)]) -> bool {
        self.changed.clear();
        let fits = pairs.iter().all(|(one, other)| self.fit(one, other));
        while let Some((number, before)) = self.changed.pop().filter(|_| !fits) {
            self.found[number] = before;
        }
        fits
    }

    /// The same for two types.
    pub(crate) fn unify(&mut self, one: &CelType, other: &CelType) -> bool {
        self.unify_all(&[(one, other)])
    }

    fn fit(&mut self, one: &CelType, other: &CelType) -> bool {
        match (one, other) {
            (_, CelType::Unknown(number)) => self.fit_unknown(one, *number, other),
            (CelType::Unknown(number), _) => self.fit_unknown(other, *number, one),
            (CelType::Dyn, _) | (_, CelType::Dyn) => true,
            (CelType::Null, nullable) | (nullable, CelType::Null) => nullable.is_nullable(),
            (CelType::Kind(_), CelType::Kind(_)) => true,
            (CelType::List(_), CelType::List(_))
            | (CelType::Map(..), CelType::Map(..))
            | (CelType::Optional(_), CelType::Optional(_)) => {
                one.parts().into_iter().zip(other.parts()).all(|(one, other)| self.fit(one, other))
            }
            _ => one == other,
        }
    }

    fn fit_unknown(&mut self, one: &CelType, number: usize, unknown: &CelType) -> bool {
        if one == unknown {
            return true;
        }
        let Some(found) = self.found[number].clone() else {
            let free = !self.mentions(one, number);
            if free {
                self.learn(number, one.clone());
            }
            return free;
        };
        if *one == found {
            return true;
        }
        let fits = self.fit(one, &found);
        if fits {
            let general = more_general(one.clone(), found);
            if !self.mentions(&general, number) {
                self.learn(number, general);
            }
        }
        fits
    }

    fn learn(&mut self, number: usize, found: CelType) {
        let before = self.found[number].replace(found);
        self.changed.push((number, before));
    }

    fn mentions(&self, within: &CelType, number: usize) -> bool {
        match within {
            CelType::Unknown(other) => {
                *other == number
                    || self.found[*other].as_ref().is_some_and(|found| self.mentions(found, number))
            }
            _ => within.parts().into_iter().any(|part| self.mentions(part, number)),
        }
    }
}
