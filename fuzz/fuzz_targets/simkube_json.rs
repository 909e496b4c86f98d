//! SimKube's structures as JSON text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(reader) = trace::simkube::Reader::from_json(text, trace::Limits::default()) {
        reader.for_each(drop);
    }
});
