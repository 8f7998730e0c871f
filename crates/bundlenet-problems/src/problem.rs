//! An instance of any family, and the file it comes from.

use std::path::Path;

use bundlenet::{Oracle, Primal, Sense};

use crate::error::Error;
use crate::format::TextLayout;
use crate::{
    Assignment, AssignmentDual, FacilityLocation, FacilityLocationDual, Format, NetworkDesign, NetworkDesignDual,
    ProblemPrimal, Proof, SafeBound, Search, UnitCommitment, UnitCommitmentDual, UnsafeBound, assignment,
    facility_location, json, network_design, text, unit_commitment,
};

/// An instance of one of the families.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// Multicommodity network design (MC).
    NetworkDesign(NetworkDesign),
    /// Generalised assignment (GA).
    Assignment(Assignment),
    /// Capacitated facility location (CFL).
    FacilityLocation(FacilityLocation),
    /// Unit commitment (UC).
    UnitCommitment(UnitCommitment),
}

/// Choices for files that leave something open.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Sense of a generalised assignment file that does not state it. Without it, text minimises (with `= 1`) and
    /// JSON maximises (with `<= 1`).
    pub sense: Option<Sense>,
    /// Which problem of a file with several, counted from 1.
    pub problem: Option<usize>,
    /// Capacity of every site of a facility location text that has the word `capacity` in its place.
    pub capacity: Option<f64>,
    /// Model of a unit commitment file. Without it, the file or [`UnitCommitment::new`] chooses.
    pub formulation: Option<unit_commitment::Formulation>,
}

impl From<Option<Sense>> for ReadOptions {
    fn from(sense: Option<Sense>) -> Self {
        Self { sense, ..Self::default() }
    }
}

/// The content of a file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, as errors show it.
    pub file: String,
    /// Its format.
    pub format: Format,
    /// Whether it is compressed.
    pub is_gzip: bool,
    /// Its instances. Only generalised assignment text can hold several.
    pub problems: Vec<Problem>,
}

impl Source {
    /// Reads all instances of a file, plain or gzip. The extension of its name tells the format: `.json`, `.dat`,
    /// `.dow`, `.txt` or `.gap`, also before `.gz`. Without one of these, the content does. `options` are
    /// [`ReadOptions`], or a sense alone. The choice of a problem is left to [`Source::choose`].
    ///
    /// # Errors
    /// If the file cannot be read, or if its content is not in its format (with file, line, expected and found).
    pub fn read(path: impl AsRef<Path>, options: impl Into<ReadOptions>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::parse(&path.display().to_string(), text::read_file(path)?, options)
    }

    /// Reads all instances in the bytes of a file. `file` is its name: it tells the format, and errors show it.
    ///
    /// # Errors
    /// As [`Source::read`].
    pub fn parse(file: &str, bytes: Vec<u8>, options: impl Into<ReadOptions>) -> Result<Self, Error> {
        let options = options.into();
        let is_gzip = text::is_gzip(&bytes);
        let bytes = text::decompress(bytes).map_err(|source| Error::Read { path: file.into(), source })?;
        // A title may be in any encoding. Bytes that are no text elsewhere fail as a wrong token.
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let format = Format::of_name(file).unwrap_or_else(|| Format::detect(text));
        let problems = match format {
            Format::Json => vec![parse_json(file, text, options)?],
            Format::Dat => vec![Problem::NetworkDesign(network_design::parse::dat(file, text)?)],
            Format::Dow => vec![Problem::NetworkDesign(network_design::parse::dow(file, text)?)],
            Format::Text => parse_text(file, text, options)?,
        };
        Ok(Self { file: file.to_string(), format, is_gzip, problems })
    }

