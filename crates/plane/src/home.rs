//! Where this user's planes and built binaries live.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// The two directories of this user that the plane writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// Built binaries and toolchains; may be deleted at any time, costs a rebuild.
    pub cache: PathBuf,
    /// One directory per running plane.
    pub planes: PathBuf,
}

/// Why no home could be found.
#[derive(Debug, thiserror::Error)]
#[error("neither HOME nor XDG_CACHE_HOME and XDG_STATE_HOME say where to keep files")]
pub struct Error;

impl Error {
    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        Some("set HOME, or XDG_CACHE_HOME and XDG_STATE_HOME to absolute paths".into())
    }
}

impl Home {
    /// Follows the XDG base directories of the environment.
    pub fn from_env() -> Result<Self, Error> {
        Self::resolve(|name| env::var_os(name))
    }

    fn resolve(var: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        // The XDG specification: a relative path is to be ignored.
        let absolute = |name| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = |name, fallback| absolute(name).or_else(|| Some(absolute("HOME")?.join(fallback)));
        let cache = base("XDG_CACHE_HOME", ".cache").ok_or(Error)?;
        let state = base("XDG_STATE_HOME", ".local/state").ok_or(Error)?;
        Ok(Self { cache: cache.join("simkube"), planes: state.join("simkube/planes") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(vars: &[(&str, &str)], cache_and_planes: Option<(&str, &str)>) {
        let home = Home::resolve(|name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        });
        let found = home.ok().map(|home| (home.cache, home.planes));
        assert_eq!(found, cache_and_planes.map(|(a, b)| (PathBuf::from(a), PathBuf::from(b))), "{vars:?}");
    }

    #[test]
    fn xdg_directories_win_over_home_unless_relative() {
        check(&[("HOME", "/h")], Some(("/h/.cache/simkube", "/h/.local/state/simkube/planes")));
        check(
            &[("HOME", "/h"), ("XDG_CACHE_HOME", "/c"), ("XDG_STATE_HOME", "oops")],
            Some(("/c/simkube", "/h/.local/state/simkube/planes")),
        );
        check(&[("XDG_CACHE_HOME", "/c")], None);
    }
}
