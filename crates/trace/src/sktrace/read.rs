//! Reads a trace of our own format, record by record.

use std::io::BufRead;

use super::FORMAT;
use super::frames::LineReader;
use super::line::{self, Line, LineError};
use super::order::Order;
use crate::{Closing, Error, Header, Limits, Record, json};

/// A stream of records. Memory stays within one frame (1 MiB from our writer, 16 MiB at most before bytes are
/// handed on), the zstd window and one record, however long the trace is.
///
/// After an error the stream is over; every record handed out before it is good. (Frames over 16 MiB, which only
/// other tools write, are the exception: their records are handed out before their checksum is reached.)
pub struct Reader<R: BufRead> {
    lines: LineReader<R>,
    limits: Limits,
    header: Header,
    order: Order,
    counted: Closing,
    hasher: blake3::Hasher,
    over: bool,
}

impl<R: BufRead> Reader<R> {
    /// Opens a file of zstd frames.
    pub fn packed(file: R, limits: Limits) -> Result<Self, Error> {
        Self::open(LineReader::frames(file, limits), limits)
    }

    /// Opens the same records as plain JSON lines, the form in which people edit them. Here the closing
    /// record may be missing.
    pub fn plain(file: R, limits: Limits) -> Result<Self, Error> {
        Self::open(LineReader::plain(file, limits), limits)
    }

    fn open(mut lines: LineReader<R>, limits: Limits) -> Result<Self, Error> {
        let mut hasher = blake3::Hasher::new();
        let header = match next(&mut lines, &mut hasher, limits, 0)? {
            Some(Line::Header(header)) if header.window.end.is_some_and(|end| end < header.window.start) => {
                return Err(Error::damaged(lines.place(0), "the window ends before it starts"));
            }
            Some(Line::Header(header)) => *header,
            Some(_) => return Err(Error::damaged(lines.place(0), "the first record is not a header")),
            None => return Err(Error::NotATrace("it has no records".to_owned())),
        };
        let counted = Closing { end: header.window.end.unwrap_or(header.window.start), ..Closing::default() };
        let order = Order::new(header.window.start);
        Ok(Self { lines, limits, header, order, counted, hasher, over: false })
    }

    /// What the trace says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Counts, end and hash of what was read so far; final and checked once the stream is over.
    pub fn closing(&self) -> Closing {
        Closing { hash: format!("blake3:{}", self.hasher.finalize().to_hex()), ..self.counted.clone() }
    }

    /// Number of records handed out so far.
    pub fn records(&self) -> u64 {
        self.counted.records
    }

    /// Bytes of the file read so far.
    pub fn file_bytes(&self) -> u64 {
        self.lines.file_bytes()
    }

    /// Bytes of the records read so far, decompressed.
    pub fn line_bytes(&self) -> u64 {
        self.lines.line_bytes()
    }

    fn next_record(&mut self) -> Result<Option<Record>, Error> {
        let number = self.counted.records + 1;
        match next(&mut self.lines, &mut self.hasher, self.limits, number)? {
            Some(Line::Record(record)) => {
                self.order
                    .check(&record)
                    .map_err(|broken| Error::damaged(self.lines.place(number), broken))?;
                self.counted.count(&record);
                Ok(Some(record))
            }
            Some(Line::Closing(closing)) => {
                self.check_closing(&closing)?;
                self.counted.end = closing.end;
                Ok(None)
            }
            Some(Line::Header(_)) => Err(Error::damaged(self.lines.place(number), "a second header")),
            None if self.lines.is_plain() => Ok(None),
            None => Err(Error::damaged(self.lines.place(number), "the file ends without its closing record")),
        }
    }

    fn check_closing(&mut self, closing: &Closing) -> Result<(), Error> {
        let number = self.counted.records + 1;
        let read = Closing { end: closing.end, ..self.closing() };
        if read.records != closing.records {
            let what = format!("the closing record counts {} records, not {}", closing.records, read.records);
            return Err(Error::damaged(self.lines.place(number), what));
        }
        if read != *closing {
            let what = "the records are not those that the closing record was written for";
            return Err(Error::damaged(self.lines.place(number), what));
        }
        if closing.end < self.counted.end {
            return Err(Error::damaged(self.lines.place(number), "the window ends before its last record"));
        }
        if self.lines.next_line(number)?.is_some() {
            return Err(Error::damaged(self.lines.place(number), "data after the closing record"));
        }
        Ok(())
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.next_record().transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Reads and understands one line, passing over blank ones. Every line but the closing goes into the hash.
fn next<R: BufRead>(
    lines: &mut LineReader<R>,
    hasher: &mut blake3::Hasher,
    limits: Limits,
    record: u64,
) -> Result<Option<Line>, Error> {
    while let Some((place, bytes)) = lines.next_line(record)? {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            hasher.update(bytes);
            continue;
        }
        let Ok(text) = str::from_utf8(bytes) else {
            return Err(Error::damaged(place, "the record is not UTF-8"));
        };
        // A record is one map around an object.
        if json::depth(bytes) > limits.depth + 1 {
            return Err(Error::limit(place, format!("nested deeper than {} levels", limits.depth)));
        }
        let line = line::parse(text.trim_ascii_end()).map_err(|error| match error {
            LineError::Version(found) => Error::Version { found, readable: FORMAT },
            LineError::TooLong => {
                let most = line::NOT_AN_OBJECT;
                Error::limit(place, format!("a record without an object is larger than {most} bytes"))
            }
            LineError::Other(what) => Error::damaged(place, what),
        })?;
        if !matches!(line, Line::Closing(_)) {
            hasher.update(bytes);
        }
        return Ok(Some(line));
    }
    Ok(None)
}
