//! The kind of an object, in SimKube's spelling: `apps/v1.Deployment`, `v1.Pod`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// API version and kind of an object. Both are empty when an object does not say what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
}

/// A string that does not name a kind.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not name a kind; expected `group/version.Kind` or `version.Kind`")]
pub struct GvkError(String);

impl Gvk {
    /// Joins an API version and a kind.
    pub fn new(api_version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { api_version: api_version.into(), kind: kind.into() }
    }

    /// Where the built-in workload kinds keep their pod templates, as a JSON pointer; the empty pointer
    /// means that the object is itself the pod.
    pub fn built_in_pod_template(&self) -> Option<&'static str> {
        match (self.api_version.as_str(), self.kind.as_str()) {
            ("apps/v1", "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet") | ("batch/v1", "Job") => {
                Some("/spec/template")
            }
            ("batch/v1", "CronJob") => Some("/spec/jobTemplate/spec/template"),
            ("v1", "Pod") => Some(""),
            _ => None,
        }
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.api_version, self.kind)
    }
}

impl FromStr for Gvk {
    type Err = GvkError;

    /// The group may contain dots (`batch.volcano.sh/v1alpha1.Job`), so the slash is looked for first.
    /// A leading slash, as in `/v1.Pod`, names the core group: some SimKube versions wrote it.
    fn from_str(text: &str) -> Result<Self, GvkError> {
        let wrong = || GvkError(text.to_owned());
        let (group, rest) = match text.split_once('/') {
            Some((group, rest)) => (group, rest),
            None => ("", text),
        };
        let (version, kind) = rest.split_once('.').ok_or_else(wrong)?;
        if rest.contains('/') || kind.contains('.') || version.is_empty() || kind.is_empty() {
            return Err(wrong());
        }
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        Ok(Self::new(api_version, kind))
    }
}

impl Serialize for Gvk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Gvk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, &str)>) {
        let parsed = text.parse::<Gvk>().ok();
        assert_eq!(parsed, expected.map(|(version, kind)| Gvk::new(version, kind)), "{text}");
    }

    #[test]
    fn kinds_parse_as_simkube_spells_them() {
        check("apps/v1.Deployment", Some(("apps/v1", "Deployment")));
        check("v1.Pod", Some(("v1", "Pod")));
        check("/v1.Pod", Some(("v1", "Pod")));
        check("batch.volcano.sh/v1alpha1.Job", Some(("batch.volcano.sh/v1alpha1", "Job")));
        for wrong in ["", "Pod", "v1.", ".Pod", "a/b/v1.Pod", "apps/v1", "apps/v1.Foo.Bar", "//v1.Pod"] {
            check(wrong, None);
        }
    }

    #[test]
    fn the_core_group_is_written_without_a_slash() {
        assert_eq!("/v1.Pod".parse::<Gvk>().unwrap().to_string(), "v1.Pod");
    }
}
