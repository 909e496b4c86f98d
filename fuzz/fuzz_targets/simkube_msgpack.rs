//! SimKube's MessagePack: what is read survives our format, and can be written for SimKube again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::{Format, Limits, create};

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = trace::simkube::Reader::from_msgpack(bytes.to_vec(), Limits::default()) else { return };
    let header = reader.header().clone();
    let Ok(records) = reader.collect::<Result<Vec<_>, _>>() else { return };
    for format in [Format::Sktrace, Format::Simkube] {
        let mut file = Vec::new();
        let mut writer = create(&mut file, format, &header).expect("memory takes it");
        for record in &records {
            writer.write(record).expect("what came out of MessagePack goes in again, in order");
        }
        writer.finish().expect("memory takes it");
        let again = trace::open(&file[..], Limits::default()).expect("our own file opens");
        let again = again.collect::<Result<Vec<_>, _>>().expect("our own file reads");
        if format == Format::Sktrace {
            assert_eq!(again, records);
        }
    }
});
