//! Packs bytes into zstd frames and gets them out again.
//!
//! A frame holds whole records, knows its size and carries a checksum. Frames are small, so that damage
//! costs little, and large enough for similar objects to share their text.

use std::io::{self, BufRead, Read, Write};

use crate::limits::RATIO_FREE_BYTES;
use crate::{Error, Limits, Place};

/// Uncompressed bytes after which the writer closes a frame.
const FRAME_BYTES: usize = 1 << 20;

/// Frames up to this size are decoded and their checksum compared before any record in them is believed.
/// Larger ones, which other tools write, are believed as they stream.
const VERIFIED_BYTES: usize = 16 << 20;

/// Largest zstd window accepted, as a power of two: 32 MiB. `zstd -19` needs 8 MiB.
const WINDOW_LOG: u32 = 25;

/// Of 72 MB of records, level 3 makes 6.8 MB in 0.25 s, level 6 makes 5.0 MB in 1.1 s, level 9 4.4 MB in 1.7 s.
const LEVEL: i32 = 6;

/// Compresses into frames.
pub(super) struct FrameWriter<W: Write> {
    inner: W,
    buffer: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
}

impl<W: Write> FrameWriter<W> {
    pub(super) fn new(inner: W) -> io::Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        compressor.include_checksum(true)?;
        compressor.include_contentsize(true)?;
        Ok(Self { inner, buffer: Vec::new(), compressor })
    }

    /// Takes one or more whole lines.
    pub(super) fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        if !self.buffer.is_empty() && self.buffer.len() + lines.len() > FRAME_BYTES {
            self.end_frame()?;
        }
        self.buffer.extend_from_slice(lines);
        Ok(())
    }

    pub(super) fn end_frame(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            let frame = self.compressor.compress(&self.buffer)?;
            self.inner.write_all(&frame)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Ends the last frame and gives the output back.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.end_frame()?;
        self.inner.flush()?;
        Ok(self.inner)
    }
}

/// Hands out lines of a file: of zstd frames, or plain.
pub(super) struct LineReader<R: BufRead> {
    input: Input<R>,
    limits: Limits,
    /// Decoded bytes not yet handed out start at `position`.
    buffer: Vec<u8>,
    position: usize,
    total: u64,
    /// The file was cut off: to be told once the lines before the cut are out.
    cut: bool,
}

enum Input<R: BufRead> {
    /// The decoder is absent between frames; the file then waits in `idle`.
    Frames {
        frame: Option<Frame<R>>,
        idle: Option<Counted<R>>,
        number: u64,
        offset: u64,
    },
    Plain {
        file: Counted<R>,
        line_offset: u64,
    },
}

type Frame<R> = zstd::stream::read::Decoder<'static, Counted<R>>;

impl<R: BufRead> LineReader<R> {
    pub(super) fn frames(file: R, limits: Limits) -> Self {
        let idle = Some(Counted { inner: file, bytes: 0 });
        Self::new(Input::Frames { frame: None, idle, number: 0, offset: 0 }, limits)
    }

    pub(super) fn plain(file: R, limits: Limits) -> Self {
        Self::new(Input::Plain { file: Counted { inner: file, bytes: 0 }, line_offset: 0 }, limits)
    }

    fn new(input: Input<R>, limits: Limits) -> Self {
        Self { input, limits, buffer: Vec::new(), position: 0, total: 0, cut: false }
    }

    pub(super) fn is_plain(&self) -> bool {
        matches!(self.input, Input::Plain { .. })
    }

    /// Where the line that comes next stands.
    pub(super) fn place(&self, record: u64) -> Place {
        match &self.input {
            Input::Frames { number, offset, .. } => {
                Place::Record { frame: Some(*number), offset: *offset, record }
            }
            Input::Plain { line_offset, .. } => Place::Record { frame: None, offset: *line_offset, record },
        }
    }

    /// Bytes of the file used so far.
    pub(super) fn file_bytes(&self) -> u64 {
        match &self.input {
            Input::Frames { frame, idle, .. } => frame
                .as_ref()
                .map(|frame| frame.get_ref().bytes)
                .or(idle.as_ref().map(|idle| idle.bytes))
                .unwrap_or(0),
            Input::Plain { file, .. } => file.bytes,
        }
    }

    /// Bytes of all lines so far, decompressed.
    pub(super) fn line_bytes(&self) -> u64 {
        self.total - (self.buffer.len() - self.position) as u64
    }

