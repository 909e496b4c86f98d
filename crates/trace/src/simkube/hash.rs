//! SimKube's hash of a JSON tree: SipHash-1-3 with a zero key over a depth-first walk.
//!
//! It has no type tags and no lengths, so `null`, `0` and `0.0` are equal, and `{}` and `[]` too. We reproduce
//! it to write files that SimKube understands, and use BLAKE3 for ourselves.

use std::hash::Hasher;

use serde_json::Value;
use siphasher::sip::SipHasher13;

use super::msgpack::{Cursor, Malformed, Token};
use super::transcode;

/// Hash of a value, such as an object's `spec`; a missing one hashes as null.
pub fn spec_hash(value: &Value) -> u64 {
    let mut packed = Vec::new();
    transcode::from_json(&value.to_string(), &mut packed).expect("a tree prints as valid JSON");
    of_msgpack(&mut Cursor::new(&packed)).expect("a JSON tree has only string keys")
}

/// Hash of a pod by its spec, without what differs between two pods of one template: the node, the account
/// and its token volume, and the ports of main containers.
pub fn stable_pod_hash(pod_spec: &Value) -> u64 {
    let mut spec = pod_spec.clone();
    if let Some(spec) = spec.as_object_mut() {
        for field in ["nodeName", "serviceAccount", "serviceAccountName"] {
            spec.remove(field);
        }
        let volumes = spec.get("volumes").map(without_token_volumes);
        spec.insert("volumes".to_owned(), volumes.unwrap_or_else(|| Value::Array(Vec::new())));
        for (field, has_ports) in [("containers", false), ("initContainers", true)] {
            let containers = spec.get_mut(field).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
                let mounts = container.get("volumeMounts").map(without_token_volumes);
                container
                    .insert("volumeMounts".to_owned(), mounts.unwrap_or_else(|| Value::Array(Vec::new())));
                if !has_ports {
                    container.remove("ports");
                }
            }
        }
    }
    spec_hash(&spec)
}

fn without_token_volumes(list: &Value) -> Value {
    let is_token = |entry: &Value| {
        entry.get("name").and_then(Value::as_str).is_some_and(|name| name.starts_with("kube-api-access"))
    };
    let entries = list.as_array().into_iter().flatten();
    Value::Array(entries.filter(|entry| !is_token(entry)).cloned().collect())
}

/// Hash of one MessagePack value, and move behind it.
///
/// Map keys count in ascending order. Files nearly always have them so, and are hashed in a single walk;
/// only when one does not is the value walked again, each map sorted first. (Sorting map by map as they come
/// up would walk nested ones twice per level: hostile nesting would make that exponential.)
pub(super) fn of_msgpack(cursor: &mut Cursor<'_>) -> Result<u64, Malformed> {
    let mut in_order = *cursor;
    let mut hasher = SipHasher13::new();
    match feed(&mut in_order, &mut hasher, Keys::AsTheyStand) {
        Ok(()) => *cursor = in_order,
        Err(Trouble::Malformed(malformed)) => return Err(malformed),
        Err(Trouble::OutOfOrder) => {
            hasher = SipHasher13::new();
            match feed(cursor, &mut hasher, Keys::Sorted) {
                Ok(()) | Err(Trouble::OutOfOrder) => {}
                Err(Trouble::Malformed(malformed)) => return Err(malformed),
            }
        }
    }
    Ok(hasher.finish())
}

/// The hash of null, which stands for a missing spec.
pub(super) fn of_nothing() -> u64 {
    spec_hash(&Value::Null)
}

#[derive(Clone, Copy)]
enum Keys {
    AsTheyStand,
    Sorted,
}

enum Trouble {
    Malformed(Malformed),
    /// A map's keys do not ascend; only met while they are taken as they stand.
    OutOfOrder,
}

