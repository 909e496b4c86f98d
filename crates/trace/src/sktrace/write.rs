//! Writes a trace of our own format. The same records give the same bytes.

use std::io::Write;

use super::frames::FrameWriter;
use super::line;
use super::order::Order;
use crate::{Closing, Error, Header, Limits, Record};

/// How the lines are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// In zstd frames: a `.sktrace` file.
    Frames,
    /// As they are: what `skctl trace cat` prints.
    Plain,
}

/// Takes records one by one. Memory stays within one frame and one record.
pub struct Writer<W: Write> {
    output: Output<W>,
    order: Order,
    closing: Closing,
    hasher: blake3::Hasher,
    line: Vec<u8>,
}

enum Output<W: Write> {
    Frames(Box<FrameWriter<W>>),
    Plain(W),
}

impl<W: Write> Output<W> {
    fn write(&mut self, lines: &[u8]) -> Result<(), Error> {
        match self {
            Self::Frames(frames) => frames.write_lines(lines),
            Self::Plain(output) => output.write_all(lines),
        }
        .map_err(Error::write)
    }
}

impl<W: Write> Writer<W> {
    /// Starts a trace. The header gets a frame of its own, so that it survives damage to the records.
    pub fn new(output: W, packing: Packing, header: &Header) -> Result<Self, Error> {
        let mut output = match packing {
            Packing::Frames => Output::Frames(Box::new(FrameWriter::new(output).map_err(Error::write)?)),
            Packing::Plain => Output::Plain(output),
        };
        let mut line = Vec::new();
        line::push_header(&mut line, header);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&line);
        output.write(&line)?;
        if let Output::Frames(frames) = &mut output {
            frames.end_frame().map_err(Error::write)?;
        }
        let closing = Closing { end: header.window.end.unwrap_or(header.window.start), ..Closing::default() };
        Ok(Self { output, order: Order::new(header.window.start), closing, hasher, line })
    }

    /// Adds one record; refuses one that would break the order.
    pub fn write(&mut self, record: &Record) -> Result<(), Error> {
        self.order.check(record).map_err(|what| Error::Record { record: self.closing.records + 1, what })?;
        self.closing.count(record);
        self.line.clear();
        line::push_record(&mut self.line, record);
        // What no reader would take back is not written.
        let most = Limits::default().record_bytes;
        if self.line.len() > most {
            let what = format!("it is larger than {most} bytes");
            return Err(Error::Record { record: self.closing.records, what });
        }
        self.hasher.update(&self.line);
        self.output.write(&self.line)
    }

    /// Says how far the window reaches, where that is later than the header and the records say.
    pub fn extend_to(&mut self, end: jiff::Timestamp) {
        self.closing.end = self.closing.end.max(end);
    }

    /// Hands on the lines so far; with frames, ends the current one.
    pub fn flush(&mut self) -> Result<(), Error> {
        match &mut self.output {
            Output::Frames(frames) => frames.end_frame(),
            Output::Plain(output) => output.flush(),
        }
        .map_err(Error::write)
    }

    /// Writes the closing record and gives the output back.
    pub fn finish(mut self) -> Result<(W, Closing), Error> {
        self.closing.hash = format!("blake3:{}", self.hasher.finalize().to_hex());
        self.line.clear();
        line::push_closing(&mut self.line, &self.closing);
        self.output.write(&self.line)?;
        let output = match self.output {
            Output::Frames(frames) => frames.finish().map_err(Error::write)?,
            Output::Plain(mut output) => {
                output.flush().map_err(Error::write)?;
                output
            }
        };
        Ok((output, self.closing))
    }
}
