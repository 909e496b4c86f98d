//! `docs/cli.md` is made from the help texts, so that it cannot say anything else.

use std::fmt::Write;

use super::sandbox::{Sandbox, repository};

/// Every command line that has a help text, in the order of the page.
const COMMANDS: [&str; 19] = [
    "",
    "trace",
    "trace info",
    "trace cat",
    "trace convert",
    "trace diff",
    "trace generate",
    "plane",
    "plane build",
    "plane up",
    "plane down",
    "plane status",
    "plane exec",
    "plane logs",
    "plane hold",
    "plane release",
    "plane check-clock",
    "completions",
    "version",
];

const TOP: &str = "# skctl\n\n<!-- Made by `make generate` from the help texts. -->\n\n\
stdout is data, stderr is talk. Commands that print a summary take `-o json`; times there are RFC 3339, durations\n\
are seconds as numbers and their keys end in `_s`.\n\n\
| exit code | meaning |\n| --- | --- |\n| 0 | ok |\n| 1 | failed; for `trace diff`: different |\n| 2 | the command line \
makes no sense; for `trace diff`: failed |\n| 3 | nothing to do: an empty file, a trace without events, no plane to stop |\n| 12 | the environment \
is not ready: no Go, no network, no disk, no running plane, a component that ended |\n| 130 | \
interrupted |\n";

#[test]
fn the_command_reference_is_up_to_date() {
    let sandbox = Sandbox::new();
    let mut page = TOP.to_owned();
    for command in COMMANDS {
        let help = sandbox.run(&format!("skctl {command} --help"));
        assert!(help.status.success(), "{command}");
        let title = format!("skctl {command}");
        let text = String::from_utf8(help.stdout).unwrap();
        let trimmed: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
        let _ = write!(page, "\n## {}\n\n```text\n{}\n```\n", title.trim_end(), trimmed.join("\n"));
    }
    let path = repository().join("docs/cli.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "docs/cli.md has drifted: run `make generate`");
}
