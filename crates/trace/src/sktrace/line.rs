//! How a record is spelled as one line of JSON.
//!
//! Every line is a map whose `type` says what it is. Keys that a type does not have are refused: dropping
//! them would lose in silence what a newer writer meant.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::FORMAT;
use crate::{Closing, Gap, Header, Key, Object, PodLife, Record, json};

/// One decoded line.
pub(super) enum Line {
    Header(Box<Header>),
    Record(Record),
    Closing(Closing),
}

/// Bytes that a record without an object may have.
pub(super) const NOT_AN_OBJECT: usize = 1 << 20;

/// Why a line was not understood.
#[derive(Debug)]
pub(super) enum LineError {
    /// The header is of another format version.
    Version(String),
    /// A record without an object is longer than [`NOT_AN_OBJECT`].
    TooLong,
    Other(String),
}

impl From<serde_json::Error> for LineError {
    fn from(error: serde_json::Error) -> Self {
        Self::Other(error.to_string())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeLine<'a> {
    r#type: &'a str,
    at: Timestamp,
    #[serde(default)]
    stamp: Option<Timestamp>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InitialLine<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TickLine<'a> {
    r#type: &'a str,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stamp: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownLine<'a> {
    r#type: &'a str,
    object: Key,
    /// A decimal string: jq and JavaScript round integers beyond 2^53.
    spec_hash: String,
}

/// Adds the line of a record to `out`, with its line end.
pub(super) fn push_record(out: &mut Vec<u8>, record: &Record) {
    match record {
        Record::Initial { object } => push_object(out, "initial", None, None, object),
        Record::Applied { at, stamp, object } => push_object(out, "applied", Some(*at), *stamp, object),
        Record::Deleted { at, stamp, object } => push_object(out, "deleted", Some(*at), *stamp, object),
        Record::Life(life) => push_tagged(out, "life", &**life),
        Record::Gap(gap) => push_tagged(out, "gap", gap),
        Record::Tick { at, stamp } => json::push(out, &TickLine { r#type: "tick", at: *at, stamp: *stamp }),
        Record::Known { key, spec_hash } => {
            let spec_hash = spec_hash.to_string();
            json::push(out, &KnownLine { r#type: "known", object: key.clone(), spec_hash });
        }
    }
    out.push(b'\n');
}

pub(super) fn push_header(out: &mut Vec<u8>, header: &Header) {
    #[derive(Serialize)]
    struct Formatted<'a> {
        format: &'a str,
        #[serde(flatten)]
        header: &'a Header,
    }
    push_tagged(out, "header", &Formatted { format: FORMAT, header });
    out.push(b'\n');
}

pub(super) fn push_closing(out: &mut Vec<u8>, closing: &Closing) {
    push_tagged(out, "end", closing);
    out.push(b'\n');
}

/// Changes are most of a trace, and their object is text already: nothing is parsed to write them.
fn push_object(
    out: &mut Vec<u8>,
    kind: &str,
    at: Option<Timestamp>,
    stamp: Option<Timestamp>,
    object: &Object,
) {
    out.extend_from_slice(br#"{"type":""#);
    out.extend_from_slice(kind.as_bytes());
    out.push(b'"');
    for (name, time) in [("at", at), ("stamp", stamp)] {
        if let Some(time) = time {
            out.extend_from_slice(format!(r#","{name}":"{time}""#).as_bytes());
        }
    }
    out.extend_from_slice(br#","object":"#);
    out.extend_from_slice(object.json().as_bytes());
    out.push(b'}');
}

/// Writes a struct's own fields behind a `type`.
fn push_tagged<T: Serialize>(out: &mut Vec<u8>, kind: &str, fields: &T) {
    out.extend_from_slice(br#"{"type":""#);
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(br#"","#);
    let brace = out.len();
    json::push(out, fields);
    debug_assert!(out[brace] == b'{' && out[brace + 1] != b'}', "tagged types have at least one field");
    out.remove(brace);
}

/// Understands one line.
pub(super) fn parse(line: &str) -> Result<Line, LineError> {
    let kind = kind_of(line)?;
    // Only objects are large. Everything else is parsed into trees, which take many times their text.
    if line.len() > NOT_AN_OBJECT && !["initial", "applied", "deleted"].contains(&&*kind) {
        return Err(LineError::TooLong);
    }
    let record = match &*kind {
        "initial" => {
            let fields: InitialLine = serde_json::from_str(line)?;
            Record::Initial { object: object(fields.object)? }
        }
        "applied" => {
            let fields: ChangeLine = serde_json::from_str(line)?;
            Record::Applied { at: fields.at, stamp: fields.stamp, object: object(fields.object)? }
        }
        "deleted" => {
            let fields: ChangeLine = serde_json::from_str(line)?;
            Record::Deleted { at: fields.at, stamp: fields.stamp, object: object(fields.object)? }
        }
        "life" => Record::Life(Box::new(untagged::<PodLife>(line)?)),
        "gap" => Record::Gap(untagged::<Gap>(line)?),
        "tick" => {
            let fields: TickLine = serde_json::from_str(line)?;
            Record::Tick { at: fields.at, stamp: fields.stamp }
        }
        "known" => {
            let KnownLine { object: key, spec_hash, .. } = serde_json::from_str(line)?;
            let spec_hash = spec_hash
                .parse()
                .map_err(|_| LineError::Other(format!("spec_hash `{spec_hash}` is no 64-bit number")))?;
            Record::Known { key, spec_hash }
        }
        "header" => return header(line),
        "end" => return Ok(Line::Closing(untagged(line)?)),
        other => return Err(LineError::Other(format!("unknown record type `{other}`"))),
    };
    Ok(Line::Record(record))
}

/// The `type` of a line. Ours stands first; strangers may put it anywhere.
fn kind_of(line: &str) -> Result<std::borrow::Cow<'_, str>, LineError> {
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(borrow)]
        r#type: std::borrow::Cow<'a, str>,
    }
    if let Some(rest) = line.strip_prefix(r#"{"type":""#)
        && let Some((kind, _)) = rest.split_once('"')
        && kind.bytes().all(|byte| byte.is_ascii_lowercase())
    {
        return Ok(kind.into());
    }
    Ok(serde_json::from_str::<Tag>(line)?.r#type)
}

/// Parses a line into a struct that does not know of `type`.
fn untagged<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, LineError> {
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line)?;
    fields.remove("type");
    // The structs own their strings, so going through a tree costs only on the rare record types.
    Ok(T::deserialize(serde::de::value::MapDeserializer::new(fields.into_iter()))?)
}

fn header(line: &str) -> Result<Line, LineError> {
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line)?;
    fields.remove("type");
    match fields.remove("format") {
        Some(serde_json::Value::String(format)) if format == FORMAT => {}
        Some(other) => return Err(LineError::Version(other.to_string().trim_matches('"').to_owned())),
        None => return Err(LineError::Other("the header does not say its `format`".to_owned())),
    }
    Ok(Line::Header(Box::new(serde_json::from_value(fields.into())?)))
}

fn object(raw: &RawValue) -> Result<Object, LineError> {
    Object::parse(raw.get()).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        LineError::Other(format!("{error}: {cause}"))
    })
}
