//! Walks MessagePack bytes without building values. Never reads past the end, never trusts a length.

use std::fmt;

/// One step of a walk. Containers give their length; their contents follow as further tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Nil,
    Bool(bool),
    /// Non-negative integers, however they were encoded.
    Unsigned(u64),
    /// Negative integers.
    Negative(i64),
    Float(f64),
    /// Bytes of a string. Whether they are UTF-8 is checked by those who hand the text on (`text`): most
    /// walks only pass over it.
    Text(&'a [u8]),
    /// Binary data and extension types: legal MessagePack, but no JSON.
    Opaque,
    Array(usize),
    Map(usize),
}

impl Token<'_> {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a boolean",
            Self::Unsigned(_) | Self::Negative(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a string",
            Self::Opaque => "binary data",
            Self::Array(_) => "an array",
            Self::Map(_) => "a map",
        }
    }
}

/// Bytes that are not MessagePack, or end too early.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) offset: usize,
    pub(super) what: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.what, self.offset)
    }
}

/// A position in MessagePack bytes. Copying one is how to look ahead.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    pub(super) fn at(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.position >= self.bytes.len()
    }

    pub(super) fn malformed(&self, what: impl Into<String>) -> Malformed {
        Malformed { offset: self.position, what: what.into() }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let left = &self.bytes[self.position.min(self.bytes.len())..];
        if left.len() < length {
            return Err(self.malformed("the file ends too early"));
        }
        self.position += length;
        Ok(&left[..length])
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        Ok(self.take(N)?.try_into().expect("take gives exactly N bytes"))
    }

    fn string(&mut self, length: usize) -> Result<Token<'a>, Malformed> {
        self.take(length).map(Token::Text)
    }

    /// The text of a string that was just read.
    pub(super) fn text(&self, bytes: &'a [u8]) -> Result<&'a str, Malformed> {
        str::from_utf8(bytes).map_err(|_| self.malformed("a string is not UTF-8"))
    }

    /// Reads a string; `None` if something else stands there.
    pub(super) fn next_text(&mut self) -> Result<Option<&'a str>, Malformed> {
        match self.token()? {
            Token::Text(bytes) => self.text(bytes).map(Some),
            _ => Ok(None),
        }
    }

    fn opaque(&mut self, length: usize) -> Result<Token<'a>, Malformed> {
        self.take(length)?;
        Ok(Token::Opaque)
    }

    /// A container must have room for its elements: each takes at least one byte. So no length, however
    /// hostile, is larger than the file.
    fn container(&self, elements: usize, each: usize) -> Result<usize, Malformed> {
        let left = self.bytes.len() - self.position;
        if elements.saturating_mul(each) > left {
            return Err(
                self.malformed(format!("a container claims {elements} elements, {left} bytes are left"))
            );
        }
        Ok(elements)
    }

    fn array(&self, elements: usize) -> Result<Token<'a>, Malformed> {
        self.container(elements, 1).map(Token::Array)
    }

    fn map(&self, entries: usize) -> Result<Token<'a>, Malformed> {
        self.container(entries, 2).map(Token::Map)
    }

    /// Reads one token and moves behind it.
    pub(super) fn token(&mut self) -> Result<Token<'a>, Malformed> {
        fn signed(number: i64) -> Token<'static> {
            u64::try_from(number).map_or(Token::Negative(number), Token::Unsigned)
        }
        let marker = self.number::<1>()?[0];
        match marker {
            0x00..=0x7f => Ok(Token::Unsigned(marker.into())),
            0x80..=0x8f => self.map((marker & 0x0f).into()),
            0x90..=0x9f => self.array((marker & 0x0f).into()),
            0xa0..=0xbf => self.string((marker & 0x1f).into()),
            0xc0 => Ok(Token::Nil),
            0xc1 => Err(self.malformed("byte c1 is not MessagePack")),
            0xc2 | 0xc3 => Ok(Token::Bool(marker == 0xc3)),
            0xc4 | 0xc7 => {
                let length = u8::from_be_bytes(self.number()?);
                self.opaque(usize::from(length) + usize::from(marker == 0xc7))
            }
            0xc5 | 0xc8 => {
                let length = u16::from_be_bytes(self.number()?);
                self.opaque(usize::from(length) + usize::from(marker == 0xc8))
            }
            0xc6 | 0xc9 => {
                let length = u32::from_be_bytes(self.number()?);
                self.opaque(length as usize + usize::from(marker == 0xc9))
            }
            0xca => Ok(Token::Float(f32::from_be_bytes(self.number()?).into())),
            0xcb => Ok(Token::Float(f64::from_be_bytes(self.number()?))),
            0xcc => Ok(Token::Unsigned(u8::from_be_bytes(self.number()?).into())),
            0xcd => Ok(Token::Unsigned(u16::from_be_bytes(self.number()?).into())),
            0xce => Ok(Token::Unsigned(u32::from_be_bytes(self.number()?).into())),
            0xcf => Ok(Token::Unsigned(u64::from_be_bytes(self.number()?))),
            0xd0 => Ok(signed(i8::from_be_bytes(self.number()?).into())),
            0xd1 => Ok(signed(i16::from_be_bytes(self.number()?).into())),
            0xd2 => Ok(signed(i32::from_be_bytes(self.number()?).into())),
            0xd3 => Ok(signed(i64::from_be_bytes(self.number()?))),
            // Fixed extensions of 1, 2, 4, 8 and 16 bytes, each behind a type byte.
            0xd4..=0xd8 => self.opaque((1 << (marker - 0xd4)) + 1),
            0xd9 => {
                let length = u8::from_be_bytes(self.number()?);
                self.string(length.into())
            }
            0xda => {
                let length = u16::from_be_bytes(self.number()?);
                self.string(length.into())
            }
            0xdb => {
                let length = u32::from_be_bytes(self.number()?);
                self.string(length as usize)
            }
            0xdc => {
                let elements = u16::from_be_bytes(self.number()?);
                self.array(elements.into())
            }
            0xdd => {
                let elements = u32::from_be_bytes(self.number()?);
                self.array(elements as usize)
            }
            0xde => {
                let entries = u16::from_be_bytes(self.number()?);
                self.map(entries.into())
            }
            0xdf => {
                let entries = u32::from_be_bytes(self.number()?);
                self.map(entries as usize)
            }
            0xe0..=0xff => Ok(Token::Negative(i64::from(marker.cast_signed()))),
        }
    }

    /// Moves behind one whole value, however large, without recursion. Refuses nesting beyond `depth`.
    pub(super) fn skip(&mut self, depth: usize) -> Result<(), Malformed> {
        // Values still to come at each open level.
        let mut open: Vec<usize> = Vec::new();
        loop {
            let inside = match self.token()? {
                Token::Array(elements) => elements,
                Token::Map(entries) => entries * 2,
                _ => 0,
            };
            if inside > 0 {
                if open.len() >= depth {
                    return Err(self.malformed(format!("nested deeper than {depth} levels")));
                }
                open.push(inside);
                continue;
            }
            loop {
                let Some(left) = open.last_mut() else { return Ok(()) };
                *left -= 1;
                if *left > 0 {
                    break;
                }
                open.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_lengths_are_refused_before_anything_is_reserved() {
        for bytes in [
            &[0xdf, 0xff, 0xff, 0xff, 0xff][..],
            &[0xdd, 0x7f, 0xff, 0xff, 0xff, 1],
            &[0x93, 1],
            &[0xdb, 0xff, 0, 0, 0],
        ] {
            assert!(Cursor::new(bytes).skip(100).is_err(), "{bytes:x?}");
        }
    }

    #[test]
    fn nesting_is_bounded_without_recursion() {
        let mut bytes = vec![0x91; 1_000_000];
        bytes.push(0xc0);
        let error = Cursor::new(&bytes).skip(100).unwrap_err();
        assert_eq!(error.what, "nested deeper than 100 levels");
        assert_eq!(Cursor::new(&bytes).skip(1_000_000), Ok(()));
    }

    #[test]
    fn integers_come_out_the_same_in_every_width() {
        for bytes in [&[5][..], &[0xcc, 5], &[0xcd, 0, 5], &[0xd0, 5], &[0xd3, 0, 0, 0, 0, 0, 0, 0, 5]] {
            assert_eq!(Cursor::new(bytes).token(), Ok(Token::Unsigned(5)));
        }
        for bytes in [&[0xff][..], &[0xd0, 0xff], &[0xd2, 0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(Cursor::new(bytes).token(), Ok(Token::Negative(-1)));
        }
    }
}
