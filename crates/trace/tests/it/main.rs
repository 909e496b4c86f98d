//! Whole traces through the public interface: files of our own, SimKube's, damaged and hostile ones.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod damage;
mod limits;
mod order;
mod round_trip;
mod simkube_examples;
mod simkube_reading;
mod simkube_writing;

use simkube_trace as trace;
use trace::generate::{Generator, Settings};
use trace::{Error, Format, Header, Limits, Record, create, open};

/// A small trace with every kind of record that the generator makes.
fn small() -> Settings {
    Settings {
        services: 3,
        job_bursts: 1,
        burst_jobs: 3,
        bare_pods: 2,
        cronjobs: 1,
        nodes: 12,
        ..Settings::default()
    }
}

fn generated(settings: &Settings, format: Format) -> Vec<u8> {
    let generator = Generator::new(settings).unwrap();
    let header = generator.header().clone();
    written(&header, generator, format)
}

fn written(header: &Header, records: impl IntoIterator<Item = Record>, format: Format) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = create(&mut file, format, header).unwrap();
    for record in records {
        writer.write(&record).unwrap();
    }
    writer.finish().unwrap();
    file
}

/// All records, or those before the error, and the error.
fn read(file: &[u8]) -> (Vec<Record>, Option<Error>) {
    read_within(file, Limits::default())
}

fn read_within(file: &[u8], limits: Limits) -> (Vec<Record>, Option<Error>) {
    let reader = match open(file, limits) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut records = Vec::new();
    for record in reader {
        match record {
            Ok(record) => records.push(record),
            Err(error) => return (records, Some(error)),
        }
    }
    (records, None)
}

fn read_all(file: &[u8]) -> (Header, Vec<Record>) {
    let reader = open(file, Limits::default()).unwrap();
    (reader.header().clone(), reader.map(Result::unwrap).collect())
}

/// The error that reading ends with, as people see it.
fn complaint(file: &[u8]) -> String {
    read(file).1.expect("an error was expected").to_string()
}
