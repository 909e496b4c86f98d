//! The name of a build in the cache: a hash of everything that goes into it.

/// All that decides what the binaries are. Two builds with the same inputs are the same build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inputs<'a> {
    pub(crate) go_mod: &'a str,
    pub(crate) go_sum: &'a str,
    pub(crate) go_version: &'a str,
    pub(crate) flags: &'a [String],
    pub(crate) overlay: Option<&'a str>,
    pub(crate) platform: &'a str,
}

impl Inputs<'_> {
    /// Kubernetes' version stands in front for people who list the directory; the hash decides.
    pub(crate) fn key(&self, version: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            // The length in front keeps `ab`+`c` apart from `a`+`bc`.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        for part in ["simkube plane 1", self.go_mod, self.go_sum, self.go_version, self.platform] {
            add(part);
        }
        self.flags.iter().for_each(|flag| add(flag));
        match self.overlay {
            Some(overlay) => add(&format!("overlay {overlay}")),
            None => add("no overlay"),
        }
        format!("{version}-{}", &hasher.finalize().to_hex()[..16])
    }
}

/// This machine in Go's words, as `linux/amd64`.
pub(crate) fn platform() -> (&'static str, &'static str) {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    (os, arch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_changes_the_key() {
        let flags = ["-trimpath".to_owned()];
        let base = Inputs {
            go_mod: "m",
            go_sum: "s",
            go_version: "1",
            flags: &flags,
            overlay: None,
            platform: "linux/amd64",
        };
        let variants = [
            base.clone(),
            Inputs { go_mod: "m2", ..base.clone() },
            Inputs { go_sum: "s2", ..base.clone() },
            Inputs { go_version: "2", ..base.clone() },
            Inputs { flags: &[], ..base.clone() },
            Inputs { overlay: Some("a"), ..base.clone() },
            Inputs { overlay: Some("b"), ..base.clone() },
            Inputs { platform: "linux/arm64", ..base.clone() },
        ];
        let mut keys: Vec<_> = variants.iter().map(|inputs| inputs.key("v1")).collect();
        assert_eq!(keys[0], base.key("v1"), "the same inputs give the same key");
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), variants.len());
    }
}
