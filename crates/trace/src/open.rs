//! Opens a trace of any format and writes one of the format asked for.

use std::fmt;
use std::io::{self, BufReader, Read, Write};

use crate::sktrace::Packing;
use crate::{Closing, Error, Header, Limits, Record, json, simkube, sktrace};

/// The formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Ours: JSON lines in zstd frames.
    Sktrace,
    /// The same lines, not compressed.
    Lines,
    /// SimKube's, version 2.
    Simkube,
}

/// A trace being read. Iterating gives its records in order; after an error there are no more.
pub struct Reader<R: Read> {
    inner: Inner<R>,
    counted: Closing,
    /// Size of a SimKube file: all of it is read before its first record.
    simkube_bytes: u64,
}

enum Inner<R: Read> {
    Sktrace(Box<sktrace::Reader<Input<R>>>),
    Simkube(Box<simkube::Reader>),
}

/// The file, with the bytes in front again that were read to recognise it.
type Input<R> = BufReader<io::Chain<io::Cursor<Vec<u8>>, R>>;

/// Opens a trace. What it is shows in its first bytes; names and extensions say nothing.
pub fn open<R: Read>(mut file: R, limits: Limits) -> Result<Reader<R>, Error> {
    let mut start = first_bytes(&mut file).map_err(Error::read)?;
    if start.starts_with(BYTE_ORDER_MARK) {
        start.drain(..BYTE_ORDER_MARK.len());
    }
    let kind = recognise(&start)?;
    let mut simkube_bytes = 0;
    let mut input = BufReader::with_capacity(256 << 10, io::Cursor::new(start).chain(file));
    let inner = match kind {
        Kind::Frames => Inner::Sktrace(Box::new(sktrace::Reader::packed(input, limits)?)),
        Kind::Lines => Inner::Sktrace(Box::new(sktrace::Reader::plain(input, limits)?)),
        Kind::SimkubeMsgpack => {
            let bytes = read_all(&mut input, limits)?;
            simkube_bytes = bytes.len() as u64;
            Inner::Simkube(Box::new(simkube::Reader::from_msgpack(bytes, limits)?))
        }
        Kind::SimkubeJson => {
            let text = String::from_utf8(read_all(&mut input, limits)?)
                .map_err(|_| Error::NotATrace("it looks like JSON but is not UTF-8".to_owned()))?;
            simkube_bytes = text.len() as u64;
            Inner::Simkube(Box::new(simkube::Reader::from_json(&text, limits)?))
        }
    };
    let mut reader = Reader { inner, counted: Closing::default(), simkube_bytes };
    let window = reader.header().window;
    reader.counted.end = window.end.unwrap_or(window.start);
    Ok(reader)
}

enum Kind {
    Frames,
    Lines,
    SimkubeMsgpack,
    SimkubeJson,
}

