//! Objects between MessagePack and JSON text, both ways, without a tree in between.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::msgpack::{Cursor, Malformed, Token};
use crate::{Key, Object, json};

/// Reads one object and what it is called.
///
/// The caller has checked the nesting (see `outline`), so recursion is bounded.
pub(super) fn object(cursor: &mut Cursor<'_>) -> Result<Object, Malformed> {
    let mut key = Key::default();
    let mut out = Vec::with_capacity(512);
    let Token::Map(entries) = cursor.token()? else {
        return Err(cursor.malformed("an object must be a map"));
    };
    map(cursor, &mut out, entries, &mut |field, cursor, out| match field {
        "apiVersion" => text(cursor, out, &mut key.gvk.api_version),
        "kind" => text(cursor, out, &mut key.gvk.kind),
        "metadata" => {
            let token = cursor.token()?;
            let Token::Map(entries) = token else { return value_of(token, cursor, out) };
            map(cursor, out, entries, &mut |field, cursor, out| match field {
                "namespace" => text(cursor, out, &mut key.namespace),
                "name" => text(cursor, out, &mut key.name),
                _ => value(cursor, out),
            })
        }
        _ => value(cursor, out),
    })?;
    let text = String::from_utf8(out).expect("strings were checked, the rest is ASCII");
    Ok(Object::from_parts(text.into(), key))
}

/// Appends one value as JSON.
pub(super) fn value(cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let token = cursor.token()?;
    value_of(token, cursor, out)
}

fn value_of(token: Token<'_>, cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    match token {
        Token::Nil => out.extend_from_slice(b"null"),
        Token::Bool(flag) => out.extend_from_slice(if flag { b"true" } else { b"false" }),
        Token::Unsigned(number) => json::push(out, &number),
        Token::Negative(number) => json::push(out, &number),
        Token::Float(number) if number.is_finite() => json::push(out, &number),
        Token::Float(_) => return Err(cursor.malformed("JSON has no infinite numbers")),
        Token::Text(bytes) => json::push_string(out, cursor.text(bytes)?),
        Token::Opaque => return Err(cursor.malformed("binary data inside an object")),
        Token::Array(elements) => {
            out.push(b'[');
            for element in 0..elements {
                if element > 0 {
                    out.push(b',');
                }
                value(cursor, out)?;
            }
            out.push(b']');
        }
        // Written out, not through `map`: nearly all of a file is here, and calls through a closure show.
        Token::Map(entries) => {
            out.push(b'{');
            for entry in 0..entries {
                if entry > 0 {
                    out.push(b',');
                }
                push_key(cursor, out)?;
                value(cursor, out)?;
            }
            out.push(b'}');
        }
    }
    Ok(())
}

type EntryOf<'e, 'a> = dyn FnMut(&'a str, &mut Cursor<'a>, &mut Vec<u8>) -> Result<(), Malformed> + 'e;

/// Appends a map whose values are written by `entry`.
fn map<'a>(
    cursor: &mut Cursor<'a>,
    out: &mut Vec<u8>,
    entries: usize,
    entry: &mut EntryOf<'_, 'a>,
) -> Result<(), Malformed> {
    out.push(b'{');
    for number in 0..entries {
        if number > 0 {
            out.push(b',');
        }
        let field = push_key(cursor, out)?;
        entry(field, cursor, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Appends the key of a map entry and its colon.
fn push_key<'a>(cursor: &mut Cursor<'a>, out: &mut Vec<u8>) -> Result<&'a str, Malformed> {
    let Some(field) = cursor.next_text()? else {
        return Err(cursor.malformed("a map inside an object has a key that is no string"));
    };
    json::push_string(out, field);
    out.push(b':');
    Ok(field)
}

/// Appends a value and keeps a copy if it is a string.
fn text(cursor: &mut Cursor<'_>, out: &mut Vec<u8>, copy: &mut String) -> Result<(), Malformed> {
    let token = cursor.token()?;
    if let Token::Text(bytes) = token {
        cursor.text(bytes)?.clone_into(copy);
    }
    value_of(token, cursor, out)
}

/// Appends JSON text as MessagePack, in the smallest forms, as SimKube writes it.
pub(super) fn from_json(json: &str, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Encode(out).deserialize(&mut deserializer)?;
    deserializer.end()
}

pub(super) fn push_unsigned(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_be_bytes();
    match number {
        0..=0x7f => out.push(bytes[7]),
        0x80..=0xff => out.extend_from_slice(&[0xcc, bytes[7]]),
        0x100..=0xffff => {
            out.push(0xcd);
            out.extend_from_slice(&bytes[6..]);
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xce);
            out.extend_from_slice(&bytes[4..]);
        }
        _ => {
            out.push(0xcf);
            out.extend_from_slice(&bytes);
        }
    }
}

