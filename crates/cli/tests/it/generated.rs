//! Generated files are what their generator makes today.

use super::sandbox::{Sandbox, repository};

#[test]
fn the_bundled_trace_is_what_the_generator_makes() {
    let sandbox = Sandbox::new();
    sandbox.prepare("skctl trace generate -o fresh.sktrace");
    let bundled = std::fs::read(repository().join("examples/web-hour.sktrace")).unwrap();
    assert!(
        sandbox.read("fresh.sktrace") == bundled,
        "examples/web-hour.sktrace has drifted: run `make generate`"
    );
}
