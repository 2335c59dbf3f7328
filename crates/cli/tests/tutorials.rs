//! The tutorials of `docs/tutorials`: their commands run, and print what the pages show.
//!
//! A block ```` ```console ```` is run: each line that begins with `$ ` is a command for `sh`, in the folder that the one before
//! left, and the lines below it are what it prints. A line `…` matches any lines, a `…` within a line any text. A block
//! ```` ```sh ```` is not run: it needs hardware, root or the network, which the line above it says, beginning with `*Needs`.
//!
//! `UPDATE_GOLDEN=1` replaces what differs, with as many lines before and after the `…` as were shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{folder, ichor, root};

/// An age key for tests only, and its recipient.
const AGE_KEY: &str = include_str!("secrets/keys.txt");
const AGE_RECIPIENT: &str = "age1rgvu05uhv88ehtl7qvhlat5q6ca5l6zjfkcd5r5g3rydp25cxdgszefe82";

/// A fenced block of a page: its language, the lines in it, and the number of the first.
struct Block<'a> {
    language: &'a str,
    lines: Vec<&'a str>,
    first_line: usize,
}

/// Every block of a page, in order.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), is_open) {
            (Some(language), false) => {
                blocks.push(Block { language, lines: Vec::new(), first_line: number + 1 });
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => blocks.last_mut().expect("a block is open").lines.push(line),
            (None, false) => {}
        }
    }
    blocks
}

/// Where the commands of a page run: a fresh folder, with the built program first in the path.
struct Shell {
    home: tempfile::TempDir,
    folder: PathBuf,
    last_code: i32,
}

impl Shell {
    fn start() -> Self {
        let home = folder(&[(".config/sops/age/keys.txt", AGE_KEY)]);
        Self { folder: home.path().to_owned(), home, last_code: 0 }
    }

