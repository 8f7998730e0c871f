//! From errors to exit codes.

use std::io::{self, Write};

use bundlenet::{Error, EvaluationError};

/// Why a command ends without success.
pub(crate) enum Failure {
    /// Wrong usage or unreadable input.
    Input(anyhow::Error),
    /// The input was fine, and the run failed.
    Run(anyhow::Error),
    /// Failures that have been reported already, and the worst of their codes.
    Reported(u8),
}

impl Failure {
    /// The exit code it leads to.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Run(_) => 1,
            Self::Reported(code) => *code,
        }
    }

    /// Says what went wrong and gives the exit code.
    pub(crate) fn report(self) -> u8 {
        let code = self.code();
        let error = match self {
            Self::Input(error) | Self::Run(error) => error,
            Self::Reported(code) => return code,
        };
        // A reader that has seen enough, such as `head`, is no failure.
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return 0;
        }
        // If even this cannot be written, the code must do.
        let _ = writeln!(io::stderr(), "bundlenet: {error}");
        code
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Write { .. } | Error::Training { .. } | Error::Example { .. } => Self::Run(error.into()),
            _ => Self::Input(error.into()),
        }
    }
}

impl From<EvaluationError> for Failure {
    fn from(error: EvaluationError) -> Self {
        match error {
            // The point came from the user.
            EvaluationError::PointLength { .. }
            | EvaluationError::Point { .. }
            | EvaluationError::OutsideDomain { .. } => Self::Input(error.into()),
            _ => Self::Run(error.into()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Run(error.into())
    }
}
