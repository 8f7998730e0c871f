//! Data-set families: instances from a seed, written as a folder with a manifest.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Format, Problem, assignment, facility_location, network_design, unit_commitment};
use crate::error::Error;

/// Changes whenever the same seed would give other instances; part of every manifest.
pub const GENERATOR_VERSION: u32 = 1;

/// A family of data sets: the six of the Bundle Network paper, three of generalised assignment from the literature,
/// two of facility location, and one of unit commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Network design, 20 nodes, 226 arcs, 40 commodities.
    #[serde(rename = "mc-sml-40")]
    McSml40,
    /// Network design, 20 nodes, 226 arcs, 40 to 200 commodities.
    McSmlVar,
    /// Network design, 30 nodes, 519 arcs, 40 commodities with one destination.
    #[serde(rename = "mc-big-40")]
    McBig40,
    /// Network design, a mixture of small graphs (40 to 200 commodities) and big ones (40 to 120).
    McBigVar,
    /// Generalised assignment, 10 bins, 100 items.
    #[serde(rename = "ga-10-100")]
    Ga10x100,
    /// Generalised assignment, 20 bins, 400 items.
    #[serde(rename = "ga-20-400")]
    Ga20x400,
    /// Generalised assignment, type C (Chu and Beasley, 1997; Yagiura et al., 2006): costs and weights independent.
    GaYagiuraC,
    /// The same, type D: heavy items are cheap.
    GaYagiuraD,
    /// The same, type E: exponential weights, costs that fall with them.
    GaYagiuraE,
    /// Facility location, 20 sites, 50 customers.
    #[serde(rename = "cfl-20-50")]
    Cfl20x50,
    /// Facility location, 100 sites, 1000 customers.
    #[serde(rename = "cfl-100-1000")]
    Cfl100x1000,
    /// Unit commitment, 60 units and 48 periods, or of any size.
    Uc,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::McSml40,
        Self::McSmlVar,
        Self::McBig40,
        Self::McBigVar,
        Self::Ga10x100,
        Self::Ga20x400,
        Self::GaYagiuraC,
        Self::GaYagiuraD,
        Self::GaYagiuraE,
        Self::Cfl20x50,
        Self::Cfl100x1000,
        Self::Uc,
    ];

    /// Those of the Bundle Network paper.
    pub const PAPER: [Self; 6] =
        [Self::McSml40, Self::McSmlVar, Self::McBig40, Self::McBigVar, Self::Ga10x100, Self::Ga20x400];

    /// The name used on the command line and in manifests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::McSml40 => "mc-sml-40",
            Self::McSmlVar => "mc-sml-var",
            Self::McBig40 => "mc-big-40",
            Self::McBigVar => "mc-big-var",
            Self::Ga10x100 => "ga-10-100",
            Self::Ga20x400 => "ga-20-400",
            Self::GaYagiuraC => "ga-yagiura-c",
            Self::GaYagiuraD => "ga-yagiura-d",
            Self::GaYagiuraE => "ga-yagiura-e",
            Self::Cfl20x50 => "cfl-20-50",
            Self::Cfl100x1000 => "cfl-100-1000",
            Self::Uc => "uc",
        }
    }

    fn is_network_design(self) -> bool {
        matches!(self, Self::McSml40 | Self::McSmlVar | Self::McBig40 | Self::McBigVar)
    }

    fn is_yagiura(self) -> bool {
        matches!(self, Self::GaYagiuraC | Self::GaYagiuraD | Self::GaYagiuraE)
    }

    fn is_facility_location(self) -> bool {
        matches!(self, Self::Cfl20x50 | Self::Cfl100x1000)
    }
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|family| family.name() == name)
            .ok_or_else(|| format!("expected one of {}, found {name:?}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Which part of a data set an instance belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// For training.
    Train,
    /// For choosing a model.
    Validation,
    /// For final figures.
    Test,
}

impl Split {
    /// The part of a group, by its number modulo 5, as for the published data: 3 is validation, 4 is test, the others
    /// are training. Instances of a group share data, so all of them belong to the same part.
    #[must_use]
    pub fn of_group(group: usize) -> Self {
        match group % 5 {
            3 => Self::Validation,
            4 => Self::Test,
            _ => Self::Train,
        }
    }
}

/// A generated instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Its name, unique in the data set; ends in the group number.
    pub name: String,
    /// Instances with the same number share demands and costs.
    pub group: usize,
    /// Which part of the data set it belongs to.
    pub split: Split,
    /// The instance.
    pub problem: Problem,
}