    /// Runs a command, and returns all that it prints.
    fn run(&mut self, command: &str) -> String {
        let programs = Path::new(env!("CARGO_BIN_EXE_ichor")).parent().unwrap();
        let left = self.home.path().join(".left");
        // `echo $?` prints the status of the command before.
        let script = format!(
            "exec 2>&1\n(exit {})\n{command}\nstatus=$?\npwd > \"$LEFT\"\nexit $status\n",
            self.last_code
        );
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", programs.display()))
            .envs([("HOME", self.home.path()), ("LEFT", &left)])
            .envs([("RECIPIENT", AGE_RECIPIENT), ("LC_ALL", "C.UTF-8")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        self.last_code = output.status.code().expect("the shell is not killed");
        if let Ok(folder) = fs::read_to_string(&left) {
            self.folder = PathBuf::from(folder.trim_end());
        }
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // A page that fails in the middle may leave its simulated nodes behind.
        for folder in [self.folder.clone(), self.folder.join("simulated")] {
            if folder.join("simulator").exists() {
                ichor(&folder, "lab nodes stop");
            }
        }
    }
}

/// Whether a line is as shown, where `…` is any text.
fn is_line(got: &str, shown: &str) -> bool {
    let mut parts = shown.trim_end().split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = got.trim_end().strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Whether output is as shown, where a line `…` is any number of lines.
fn is_output(got: &[&str], shown: &[&str]) -> bool {
    match (got, shown) {
        ([], []) => true,
        (_, ["…", shown @ ..]) => (0..=got.len()).any(|skipped| is_output(&got[skipped..], shown)),
        ([line, got @ ..], [want, shown @ ..]) => is_line(line, want) && is_output(got, shown),
        _ => false,
    }
}

/// What to show of output instead, with as many lines before and after the `…` as there were.
fn shown_anew(got: &[&str], shown: &[&str]) -> Vec<String> {
    let own = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    let Some(first) = shown.iter().position(|&line| line == "…") else { return own(got) };
    let after = shown.len() - 1 - shown.iter().rposition(|&line| line == "…").expect("there is one");
    if first + after >= got.len() {
        return own(got);
    }
    [own(&got[..first]), vec!["…".to_owned()], own(&got[got.len() - after..])].concat()
}

/// Runs the commands of a block, and returns its lines as they should be. Pushes a report for each that differs.
fn run_block(shell: &mut Shell, block: &Block<'_>, page: &str, reports: &mut Vec<String>) -> Vec<String> {
    let mut result = Vec::new();
    let mut lines = block.lines.as_slice();
    assert!(lines.first().is_some_and(|line| line.starts_with("$ ")), "{page}:{}", block.first_line);
    while let Some((line, rest)) = lines.split_first() {
        let end = rest.iter().position(|line| line.starts_with("$ ")).unwrap_or(rest.len());
        let (shown, rest) = rest.split_at(end);
        let command = line.strip_prefix("$ ").expect("an output belongs to a command");
        let failed = shell.last_code;
        let output = shell.run(command);
        let got: Vec<&str> = output.lines().map(str::trim_end).collect();

        if failed != 0 && command != "echo $?" {
            reports
                .push(format!("{page}: the command before `{command}` ended with {failed}; show `echo $?`"));
        }
        result.push((*line).to_owned());
        if is_output(&got, shown) {
            result.extend(shown.iter().map(|&line| line.to_owned()));
        } else {
            reports.push(format!("{page}: `{command}` prints\n{output}\nand not\n{}\n", shown.join("\n")));
            result.extend(shown_anew(&got, shown));
        }
        lines = rest;
    }
    result
}

/// Runs a page, and compares it or, with `UPDATE_GOLDEN`, rewrites it.
fn follow(name: &str) {
    let path = root().join("docs/tutorials").join(name);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut shell = Shell::start();
    let mut reports = Vec::new();
    let mut replaced = Vec::new();

    for block in blocks(&text).iter().filter(|block| block.language == "console") {
        let new = run_block(&mut shell, block, name, &mut reports);
        replaced.push((block.first_line..block.first_line + block.lines.len(), new));
    }

    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        for (range, new) in replaced.into_iter().rev() {
            lines.splice(range, new);
        }
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    } else {
        assert!(reports.is_empty(), "{}", reports.join("\n"));
    }
}

#[test]
fn the_homelab_tutorial_works() {
    follow("homelab-on-proxmox.md");
}

#[test]
fn the_cilium_tutorial_works() {
    follow("cilium-on-proxmox.md");
}

#[test]
fn the_leaf_spine_tutorial_works() {
    follow("leaf-spine-with-metallb.md");
}

#[test]
fn the_edge_tutorial_works() {
    follow("edge-sites.md");
}

#[test]
fn the_native_bgp_tutorial_works() {
    follow("native-bgp.md");
}

#[test]
fn commands_that_are_not_run_are_marked_and_understood() {
    let mut pages = 0;
    for entry in fs::read_dir(root().join("docs/tutorials")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        pages += 1;
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for block in blocks(&text).iter().filter(|block| block.language == "sh") {
            let above = lines[..block.first_line - 1].iter().rfind(|line| !line.is_empty()).unwrap();
            assert!(above.starts_with("*Needs "), "{}:{}", path.display(), block.first_line);
            assert_understood(&path, &block.lines);
        }
    }
    assert_eq!(pages, 5);
}

/// Checks that `ichor` has the commands and options of these lines.
fn assert_understood(page: &Path, lines: &[&str]) {
    let folder = folder(&[]);
    for line in lines.iter().filter_map(|line| line.strip_prefix("ichor ")) {
        let words = line.split(['#', '|', '>']).next().unwrap().split(" -- ").next().unwrap();
        let run = ichor(folder.path(), &format!("{words} --help"));
        assert_eq!(run.code, 0, "{}: ichor {line}: {}", page.display(), run.stderr);
    }
}

#[test]
fn ellipses_stand_for_text_and_lines() {
    assert!(is_line("up after 2.6 s", "up after … s"));
    assert!(!is_line("up after 2.6 s", "up after … min"));
    assert!(is_line("a b c", "a … c") && !is_line("a b", "a"));
    assert!(is_output(&["a", "b", "c"], &["a", "…", "c"]));
    assert!(is_output(&["a", "c"], &["a", "…", "c"]));
    assert!(!is_output(&["a", "b"], &["a"]));
    assert_eq!(shown_anew(&["1", "2", "3", "4"], &["x", "…", "y"]), ["1", "…", "4"]);
}
