//! From words to a tree.

use super::CelError;
use super::expression::{Expression, ExpressionKind, Loop, node};
use super::token::{self, Token, TokenKind as Word};

/// The deepest nesting of brackets. Talos stops at 250; this fits into the stack of any thread.
const NESTING: usize = 100;

/// The longest expression that is read, in characters.
const LONGEST: usize = 100_000;

/// Names that cannot be variables or functions.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Parses an expression; `optionals` is whether `?` is allowed before a field.
pub(crate) fn parse(text: &str, optionals: bool) -> Result<Expression, CelError> {
    if text.chars().count() > LONGEST {
        return Err(CelError::new(1, format!("longer than {LONGEST} characters")));
    }
    let mut parser = Parser { tokens: token::split(text)?, next: 0, nesting: 0, optionals };
    let expression = parser.expression()?;
    match parser.peek() {
        Word::End => Ok(expression),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    nesting: usize,
    optionals: bool,
}

impl Parser {
    fn token(&self, ahead: usize) -> &Token {
        &self.tokens[(self.next + ahead).min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &Word {
        &self.token(0).kind
    }

    fn column(&self) -> usize {
        self.token(0).column
    }

    fn unexpected(&self, wanted: &str) -> CelError {
        let found = match self.peek() {
            Word::End => "the end",
            Word::Sign(sign) => sign,
            Word::Name(_) => "a name",
            Word::Text(_) | Word::Bytes => "a text",
            _ => "a number",
        };
        CelError::new(self.column(), format!("found {found}, and {wanted} is wanted"))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Word::Sign(found) if *found == sign)
    }

    fn accept(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), CelError> {
        if self.accept(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    /// The operator that is next, if it is one of these.
    fn operator(&self, operators: &[&'static str]) -> Option<&'static str> {
        match self.peek() {
            Word::Name(name) if name == "in" => operators.iter().find(|operator| **operator == "in").copied(),
            Word::Sign(sign) => operators.iter().find(|operator| *operator == sign).copied(),
            _ => None,
        }
    }

    fn expression(&mut self) -> Result<Expression, CelError> {
        self.nesting += 1;
        if self.nesting > NESTING {
            return Err(CelError::new(self.column(), format!("nested deeper than {NESTING} levels")));
        }
        let condition = self.any()?;
        let column = self.column();
        let found = if self.accept("?") {
            let yes = self.any()?;
            self.expect(":")?;
            let no = self.expression()?;
            call(column, "_?_:_", vec![condition, yes, no])?
        } else {
            condition
        };
        self.nesting -= 1;
        Ok(found)
    }

    fn any(&mut self) -> Result<Expression, CelError> {
        self.chain("||", "_||_", Self::every)
    }

    fn every(&mut self) -> Result<Expression, CelError> {
        self.chain("&&", "_&&_", Self::relation)
    }

    /// `a || b || c` is one call: long chains are common and are not nested.
    fn chain(
        &mut self,
        sign: &'static str,
        function: &str,
        part: impl Fn(&mut Self) -> Result<Expression, CelError>,
    ) -> Result<Expression, CelError> {
        let first = part(self)?;
        let column = self.column();
        let mut parts = vec![first];
        while self.accept(sign) {
            parts.push(part(self)?);
        }
        if parts.len() == 1 { Ok(parts.remove(0)) } else { call(column, function, parts) }
    }

    fn relation(&mut self) -> Result<Expression, CelError> {
        self.binary(&["<", "<=", ">=", ">", "==", "!=", "in"], Self::sum)
    }

    fn sum(&mut self) -> Result<Expression, CelError> {
        self.binary(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Result<Expression, CelError> {
        self.binary(&["*", "/", "%"], Self::unary)
    }

    fn binary(
        &mut self,
        operators: &[&'static str],
        part: impl Fn(&mut Self) -> Result<Expression, CelError>,
    ) -> Result<Expression, CelError> {
        let mut left = part(self)?;
        while let Some(operator) = self.operator(operators) {
            let column = self.column();
            self.next += 1;
            let right = part(self)?;
            let function = if operator == "in" { "@in".to_owned() } else { format!("_{operator}_") };
            left = call(column, &function, vec![left, right])?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, CelError> {
        let column = self.column();
        for (sign, function) in [("!", "!_"), ("-", "-_")] {
            if sign == "-" && self.is("-") && matches!(self.token(1).kind, Word::Int { .. } | Word::Double(_))
            {
                break;
            }
            if self.accept(sign) {
                // An even number of signs cancels out.
                let mut odd = true;
                while self.accept(sign) {
                    odd = !odd;
                }
                let operand = self.member()?;
                return if odd { call(column, function, vec![operand]) } else { Ok(operand) };
            }
        }
        self.member()
    }

    fn member(&mut self) -> Result<Expression, CelError> {
        let mut operand = self.primary()?;
        loop {
            let column = self.column();
            if self.accept(".") {
                operand = self.field_or_call(operand, column)?;
            } else if self.accept("[") {
                let optional = self.optional()?;
                let index = self.expression()?;
                self.expect("]")?;
                operand = call(column, if optional { "_[?_]" } else { "_[_]" }, vec![operand, index])?;
            } else {
                return Ok(operand);
            }
        }
    }

    fn field_or_call(&mut self, operand: Expression, column: usize) -> Result<Expression, CelError> {
        let optional = self.optional()?;
        let name = self.name()?;
        if optional || !self.accept("(") {
            return node(
                column,
                ExpressionKind::Select { operand: Box::new(operand), field: name, optional },
            );
        }
        let arguments = self.arguments()?;
        match self.loop_name(&name, arguments.len()) {
            Some(kind) => expand(column, kind, operand, arguments),
            None => node(
                column,
                ExpressionKind::Call { function: name, target: Some(Box::new(operand)), arguments },
            ),
        }
    }

    /// Calls that are loops: by name and number of arguments.
    fn loop_name(&self, name: &str, arguments: usize) -> Option<Loop> {
        match (name, arguments) {
            ("all" | "exists" | "exists_one" | "existsOne", 2) => Some(Loop::Test),
            ("filter", 2) => Some(Loop::Filter),
            ("map", 2 | 3) => Some(Loop::Map),
            ("optMap", 2) if self.optionals => Some(Loop::OptionalMap),
            ("optFlatMap", 2) if self.optionals => Some(Loop::OptionalFlatMap),
            _ => None,
        }
    }

    fn optional(&mut self) -> Result<bool, CelError> {
        if self.is("?") && !self.optionals {
            return Err(CelError::new(self.column(), "`?` has no meaning here"));
        }
        Ok(self.accept("?"))
    }

    fn name(&mut self) -> Result<String, CelError> {
        match self.peek() {
            // `in`, `true` and the like are words of the grammar, never names.
            Word::Name(name) if !["in", "true", "false", "null"].contains(&name.as_str()) => {
                let name = name.clone();
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Expression>, CelError> {
        let mut arguments = Vec::new();
        if self.accept(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if !self.accept(",") {
                self.expect(")")?;
                return Ok(arguments);
            }
        }
    }

    fn primary(&mut self) -> Result<Expression, CelError> {
        let column = self.column();
        if self.accept("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.accept("[") {
            let items = self.items("]", |parser| Ok((parser.optional()?, parser.expression()?)))?;
            return node(column, ExpressionKind::List(items));
        }
        if self.accept("{") {
            let entries = self.items("}", |parser| {
                let (optional, key) = (parser.optional()?, parser.expression()?);
                parser.expect(":")?;
                Ok((optional, key, parser.expression()?))
            })?;
            return node(column, ExpressionKind::Map(entries));
        }
        match self.literal()? {
            Some(kind) => node(column, kind),
            None => self.name_or_call(),
        }
    }

    /// The items between brackets, separated by commas, with an optional trailing comma.
    fn items<T>(
        &mut self,
        end: &str,
        item: impl Fn(&mut Self) -> Result<T, CelError>,
    ) -> Result<Vec<T>, CelError> {
        let mut items = Vec::new();
        if self.accept(",") {
            self.expect(end)?;
            return Ok(items);
        }
        while !self.accept(end) {
            items.push(item(self)?);
            if !self.accept(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }

    fn literal(&mut self) -> Result<Option<ExpressionKind>, CelError> {
        let column = self.column();
        let negative = self.is("-");
        let kind = match &self.token(usize::from(negative)).kind {
            Word::Int { digits, hexadecimal } => {
                check_int(digits, *hexadecimal, negative, column)?;
                ExpressionKind::Int
            }
            Word::Double(digits) => match digits.parse::<f64>() {
                Ok(number) if number.is_finite() => ExpressionKind::Double,
                _ => return Err(CelError::new(column, "a number that is too big")),
            },
            _ if negative => return Ok(None),
            Word::Uint { digits, hexadecimal } => {
                if u64::from_str_radix(digits, if *hexadecimal { 16 } else { 10 }).is_err() {
                    return Err(CelError::new(column, "a number that is too big"));
                }
                ExpressionKind::Uint
            }
            Word::Text(_) => ExpressionKind::Text,
            Word::Bytes => ExpressionKind::Bytes,
            Word::Name(name) if name == "true" || name == "false" => ExpressionKind::Bool,
            Word::Name(name) if name == "null" => ExpressionKind::Null,
            _ => return Ok(None),
        };
        self.next += 1 + usize::from(negative);
        Ok(Some(kind))
    }

    fn name_or_call(&mut self) -> Result<Expression, CelError> {
        let column = self.column();
        let dot = if self.accept(".") { "." } else { "" };
        if self.is_message() {
            return self.message(column);
        }
        let name = self.name()?;
        if RESERVED.contains(&name.as_str()) {
            return Err(CelError::new(column, format!("`{name}` is a reserved word")));
        }
        let open = self.column();
        if !self.accept("(") {
            return node(column, ExpressionKind::Name(format!("{dot}{name}")));
        }
        let mut arguments = self.arguments()?;
        if name == "has" && dot.is_empty() && arguments.len() == 1 {
            let argument = arguments.remove(0);
            return match argument.kind {
                ExpressionKind::Select { operand, field, optional: false } => {
                    node(column, ExpressionKind::Has { operand, field })
                }
                _ => Err(CelError::new(argument.column, "`has` wants a field, such as has(a.b)")),
            };
        }
        node(open, ExpressionKind::Call { function: name, target: None, arguments })
    }

    /// Whether names with dots between them and a brace follow.
    fn is_message(&self) -> bool {
        let mut ahead = 0;
        loop {
            if !matches!(self.token(ahead).kind, Word::Name(_)) {
                return false;
            }
            match self.token(ahead + 1).kind {
                Word::Sign("{") => return true,
                Word::Sign(".") => ahead += 2,
                _ => return false,
            }
        }
    }

    fn message(&mut self, column: usize) -> Result<Expression, CelError> {
        let mut name = self.name()?;
        while self.accept(".") {
            name = format!("{name}.{}", self.name()?);
        }
        self.expect("{")?;
        let fields = self.items("}", |parser| {
            let (optional, field) = (parser.optional()?, parser.name()?);
            parser.expect(":")?;
            Ok((optional, field, parser.expression()?))
        })?;
        node(column, ExpressionKind::Message { name, fields })
    }
}

fn check_int(digits: &str, hexadecimal: bool, negative: bool, column: usize) -> Result<(), CelError> {
    let signed = if negative { format!("-{digits}") } else { digits.to_owned() };
    match i64::from_str_radix(&signed, if hexadecimal { 16 } else { 10 }) {
        Ok(_) => Ok(()),
        Err(_) => Err(CelError::new(column, "a number that is too big")),
    }
}

fn expand(
    column: usize,
    name: Loop,
    range: Expression,
    mut arguments: Vec<Expression>,
) -> Result<Expression, CelError> {
    let first = arguments.remove(0);
    match first.kind {
        ExpressionKind::Name(variable) if variable != "__result__" => {
            node(column, ExpressionKind::Loop { name, range: Box::new(range), variable, bodies: arguments })
        }
        _ => Err(CelError::new(first.column, "the name of a variable is wanted")),
    }
}

fn call(column: usize, function: &str, arguments: Vec<Expression>) -> Result<Expression, CelError> {
    node(column, ExpressionKind::Call { function: function.to_owned(), target: None, arguments })
}
