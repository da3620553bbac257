//! The database as a file: private to its owner when made, renamed when damaged.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::error::{Error, Kind};

/// Endings of the files that `SQLite` keeps beside an open one.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];
/// A database has a NUL within its first 16 bytes, and a damaged one hardly reads as so many bytes of UTF-8.
const TELLING_BYTES: u64 = 4096;
/// Damaged files beside one database before this gives up.
const MAX_SET_ASIDE: usize = 10_000;

/// The absolute path of a database file.
pub(super) fn absolute(location: &str) -> Result<PathBuf, Error> {
    if location.is_empty() || location.contains('\0') {
        return Err(Kind::BadPath.into());
    }
    Ok(std::path::absolute(location)?)
}

/// Makes the file if there is none, readable and writable by its owner alone; `SQLite` gives its log the same mode.
pub(super) fn create_private(path: &Path) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        // A file that is there need not be writable, nor its folder: it may be opened for reading.
        Err(error) if error.kind() == ErrorKind::AlreadyExists || path.exists() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns `true` if the file begins as no database does, damaged or not: with nothing but text.
pub(super) fn is_text(path: &Path) -> Result<bool, Error> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(TELLING_BYTES).read_to_end(&mut start)?;
    // The last character may be cut.
    let is_utf8 = str::from_utf8(&start).map_or_else(|error| error.error_len().is_none(), |_| true);
    Ok(!start.is_empty() && !start.contains(&0) && is_utf8)
}

/// Renames a damaged database to `*.corrupt-N`, its log with it, and says where it is now.
pub(super) fn set_aside(path: &Path) -> Result<PathBuf, Error> {
    let target = free_name(path)?;
    fs::rename(path, &target)?;
    for suffix in COMPANIONS {
        let companion = with_suffix(path, suffix);
        if companion.exists() {
            fs::rename(&companion, with_suffix(&target, suffix))?;
        }
    }
    Ok(target)
}

/// A copy of a database and its log, to be read without changing it.
pub(super) fn copy_to_read(path: &Path) -> Result<PathBuf, Error> {
    let copy = with_suffix(path, ".reading");
    create_private(&copy)?;
    fs::copy(path, &copy)?;
    let log = with_suffix(path, "-wal");
    if log.exists() {
        fs::copy(log, with_suffix(&copy, "-wal"))?;
    }
    Ok(copy)
}

/// Returns `true` if changes stand beside the file that are not in it yet.
pub(super) fn has_log(path: &Path) -> bool {
    fs::metadata(with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// The name by which `SQLite` opens a file that nobody changes.
pub(super) fn immutable_uri(path: &Path) -> Result<String, Error> {
    let path = path.to_str().ok_or(Kind::BadPath)?;
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23").replace('\\', "/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(format!("file:{slash}{path}?immutable=1"))
}

/// Removes a copy and what was made beside it.
pub(super) fn remove_all(path: &Path) {
    for suffix in [""].into_iter().chain(COMPANIONS) {
        // A copy that stays behind takes room and no more.
        let _ = fs::remove_file(with_suffix(path, suffix));
    }
}

fn free_name(path: &Path) -> Result<PathBuf, Error> {
    (1..=MAX_SET_ASIDE)
        .map(|number| with_suffix(path, &format!(".corrupt-{number}")))
        .find(|name| !name.exists())
        .ok_or_else(|| Kind::Corrupt.into())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