/// Some editors put it in front of text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// As much as it takes to tell what the file is: 4 KiB, or one line, which is all that a pipe may have so far.
fn first_bytes(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = vec![0; 4096];
    let mut filled = 0;
    while filled < start.len() && !start[..filled].contains(&b'\n') {
        match file.read(&mut start[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    start.truncate(filled);
    Ok(start)
}

fn recognise(start: &[u8]) -> Result<Kind, Error> {
    let text = start.trim_ascii_start();
    match start {
        [] => Err(Error::Empty),
        // A zstd frame, or a skippable one in front of it.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Ok(Kind::Frames),
        _ if text.is_empty() => Err(Error::NotATrace("it holds nothing but white space".to_owned())),
        // Version 1 and version 2 as arrays are told apart from JSON by their first byte.
        _ if text[0] == b'[' => Ok(Kind::SimkubeJson),
        _ if text[0] == b'{' => {
            // A header has none of SimKube's parts, and every SimKube file begins with one of them.
            let keys = json::top_level_keys(text);
            let is_header = keys.iter().any(|key| [&b"type"[..], b"format", b"window"].contains(key));
            let is_simkube = keys.iter().any(|key| simkube::PARTS.iter().any(|part| part.as_bytes() == *key));
            Ok(if is_header && !is_simkube { Kind::Lines } else { Kind::SimkubeJson })
        }
        [0x80..=0x8f | 0x90..=0x9f | 0xdc..=0xdf, ..] => Ok(Kind::SimkubeMsgpack),
        [0x1f, 0x8b, ..] => Err(Error::NotATrace("it is compressed with gzip; unpack it first".to_owned())),
        _ => Err(Error::NotATrace(format!("it begins with {}", start[..start.len().min(8)].escape_ascii()))),
    }
}

fn read_all(file: &mut impl Read, limits: Limits) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    file.take(limits.simkube_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::read)?;
    if bytes.len() as u64 > limits.simkube_bytes {
        let what = format!("a file in SimKube's format may have {} bytes", limits.simkube_bytes);
        return Err(Error::limit("the end of the file", what));
    }
    Ok(bytes)
}

impl<R: Read> Reader<R> {
    /// What the trace says of itself.
    pub fn header(&self) -> &Header {
        match &self.inner {
            Inner::Sktrace(reader) => reader.header(),
            Inner::Simkube(reader) => reader.header(),
        }
    }

    /// `sktrace/1`, `simkube/2` or `simkube/1`.
    pub fn format(&self) -> &'static str {
        match &self.inner {
            Inner::Sktrace(_) => sktrace::FORMAT,
            Inner::Simkube(reader) if reader.version() == 1 => "simkube/1",
            Inner::Simkube(_) => "simkube/2",
        }
    }

    /// What was understood differently from how it stands in the file, for people.
    pub fn notes(&self) -> &[String] {
        match &self.inner {
            Inner::Sktrace(_) => &[],
            Inner::Simkube(reader) => reader.notes(),
        }
    }

    /// Counts so far, and the end of the window. The hash is known only for files that carry one, once they
    /// were read to the end; it is empty otherwise.
    pub fn closing(&self) -> Closing {
        match &self.inner {
            Inner::Sktrace(reader) => reader.closing(),
            Inner::Simkube(_) => self.counted.clone(),
        }
    }

    /// Number of records handed out so far.
    pub fn records(&self) -> u64 {
        match &self.inner {
            Inner::Sktrace(reader) => reader.records(),
            Inner::Simkube(_) => self.counted.records,
        }
    }

    /// Bytes of the file dealt with so far, for progress.
    pub fn file_bytes(&self) -> u64 {
        match &self.inner {
            Inner::Sktrace(reader) => reader.file_bytes(),
            Inner::Simkube(_) => self.simkube_bytes,
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.inner {
            Inner::Sktrace(reader) => reader.next(),
            Inner::Simkube(reader) => {
                let next = reader.next();
                if let Some(Ok(record)) = &next {
                    self.counted.count(record);
                }
                next
            }
        }
    }
}

impl<R: Read> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("format", &self.format()).finish_non_exhaustive()
    }
}

/// A trace being written.
pub enum Writer<W: Write> {
    /// Our own format, packed or as lines.
    Sktrace(Box<sktrace::Writer<W>>),
    /// SimKube's.
    Simkube(Box<simkube::Writer<W>>),
}

/// What there is to say about a finished trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The closing record, for our own format.
    pub closing: Option<Closing>,
    /// What the format could not hold; prints as one line each.
    pub losses: simkube::Losses,
}

/// Starts writing a trace.
pub fn create<W: Write>(output: W, format: Format, header: &Header) -> Result<Writer<W>, Error> {
    let packing = match format {
        Format::Sktrace => Packing::Frames,
        Format::Lines => Packing::Plain,
        Format::Simkube => return Ok(Writer::Simkube(Box::new(simkube::Writer::new(output, header)))),
    };
    Ok(Writer::Sktrace(Box::new(sktrace::Writer::new(output, packing, header)?)))
}

impl<W: Write> Writer<W> {
    /// Adds one record.
    pub fn write(&mut self, record: &Record) -> Result<(), Error> {
        match self {
            Self::Sktrace(writer) => writer.write(record),
            Self::Simkube(writer) => writer.write(record),
        }
    }

    /// Says how far the window reaches, where that is later than the header and the records say: a header may
    /// have been written before its end was known.
    pub fn extend_to(&mut self, end: jiff::Timestamp) {
        match self {
            Self::Sktrace(writer) => writer.extend_to(end),
            Self::Simkube(writer) => writer.extend_to(end),
        }
    }

    /// Hands on what is complete, for readers at the other end of a pipe.
    pub fn flush(&mut self) -> Result<(), Error> {
        match self {
            Self::Sktrace(writer) => writer.flush(),
            // Nothing of a SimKube file is complete before all of it is.
            Self::Simkube(_) => Ok(()),
        }
    }

    /// Completes the trace.
    pub fn finish(self) -> Result<Written, Error> {
        match self {
            Self::Sktrace(writer) => {
                Ok(Written { closing: Some(writer.finish()?.1), losses: simkube::Losses::default() })
            }
            Self::Simkube(writer) => Ok(Written { closing: None, losses: writer.finish()?.1 }),
        }
    }
}
