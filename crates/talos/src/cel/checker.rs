//! The type of an expression.
//!
//! Follows Google's checker: every matching overload of a function is a candidate, and open types are settled
//! by the first use that is more specific. Only the first error is reported; the others tend to follow from it.

use std::collections::BTreeMap;

use super::environment::{field, type_named};
use super::expression::{Expression, ExpressionKind, Loop};
use super::library::Signature;

use super::types::{CelType, TypeBindings, more_general};
use super::{CelError, Environment};
use ichor_values::TalosVersion;

/// Enumerations are numbers, and their values are names in this package. Which there are is taken on trust.
const ENUMERATIONS: &str = "talos.resource.definitions.enums.";

/// The type of an expression, or the first thing that is wrong with it.
pub(crate) fn check(
    expression: &Expression,
    environment: Environment,
    talos: &TalosVersion,
) -> Result<CelType, CelError> {
    let mut checker = Checker { environment, talos, known: TypeBindings::default(), locals: Vec::new() };
    let found = checker.check(expression)?;
    Ok(checker.known.resolve(&found))
}

struct Checker<'e> {
    environment: Environment,
    talos: &'e TalosVersion,
    known: TypeBindings,
    locals: Vec<(String, CelType)>,
}

impl Checker<'_> {
    fn check(&mut self, expression: &Expression) -> Result<CelType, CelError> {
        let column = expression.column;
        match &expression.kind {
            ExpressionKind::Null => Ok(CelType::Null),
            ExpressionKind::Bool => Ok(CelType::Bool),
            ExpressionKind::Int => Ok(CelType::Int),
            ExpressionKind::Uint => Ok(CelType::Uint),
            ExpressionKind::Double => Ok(CelType::Double),
            ExpressionKind::Text => Ok(CelType::Text),
            ExpressionKind::Bytes => Ok(CelType::Bytes),
            ExpressionKind::Name(name) => {
                self.name(name).ok_or_else(|| CelError::new(column, format!("`{name}` is not declared here")))
            }
            ExpressionKind::Select { operand, field, optional } => match self.qualified(expression) {
                Some(found) => Ok(found),
                None => self.select(operand, field, *optional, column),
            },
            ExpressionKind::Has { operand, field } => {
                self.select(operand, field, false, column).map(|_| CelType::Bool)
            }
            ExpressionKind::Call { function, target, arguments } => {
                self.call(function, target.as_deref(), arguments, column)
            }
            ExpressionKind::List(items) => self.list(items),
            ExpressionKind::Map(entries) => self.map(entries),
            ExpressionKind::Message { name, fields } => self.message(name, fields, column),
            ExpressionKind::Loop { name, range, variable, bodies } => {
                self.check_loop(*name, range, variable, bodies)
            }
        }
    }

    fn local(&self, name: &str) -> Option<&CelType> {
        self.locals.iter().rev().find(|(local, _)| local == name).map(|(_, found)| found)
    }

    fn name(&self, name: &str) -> Option<CelType> {
        if let Some(found) = self.local(name) {
            return Some(found.clone());
        }
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some(found) = self.environment.name(name) {
            return Some(found);
        }
        if name.strip_prefix(ENUMERATIONS).is_some_and(|rest| rest.split('.').count() == 2) {
            return Some(CelType::Int);
        }
        type_named(name, self.environment.has_optionals()).map(|found| CelType::Kind(Box::new(found)))
    }

    /// The type of names with dots between them, if the joined name is declared.
    fn qualified(&self, expression: &Expression) -> Option<CelType> {
        let name = dotted_name(expression)?;
        let first = name.split('.').next().unwrap_or_default();
        if self.local(first).is_some() { None } else { self.name(&name) }
    }

    fn select(
        &mut self,
        operand: &Expression,
        name: &str,
        optional: bool,
        column: usize,
    ) -> Result<CelType, CelError> {
        let found = self.check(operand)?;
        let (of, was_optional) = unwrap(self.known.resolve(&found));
        let result = match &of {
            CelType::Map(_, value) => (**value).clone(),
            CelType::Message(message) => field(message, name, self.talos)
                .ok_or_else(|| CelError::new(column, format!("{message} has no field `{name}`")))?,
            CelType::Unknown(_) => {
                self.known.unify(&CelType::Dyn, &of);
                CelType::Dyn
            }
            CelType::Dyn => CelType::Dyn,
            other => return Err(CelError::new(column, format!("a value of type {other} has no fields"))),
        };
        Ok(if optional || was_optional { CelType::optional(result) } else { result })
    }

    fn call(
        &mut self,
        function: &str,
        target: Option<&Expression>,
        arguments: &[Expression],
        column: usize,
    ) -> Result<CelType, CelError> {
        let mut types = Vec::new();
        for argument in arguments {
            types.push(self.check(argument)?);
        }
        if ["_&&_", "_||_"].contains(&function) {
            return self.all_true(arguments, &types);
        }
        if let Some(target) = target {
            if let Some(prefix) = dotted_name(target) {
                let qualified = format!("{}.{function}", prefix.trim_start_matches('.'));
                let signatures = self.environment.function(&qualified);
                if !signatures.is_empty() {
                    return self.fitting(&qualified, &signatures, &types, false, column);
                }
            }
            types.insert(0, self.check(target)?);
        }
        let signatures = self.environment.function(function);
        if signatures.is_empty() {
            return Err(CelError::new(column, format!("unknown function `{function}`")));
        }
        self.fitting(function, &signatures, &types, target.is_some(), column)
    }

    fn all_true(&mut self, parts: &[Expression], types: &[CelType]) -> Result<CelType, CelError> {
        for (part, found) in parts.iter().zip(types) {
            self.expect(found, &CelType::Bool, part.column)?;
        }
        Ok(CelType::Bool)
    }

    fn expect(&mut self, found: &CelType, wanted: &CelType, column: usize) -> Result<(), CelError> {
        if self.known.unify(found, wanted) {
            return Ok(());
        }
        let found = self.known.resolve(found);
        Err(CelError::new(column, format!("this is of type {found}, and {wanted} is wanted")))
    }

    /// The result of every signature that fits the arguments; where they differ, it is known only when it runs.
    fn fitting(
        &mut self,
        function: &str,
        signatures: &[Signature],
        arguments: &[CelType],
        member: bool,
        column: usize,
    ) -> Result<CelType, CelError> {
        let mut result: Option<CelType> = None;
        for signature in signatures.iter().filter(|signature| signature.member == member) {
            if signature.arguments.len() != arguments.len() {
                continue;
            }
            let mut parameters = BTreeMap::new();
            let wanted: Vec<CelType> = signature
                .arguments
                .iter()
                .map(|argument| self.instantiate(argument, &mut parameters))
                .collect();
            let gives = self.instantiate(&signature.result, &mut parameters);
            let pairs: Vec<(&CelType, &CelType)> = arguments.iter().zip(&wanted).collect();
            if !self.known.unify_all(&pairs) {
                continue;
            }
            let gives = self.known.resolve(&gives);
            result = Some(match result {
                None => gives,
                Some(before) if before == gives => before,
                Some(_) => CelType::Dyn,
            });
        }
        result.ok_or_else(|| {
            let types: Vec<String> =
                arguments.iter().map(|argument| self.known.resolve(argument).to_string()).collect();
            let function = function.trim_start_matches('@');
            CelError::new(column, format!("`{function}` does not work on {}", types.join(", ")))
        })
    }

    /// A type of a signature with its parameters replaced by types that are still to be found.
    fn instantiate(&mut self, of: &CelType, parameters: &mut BTreeMap<char, CelType>) -> CelType {
        match of {
            CelType::Parameter(name) => parameters.entry(*name).or_insert_with(|| self.known.fresh()).clone(),
            _ => of.map_parts(|part| self.instantiate(part, parameters)),
        }
    }

    /// The type of both; types that do not go together leave it open.
    fn join(&mut self, before: Option<CelType>, next: CelType) -> CelType {
        match before {
            None => next,
            Some(before) if self.known.unify(&before, &next) => more_general(before, next),
            Some(_) => CelType::Dyn,
        }
    }

    fn item(&mut self, optional: bool, item: &Expression) -> Result<CelType, CelError> {
        let found = self.check(item)?;
        if !optional {
            return Ok(found);
        }
        match unwrap(self.known.resolve(&found)) {
            (inner, true) => Ok(inner),
            (CelType::Dyn, false) => Ok(CelType::Dyn),
            (other, false) => {
                Err(CelError::new(item.column, format!("this is of type {other}, and an optional is wanted")))
            }
        }
    }

    fn list(&mut self, items: &[(bool, Expression)]) -> Result<CelType, CelError> {
        let mut of = None;
        for (optional, item) in items {
            let found = self.item(*optional, item)?;
            of = Some(self.join(of, found));
        }
        Ok(CelType::list(of.unwrap_or_else(|| self.known.fresh())))
    }

    fn map(&mut self, entries: &[(bool, Expression, Expression)]) -> Result<CelType, CelError> {
        let (mut keys, mut values) = (None, None);
        for (optional, key, value) in entries {
            let found = self.check(key)?;
            keys = Some(self.join(keys, found));
            let found = self.item(*optional, value)?;
            values = Some(self.join(values, found));
        }
        let key = keys.unwrap_or_else(|| self.known.fresh());
        let value = values.unwrap_or_else(|| self.known.fresh());
        Ok(CelType::Map(Box::new(key), Box::new(value)))
    }

    fn message(
        &mut self,
        name: &str,
        fields: &[(bool, String, Expression)],
        column: usize,
    ) -> Result<CelType, CelError> {
        let Some(CelType::Message(message)) = type_named(name, false) else {
            return Err(CelError::new(column, format!("unknown message type `{name}`")));
        };
        for (optional, name, value) in fields {
            let found = self.item(*optional, value)?;
            let wanted = field(message, name, self.talos)
                .ok_or_else(|| CelError::new(value.column, format!("{message} has no field `{name}`")))?;
            self.expect(&found, &wanted, value.column)?;
        }
        Ok(CelType::Message(message))
    }

    fn check_loop(
        &mut self,
        name: Loop,
        range: &Expression,
        variable: &str,
        bodies: &[Expression],
    ) -> Result<CelType, CelError> {
        let found = self.check(range)?;
        let resolved = self.known.resolve(&found);
        let optional = matches!(name, Loop::OptionalMap | Loop::OptionalFlatMap);
        let each = match &resolved {
            CelType::Optional(value) if optional => (**value).clone(),
            CelType::List(item) if !optional => (**item).clone(),
            CelType::Map(key, _) if !optional => (**key).clone(),
            CelType::Dyn | CelType::Unknown(_) => {
                self.known.unify(&CelType::Dyn, &resolved);
                CelType::Dyn
            }
            other => {
                let wanted = if optional { "an optional" } else { "a list or a map" };
                return Err(CelError::new(
                    range.column,
                    format!("this is of type {other}, and {wanted} is wanted"),
                ));
            }
        };
        self.locals.push((variable.to_owned(), each.clone()));
        let result = self.body(name, each, bodies);
        self.locals.pop();
        result
    }

    fn body(&mut self, name: Loop, each: CelType, bodies: &[Expression]) -> Result<CelType, CelError> {
        let mut types = Vec::new();
        for body in bodies {
            types.push(self.check(body)?);
        }
        let tests = match name {
            Loop::Test | Loop::Filter => bodies.len(),
            Loop::Map => bodies.len() - 1,
            Loop::OptionalMap | Loop::OptionalFlatMap => 0,
        };
        self.all_true(&bodies[..tests], &types[..tests])?;
        let last = types.pop().unwrap_or(CelType::Dyn);
        Ok(match name {
            Loop::Test => CelType::Bool,
            Loop::Filter => CelType::list(each),
            Loop::Map => CelType::list(last),
            Loop::OptionalMap => CelType::optional(last),
            Loop::OptionalFlatMap => {
                let wanted = CelType::optional(self.known.fresh());
                self.expect(&last, &wanted, bodies.last().map_or(1, |body| body.column))?;
                last
            }
        })
    }
}

/// Names with dots between them, if that is all there is.
fn dotted_name(expression: &Expression) -> Option<String> {
    match &expression.kind {
        ExpressionKind::Name(name) => Some(name.clone()),
        ExpressionKind::Select { operand, field, optional: false } => {
            Some(format!("{}.{field}", dotted_name(operand)?))
        }
        _ => None,
    }
}

fn unwrap(of: CelType) -> (CelType, bool) {
    match of {
        CelType::Optional(value) => (*value, true),
        other => (other, false),
    }
}
