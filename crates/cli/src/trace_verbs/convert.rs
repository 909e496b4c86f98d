//! `skctl trace convert`: the same trace in another format, streamed.

use super::Salvage;
use crate::arguments::Convert;
use crate::exit::{Failure, Outcome};
use crate::files::Output;
use crate::progress::{self, Progress};
use crate::{interrupt, output};

pub(super) fn run(arguments: &Convert, mode: progress::Mode) -> Result<Outcome, Failure> {
    let path = &arguments.source.file;
    let (mut reader, size) = super::open(path, arguments.source.reading)?;
    let mut file = Output::create(&arguments.output, &[path])?;
    let name = arguments.output.display();
    let unwritable = |error: trace::Error| {
        Failure::from(anyhow::Error::from(error)).context(format!("failed to write `{name}`"))
    };
    let mut salvage = Salvage::new(path, arguments.source.reading, reader.header());
    let mut progress = Progress::new(mode, "converting", size);
    let mut writer = trace::create(&mut file, arguments.to.into(), reader.header()).map_err(unwritable)?;
    while let Some(record) = reader.next() {
        interrupt::check()?;
        let record = match record {
            Ok(record) => record,
            Err(error) => salvage.gap(error, reader.records())?,
        };
        salvage.saw(&record);
        writer.write(&record).map_err(unwritable)?;
        progress.at(reader.file_bytes(), reader.records());
    }
    writer.extend_to(reader.closing().end);
    let written = writer.finish().map_err(unwritable)?;
    drop(progress);
    file.complete()?;
    for loss in written.losses.to_string().lines() {
        output::warning(loss);
    }
    output::done(&format!("wrote {} to {name}", output::count(reader.records(), "record")));
    Ok(Outcome::Done)
}