/// A source of instances of one family. The same seed gives the same instances on every machine and in every version.
/// A longer data set begins with the shorter one.
#[derive(Clone, Debug)]
pub struct Generator {
    family: Family,
    seed: u64,
    base: Option<(String, Problem)>,
    commodities: Option<usize>,
    size: Option<(usize, usize)>,
}

impl Generator {
    /// A generator with base graphs (or capacities) of its own, drawn from the seed.
    #[must_use]
    pub fn new(family: Family, seed: u64) -> Self {
        Self { family, seed, base: None, commodities: None, size: None }
    }

    /// Perturbs a given instance, called `name` in the manifest. Demands and costs (or profits and weights) are drawn
    /// anew with the statistics of the given ones.
    ///
    /// # Errors
    /// If the instance is of another problem than the family, or if the family takes no base: facility location does
    /// not know the places of an instance, and the `ga-yagiura` families and `uc` follow their own definitions.
    pub fn with_base(mut self, name: &str, base: Problem) -> Result<Self, Error> {
        let (expected, fits) = match (self.family, &base) {
            (family, _) if family.is_facility_location() || family.is_yagiura() || family == Family::Uc => {
                ("no base", false)
            }
            (family, base) if family.is_network_design() => {
                ("a network design base", matches!(base, Problem::NetworkDesign(_)))
            }
            (_, base) => ("a generalised assignment base", matches!(base, Problem::Assignment(_))),
        };
        if !fits {
            let found = format!("a {} instance", base.family_name());
            return Err(Error::Generate { family: self.family, expected, found });
        }
        self.base = Some((name.to_string(), base));
        Ok(self)
    }

    /// Fixes the number of commodities of every network design instance. Demands shrink as their number grows.
    ///
    /// # Errors
    /// If the family has no commodities, or the number is 0.
    pub fn with_commodities(mut self, count: usize) -> Result<Self, Error> {
        if !self.family.is_network_design() {
            let expected = "a family with commodities to fix their number";
            return Err(Error::Generate { family: self.family, expected, found: "one without".to_string() });
        }
        if count == 0 {
            let expected = "at least one commodity";
            return Err(Error::Generate { family: self.family, expected, found: "none".to_string() });
        }
        self.commodities = Some(count);
        Ok(self)
    }

    /// Sets the numbers of bins and items of the `ga-yagiura` families (20 and 400 by default), or of units and periods of
    /// `uc` (60 and 48 by default).
    ///
    /// # Errors
    /// If the family has a size of its own, or a number is 0 or above 10,000, or above 1,000 for periods.
    pub fn with_size(mut self, bins: usize, items: usize) -> Result<Self, Error> {
        if !self.family.is_yagiura() && self.family != Family::Uc {
            let expected = "a family without a size of its own";
            return Err(Error::Generate { family: self.family, expected, found: "one with".to_string() });
        }
        let (most, expected) = match self.family {
            Family::Uc => (1_000, "1 to 10000 units and 1 to 1000 periods"),
            _ => (10_000, "1 to 10000 bins and items"),
        };
        if !(1..=10_000).contains(&bins) || !(1..=most).contains(&items) {
            return Err(Error::Generate { family: self.family, expected, found: format!("{bins} and {items}") });
        }
        self.size = Some((bins, items));
        Ok(self)
    }

    /// Instance number `index`, counted from 0.
    ///
    /// # Errors
    /// If the base graph is too tight for demands drawn with its statistics, or if there are too many commodities.
    pub fn instance(&self, index: usize) -> Result<Generated, Error> {
        let Self { family, seed, commodities, .. } = *self;
        let base = self.base.as_ref().map(|(_, base)| base);
        let (name, group, problem) = if family.is_network_design() {
            let base = if let Some(Problem::NetworkDesign(base)) = base { Some(base) } else { None };
            network_design::generate::instance(family, seed, base, commodities, index)?
        } else if family.is_facility_location() {
            facility_location::generate::instance(family, seed, index)
        } else if family == Family::Uc {
            let size = self.size.unwrap_or(unit_commitment::generate::SIZE);
            unit_commitment::generate::instance(family, seed, size, index)
        } else if family.is_yagiura() {
            assignment::yagiura::instance(family, seed, self.size.unwrap_or(assignment::yagiura::SIZE), index)
        } else {
            let base = if let Some(Problem::Assignment(base)) = base { Some(base) } else { None };
            assignment::generate::instance(family, seed, base, index)
        };
        debug_assert_eq!(group, self.group(index));
        Ok(Generated { name, group, split: Split::of_group(group), problem })
    }

