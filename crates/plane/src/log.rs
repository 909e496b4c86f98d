//! A component's log: what it prints goes through us into a file that never grows beyond a limit.
//!
//! A pipe rather than a file handed to the child: the file can be turned at an exact size, its last lines are at hand
//! when the child dies, and a full disk stops our copy, not the component.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// One log file; with two older ones a component keeps at most three times this.
const TURN_AT: u64 = 16 << 20;
const OLDER: u32 = 2;
/// Lines kept in memory for the report of a death.
const TAIL: usize = 40;
/// A line longer than this is cut into several: a component must not fill our memory.
const LONGEST_LINE: u64 = 64 << 10;

/// The last lines of a component that is being logged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn push(&self, line: &[u8]) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == TAIL {
            lines.pop_front();
        }
        lines.push_back(String::from_utf8_lossy(line).trim_end().to_owned());
    }
}

/// Copies `from` into the log at `path` until its end.
pub(crate) fn copy(from: impl Read + Send + 'static, path: &Path, tail: Tail) -> io::Result<JoinHandle<()>> {
    let mut file = Turning::open(path, TURN_AT)?;
    thread::Builder::new().name("plane-log".into()).spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while matches!((&mut from).take(LONGEST_LINE).read_until(b'\n', &mut line), Ok(1..)) {
            tail.push(&line);
            file.write(&line);
            line.clear();
        }
    })
}

/// A file that becomes `NAME.1` when it is full, `NAME.1` becomes `NAME.2`, and the oldest goes.
struct Turning {
    path: PathBuf,
    limit: u64,
    size: u64,
    file: File,
}

impl Turning {
    fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(Self { path: path.into(), limit, size: file.metadata()?.len(), file })
    }

    /// A log that cannot be written loses lines; the component goes on.
    fn write(&mut self, line: &[u8]) {
        if self.size + line.len() as u64 > self.limit && self.size > 0 {
            for age in (1..=OLDER).rev() {
                let _ = fs::rename(older(&self.path, age - 1), older(&self.path, age));
            }
            if let Ok(next) = Self::open(&self.path, self.limit) {
                *self = next;
            }
        }
        if self.file.write_all(line).is_ok() {
            self.size += line.len() as u64;
        }
    }
}

fn older(path: &Path, age: u32) -> PathBuf {
    match age {
        0 => path.into(),
        age => PathBuf::from(format!("{}.{age}", path.display())),
    }
}

/// The last `count` lines of a component's log, across its turned files, oldest first.
pub fn last_lines(path: &Path, count: usize) -> io::Result<Vec<String>> {
    let mut found = VecDeque::new();
    for age in 0..=OLDER {
        let text = match fs::read(older(path, age)) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound && age > 0 => break,
            Err(error) => return Err(error),
        };
        for line in text.lines().rev() {
            if found.len() == count {
                return Ok(found.into());
            }
            found.push_front(line.to_owned());
        }
    }
    Ok(found.into())
}

/// Reads what a log grows by: each call to [`Follow::read`] returns the new whole lines since the last one.
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    at: u64,
}

impl Follow {
    /// From the log's present end on.
    pub fn new(path: &Path) -> Self {
        Self { path: path.into(), at: fs::metadata(path).map_or(0, |metadata| metadata.len()) }
    }

    /// New whole lines. A log that was turned in between is read from its beginning.
    pub fn read(&mut self) -> io::Result<Vec<String>> {
        let mut file = File::open(&self.path)?;
        if file.metadata()?.len() < self.at {
            self.at = 0;
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        self.at += whole as u64;
        Ok(String::from_utf8_lossy(&bytes[..whole]).lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_turned_and_the_oldest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("etcd.log");
        let mut log = Turning::open(&path, 10).unwrap();
        for line in ["one1\n", "two2\n", "three\n", "four\n", "five5\n", "six\n", "seven7\n", "eight8\n"] {
            log.write(line.as_bytes());
        }
        assert_eq!(last_lines(&path, 3).unwrap(), ["six", "seven7", "eight8"]);
        assert!(fs::read_dir(dir.path()).unwrap().count() <= 3);
        assert_eq!(last_lines(&path, 1).unwrap(), ["eight8"]);
    }

    #[test]
    fn following_a_log_gives_whole_lines_once_also_across_a_turn() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("etcd.log");
        fs::write(&path, "old\n").unwrap();
        let mut follow = Follow::new(&path);
        assert!(follow.read().unwrap().is_empty());
        fs::write(&path, "old\nnew\nhal").unwrap();
        assert_eq!(follow.read().unwrap(), ["new"]);
        fs::write(&path, "old\nnew\nhalf\n").unwrap();
        assert_eq!(follow.read().unwrap(), ["half"]);
        fs::write(&path, "t\n").unwrap();
        assert_eq!(follow.read().unwrap(), ["t"]);
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_tail_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let tail = Tail::default();
        let endless = io::repeat(b'x').take(LONGEST_LINE * 50);
        copy(endless, &dir.path().join("a.log"), tail.clone()).unwrap().join().unwrap();
        assert_eq!(tail.lines().len(), TAIL);
    }
}
