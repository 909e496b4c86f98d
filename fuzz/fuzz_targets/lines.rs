//! Plain JSON lines: what was read without an error reads the same after writing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::{Format, Limits, create};

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = trace::sktrace::Reader::plain(bytes, Limits::default()) else { return };
    let header = reader.header().clone();
    let Ok(records) = reader.collect::<Result<Vec<_>, _>>() else { return };
    let mut file = Vec::new();
    let mut writer = create(&mut file, Format::Sktrace, &header).expect("memory takes it");
    for record in &records {
        writer.write(record).expect("the reader checked the order");
    }
    writer.finish().expect("memory takes it");
    let again = trace::open(&file[..], Limits::default()).expect("our own file opens");
    assert_eq!(again.header(), &header);
    let again: Result<Vec<_>, _> = again.collect();
    assert_eq!(again.expect("our own file reads"), records);
});