    /// Part of the data that instance number `index` is in. The instance need not be generated for that.
    #[must_use]
    pub fn part(&self, index: usize) -> Split {
        Split::of_group(self.group(index))
    }

    /// Group of instances that instance number `index` shares data with.
    fn group(&self, index: usize) -> usize {
        if self.family.is_network_design() { index / 4 + 1 } else { index + 1 }
    }

    /// Writes the first `count` instances as JSON into a folder, then a manifest. `progress` is called after each
    /// instance.
    ///
    /// # Errors
    /// If the folder already holds another data set, if it cannot be written, or if an instance cannot be drawn.
    pub fn write(&self, count: usize, folder: &Path, mut progress: impl FnMut(&Generated)) -> Result<Manifest, Error> {
        let mut manifest = Manifest {
            family: self.family,
            seed: self.seed,
            version: GENERATOR_VERSION,
            base: self.base.as_ref().map(|(name, _)| name.clone()),
            commodities: self.commodities,
            size: self.size,
            instances: Vec::with_capacity(count.min(1 << 20)),
        };
        if let Ok(present) = Manifest::read(folder)
            && !present.has_same_source(&manifest)
        {
            let found = format!("{} with seed {}", present.family, present.seed);
            return Err(Error::Occupied { path: folder.to_path_buf(), found });
        }
        let write = |path: &Path, text: &str| {
            std::fs::write(path, text).map_err(|source| Error::Write { path: path.to_path_buf(), source })
        };
        std::fs::create_dir_all(folder).map_err(|source| Error::Write { path: folder.to_path_buf(), source })?;
        for index in 0..count {
            let generated = self.instance(index)?;
            let file = format!("{}.json", generated.name);
            write(&folder.join(&file), &generated.problem.to_text(Format::Json)?)?;
            manifest.instances.push(ManifestEntry { file, group: generated.group, split: generated.split });
            progress(&generated);
        }
        let text = serde_json::to_string_pretty(&manifest)
            .map_err(|error| Error::Write { path: folder.join(Manifest::FILE), source: error.into() })?;
        write(&folder.join(Manifest::FILE), &(text + "\n"))?;
        Ok(manifest)
    }
}

/// The list of a folder's generated instances, in its file `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The family.
    pub family: Family,
    /// The seed.
    pub seed: u64,
    /// [`GENERATOR_VERSION`] that wrote it.
    pub version: u32,
    /// Name of the base instance, if one was given.
    pub base: Option<String>,
    /// Number of commodities, if it was fixed.
    pub commodities: Option<usize>,
    /// Numbers of bins and items, or of units and periods, if they were set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<(usize, usize)>,
    /// The instances.
    pub instances: Vec<ManifestEntry>,
}

/// An instance in a [`Manifest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// File name, relative to the manifest.
    pub file: String,
    /// Instances with the same number share demands and costs.
    pub group: usize,
    /// Which part of the data set it belongs to.
    pub split: Split,
}

impl Manifest {
    /// Name of the file in its folder.
    pub const FILE: &'static str = "manifest.json";

    /// Reads the manifest of a folder.
    ///
    /// # Errors
    /// If there is no such file, or if it is no manifest.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(Self::FILE);
        let text = std::fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        serde_json::from_str(&text).map_err(|error| {
            Error::Parse(crate::error::ParseError {
                file: path.display().to_string(),
                line: error.line().max(1),
                expected: "a manifest".to_string(),
                found: error.to_string(),
            })
        })
    }

    fn has_same_source(&self, other: &Self) -> bool {
        let source = |manifest: &Self| {
            let Self { family, seed, version, commodities, size, .. } = *manifest;
            (family, seed, version, manifest.base.clone(), commodities, size)
        };
        source(self) == source(other)
    }
}