    /// The next line, with its line end if it has one, and where it stands; `None` after the last.
    pub(super) fn next_line(&mut self, record: u64) -> Result<Option<(Place, &[u8])>, Error> {
        let mut searched = self.position;
        let end = loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                break searched + found + 1;
            }
            self.check_length(self.buffer.len() - self.position, record)?;
            let waiting = self.buffer.len() - self.position;
            self.buffer.drain(..self.position);
            self.position = 0;
            searched = waiting;
            if !self.fill(record)? {
                if self.buffer.is_empty() {
                    return Ok(None);
                }
                break self.buffer.len();
            }
        };
        let line = self.position..end;
        self.check_length(line.len() - usize::from(self.buffer[end - 1] == b'\n'), record)?;
        let place = self.place(record);
        self.position = end;
        if let Input::Plain { line_offset, .. } = &mut self.input {
            *line_offset += line.len() as u64;
        }
        Ok(Some((place, &self.buffer[line])))
    }

    fn check_length(&self, length: usize, record: u64) -> Result<(), Error> {
        let most = self.limits.record_bytes;
        if length > most {
            return Err(Error::limit(self.place(record), format!("a record is larger than {most} bytes")));
        }
        Ok(())
    }

    /// Decodes more of the file; false at its end.
    fn fill(&mut self, record: u64) -> Result<bool, Error> {
        let before = self.buffer.len();
        if self.cut {
            return Err(self.read_error(record, io::ErrorKind::UnexpectedEof.into(), before));
        }
        let outcome = match &mut self.input {
            // Whatever is there is handed on, so that a pipe shows what comes as it comes.
            Input::Plain { file, .. } => file
                .fill_buf()
                .map(|bytes| {
                    self.buffer.extend_from_slice(bytes);
                    bytes.len()
                })
                .map(|read| {
                    file.consume(read);
                    read > 0
                }),
            Input::Frames { frame, idle, number, offset } => loop {
                if frame.is_none() {
                    let Some(file) = idle.as_mut() else { break Ok(false) };
                    match file.fill_buf() {
                        Ok([]) => break Ok(false),
                        Ok(_) => {}
                        Err(error) => break Err(error),
                    }
                    *number += 1;
                    *offset = file.bytes;
                    match open_frame(idle.take().expect("checked above")) {
                        Ok(opened) => *frame = Some(opened),
                        Err(error) => break Err(error),
                    }
                }
                let decoder = frame.as_mut().expect("opened above");
                match read_some(decoder, &mut self.buffer, VERIFIED_BYTES) {
                    Ok(true) => break Ok(true),
                    // The frame is over and its checksum was right. What it gave is complete.
                    Ok(false) => {
                        *idle = frame.take().map(zstd::stream::read::Decoder::finish);
                        if self.buffer.len() > before {
                            break Ok(true);
                        }
                    }
                    Err(error) => break Err(error),
                }
            },
        };
        if let Err(error) = outcome {
            self.keep_before_cut(&error, before);
            if self.buffer.len() == before {
                return Err(self.read_error(record, error, before));
            }
        }
        self.total += (self.buffer.len() - before) as u64;
        self.check_expansion(record)?;
        Ok(self.buffer.len() > before)
    }

    /// What a damaged frame gave cannot be believed, because nothing tells which of its bytes are wrong. But a
    /// file that merely ends too early falsifies nothing: its whole lines before the cut are good.
    fn keep_before_cut(&mut self, error: &io::Error, before: usize) {
        let whole = match memchr::memrchr(b'\n', &self.buffer[before..]) {
            Some(end) if error.kind() == io::ErrorKind::UnexpectedEof => before + end + 1,
            _ => before,
        };
        self.buffer.truncate(whole);
        self.cut = whole > before;
    }

    /// zstd reports damage as I/O errors without an operating-system code; those with one are real.
    fn read_error(&mut self, record: u64, error: io::Error, trusted: usize) -> Error {
        self.buffer.truncate(trusted);
        if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
            return Error::read(error);
        }
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the file ends in the middle of a frame".to_owned(),
            _ => format!("the frame cannot be decompressed ({error})"),
        };
        Error::damaged(self.place(record), what)
    }

    fn check_expansion(&self, record: u64) -> Result<(), Error> {
        let Limits { total_bytes, ratio, .. } = self.limits;
        if self.total > total_bytes {
            let what = format!("the trace is larger than {total_bytes} bytes when decompressed");
            return Err(Error::limit(self.place(record), what));
        }
        if self.total > RATIO_FREE_BYTES && self.total / ratio > self.file_bytes() {
            let what = format!("the trace expands more than {ratio} times when decompressed");
            return Err(Error::limit(self.place(record), what));
        }
        Ok(())
    }
}

fn open_frame<R: BufRead>(file: Counted<R>) -> io::Result<Frame<R>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(file)?.single_frame();
    decoder.window_log_max(WINDOW_LOG)?;
    Ok(decoder)
}

/// Reads up to `most` bytes. True when more may follow, false when the source is at its end.
fn read_some(source: &mut impl Read, buffer: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let read = source.by_ref().take(most as u64).read_to_end(buffer)?;
    Ok(read == most)
}

/// Counts what is consumed, so that errors can name a byte of the file.
pub(super) struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.bytes += amount as u64;
        self.inner.consume(amount);
    }
}
