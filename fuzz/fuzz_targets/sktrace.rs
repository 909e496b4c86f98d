//! zstd frames of records: whatever the bytes, reading ends with records or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Compressed input hides the records from the fuzzer, so it also gets to write the lines of a frame.
    let packed = zstd::bulk::compress(bytes, 1).expect("memory takes it");
    for file in [bytes, &packed] {
        if let Ok(reader) = trace::sktrace::Reader::packed(file, trace::Limits::default()) {
            reader.for_each(drop);
        }
    }
});
