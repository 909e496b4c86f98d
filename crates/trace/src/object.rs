//! One Kubernetes object: free JSON text, and the few fields that name it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Gvk;

/// What an object is called. Parts that the object does not state are empty; the namespace is empty for
/// cluster-scoped objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// API version and kind.
    pub gvk: Gvk,
    /// Namespace, empty when cluster-scoped.
    pub namespace: String,
    /// Name within the namespace.
    pub name: String,
}

impl Key {
    /// Puts a key together from its four parts.
    pub fn new(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self { gvk: Gvk::new(api_version, kind), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// `namespace/name`, or the name alone for cluster-scoped objects.
    pub fn namespaced_name(&self) -> String {
        if self.namespace.is_empty() {
            self.name.clone()
        } else {
            format!("{}/{}", self.namespace, self.name)
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.gvk, self.namespaced_name())
    }
}

/// An object as it was recorded. The JSON text is kept as it came: no Kubernetes version is baked in, and
/// passing objects through costs no tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    json: Box<str>,
    key: Key,
}

/// Text that is no object.
#[derive(Debug, thiserror::Error)]
#[error("not a Kubernetes object")]
pub struct ObjectError(#[from] serde_json::Error);

impl Object {
    /// Takes JSON text. Only its shape is checked: an object may lack a name or a kind. Text over several
    /// lines is put on one, because a record is a line.
    pub fn parse(json: impl Into<Box<str>>) -> Result<Self, ObjectError> {
        let mut json = json.into();
        if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
            json = crate::json::compact(&json).into();
        }
        let key = serde_json::from_str::<Identity>(&json)?.0;
        Ok(Self { json, key })
    }

    /// The object from a tree, its keys in alphabetical order.
    pub fn from_value(value: &Value) -> Result<Self, ObjectError> {
        Self::parse(value.to_string())
    }

    /// For decoders that learnt the key while they wrote the text.
    pub(crate) fn from_parts(json: Box<str>, key: Key) -> Self {
        Self { json, key }
    }

    /// The JSON text.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Kind, namespace and name.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The object as a tree, to look into it or to change it.
    ///
    /// Fails only on numbers that no 64-bit type holds: they pass the shape check and live in the text.
    pub fn to_value(&self) -> Result<Value, ObjectError> {
        Ok(serde_json::from_str(&self.json)?)
    }
}

/// Reads the naming fields of an object and passes over everything else.
struct Identity(Key);

impl<'de> Deserialize<'de> for Identity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Identity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Identity, A::Error> {
                let mut key = Key::default();
                while let Some(field) = map.next_key::<Field>()? {
                    match field {
                        Field::ApiVersion => key.gvk.api_version = map.next_value::<Text>()?.0,
                        Field::Kind => key.gvk.kind = map.next_value::<Text>()?.0,
                        Field::Metadata => {
                            let Metadata(namespace, name) = map.next_value()?;
                            (key.namespace, key.name) = (namespace, name);
                        }
                        Field::Other => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(Identity(key))
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Field {
    ApiVersion,
    Kind,
    Metadata,
    #[serde(other)]
    Other,
}

/// A string, or nothing if something else stands there: naming fields of the wrong type name nothing.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).unwrap_or_default()))
    }
}

/// Namespace and name. Of two equal keys the last counts, as everywhere.
struct Metadata(String, String);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        // Metadata that is no map names nothing.
        Ok(serde_json::from_str::<Names>(raw.get())
            .map_or(Self(String::new(), String::new()), |names| names.0))
    }
}

struct Names(Metadata);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut names = Metadata(String::new(), String::new());
                while let Some(field) = map.next_key::<NameField>()? {
                    match field {
                        NameField::Namespace => names.0 = map.next_value::<Text>()?.0,
                        NameField::Name => names.1 = map.next_value::<Text>()?.0,
                        NameField::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_map(NamesVisitor)
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum NameField {
    Namespace,
    Name,
    #[serde(other)]
    Other,
}

/// How a key is spelled in records: Kubernetes' own four words.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KeyFields {
    api_version: String,
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    namespace: String,
    name: String,
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { gvk, namespace, name } = self.clone();
        KeyFields { api_version: gvk.api_version, kind: gvk.kind, namespace, name }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let KeyFields { api_version, kind, namespace, name } = KeyFields::deserialize(deserializer)?;
        Ok(Self { gvk: Gvk { api_version, kind }, namespace, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(json: &str) -> Key {
        Object::parse(json).unwrap().key().clone()
    }

    #[test]
    fn naming_fields_are_found_wherever_they_stand() {
        let json = r#"{"spec":{"kind":"no"},"metadata":{"labels":{"name":"no"},"name":"web","namespace":"shop"},
            "kind":"Deployment","apiVersion":"apps/v1"}"#;
        assert_eq!(key_of(json), Key::new("apps/v1", "Deployment", "shop", "web"));
    }

    #[test]
    fn an_object_may_lack_any_of_its_names() {
        assert_eq!(key_of("{}"), Key::default());
        assert_eq!(key_of(r#"{"kind":7,"metadata":null}"#), Key::default());
        assert_eq!(
            key_of(r#"{"metadata":{"name":"a","name":"b"},"kind":"A","kind":"B"}"#),
            Key::new("", "B", "", "b")
        );
        assert_eq!(key_of(r#"{"metadata":{"name":"n","namespace":null}}"#), Key::new("", "", "", "n"));
    }

    #[test]
    fn escaped_names_are_read_as_written() {
        assert_eq!(key_of(r#"{"metadata":{"name":"\u0061\"b"}}"#).name, "a\"b");
    }

    #[test]
    fn text_that_is_no_map_is_refused() {
        for text in ["", "[]", "1", "\"x\"", "{", "{\"a\":}"] {
            assert!(Object::parse(text).is_err(), "{text}");
        }
    }
}
