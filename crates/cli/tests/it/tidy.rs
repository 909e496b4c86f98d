//! Rules of the house that no compiler knows.

use std::fs;
use std::path::{Path, PathBuf};

use super::sandbox::repository;

/// Files below a directory of the repository, without build output.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", ".git", "corpus", "artifacts", "dist", "node_modules"].contains(&name.as_str()) {
                files(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}

fn all_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&repository(), &mut found);
    found
}

#[test]
fn pure_crates_depend_on_nothing_that_waits_or_listens() {
    for name in ["trace", "results"] {
        let manifest = repository().join("crates").join(name).join("Cargo.toml");
        let Ok(text) = fs::read_to_string(manifest) else { continue };
        let dependencies = text.split("[dev-dependencies]").next().unwrap();
        for forbidden in
            ["tokio", "hyper", "kube", "reqwest", "rustls", "axum", "futures", "mio", "getrandom"]
        {
            let named =
                dependencies.lines().any(|line| line.split([' ', '.', '=']).next() == Some(forbidden));
            assert!(!named, "crates/{name} is pure and must not depend on {forbidden}");
        }
    }
}

#[test]
fn no_file_is_called_by_a_name_that_says_nothing() {
    for path in all_files() {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_code = path.extension().is_some_and(|extension| extension == "rs" || extension == "go");
        let says_nothing =
            ["util", "utils", "common", "helper", "helpers", "misc", "types"].contains(&stem.as_str());
        assert!(!(is_code && says_nothing), "{}", path.display());
    }
}

#[test]
fn every_source_file_says_what_it_is_for() {
    for path in all_files() {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("//!"), "{} has no head comment", path.display());
        }
    }
}
