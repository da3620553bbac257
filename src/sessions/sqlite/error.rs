//! Failures of a database file, as a stable code and one sentence that says what to do.

use std::fmt;
use std::path::Path;

use rusqlite::ErrorCode;

/// A failure of the database.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    detail: String,
}

/// The kinds of failure; each has a code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Another process or connection holds the lock.
    Locked,
    /// The file, its folder or the file system may not be written.
    ReadOnly,
    /// No space is left for the file.
    Full,
    /// The file is a sound database with other contents.
    Foreign,
    /// The file is damaged.
    Corrupt,
    /// There is no such folder, it is no file, or it may not be read.
    CannotOpen,
    /// The name cannot be that of a file.
    BadPath,
    /// The database was closed before.
    Closed,
    /// A newer version of this package made the tables.
    Version,
    /// A cursor that no page gave.
    BadCursor,
    /// The disk failed.
    Disk,
    /// Anything else; a defect here rather than a condition of the host's.
    Other,
}

impl Kind {
    /// The code a host may rely on.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Locked => "ERR_DATABASE_LOCKED",
            Self::ReadOnly => "ERR_DATABASE_READ_ONLY",
            Self::Full => "ERR_DATABASE_FULL",
            Self::Foreign => "ERR_DATABASE_FOREIGN",
            Self::Corrupt => "ERR_DATABASE_CORRUPT",
            Self::CannotOpen => "ERR_DATABASE_CANNOT_OPEN",
            Self::BadPath => "ERR_DATABASE_BAD_PATH",
            Self::Closed => "ERR_DATABASE_CLOSED",
            Self::Version => "ERR_DATABASE_VERSION",
            Self::BadCursor => "ERR_BAD_CURSOR",
            Self::Disk => "ERR_DATABASE_DISK",
            Self::Other => "ERR_DATABASE",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Locked => "the database is locked by another process; try again when it is done",
            Self::ReadOnly => "the database is read-only; make the file and its folder writable",
            Self::Full => "there is no space left for the database; nothing of this write was stored",
            Self::Foreign => "the file belongs to something else; choose another path",
            Self::Corrupt => "the database file is damaged; restore it or move it away",
            Self::CannotOpen => {
                "the database file cannot be opened; its folder must exist and be accessible to this user"
            }
            Self::BadPath => "the path of the database must be a file name without NUL, or \":memory:\"",
            Self::Closed => "the database was closed; make a new object to go on",
            Self::Version => {
                "a newer version of pi-strata made the tables of this database; update this one to use it"
            }
            Self::BadCursor => "the cursor is none that a list gave; begin without one",
            Self::Disk => "the disk failed while the database was used; nothing of this write was stored",
            Self::Other => "the database failed",
        }
    }
}

impl Error {
    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn foreign(detail: impl Into<String>) -> Self {
        Self { kind: Kind::Foreign, detail: detail.into() }
    }

    pub(super) fn at(mut self, path: &Path) -> Self {
        let path = path.display();
        self.detail =
            if self.detail.is_empty() { path.to_string() } else { format!("{path}: {}", self.detail) };
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.sentence())?;
        if self.detail.is_empty() { Ok(()) } else { write!(formatter, " ({})", self.detail) }
    }
}

impl std::error::Error for Error {}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self { kind, detail: String::new() }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let kind = match error.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed,
            ) => Kind::Locked,
            Some(ErrorCode::ReadOnly) => Kind::ReadOnly,
            Some(ErrorCode::DiskFull) => Kind::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Kind::Corrupt,
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Kind::CannotOpen,
            Some(ErrorCode::SystemIoFailure) => Kind::Disk,
            _ => Kind::Other,
        };
        let detail = if kind == Kind::Other { error.to_string() } else { String::new() };
        Self { kind, detail }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Kind::Full,
            std::io::ErrorKind::ReadOnlyFilesystem => Kind::ReadOnly,
            std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidFilename => Kind::BadPath,
            _ => Kind::CannotOpen,
        };
        Self { kind, detail: error.to_string() }
    }
}
