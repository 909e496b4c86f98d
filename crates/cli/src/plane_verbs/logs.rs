//! `skctl plane logs`: what the components printed.

use std::fmt::Write;

use super::arguments::Logs;
use crate::exit::{Failure, Outcome};
use crate::output;

/// Lines of each component when all are asked for.
const A_FEW: usize = 10;

pub(super) fn run(arguments: &Logs) -> Result<Outcome, Failure> {
    let home = super::home()?;
    let name = &arguments.which.name;
    let mut logs = plane::manage::logs(&home, name).map_err(|error| super::trouble(&home, error))?;
    if let Some(component) = &arguments.component {
        let names: Vec<String> = logs.keys().cloned().collect();
        logs.retain(|name, _| name == component);
        if logs.is_empty() {
            return Err(Failure::usage(format!("plane `{name}` has no component `{component}`"))
                .hint(format!("it has {}", names.join(", "))));
        }
    }
    if arguments.path {
        let paths: Vec<String> = logs.values().map(|path| format!("{}\n", path.display())).collect();
        output::data(paths.concat().as_bytes())?;
        return Ok(Outcome::Done);
    }
    let many = arguments.component.is_none();
    let tail = arguments.tail.or(many.then_some(A_FEW));
    for (component, path) in &logs {
        let bytes = std::fs::read(path)
            .map_err(|error| Failure::from(error).context(format!("failed to read `{}`", path.display())))?;
        let mut shown = String::new();
        if many {
            let _ = writeln!(shown, "==> {component} <==");
        }
        shown.push_str(last_lines(&String::from_utf8_lossy(&bytes), tail));
        output::data(shown.as_bytes())?;
    }
    Ok(Outcome::Done)
}

fn last_lines(text: &str, count: Option<usize>) -> &str {
    let Some(count) = count else { return text };
    let body = text.strip_suffix('\n').unwrap_or(text);
    match body.rmatch_indices('\n').nth(count.saturating_sub(1)) {
        _ if count == 0 => "",
        Some((place, _)) => &text[place + 1..],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_whole_lines() {
        for (text, count, expected) in [
            ("a\nb\nc\n", Some(2), "b\nc\n"),
            ("a\nb\nc", Some(1), "c"),
            ("a\n", Some(5), "a\n"),
            ("a\nb\n", Some(0), ""),
            ("", Some(3), ""),
            ("a\nb\n", None, "a\nb\n"),
        ] {
            assert_eq!(last_lines(text, count), expected, "{text:?} {count:?}");
        }
    }
}
