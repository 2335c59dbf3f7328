//! The command reference of a program, generated from its clap definition.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command};

/// A heading of the table of contents, and the commands below it.
pub type TaskGroup = (&'static str, &'static [&'static str]);

/// The longest first line of a help text, in columns.
const MAX_FIRST_LINE: usize = 72;

/// The table of contents and every visible command of `program`, in the order of `groups`.
///
/// Panics if a visible command is in no group, or if the first line of a help text is too long for a terminal.
pub fn command_reference(mut program: Command, groups: &[TaskGroup]) -> String {
    program.build();
    let grouped: BTreeSet<_> = groups.iter().flat_map(|(_, names)| *names).copied().collect();
    let visible: BTreeSet<_> = subcommands(&program).map(Command::get_name).collect();
    assert_eq!(grouped, visible, "the groups and the commands of {}", program.get_name());

    let mut contents = String::new();
    let mut sections = String::new();
    for (group, names) in groups {
        contents += &format!("**{group}**\n\n");
        for name in *names {
            let command = program.find_subcommand(name).expect("compared above");
            write_contents(command, 0, &mut contents);
            write_section(command, 2, &mut sections);
        }
        contents.push('\n');
    }
    format!("{contents}{}", sections.trim_end())
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn path(command: &Command) -> &str {
    command.get_bin_name().expect("the command is built")
}

fn about(command: &Command) -> String {
    let about = command.get_about().expect("a command has a description").to_string();
    assert_short(&about, path(command));
    markdown(&about)
}

fn assert_short(first_line: &str, whose: &str) {
    let columns = first_line.chars().count();
    assert!(columns <= MAX_FIRST_LINE, "{whose} has {columns} columns of help: {first_line}");
}

fn write_contents(command: &Command, depth: usize, out: &mut String) {
    let (path, about) = (path(command), about(command));
    let (indent, anchor) = ("  ".repeat(depth), path.replace(' ', "-"));
    *out += &format!("{indent}- [`{path}`](#{anchor}): {}\n", lower_first(&about));
    subcommands(command).for_each(|command| write_contents(command, depth + 1, out));
}

fn lower_first(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_lowercase() + rest
}

fn write_section(command: &Command, level: usize, out: &mut String) {
    *out += &format!("{} {}\n\n{}.\n", "#".repeat(level), path(command), about(command));
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    write_paragraphs(long.split("\n\n").skip(1), out);
    let usage = command.clone().render_usage().to_string();
    let usage: Vec<_> = usage.trim_start_matches("Usage:").lines().map(str::trim).collect();
    *out += &format!("\n```text\n{}\n```\n", usage.join("\n"));
    write_arguments(command, out);
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    notes.split("\n\n").filter(|note| !note.is_empty()).for_each(|note| write_note(note, out));
    out.push('\n');
    subcommands(command).for_each(|command| write_section(command, level + 1, out));
}

/// Writes paragraphs with one sentence a line. Items of a list follow each other without a blank line.
fn write_paragraphs<'a>(paragraphs: impl Iterator<Item = &'a str>, out: &mut String) {
    let mut in_list = false;
    for paragraph in paragraphs {
        let item = paragraph.strip_prefix("- ");
        if !(in_list && item.is_some()) {
            out.push('\n');
        }
        in_list = item.is_some();
        match item {
            Some(item) => *out += &format!("- {}\n", markdown(item)),
            None => *out += &format!("{}\n", sentences(&markdown(paragraph))),
        }
    }
}

/// Writes a paragraph below the options: text, and lines of code, which are indented or follow `Example:`.
fn write_note(note: &str, out: &mut String) {
    let note = note.replacen("Example: ", "Example:\n  ", 1);
    let (code, text): (Vec<_>, Vec<_>) = note.lines().partition(|line| line.starts_with("  "));
    let text = text.join(" ");
    if !text.starts_with("Example") {
        *out += &format!("\n{}\n", sentences(&markdown(&text)));
    }
    if !code.is_empty() {
        let code: Vec<_> = code.iter().map(|line| &line[2..]).collect();
        let language = if text.starts_with("Example") { "sh" } else { "text" };
        *out += &format!("\n```{language}\n{}\n```\n", code.join("\n"));
    }
}

fn write_arguments(command: &Command, out: &mut String) {
    let is_automatic = |arg: &Arg| {
        use ArgAction::{Help, HelpLong, HelpShort, Version};
        matches!(arg.get_action(), Help | HelpLong | HelpShort | Version)
    };
    let visible = command.get_arguments().filter(|arg| !arg.is_hide_set() && !is_automatic(arg));
    let (positional, options): (Vec<_>, Vec<_>) = visible.partition(|arg| arg.is_positional());
    if !positional.is_empty() {
        *out += "\n| argument | default | meaning |\n|---|---|---|\n";
    }
    for arg in &positional {
        let (default, meaning) = default_and_meaning(arg);
        *out += &format!("| {} | {default} | {meaning} |\n", cell(&code(&value_name(arg))));
    }
    if !options.is_empty() {
        *out += "\n| option | value | default | meaning |\n|---|---|---|---|\n";
    }
    for arg in &options {
        let short = arg.get_short().map(|short| code(&format!("-{short}")));
        let long = arg.get_long_and_visible_aliases().unwrap_or_default();
        let long = long.iter().map(|name| code(&format!("--{name}")));
        let names: Vec<_> = short.into_iter().chain(long).collect();
        let value = if arg.get_action().takes_values() { code(&value_name(arg)) } else { String::new() };
        let (default, meaning) = default_and_meaning(arg);
        *out += &format!("| {} | {} | {default} | {meaning} |\n", names.join(", "), cell(&value));
    }
    for arg in positional.iter().chain(&options) {
        let values = explained_values(arg);
        if !values.is_empty() {
            *out += &format!("\n| {} | meaning |\n|---|---|\n", cell(&code(&value_name(arg))));
        }
        for value in values {
            let meaning = value.get_help().map(|help| markdown(&help.to_string())).unwrap_or_default();
            *out += &format!("| {} | {} |\n", code(value.get_name()), cell(&meaning));
        }
    }
}

fn value_name(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let name = if names.is_empty() { arg.get_id().as_str().to_uppercase() } else { names.join(" ") };
    let number = arg.get_num_args().expect("the command is built");
    match (arg.is_positional(), number.min_values(), number.max_values()) {
        (false, 0, 1) => format!("[{name}]"),
        (_, _, 2..) => format!("{name}…"),
        _ => name,
    }
}

/// The values of an argument, if they have explanations.
fn explained_values(arg: &Arg) -> Vec<PossibleValue> {
    let values = arg.get_possible_values();
    let is_explained = values.iter().any(|value| value.get_help().is_some());
    if is_explained && arg.get_action().takes_values() { values } else { Vec::new() }
}

/// The cells for the default and the meaning of an argument. A default that is not constant is in brackets in the help text.
fn default_and_meaning(arg: &Arg) -> (String, String) {
    let short = arg.get_help().map(ToString::to_string).unwrap_or_default();
    assert_short(&short, arg.get_id().as_str());
    let help = arg.get_long_help().map_or(short, ToString::to_string);
    let (before, default) = help.split_once("[default: ").unwrap_or((&help, ""));
    let (computed, after) = default.split_once(']').unwrap_or_default();
    let paragraphs = before.split("\n\n").chain(after.split("\n\n")).map(str::trim);
    let paragraphs: Vec<_> = paragraphs.filter(|paragraph| !paragraph.is_empty()).collect();
    let meaning = paragraphs.join(". ");
    let constant: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = if arg.is_required_set() {
        "required".to_owned()
    } else if !computed.is_empty() {
        if computed.contains(' ') { markdown(computed) } else { code(computed) }
    } else if arg.get_action().takes_values() && !constant.is_empty() && !arg.is_hide_default_value_set() {
        code(&constant.join(","))
    } else {
        String::new()
    };
    let mut meaning = markdown(&meaning);
    if !arg.is_hide_possible_values_set() && explained_values(arg).is_empty() {
        let values: Vec<_> = arg.get_possible_values().iter().map(|value| code(value.get_name())).collect();
        if !values.is_empty() && arg.get_action().takes_values() {
            write!(meaning, ": {}", values.join(", ")).expect("a string takes everything");
        }
    }
    (cell(&default), cell(&meaning))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Text for a cell of a table, where a bar ends the cell even within code.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// One sentence a line.
fn sentences(text: &str) -> String {
    text.replace(". ", ".\n")
}

/// Help text as Markdown: each word outside of backticks that Markdown could misread becomes code.
fn markdown(text: &str) -> String {
    let mut parts: Vec<String> = text.split('`').map(str::to_owned).collect();
    for plain in parts.iter_mut().step_by(2) {
        *plain = plain.split(' ').map(word).collect::<Vec<_>>().join(" ");
    }
    parts.join("`")
}

fn word(word: &str) -> String {
    let is_special = |text: &str| {
        text == "-"
            || text.starts_with("--")
            || text.contains("://")
            || text.contains(['$', '*', '_', '<', '>', '[', '~', '|'])
    };
    let start = word.trim_start_matches('(');
    let core = start.trim_end_matches([',', '.', ';', ':', ')']);
    if !is_special(core) {
        return word.to_owned();
    }
    let (before, after) = (&word[..word.len() - start.len()], &start[core.len()..]);
    format!("{before}`{core}`{after}")
}
