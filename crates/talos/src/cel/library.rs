//! The functions every expression has, as signatures.
//!
//! A line of a table is a name, its arguments and its result; a dot in front makes the first argument the one before the
//! dot of a call, and a single capital letter is a type parameter. Operators have underscores for their operands.

use super::types::CelType;

/// Google's standard functions, without comparisons of numbers of different types: Talos does not switch those on.
const STANDARD: &str = "
_?_:_(bool, A, A) A
!_(bool) bool
_==_(A, A) bool
_!=_(A, A) bool
_+_(bytes, bytes) bytes
_+_(double, double) double
_+_(duration, duration) duration
_+_(duration, timestamp) timestamp
_+_(timestamp, duration) timestamp
_+_(int, int) int
_+_(list(A), list(A)) list(A)
_+_(string, string) string
_+_(uint, uint) uint
_-_(double, double) double
_-_(duration, duration) duration
_-_(int, int) int
_-_(timestamp, duration) timestamp
_-_(timestamp, timestamp) duration
_-_(uint, uint) uint
_*_(double, double) double
_*_(int, int) int
_*_(uint, uint) uint
_/_(double, double) double
_/_(int, int) int
_/_(uint, uint) uint
_%_(int, int) int
_%_(uint, uint) uint
-_(double) double
-_(int) int
_[_](list(A), int) A
_[_](map(A, B), A) B
@in(A, list(A)) bool
@in(A, map(A, B)) bool
size(bytes) int
size(list(A)) int
size(map(A, B)) int
size(string) int
.size(bytes) int
.size(list(A)) int
.size(map(A, B)) int
.size(string) int
type(A) type(A)
bool(bool) bool
bool(string) bool
bytes(bytes) bytes
bytes(string) bytes
double(double) double
double(int) double
double(string) double
double(uint) double
duration(duration) duration
duration(string) duration
dyn(A) dyn
int(int) int
int(double) int
int(duration) int
int(string) int
int(timestamp) int
int(uint) int
string(string) string
string(bool) string
string(bytes) string
string(double) string
string(duration) string
string(int) string
string(timestamp) string
string(uint) string
timestamp(timestamp) timestamp
timestamp(int) timestamp
timestamp(string) timestamp
uint(uint) uint
uint(double) uint
uint(int) uint
uint(string) uint
.contains(string, string) bool
.endsWith(string, string) bool
.startsWith(string, string) bool
.matches(string, string) bool
matches(string, string) bool
.getFullYear(timestamp) int
.getFullYear(timestamp, string) int
.getMonth(timestamp) int
.getMonth(timestamp, string) int
.getDayOfYear(timestamp) int
.getDayOfYear(timestamp, string) int
.getDayOfMonth(timestamp) int
.getDayOfMonth(timestamp, string) int
.getDate(timestamp) int
.getDate(timestamp, string) int
.getDayOfWeek(timestamp) int
.getDayOfWeek(timestamp, string) int
.getHours(timestamp) int
.getHours(timestamp, string) int
.getHours(duration) int
.getMinutes(timestamp) int
.getMinutes(timestamp, string) int
.getMinutes(duration) int
.getSeconds(timestamp) int
.getSeconds(timestamp, string) int
.getSeconds(duration) int
.getMilliseconds(timestamp) int
.getMilliseconds(timestamp, string) int
.getMilliseconds(duration) int
";

/// The operand types of `_<_` and its kin.
const ORDERED: [CelType; 8] = [
    CelType::Bool,
    CelType::Int,
    CelType::Uint,
    CelType::Double,
    CelType::Text,
    CelType::Bytes,
    CelType::Timestamp,
    CelType::Duration,
];

/// The functions of optional values.
pub(crate) const OPTIONALS: &str = "
optional.of(V) optional(V)
optional.ofNonZeroValue(V) optional(V)
optional.none() optional(V)
.value(optional(V)) V
.hasValue(optional(V)) bool
.or(optional(V), optional(V)) optional(V)
.orValue(optional(V), V) V
_[?_](list(V), int) optional(V)
_[?_](optional(list(V)), int) optional(V)
_[?_](map(K, V), K) optional(V)
_[?_](optional(map(K, V)), K) optional(V)
_[_](optional(list(V)), int) optional(V)
_[_](optional(map(K, V)), K) optional(V)
.last(list(V)) optional(V)
.first(list(V)) optional(V)
optional.unwrap(list(optional(V))) list(V)
.unwrapOpt(list(optional(V))) list(V)
";

/// An overload of a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Signature {
    /// Whether it is called on a value, its first argument.
    pub member: bool,
    /// The types of its arguments.
    pub arguments: Vec<CelType>,
    /// The type of its result.
    pub(crate) result: CelType,
}

/// The ways to call a function that `table` and the standard have.
pub(crate) fn find(function: &str, table: &'static str) -> Vec<Signature> {
    if ["_<_", "_<=_", "_>_", "_>=_"].contains(&function) {
        let same =
            |of: CelType| Signature { member: false, arguments: vec![of.clone(), of], result: CelType::Bool };
        return ORDERED.into_iter().map(same).collect();
    }
    let mut found = find_in(function, STANDARD);
    found.extend(find_in(function, table));
    found
}

/// The overloads of a function that only `table` has.
pub(crate) fn find_in(function: &str, table: &'static str) -> Vec<Signature> {
    table.lines().filter_map(|line| signature(line, function)).collect()
}

fn signature(line: &'static str, function: &str) -> Option<Signature> {
    let (member, line) = line.strip_prefix('.').map_or((false, line), |rest| (true, rest));
    let mut rest = line.strip_prefix(function)?.strip_prefix('(')?;
    let mut arguments = Vec::new();
    while !rest.starts_with(')') {
        let (argument, after) = read_type(rest.trim_start_matches(", "));
        arguments.push(argument);
        rest = after;
    }
    let (result, _) = read_type(rest[1..].trim_start());
    Some(Signature { member, arguments, result })
}

/// Reads a type off the front of a line of a table.
pub(crate) fn read_type(text: &'static str) -> (CelType, &'static str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let boxed = |rest: &'static str| {
        let (part, rest) = read_type(rest[1..].trim_start());
        (Box::new(part), rest)
    };
    let simple = match name {
        "bool" => CelType::Bool,
        "int" => CelType::Int,
        "uint" => CelType::Uint,
        "double" => CelType::Double,
        "string" => CelType::Text,
        "bytes" => CelType::Bytes,
        "duration" => CelType::Duration,
        "timestamp" => CelType::Timestamp,
        "dyn" => CelType::Dyn,
        "list" | "optional" | "type" => {
            let (part, rest) = boxed(rest);
            let outer = match name {
                "list" => CelType::List(part),
                "optional" => CelType::Optional(part),
                _ => CelType::Kind(part),
            };
            return (outer, &rest[1..]);
        }
        "map" => {
            let (key, rest) = boxed(rest);
            let (value, rest) = boxed(rest);
            return (CelType::Map(key, value), &rest[1..]);
        }
        _ if name.len() == 1 => CelType::Parameter(name.chars().next().expect("one letter")),
        message => CelType::Message(message),
    };
    (simple, rest)
}