impl From<Malformed> for Trouble {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

fn feed(cursor: &mut Cursor<'_>, hasher: &mut SipHasher13, keys: Keys) -> Result<(), Trouble> {
    match cursor.token()? {
        Token::Nil => hasher.write(&[0; 8]),
        Token::Bool(flag) => hasher.write(&[u8::from(flag)]),
        Token::Unsigned(number) => hasher.write(&number.to_le_bytes()),
        Token::Negative(number) => hasher.write(&number.to_le_bytes()),
        // Adding +0.0 turns -0.0 into +0.0 and changes nothing else.
        Token::Float(number) => hasher.write(&(number + 0.0).to_le_bytes()),
        Token::Text(text) => feed_text(text, hasher),
        Token::Opaque => return Err(cursor.malformed("binary data inside an object").into()),
        Token::Array(elements) => {
            for _ in 0..elements {
                feed(cursor, hasher, keys)?;
            }
        }
        Token::Map(entries) => match keys {
            Keys::AsTheyStand => feed_map(cursor, entries, hasher)?,
            Keys::Sorted => feed_sorted_map(cursor, entries, hasher)?,
        },
    }
    Ok(())
}

fn feed_text(text: &[u8], hasher: &mut SipHasher13) {
    hasher.write(text);
    hasher.write(&[0xff]);
}

fn feed_map(cursor: &mut Cursor<'_>, entries: usize, hasher: &mut SipHasher13) -> Result<(), Trouble> {
    let mut previous: Option<&[u8]> = None;
    for _ in 0..entries {
        let key = key(cursor)?;
        if previous.is_some_and(|previous| previous >= key) {
            return Err(Trouble::OutOfOrder);
        }
        previous = Some(key);
        feed_text(key, hasher);
        feed(cursor, hasher, Keys::AsTheyStand)?;
    }
    Ok(())
}

fn feed_sorted_map(cursor: &mut Cursor<'_>, entries: usize, hasher: &mut SipHasher13) -> Result<(), Trouble> {
    let mut sorted = std::collections::BTreeMap::new();
    for _ in 0..entries {
        // Of two equal keys the last counts, as in every JSON parser.
        sorted.insert(key(cursor)?, *cursor);
        cursor.skip(usize::MAX)?;
    }
    for (key, mut value) in sorted {
        feed_text(key, hasher);
        feed(&mut value, hasher, Keys::Sorted)?;
    }
    Ok(())
}

fn key<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Malformed> {
    match cursor.token()? {
        Token::Text(text) => Ok(text),
        _ => Err(cursor.malformed("a map inside an object has a key that is no string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hashes_equal_those_that_simkube_computes() {
        for (text, expected) in [
            ("null", 13_646_096_770_106_105_413),
            ("0", 13_646_096_770_106_105_413),
            ("0.0", 13_646_096_770_106_105_413),
            ("-0.0", 13_646_096_770_106_105_413),
            ("{}", 15_130_871_412_783_076_140),
            ("[]", 15_130_871_412_783_076_140),
            ("true", 4_952_851_536_318_644_461),
            ("false", 7_541_581_120_933_061_747),
            ("-1", 3_395_815_149_532_668_813),
            ("1.5", 14_071_338_911_868_686_178),
            ("\"é\"", 15_485_919_753_795_404_723),
            (r#"{"b":1,"a":[1,"x",{"c":null}]}"#, 9_534_245_882_346_280_935),
            (r#"{"replicas":42}"#, 3_664_028_200_602_729_212),
            (r#"{"updateStrategy":{"type":"onDelete"}}"#, 16_161_139_027_557_399_432_u64),
        ] {
            let mut packed = Vec::new();
            transcode::from_json(text, &mut packed).unwrap();
            assert_eq!(of_msgpack(&mut Cursor::new(&packed)).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn pods_of_one_template_hash_alike() {
        assert_eq!(stable_pod_hash(&json!({"containers": []})), 17_506_812_802_394_981_455);
        assert_eq!(
            stable_pod_hash(&json!({"containers": [], "nodeSelector": {"boo": "far"}, "nodeName": "n1",
                "serviceAccount": "a", "serviceAccountName": "a",
                "volumes": [{"name": "kube-api-access-x"}]})),
            18_161_541_283_955_474_812
        );
    }

    #[test]
    fn maps_out_of_order_hash_like_sorted_ones() {
        // {"b":1,"a":{"d":2,"c":3}} as it may stand in a file
        let unsorted = b"\x82\xa1b\x01\xa1a\x82\xa1d\x02\xa1c\x03";
        let hash = of_msgpack(&mut Cursor::new(unsorted)).unwrap();
        assert_eq!(hash, spec_hash(&json!({"a": {"c": 3, "d": 2}, "b": 1})));
    }

    #[test]
    fn hostile_nesting_of_unsorted_maps_costs_no_more_than_its_depth() {
        // Each level {"b": <nested>, "a": nil}: walked twice per level this would take 2^100 steps.
        let mut bytes = Vec::new();
        for _ in 0..100 {
            bytes.extend_from_slice(b"\x82\xa1b");
        }
        bytes.push(0xc0);
        for _ in 0..100 {
            bytes.extend_from_slice(b"\xa1a\xc0");
        }
        assert!(of_msgpack(&mut Cursor::new(&bytes)).is_ok());
    }
}