    /// The problem with a number, counted from 1; without one, the only problem.
    ///
    /// # Errors
    /// If there is none with that number, or none was given and there are several.
    pub fn choose(mut self, number: Option<usize>) -> Result<Problem, Error> {
        let found = self.problems.len();
        match number {
            None if found == 1 => Ok(self.problems.swap_remove(0)),
            Some(chosen) if (1..=found).contains(&chosen) => Ok(self.problems.swap_remove(chosen - 1)),
            chosen => Err(Error::ProblemNumber { file: self.file, found, chosen }),
        }
    }
}

/// The instance in a JSON text. The fields tell the family.
fn parse_json(file: &str, text: &str, options: ReadOptions) -> Result<Problem, Error> {
    let raw = json::RawInstance::parse(file, text)?;
    let fields = &raw.fields;
    if fields.thermal_generators.is_some() {
        return Ok(Problem::UnitCommitment(unit_commitment::parse::json(file, text, options.formulation)?));
    }
    if fields.tail.is_some() || fields.nodes.is_some() {
        Ok(Problem::NetworkDesign(network_design::parse::json(&raw)?))
    } else if fields.bins.is_some() || fields.items.is_some() {
        Ok(Problem::Assignment(assignment::parse::json(&raw, options.sense)?))
    } else if fields.sites.is_some() || fields.customers.is_some() {
        Ok(Problem::FacilityLocation(facility_location::parse::json(&raw)?))
    } else {
        Err(raw.unknown().into())
    }
}

/// The instances in a plain text. Its layout tells the family.
fn parse_text(file: &str, text: &str, options: ReadOptions) -> Result<Vec<Problem>, Error> {
    match TextLayout::detect(text).unwrap_or_else(|| TextLayout::guess(text)) {
        TextLayout::Location => {
            let instance = facility_location::parse::text(file, text, options.capacity)?;
            Ok(vec![Problem::FacilityLocation(instance)])
        }
        layout => {
            let sense = options.sense.unwrap_or(Sense::Minimize);
            Ok(assignment::parse::text(file, text, layout, sense)?.into_iter().map(Problem::Assignment).collect())
        }
    }
}

impl Problem {
    /// Reads an instance from a file in any known format, plain or gzip, as [`Source::read`] does.
    ///
    /// # Errors
    /// If the file cannot be read, if its content is not in its format (with file, line, expected and found), or if it
    /// holds several problems and `options` chooses none.
    pub fn read(path: impl AsRef<Path>, options: ReadOptions) -> Result<Self, Error> {
        Source::read(path, options)?.choose(options.problem)
    }

