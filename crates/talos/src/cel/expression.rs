//! The tree of an expression.

use super::CelError;

/// The greatest height of a tree: each operator of a chain such as `a + b + c` adds to it, as do nested fields. Talos stops
/// at 250 of a kind.
const HEIGHT: usize = 250;

/// A piece of an expression.
#[derive(Debug)]
pub(crate) struct Expression {
    /// Its kind.
    pub kind: ExpressionKind,
    /// Its column, counted from 1.
    pub column: usize,
    height: usize,
}

/// The kind of an expression.
#[derive(Debug)]
pub enum ExpressionKind {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool,
    /// A number.
    Int,
    /// A number without sign.
    Uint,
    /// A number with a fraction.
    Double,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// A name; with a leading dot it never refers to a local variable.
    Name(String),
    /// `operand.field`, or `operand.?field`.
    Select { operand: Box<Expression>, field: String, optional: bool },
    /// `has(operand.field)`.
    Has { operand: Box<Expression>, field: String },
    /// A call; operators are calls of functions such as `_+_`.
    Call { function: String, target: Option<Box<Expression>>, arguments: Vec<Expression> },
    /// A list; an optional item may be absent.
    List(Vec<(bool, Expression)>),
    /// A map.
    Map(Vec<(bool, Expression, Expression)>),
    /// A message.
    Message { name: String, fields: Vec<(bool, String, Expression)> },
    /// `range.all(variable, body)` and its kin.
    Loop { name: Loop, range: Box<Expression>, variable: String, bodies: Vec<Expression> },
}

/// The operation on each item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loop {
    /// `all`, `exists`, `exists_one`: the operand must be a boolean.
    Test,
    /// `filter`.
    Filter,
    /// `map`.
    Map,
    /// `optMap`.
    OptionalMap,
    /// `optFlatMap`.
    OptionalFlatMap,
}

/// A piece at a place, unless it makes the tree too high.
pub fn node(column: usize, kind: ExpressionKind) -> Result<Expression, CelError> {
    let height = 1 + tallest(&kind);
    if height > HEIGHT {
        return Err(CelError::new(column, format!("nested deeper than {HEIGHT} levels")));
    }
    Ok(Expression { kind, column, height })
}

fn tallest(kind: &ExpressionKind) -> usize {
    let over = |expressions: &mut dyn Iterator<Item = &Expression>| {
        expressions.map(|expression| expression.height).max().unwrap_or_default()
    };
    match kind {
        ExpressionKind::Select { operand, .. } | ExpressionKind::Has { operand, .. } => operand.height,
        ExpressionKind::Call { target, arguments, .. } => {
            over(&mut arguments.iter().chain(target.as_deref()))
        }
        ExpressionKind::List(items) => over(&mut items.iter().map(|(_, item)| item)),
        ExpressionKind::Map(entries) => over(&mut entries.iter().flat_map(|(_, key, value)| [key, value])),
        ExpressionKind::Message { fields, .. } => over(&mut fields.iter().map(|(.., value)| value)),
        ExpressionKind::Loop { range, bodies, .. } => over(&mut bodies.iter().chain([&**range])),
        _ => 0,
    }
}
