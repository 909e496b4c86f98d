//! `skctl trace cat`: a trace as JSON lines, exactly those that a converted file would hold.

use std::io::{self, BufWriter};

use trace::Format;

use super::Salvage;
use crate::arguments::Cat;
use crate::exit::{Failure, Outcome};
use crate::interrupt;

pub(super) fn run(arguments: &Cat) -> Result<Outcome, Failure> {
    let path = &arguments.source.file;
    let (mut reader, _) = super::open(path, arguments.source.reading)?;
    let mut salvage = Salvage::new(path, arguments.source.reading, reader.header());
    let stdout = BufWriter::with_capacity(256 << 10, io::stdout().lock());
    let mut writer = trace::create(stdout, Format::Lines, reader.header()).map_err(unwritable)?;
    while let Some(record) = reader.next() {
        interrupt::check()?;
        match record {
            Ok(record) => {
                salvage.saw(&record);
                writer.write(&record).map_err(unwritable)?;
            }
            Err(error) => {
                // Lines before the damage are good either way; they are out before we say what is wrong.
                let gap = salvage.gap(error, reader.records());
                if gap.is_err() {
                    writer.flush().map_err(unwritable)?;
                }
                writer.write(&gap?).map_err(unwritable)?;
            }
        }
    }
    writer.extend_to(reader.closing().end);
    writer.finish().map_err(unwritable)?;
    Ok(Outcome::Done)
}

fn unwritable(error: trace::Error) -> Failure {
    Failure::from(anyhow::Error::from(error))
}
