//! A build on disk: binaries, a manifest of their checksums, and the proof that they were checked.
//!
//! A directory counts as whole only once it has its final name: it is filled under another one and renamed. Later
//! damage is found by checksum. Hashing 350 MB at every start would cost more than starting etcd, so a passed check is
//! remembered together with each file's identity and change time; any write to the file makes it be checked again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::failure::Error;
use crate::recipe::PROGRAMS;

const MANIFEST: &str = "manifest.json";
const CHECKED: &str = "checked.json";

/// What a finished build says about itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema: u32,
    kubernetes: String,
    go: String,
    /// Program to the BLAKE3 of its bytes.
    programs: BTreeMap<String, String>,
}

/// Program to the identity of the file whose checksum was right: device, inode, size, change time. The change time
/// cannot be set by hand, so an edited file never looks untouched.
type Checked = BTreeMap<String, (u64, u64, u64, i64, i64)>;

/// What a look at a build found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    Whole,
    Corrupt { program: String },
}

/// Looks at the build in `dir`, hashing only what changed since the last look.
pub(crate) fn look(dir: &Path) -> Result<Found, Error> {
    let Some(manifest) = read::<Manifest>(&dir.join(MANIFEST))? else { return Ok(Found::Nothing) };
    let checked = read::<Checked>(&dir.join(CHECKED))?.unwrap_or_default();
    let mut now = Checked::new();
    for (program, _) in PROGRAMS {
        let path = dir.join("bin").join(program);
        let corrupt = || Found::Corrupt { program: program.into() };
        let (Some(hash), Ok(metadata)) = (manifest.programs.get(program), fs::metadata(&path)) else {
            return Ok(corrupt());
        };
        let m = &metadata;
        let identity = (m.dev(), m.ino(), m.size(), m.ctime(), m.ctime_nsec());
        if checked.get(program) != Some(&identity) && checksum(&path)? != *hash {
            return Ok(corrupt());
        }
        now.insert(program.into(), identity);
    }
    if now != checked {
        // Only a memory of the check: a cache that cannot be written is checked again next time.
        let _ = write(&dir.join(CHECKED), &now);
    }
    Ok(Found::Whole)
}

/// Seals the freshly built `dir` and gives it its final name.
pub(crate) fn seal(dir: &Path, into: &Path, kubernetes: &str, go: &str) -> Result<(), Error> {
    let mut programs = BTreeMap::new();
    for (program, _) in PROGRAMS {
        let path = dir.join("bin").join(program);
        // The bytes must be on disk before the name says so: a power cut must not leave a whole-looking build.
        File::open(&path).and_then(|file| file.sync_all()).map_err(Error::file("sync", &path))?;
        programs.insert(program.to_owned(), checksum(&path)?);
    }
    let manifest = Manifest { schema: 1, kubernetes: kubernetes.into(), go: go.into(), programs };
    write(&dir.join(MANIFEST), &manifest)?;
    fs::rename(dir, into).map_err(Error::file("rename", dir))
}

fn checksum(path: &Path) -> Result<String, Error> {
    let mut hasher = blake3::Hasher::new();
    File::open(path)
        .and_then(|mut file| io::copy(&mut file, &mut hasher))
        .map_err(Error::file("read", path))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// A missing, half-written or foreign file is no file: the build is then made again.
fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", path)(error)),
    }
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let bytes = serde_json::to_vec_pretty(value).expect("maps of strings and numbers are JSON");
    let partial = path.with_extension("partial");
    fs::write(&partial, bytes)
        .and_then(|()| File::open(&partial)?.sync_all())
        .and_then(|()| fs::rename(&partial, path))
        .map_err(Error::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(dir: &Path) -> std::path::PathBuf {
        let (partial, whole) = (dir.join("k.partial"), dir.join("k"));
        fs::create_dir_all(partial.join("bin")).unwrap();
        for (program, _) in PROGRAMS {
            fs::write(partial.join("bin").join(program), program).unwrap();
        }
        seal(&partial, &whole, "v1.36.4", "1.26.8").unwrap();
        whole
    }

    #[test]
    fn a_sealed_build_is_whole_also_at_the_second_look() {
        let dir = tempfile::tempdir().unwrap();
        let build = sealed(dir.path());
        assert_eq!(look(&build).unwrap(), Found::Whole);
        assert!(build.join(CHECKED).is_file());
        assert_eq!(look(&build).unwrap(), Found::Whole);
    }

    #[test]
    fn a_flipped_byte_of_the_same_length_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let build = sealed(dir.path());
        assert_eq!(look(&build).unwrap(), Found::Whole);
        fs::write(build.join("bin/kwok"), "kwoK").unwrap();
        assert_eq!(look(&build).unwrap(), Found::Corrupt { program: "kwok".into() });
    }

    #[test]
    fn a_missing_binary_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let build = sealed(dir.path());
        fs::remove_file(build.join("bin/etcd")).unwrap();
        assert_eq!(look(&build).unwrap(), Found::Corrupt { program: "etcd".into() });
    }

    #[test]
    fn a_half_written_build_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(look(&dir.path().join("absent")).unwrap(), Found::Nothing);
        let build = sealed(dir.path());
        fs::write(build.join(MANIFEST), "{\"schema\": 1, \"kub").unwrap();
        assert_eq!(look(&build).unwrap(), Found::Nothing);
    }
}
