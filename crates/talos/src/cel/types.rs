//! The types of expressions, and which may stand for which.

use std::fmt;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Known only when the expression runs.
    Dyn,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A whole number with sign.
    Int,
    /// A whole number without.
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
    List(Box<Type>),
    /// A map.
    Map(Box<Type>, Box<Type>),
    /// A value or none.
    Optional(Box<Type>),
    /// A type as a value.
    Kind(Box<Type>),
    /// A parameter of a signature.
    Parameter(char),
    /// A type that is still to be found.
    Unknown(usize),
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn | Type::Unknown(_) => f.write_str("dyn"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::Text => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Duration => f.write_str("duration"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Message(name) => f.write_str(name),
            Type::List(item) => write!(f, "list({item})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Optional(value) => write!(f, "optional({value})"),
            Type::Kind(of) => write!(f, "type({of})"),
            Type::Parameter(name) => write!(f, "{name}"),
        }
    }
}

impl Type {
    /// A list of it.
    pub fn list(item: Type) -> Self {
        Type::List(Box::new(item))
    }

    /// It, or none.
    pub(crate) fn optional(value: Type) -> Self {
        Type::Optional(Box::new(value))
    }

    fn parts(&self) -> Vec<&Type> {
        match self {
            Type::List(one) | Type::Optional(one) | Type::Kind(one) => vec![one],
            Type::Map(one, other) => vec![one, other],
            _ => Vec::new(),
        }
    }

    /// The same type with each of its parts replaced.
    pub(crate) fn map_parts(&self, mut replace: impl FnMut(&Type) -> Type) -> Type {
        match self {
            Type::List(one) => Type::list(replace(one)),
            Type::Optional(one) => Type::optional(replace(one)),
            Type::Kind(one) => Type::Kind(Box::new(replace(one))),
            Type::Map(one, other) => Type::Map(Box::new(replace(one)), Box::new(replace(other))),
            whole => whole.clone(),
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(self, Type::Null | Type::Optional(_) | Type::Message(_) | Type::Duration | Type::Timestamp)
    }

    fn is_open(&self) -> bool {
        matches!(self, Type::Dyn | Type::Unknown(_))
    }

    /// Whether it says as much about a value as `other` or less.
    fn is_as_general_as(&self, other: &Type) -> bool {
        if self.is_open() || other.is_open() {
            return self.is_open();
        }
        match (self, other) {
            (Type::Kind(_), Type::Kind(_)) => true,
            (Type::List(_), Type::List(_))
            | (Type::Map(..), Type::Map(..))
            | (Type::Optional(_), Type::Optional(_)) => {
                self.parts().into_iter().zip(other.parts()).all(|(one, other)| one.is_as_general_as(other))
            }
            _ => self == other,
        }
    }
}

/// The type of two that says less.
pub(crate) fn more_general(one: Type, other: Type) -> Type {
    if one.is_as_general_as(&other) { one } else { other }
}

/// What is known of the types that were still to be found.
#[derive(Debug, Default)]
pub struct Known {
    found: Vec<Option<Type>>,
    /// What the attempt under way has changed, to take it back when it fails.
    changed: Vec<(usize, Option<Type>)>,
}

impl Known {
    /// A type that is still to be found.
    pub(crate) fn fresh(&mut self) -> Type {
        self.found.push(None);
        Type::Unknown(self.found.len() - 1)
    }

    /// A type with everything that is known put in.
    pub(crate) fn resolve(&self, of: &Type) -> Type {
        match of {
            Type::Unknown(number) => match &self.found[*number] {
                Some(found) => self.resolve(found),
                None => of.clone(),
            },
            _ => of.map_parts(|part| self.resolve(part)),
        }
    }

    /// Whether values of the types can stand for each other, one by one; if so, what follows from it is known from now on.
    pub(crate) fn unify_all(&mut self, pairs: &[(&Type, &Type)]) -> bool {
        self.changed.clear();
        let fits = pairs.iter().all(|(one, other)| self.fit(one, other));
        while let Some((number, before)) = self.changed.pop().filter(|_| !fits) {
            self.found[number] = before;
        }
        fits
    }

    /// The same for two types.
    pub(crate) fn unify(&mut self, one: &Type, other: &Type) -> bool {
        self.unify_all(&[(one, other)])
    }

    fn fit(&mut self, one: &Type, other: &Type) -> bool {
        match (one, other) {
            (_, Type::Unknown(number)) => self.fit_unknown(one, *number, other),
            (Type::Unknown(number), _) => self.fit_unknown(other, *number, one),
            (Type::Dyn, _) | (_, Type::Dyn) => true,
            (Type::Null, nullable) | (nullable, Type::Null) => nullable.is_nullable(),
            (Type::Kind(_), Type::Kind(_)) => true,
            (Type::List(_), Type::List(_))
            | (Type::Map(..), Type::Map(..))
            | (Type::Optional(_), Type::Optional(_)) => {
                one.parts().into_iter().zip(other.parts()).all(|(one, other)| self.fit(one, other))
            }
            _ => one == other,
        }
    }

    fn fit_unknown(&mut self, one: &Type, number: usize, unknown: &Type) -> bool {
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

    fn learn(&mut self, number: usize, found: Type) {
        let before = self.found[number].replace(found);
        self.changed.push((number, before));
    }

    fn mentions(&self, within: &Type, number: usize) -> bool {
        match within {
            Type::Unknown(other) => {
                *other == number
                    || self.found[*other].as_ref().is_some_and(|found| self.mentions(found, number))
            }
            _ => within.parts().into_iter().any(|part| self.mentions(part, number)),
        }
    }
}