pub(super) fn push_signed(out: &mut Vec<u8>, number: i64) {
    if let Ok(number) = u64::try_from(number) {
        return push_unsigned(out, number);
    }
    let bytes = number.to_be_bytes();
    match number {
        -0x20.. => out.push(bytes[7]),
        -0x80..-0x20 => out.extend_from_slice(&[0xd0, bytes[7]]),
        -0x8000..-0x80 => {
            out.push(0xd1);
            out.extend_from_slice(&bytes[6..]);
        }
        -0x8000_0000..-0x8000 => {
            out.push(0xd2);
            out.extend_from_slice(&bytes[4..]);
        }
        _ => {
            out.push(0xd3);
            out.extend_from_slice(&bytes);
        }
    }
}

pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    push_length(out, text.len(), [(0xa0, 0x1f), (0xd9, 0xff), (0xda, 0xffff), (0xdb, 0xffff_ffff)]);
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn push_array(out: &mut Vec<u8>, elements: usize) {
    push_length(out, elements, [(0x90, 0x0f), (0x90, 0x0f), (0xdc, 0xffff), (0xdd, 0xffff_ffff)]);
}

pub(super) fn push_map(out: &mut Vec<u8>, entries: usize) {
    push_length(out, entries, [(0x80, 0x0f), (0x80, 0x0f), (0xde, 0xffff), (0xdf, 0xffff_ffff)]);
}

/// A marker and a length. `forms` are the four sizes (in the marker, 1, 2 and 4 bytes), each with its largest
/// length. Lengths beyond four bytes cannot come up: one record is limited to far less.
fn push_length(out: &mut Vec<u8>, length: usize, forms: [(u8, usize); 4]) {
    let bytes = (length as u64).to_be_bytes();
    let form = forms.iter().position(|(_, most)| length <= *most).unwrap_or(3);
    let marker = forms[form].0;
    match form {
        0 => out.push(marker | bytes[7]),
        1 => out.extend_from_slice(&[marker, bytes[7]]),
        2 => out.extend_from_slice(&[marker, bytes[6], bytes[7]]),
        _ => {
            out.push(marker);
            out.extend_from_slice(&bytes[4..]);
        }
    }
}

/// Writes whatever value comes. JSON does not say how long a container will be, so its header is put in
/// front once that is known; nearly all are short, and then a single byte was left free for it.
struct Encode<'o>(&'o mut Vec<u8>);

impl Encode<'_> {
    fn insert_header(&mut self, start: usize, elements: usize, push: fn(&mut Vec<u8>, usize)) {
        let mut header = Vec::with_capacity(5);
        push(&mut header, elements);
        self.0.splice(start..=start, header);
    }
}

impl<'de> DeserializeSeed<'de> for Encode<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Encode<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.push(0xc0);
        Ok(())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<(), E> {
        self.0.push(if flag { 0xc3 } else { 0xc2 });
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        push_unsigned(self.0, number);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        push_signed(self.0, number);
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.0.push(0xcb);
        self.0.extend_from_slice(&number.to_be_bytes());
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        push_text(self.0, text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<(), A::Error> {
        let start = self.0.len();
        self.0.push(0);
        let mut elements = 0;
        while sequence.next_element_seed(Encode(self.0))?.is_some() {
            elements += 1;
        }
        self.insert_header(start, elements, push_array);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let start = self.0.len();
        self.0.push(0);
        let mut entries = 0;
        while map.next_key_seed(Encode(self.0))?.is_some() {
            map.next_value_seed(Encode(self.0))?;
            entries += 1;
        }
        self.insert_header(start, entries, push_map);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn json_value() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e300..1e300f64).prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..20)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_survives_messagepack(value in json_value()) {
            let mut packed = Vec::new();
            from_json(&value.to_string(), &mut packed).unwrap();
            let mut cursor = Cursor::new(&packed);
            let mut text = Vec::new();
            super::value(&mut cursor, &mut text).unwrap();
            prop_assert!(cursor.is_at_end());
            prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(&text).unwrap(), value);
        }
    }

    #[test]
    fn long_containers_get_their_header_in_front() {
        for length in [0usize, 15, 16, 0xffff, 0x1_0000] {
            let json = format!("[{}]", vec!["1"; length].join(","));
            let mut packed = Vec::new();
            from_json(&json, &mut packed).unwrap();
            assert_eq!(Cursor::new(&packed).token(), Ok(Token::Array(length)));
        }
    }

    #[test]
    fn binary_data_and_infinities_are_refused_with_their_place() {
        for (bytes, what) in [
            (&[0x81, 0xa1, b'a', 0xc4, 1, 0][..], "binary data inside an object"),
            (&[0x81, 0xa1, b'a', 0xcb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0], "JSON has no infinite numbers"),
            (&[0x81, 0x01, 0x01], "a map inside an object has a key that is no string"),
            (&[0x91, 0x01], "an object must be a map"),
        ] {
            assert_eq!(object(&mut Cursor::new(bytes)).unwrap_err().what, what);
        }
    }
}
