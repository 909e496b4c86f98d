//! Every command in README and docs/ is run, in order, as it stands there.
//!
//! A `console` block holds commands behind `$ ` and what they print: stdout and stderr together. `...` on a
//! line of its own stands for any lines, `[..]` for anything within one, and a last line `[exit N]` for the exit code
//! of a command that does not succeed. A `sh` block holds commands alone;
//! those of make are only checked to exist, because they build and test everything.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::sandbox::{Sandbox, repository};

struct Block {
    line: usize,
    is_console: bool,
    text: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        match line.trim_end() {
            "```console" | "```sh" if !open => {
                open = true;
                blocks.push(Block {
                    line: number + 1,
                    is_console: line.contains("console"),
                    text: String::new(),
                });
            }
            "```" if open => open = false,
            _ if open => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

/// Commands of a block, each with what it should print.
fn commands(block: &Block) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in block.text.lines() {
        match (block.is_console, line.strip_prefix("$ ")) {
            (true, Some(command)) => commands.push((command.to_owned(), String::new())),
            (true, None) => {
                let (_, expected) = commands.last_mut().expect("a console block begins with a command");
                expected.push_str(line);
                expected.push('\n');
            }
            (false, _) if !line.trim().is_empty() && !line.starts_with('#') => {
                commands.push((line.to_owned(), "...\n".to_owned()));
            }
            _ => {}
        }
    }
    commands
}

/// Whether the lines fit, `...` standing for any number of them.
fn fits(expected: &[&str], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((&"...", rest)) => (0..=actual.len()).any(|skipped| fits(rest, &actual[skipped..])),
        Some((first, rest)) => {
            actual.split_first().is_some_and(|(line, others)| line_fits(first, line) && fits(rest, others))
        }
    }
}

fn line_fits(expected: &str, actual: &str) -> bool {
    let mut parts = expected.trim_end().split("[..]");
    let Some(mut rest) = actual.trim_end().strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut open_end = false;
    for part in parts {
        open_end = part.is_empty();
        match rest.find(part) {
            Some(found) => rest = &rest[found + part.len()..],
            None => return false,
        }
    }
    open_end || rest.is_empty()
}

fn check_page(path: &Path) -> usize {
    let sandbox = Sandbox::new();
    let text = fs::read_to_string(path).unwrap();
    let mut run = 0;
    for block in blocks(&text) {
        for (command, expected) in commands(&block) {
            let place = format!("{}:{}: {command}", path.display(), block.line);
            if let Some(target) = command.strip_prefix("make ") {
                let makefile = fs::read_to_string(repository().join("Makefile")).unwrap();
                let name = target.split(' ').next().unwrap();
                assert!(makefile.contains(&format!("\n{name}:")), "{place}: no such name in the Makefile");
                continue;
            }
            let output = sandbox.run(&format!("exec 2>&1; {command}"));
            let mut shown = String::from_utf8_lossy(&output.stdout).into_owned();
            match output.status.code() {
                Some(0) => {}
                code => {
                    let _ = writeln!(shown, "[exit {}]", code.unwrap_or(-1));
                }
            }
            let fit = fits(&expected.lines().collect::<Vec<_>>(), &shown.lines().collect::<Vec<_>>());
            assert!(fit, "{place}\n-- documented\n{expected}-- printed\n{shown}");
            run += 1;
        }
    }
    run
}

#[test]
fn every_documented_command_does_what_the_page_says() {
    let mut pages = vec![repository().join("README.md"), repository().join("CONTRIBUTING.md")];
    for entry in fs::read_dir(repository().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    let run: usize = pages.iter().map(|page| check_page(page)).sum();
    assert!(run >= 10, "only {run} commands were found: are the blocks still marked `console`?");
}

#[test]
fn wildcards_fit_what_they_should() {
    for (expected, actual, does) in [
        ("a\n...\nz", "a\nz", true),
        ("a\n...\nz", "a\nb\nc\nz", true),
        ("a [..] c", "a bb c", true),
        ("a [..]", "a bb", true),
        ("a [..] c", "a bb d", false),
        ("a", "a\nb", false),
    ] {
        let lines = |text: &'static str| text.lines().collect::<Vec<_>>();
        assert_eq!(fits(&lines(expected), &lines(actual)), does, "{expected:?} {actual:?}");
    }
}
