//! One pod from creation to its end.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::Key;

/// What is known of one pod's life. A time that was not seen is absent: a pod without `finished` was still
/// running when the window closed, one without `started` never ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodLife {
    /// The recorded object that made the pod: a Deployment, a `CronJob`, or for a bare pod the pod itself.
    pub owner: Key,
    /// Which pod template the pod was made from; lives of one owner with equal templates are alike.
    pub template: TemplateHash,
    /// The pod's own name, where it matters (`StatefulSet`s) or was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// When the API server accepted the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// When it was bound to a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Timestamp>,
    /// When its first container ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When its last container ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
    /// When the object was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
    /// The node it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Exit code of the container that decided its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it ended: `Completed`, `Error`, `OOMKilled`, `Evicted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How often its containers were restarted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl PodLife {
    /// A life of which nothing is known yet but where it comes from.
    pub fn new(owner: Key, template: TemplateHash) -> Self {
        Self {
            owner,
            template,
            pod: None,
            created: None,
            scheduled: None,
            started: None,
            finished: None,
            deleted: None,
            node: None,
            exit_code: None,
            reason: None,
            restarts: 0,
        }
    }

    /// The first time known of this life. In a trace the record stands there, or at the window's start.
    pub fn begins(&self) -> Option<Timestamp> {
        [self.created, self.scheduled, self.started, self.finished, self.deleted].into_iter().flatten().min()
    }
}

/// Identifies a pod template. Written as `blake3:<hex>` or `simkube:<decimal>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TemplateHash {
    /// First 16 bytes of BLAKE3 over the template as canonical JSON.
    Blake3([u8; 16]),
    /// SimKube's hash of the pod's own spec, taken over from its files.
    Simkube(u64),
}

impl TemplateHash {
    /// Hash of a pod template. The tree keeps its keys sorted, so its text is canonical.
    pub fn of(template: &Value) -> Self {
        let hash = blake3::hash(template.to_string().as_bytes());
        let mut first = [0; 16];
        first.copy_from_slice(&hash.as_bytes()[..16]);
        Self::Blake3(first)
    }
}

impl fmt::Display for TemplateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simkube(hash) => write!(f, "simkube:{hash}"),
            Self::Blake3(bytes) => {
                f.write_str("blake3:")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

impl FromStr for TemplateHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is no template hash; expected `blake3:<32 hex digits>` or `simkube:<number>`")
        };
        match text.split_once(':') {
            Some(("simkube", number)) => number.parse().map(Self::Simkube).map_err(|_| wrong()),
            Some(("blake3", hex)) if hex.len() == 32 && hex.is_ascii() => {
                let mut bytes = [0; 16];
                for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
                    let digits = str::from_utf8(digits).map_err(|_| wrong())?;
                    *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
                }
                Ok(Self::Blake3(bytes))
            }
            _ => Err(wrong()),
        }
    }
}

impl Serialize for TemplateHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TemplateHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_hashes_survive_their_spelling() {
        for hash in [TemplateHash::Simkube(u64::MAX), TemplateHash::of(&serde_json::json!({"spec": {}}))] {
            assert_eq!(hash.to_string().parse(), Ok(hash));
        }
        for wrong in ["", "simkube:-1", "blake3:12", "blake3:zz345678901234567890123456789012", "md5:1"] {
            assert!(wrong.parse::<TemplateHash>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_life_begins_with_its_first_known_time() {
        let mut life = PodLife::new(Key::default(), TemplateHash::Simkube(1));
        assert_eq!(life.begins(), None);
        life.started = Some(Timestamp::from_second(9).unwrap());
        life.created = Some(Timestamp::from_second(7).unwrap());
        assert_eq!(life.begins(), life.created);
    }
}
