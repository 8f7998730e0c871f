//! From errors to exit codes.

use std::fmt::Display;
use std::io::{self, Write};

use bundlenet::{Error, EvaluationError, InvalidSetting};

/// Why a command ends without success.
pub(crate) enum Failure {
    /// The usage is wrong or the input is unreadable.
    Input(String),
    /// The input was fine, and the run failed.
    Run(String),
    /// A training cannot go on, for example because its network has collapsed. Its best weights are kept.
    Stopped(String),
    /// The exit code of failures that were reported before.
    Reported(u8),
}

impl Failure {
    pub(crate) fn input(message: impl Display) -> Self {
        Self::Input(message.to_string())
    }

    pub(crate) fn run(message: impl Display) -> Self {
        Self::Run(message.to_string())
    }

    /// The same failure with the name of the process or of the file that it is of.
    #[cfg(any(feature = "mip", feature = "mpi"))]
    pub(crate) fn of(self, thing: &str) -> Self {
        self.with(|message| format!("{thing}: {message}"))
    }

    /// The same failure with another message.
    #[cfg(any(feature = "mip", feature = "mpi"))]
    pub(crate) fn with(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Input(message) => Self::Input(change(message)),
            Self::Run(message) => Self::Run(change(message)),
            Self::Stopped(message) => Self::Stopped(change(message)),
            reported => reported,
        }
    }

    /// Prints the message and returns the exit code.
    pub(crate) fn report(self) -> u8 {
        let (message, code) = match self {
            Self::Input(message) => (message, 2),
            Self::Run(message) | Self::Stopped(message) => (message, 1),
            Self::Reported(code) => return code,
        };
        // If the message cannot be written, the exit code still tells.
        let _ = writeln!(io::stderr(), "bundlenet: {message}");
        code
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(message) | Self::Run(message) | Self::Stopped(message) => formatter.write_str(message),
            Self::Reported(code) => write!(formatter, "exit code {code}"),
        }
    }
}

impl From<InvalidSetting> for Failure {
    fn from(error: InvalidSetting) -> Self {
        Self::input(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Training { .. } => Self::Stopped(error.to_string()),
            Error::Write { .. } | Error::Example { .. } | Error::Elsewhere { .. } => Self::run(error),
            _ => Self::input(error),
        }
    }
}

impl From<bundlenet_problems::Error> for Failure {
    fn from(error: bundlenet_problems::Error) -> Self {
        match error {
            bundlenet_problems::Error::Write { .. } => Self::run(error),
            _ => Self::input(error),
        }
    }
}

impl From<EvaluationError> for Failure {
    fn from(error: EvaluationError) -> Self {
        match error {
            // The point came from the user.
            EvaluationError::PointLength { .. }
            | EvaluationError::Point { .. }
            | EvaluationError::OutsideDomain { .. } => Self::input(error),
            _ => Self::run(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // A reader that closes the pipe early, such as `head`, is no failure.
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Reported(0) } else { Self::run(error) }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}
