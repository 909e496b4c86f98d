//! JSON as text: nesting, white space and strings, without building a tree.

use std::io;

/// Deepest nesting of arrays and maps in a JSON text. Exact for valid JSON; for anything else merely a
/// number, and the parser that follows says what is wrong.
pub(crate) fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let mut position = 0;
    while position < text.len() {
        match text[position] {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => position = end_of_string(text, position),
            _ => {}
        }
        position += 1;
    }
    deepest
}

/// Index of the quote that closes the string opened at `open`, or the end of the text.
fn end_of_string(text: &[u8], open: usize) -> usize {
    let mut position = open + 1;
    while position < text.len() {
        match text[position] {
            b'"' => return position,
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    text.len()
}

/// The keys of a map as far as the text goes, in their spelling.
pub(crate) fn top_level_keys(text: &[u8]) -> Vec<&[u8]> {
    let (mut depth, mut position) = (0usize, 0);
    let mut keys = Vec::new();
    while position < text.len() {
        match text[position] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = end_of_string(text, position);
                let after = text.get(end + 1..).unwrap_or_default().trim_ascii_start();
                if depth == 1 && after.first() == Some(&b':') {
                    keys.push(&text[position + 1..end]);
                }
                position = end;
            }
            _ => {}
        }
        position += 1;
    }
    keys
}

/// Whether a number stands in the text that no 64-bit integer holds and that is not written as a float: whoever
/// parses it makes another number of it.
pub(crate) fn has_wide_integer(text: &[u8]) -> bool {
    let mut position = 0;
    while position < text.len() {
        match text[position] {
            b'"' => position = end_of_string(text, position),
            b'0'..=b'9' | b'-' => {
                let rest = &text[position..];
                let is_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = rest.iter().position(|byte| !is_number(byte)).unwrap_or(rest.len());
                let number = str::from_utf8(&rest[..length]).unwrap_or_default();
                let is_integer = !number.contains(['.', 'e', 'E']);
                if is_integer && number.parse::<u64>().is_err() && number.parse::<i64>().is_err() {
                    return true;
                }
                position += length.max(1) - 1;
            }
            _ => {}
        }
        position += 1;
    }
    false
}

/// The same JSON without white space between tokens. Numbers and strings keep their spelling, which
/// parsing and printing them again would not.
pub(crate) fn compact(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while position < bytes.len() {
        match bytes[position] {
            b' ' | b'\t' | b'\n' | b'\r' => position += 1,
            b'"' => {
                let end = (end_of_string(bytes, position) + 1).min(bytes.len());
                out.extend_from_slice(&bytes[position..end]);
                position = end;
            }
            other => {
                out.push(other);
                position += 1;
            }
        }
    }
    String::from_utf8(out).expect("only ASCII white space was removed from valid UTF-8")
}

/// Appends `text` as a JSON string.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    // No early exit: nearly every string is plain, and then the compiler looks at many bytes at once.
    let special = text.bytes().fold(0, |special, byte| {
        special | u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
    });
    if special == 0 {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        push(out, text);
    }
}

/// Appends any serialisable value as JSON.
pub(crate) fn push<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(io::Write::by_ref(out), value)
        .expect("writing to memory cannot fail and our types have string keys");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_strings() {
        for (text, expected) in [
            ("1", 0),
            ("{}", 1),
            (r#"{"a":[{"b":1}]}"#, 3),
            (r#""[[[[""#, 0),
            (r#"["\"[[[", []]"#, 2),
            ("[[[", 3),
            (r#"["unterminated"#, 1),
            ("]]]]", 0),
        ] {
            assert_eq!(depth(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn top_level_keys_are_not_those_inside() {
        let keys = |text: &'static str| top_level_keys(text.as_bytes());
        assert_eq!(keys(r#"{"a":{"b":1},"c" : ["d"],"e":"f"}"#), [b"a", b"c", b"e"]);
        assert_eq!(keys(r#"{"a":{"b":1},"c"#), [b"a"]);
        assert!(keys("[]").is_empty());
    }

    #[test]
    fn only_integers_beyond_64_bits_are_wide() {
        for (text, expected) in [
            ("[0,-1,18446744073709551615,-9223372036854775808]", false),
            ("[18446744073709551616]", true),
            ("{\"a\":-9223372036854775809}", true),
            ("[1e400,12345678901234567890123.5,\"123456789012345678901234567890\"]", false),
        ] {
            assert_eq!(has_wide_integer(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn compact_keeps_numbers_and_strings_as_spelled() {
        let text = "{ \"a b\" : [ 1.50 , 1e400,\n \"\\u00e9 \\\" x\" ] }";
        assert_eq!(compact(text), r#"{"a b":[1.50,1e400,"\u00e9 \" x"]}"#);
    }
}