    /// The family, as errors name it.
    pub(crate) fn family_name(&self) -> &'static str {
        match self {
            Self::NetworkDesign(_) => "network design",
            Self::Assignment(_) => "generalised assignment",
            Self::FacilityLocation(_) => "facility location",
            Self::UnitCommitment(_) => "unit commitment",
        }
    }

    /// The instance as text in a format.
    ///
    /// # Errors
    /// If the format cannot hold it.
    pub fn to_text(&self, format: Format) -> Result<String, Error> {
        match self {
            Self::NetworkDesign(instance) => instance.to_text(format),
            Self::Assignment(instance) => instance.to_text(format),
            Self::FacilityLocation(instance) => instance.to_text(format),
            Self::UnitCommitment(instance) => instance.to_text(format),
        }
    }

    /// The content of a file with this name: its extension chooses the format, and `.gz` after it compresses.
    ///
    /// # Errors
    /// If no format has the extension, or the format cannot hold the instance.
    pub fn to_bytes(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
        let path = path.as_ref();
        let text = self.to_text(Format::of_output(path)?)?;
        let is_gzip = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz"));
        if !is_gzip {
            return Ok(text.into_bytes());
        }
        text::compress(text.as_bytes()).map_err(|source| Error::Write { path: path.to_path_buf(), source })
    }

    /// The Lagrangian dual as an oracle.
    #[must_use]
    pub fn dual(&self) -> Box<dyn Oracle + Send> {
        match self {
            Self::NetworkDesign(instance) => Box::new(NetworkDesignDual::new(instance)),
            Self::Assignment(instance) => Box::new(AssignmentDual::new(instance)),
            Self::FacilityLocation(instance) => Box::new(FacilityLocationDual::new(instance)),
            Self::UnitCommitment(instance) => Box::new(UnitCommitmentDual::new(instance)),
        }
    }

    /// The primal solution of a run on the dual, in the problem's terms: the convex combination itself, repaired, and
    /// rounded to a feasible solution. The value of the last bounds the optimum from the other side.
    ///
    /// ```
    /// use bundlenet::{Settings, Solver};
    /// use bundlenet_problems::{Family, Generator};
    ///
    /// let problem = Generator::new(Family::Ga10x100, 7).instance(0)?.problem;
    /// let settings = Settings { primal: true, ..Settings::default() };
    /// let solution = Solver::new(settings)?.solve(&mut *problem.dual())?;
    /// let recovered = solution.primal.as_ref().map(|primal| problem.recover(primal));
    /// let value = recovered.and_then(|recovered| recovered.feasible_value());
    /// // Often it is optimal: its value is that of the dual, up to round-off.
    /// assert!(value.is_some_and(|value| (0.99..1.0 + 1e-9).contains(&(value / solution.value))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn recover(&self, primal: &Primal) -> ProblemPrimal {
        self.recover_within(primal, &Search::default())
    }

    /// As [`Problem::recover`], with a start and an end of the search for a feasible solution. It keeps the best solution
    /// found so far. The searches of network design, assignment and facility location are short, and ignore both.
    #[must_use]
    pub fn recover_within(&self, primal: &Primal, search: &Search<'_>) -> ProblemPrimal {
        match self {
            Self::NetworkDesign(instance) => ProblemPrimal::NetworkDesign(instance.recover(primal)),
            Self::Assignment(instance) => ProblemPrimal::Assignment(instance.recover(primal)),
            Self::FacilityLocation(instance) => ProblemPrimal::FacilityLocation(instance.recover(primal)),
            Self::UnitCommitment(instance) => ProblemPrimal::UnitCommitment(instance.recover_within(primal, search)),
        }
    }

    /// A bound on the optimum that holds in exact arithmetic: the value of the dual at multipliers, rounded to dyadic
    /// numbers. It costs less than three oracle calls.
    ///
    /// # Errors
    /// If the data are not integers, or are too large. If the multipliers are not finite, are too large, or are too
    /// many or too few.
    pub fn safe_bound(&self, multipliers: &[f64]) -> Result<SafeBound, UnsafeBound> {
        match self {
            Self::NetworkDesign(instance) => instance.safe_bound(multipliers),
            Self::Assignment(instance) => instance.safe_bound(multipliers),
            Self::FacilityLocation(instance) => instance.safe_bound(multipliers),
            Self::UnitCommitment(_) => Err(unit_commitment::NO_SAFE_BOUND),
        }
    }

    /// A proof of the safe bound at multipliers. `tools/bundlenet_verify.py` checks it without any part of this crate.
    ///
    /// # Errors
    /// As [`Problem::safe_bound`], and if the family has no proofs.
    pub fn proof(&self, multipliers: &[f64]) -> Result<Proof, UnsafeBound> {
        match self {
            Self::NetworkDesign(instance) => instance.proof(multipliers),
            Self::Assignment(instance) => instance.proof(multipliers),
            Self::FacilityLocation(_) | Self::UnitCommitment(_) => {
                Err(UnsafeBound::Proof { family: self.family_name() })
            }
        }
    }

    /// Checks that there are safe bounds: the data are integers, and not too large.
    ///
    /// # Errors
    /// If there are none, with the number at fault.
    pub fn check_integers(&self) -> Result<(), UnsafeBound> {
        match self {
            Self::NetworkDesign(instance) => instance.check_integers(),
            Self::Assignment(instance) => instance.check_integers(),
            Self::FacilityLocation(instance) => instance.check_integers(),
            Self::UnitCommitment(_) => Err(unit_commitment::NO_SAFE_BOUND),
        }
    }
}
