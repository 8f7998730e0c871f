//! The settings of each method, and the table of all options for the program, configuration files and Python.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::auto::Prunings;
use crate::error::{InvalidSetting, at_least, positive};
use crate::master::Strategy;
use crate::model;
use crate::network::Model;

/// A method and its settings. An option that a method does not have cannot be given to it.
///
/// In a configuration file and in JSON a method is a table with its `name` and its options:
///
/// ```
/// use bundlenet::{BundleSettings, Cuts, Method};
///
/// let method: Method = serde_json::from_str(r#"{ "name": "bundle", "cuts": "aggregated" }"#)?;
/// assert_eq!(method, Method::Bundle(BundleSettings { cuts: Cuts::Aggregated, ..BundleSettings::default() }));
/// let wrong = serde_json::from_str::<Method>(r#"{ "name": "auto", "cuts": "aggregated" }"#).unwrap_err();
/// assert_eq!(wrong.to_string(), "setting cuts: expected method bundle, found method auto");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase", try_from = "Table")]
#[non_exhaustive]
pub enum Method {
    /// The default: a network for the start, component cuts while they pay, a proof at the end.
    Auto(AutoSettings),
    /// As `Auto`, but always with cuts of the whole function. Where the start is unlike those of the network's training it
    /// is the bundle method, step by step.
    Hybrid(HybridSettings),
    /// The proximal bundle method.
    Bundle(BundleSettings),
    /// The bundle method with a network instead of the master problem.
    Network(NetworkSettings),
    /// The oracle's own method, for a [`StructuredOracle`](crate::StructuredOracle).
    Barrier(NoSettings),
    /// Subgradient descent. The step length is halved when steps bring no new best value.
    Descent(StepSettings),
    /// Adam.
    Adam(StepSettings),
}

/// Settings of `auto`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AutoSettings {
    /// The network. The built-in general model if `None`.
    #[serde(skip)]
    pub model: Option<Arc<Model>>,
    /// Rule for the removal of cuts.
    #[serde(flatten)]
    pub pruning: Pruning,
}

/// Settings of `hybrid`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HybridSettings {
    /// The network. The built-in general model if `None`.
    #[serde(skip)]
    pub model: Option<Arc<Model>>,
    /// A cut is removed after this number of steps without weight; at least 1.
    pub lifetime: usize,
    /// Largest number of cuts; beyond it they are aggregated; at least 3.
    pub max_cuts: usize,
}

/// Settings of `bundle`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BundleSettings {
    /// Cuts of components, or of the whole function.
    pub cuts: Cuts,
    /// Components that are evaluated at a trial point.
    pub evaluate: Evaluate,
    /// Strategy for the step length.
    pub strategy: Strategy,
    /// Initial step length `eta_0`; positive. The function is scaled by the norm of its first subgradient. If `None`,
    /// `adaptive` finds its own, and the other strategies begin with 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta0: Option<f64>,
    /// Consecutive serious steps with the same step length before soft, hard or balancing increase it; at least 1.
    pub serious_steps: usize,
    /// Consecutive null steps with the same step length before soft, hard or balancing decrease it; at least 1.
    pub null_steps: usize,
    /// Rule for the removal of cuts.
    #[serde(flatten)]
    pub pruning: Pruning,
}

/// Cuts of components, or of the whole function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Cuts {
    /// Cuts of each component of a [`SumOracle`](crate::SumOracle): a disaggregated model. Other oracles get aggregated
    /// cuts.
    #[default]
    Component,
    /// Cuts of the whole function, as in the paper.
    Aggregated,
}

/// Components that are evaluated at a trial point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Evaluate {
    /// All of them.
    #[default]
    All,
    /// In every other step only those whose models lag behind, by
    /// [`SumOracle::evaluate_some`](crate::SumOracle::evaluate_some). Such a step improves the model and has no value.
    /// Useful where components are expensive and few of them change.
    Laggards,
}

/// Rule for the removal of cuts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pruning {
    /// `K`: a cut is removed after this number of steps without weight; at least 1.
    pub lifetime: usize,
    /// Largest number of cuts of the whole function; beyond it they are aggregated; at least 3.
    pub max_cuts: usize,
    /// Largest number of cuts of a component; beyond it they are aggregated; at least 3.
    pub max_component_cuts: usize,
    /// Largest memory of the cuts of all components, in bytes; beyond it they are aggregated; at least 1,000,000.
    pub max_bytes: usize,
}

/// Settings of `network`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkSettings {
    /// The network. The built-in general model if `None`.
    #[serde(skip)]
    pub model: Option<Arc<Model>>,
    /// Largest number of cuts; beyond it the one with the least weight is removed; at least 3.
    pub max_cuts: usize,
    /// Knowledge of the network about the run.
    pub told: Told,
}

/// Knowledge of a network about its run. Only networks with features `relative-2` use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Told {
    /// The limit of steps, if there is one. The network aims at a good value at the end.
    #[default]
    Steps,
    /// Nothing. The network aims at good values at all times.
    Nothing,
}

impl Told {
    /// The number of steps that a network is told, of a run with the given limit.
    pub(crate) fn budget(self, steps: Option<usize>) -> Option<usize> {
        steps.filter(|_| self == Self::Steps)
    }
}

/// Settings of a method without options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// Settings of `descent` and `adam`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StepSettings {
    /// Initial step length, or learning rate; positive. If `None`, 10 for `descent` and 1 for `adam`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta0: Option<f64>,
}

impl Default for BundleSettings {
    fn default() -> Self {
        Self {
            cuts: Cuts::default(),
            evaluate: Evaluate::default(),
            strategy: Strategy::default(),
            eta0: None,
            serious_steps: 1,
            null_steps: 1,
            pruning: Pruning::default(),
        }
    }
}

impl BundleSettings {
    /// Initial step length of all strategies but `adaptive`.
    pub(crate) const ETA: f64 = 100.0;
}

impl Default for Pruning {
    fn default() -> Self {
        Self { lifetime: 20, max_cuts: 1000, max_component_cuts: 200, max_bytes: 1 << 30 }
    }
}

impl Pruning {
    /// The rules for cuts of the whole function and for cuts of components.
    pub(crate) fn of_both(&self) -> Prunings {
        let aggregated = model::Pruning { lifetime: self.lifetime, cap: self.max_cuts, bytes: self.max_bytes };
        Prunings { aggregated, components: model::Pruning { cap: self.max_component_cuts, ..aggregated } }
    }

    fn check(&self) -> Result<(), InvalidSetting> {
        at_least("lifetime", self.lifetime, 1)?;
        at_least("max_cuts", self.max_cuts, 3)?;
        at_least("max_component_cuts", self.max_component_cuts, 3)?;
        at_least("max_bytes", self.max_bytes, 1_000_000)
    }
}

impl Default for HybridSettings {
    fn default() -> Self {
        let Pruning { lifetime, max_cuts, .. } = Pruning::default();
        Self { model: None, lifetime, max_cuts }
    }
}

impl HybridSettings {
    /// These settings as settings of `auto`.
    pub(crate) fn as_auto(&self) -> AutoSettings {
        let pruning = Pruning { lifetime: self.lifetime, max_cuts: self.max_cuts, ..Pruning::default() };
        AutoSettings { model: self.model.clone(), pruning }
    }
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self { model: None, max_cuts: Pruning::default().max_cuts, told: Told::default() }
    }
}

impl Default for Method {
    fn default() -> Self {
        Self::Auto(AutoSettings::default())
    }
}

/// An option: the data for help texts, checks and documentation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OptionInfo {
    /// Name in configuration files and in Python. The program uses dashes instead of underscores.
    pub name: &'static str,
    /// The methods that have it.
    pub methods: &'static [&'static str],
    /// Its values in help texts.
    pub values: &'static str,
    /// Its default in help texts.
    pub default: &'static str,
    /// Its meaning in one sentence.
    pub help: &'static str,
}

/// All options of all methods.
pub const OPTIONS: &[OptionInfo] = &[
    option("model", &["auto", "hybrid", "network"], "FILE", "the built-in general model", "Checkpoint of the network"),
    option("cuts", &["bundle"], "component|aggregated", "component", "Cuts of each component, or of the whole sum"),
    option(
        "evaluate",
        &["bundle"],
        "all|laggards",
        "all",
        "Components at a trial point: all, or in every other step those that lag behind",
    ),
    option("strategy", &["bundle"], "adaptive|constant|soft|hard|balancing", "adaptive", "Rule for the step length"),
    option(
        "eta0",
        &["bundle", "descent", "adam"],
        "X",
        "found by adaptive; 100 for the other strategies, 10 for descent, 1 for adam",
        "Initial step length, of the function scaled by the norm of its first subgradient",
    ),
    option("serious_steps", &["bundle"], "N", "1", "Consecutive serious steps before a strategy lets the step grow"),
    option("null_steps", &["bundle"], "N", "1", "Consecutive null steps before a strategy lets the step shrink"),
    option("lifetime", &["auto", "hybrid", "bundle"], "N", "20", "Steps without weight after which a cut is forgotten"),
    option("max_cuts", &["auto", "hybrid", "bundle", "network"], "N", "1000", "Most cuts of the whole function"),
    option(
        "told",
        &["network"],
        "steps|nothing",
        "steps",
        "Knowledge of the network: a given limit of steps, or nothing",
    ),
    option("max_component_cuts", &["auto", "bundle"], "N", "200", "Most cuts of each component"),
    option("max_bytes", &["auto", "bundle"], "N", "1073741824", "Most bytes of the cuts of all components"),
];

const fn option(
    name: &'static str,
    methods: &'static [&'static str],
    values: &'static str,
    default: &'static str,
    help: &'static str,
) -> OptionInfo {
    OptionInfo { name, methods, values, default, help }
}

impl OptionInfo {
    /// Its values, as errors name them.
    fn expected(&self) -> String {
        match self.values {
            "N" => "a nonnegative integer".to_string(),
            "X" => "a number".to_string(),
            names => listed(&names.split('|').collect::<Vec<_>>()),
        }
    }
}

/// A method as a table: its name and its options.
#[derive(Deserialize)]
struct Table {
    name: String,
    #[serde(flatten)]
    options: BTreeMap<String, Value>,
}

impl TryFrom<Table> for Method {
    type Error = InvalidSetting;

    fn try_from(table: Table) -> Result<Self, InvalidSetting> {
        Self::with_options(&table.name, table.options)
    }
}

impl Method {
    /// The names of all methods.
    pub const NAMES: [&'static str; 7] = ["auto", "hybrid", "bundle", "network", "barrier", "descent", "adam"];

    /// The method of the given name, with options by name. Values are JSON values. [`Method::with_model`] sets a model.
    ///
    /// # Errors
    /// If there is no such method, if the method does not have one of the options, or if a value is invalid.
    pub fn with_options(
        name: &str,
        options: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Self, InvalidSetting> {
        let mut table = serde_json::Map::new();
        for (option, value) in options {
            let info = option_of(name, &option)?;
            if info.name == "model" {
                return Err(InvalidSetting::new("model", "a loaded model, not a file name", &value));
            }
            // Each option is parsed alone, so that an error names it.
            let alone = serde_json::Map::from_iter([(option.clone(), value.clone())]);
            Self::parse(name, alone).map_err(|_| InvalidSetting::new(info.name, info.expected(), &value))?;
            table.insert(option, value);
        }
        let method = Self::parse(name, table).map_err(|error| InvalidSetting::new("method", error, name))?;
        method.check()?;
        Ok(method)
    }

    fn parse(name: &str, table: serde_json::Map<String, Value>) -> Result<Self, String> {
        fn of<T: serde::de::DeserializeOwned>(table: Value) -> Result<T, String> {
            serde_json::from_value(table).map_err(|error| error.to_string())
        }
        let table = Value::Object(table);
        match name {
            "auto" => of(table).map(Self::Auto),
            "hybrid" => of(table).map(Self::Hybrid),
            "bundle" => of(table).map(Self::Bundle),
            "network" => of(table).map(Self::Network),
            "barrier" => of(table).map(Self::Barrier),
            "descent" => of(table).map(Self::Descent),
            "adam" => of(table).map(Self::Adam),
            _ => Err(listed(&Self::NAMES)),
        }
    }

    /// Uses a model instead of the built-in one.
    ///
    /// # Errors
    /// If the method has no network.
    pub fn with_model(mut self, model: Arc<Model>) -> Result<Self, InvalidSetting> {
        option_of(self.name(), "model")?;
        match &mut self {
            Self::Auto(settings) => settings.model = Some(model),
            Self::Hybrid(settings) => settings.model = Some(model),
            Self::Network(settings) => settings.model = Some(model),
            Self::Bundle(_) | Self::Barrier(_) | Self::Descent(_) | Self::Adam(_) => {}
        }
        Ok(self)
    }

    /// Name in the program, in configuration files and in Python.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auto(_) => "auto",
            Self::Hybrid(_) => "hybrid",
            Self::Bundle(_) => "bundle",
            Self::Network(_) => "network",
            Self::Barrier(_) => "barrier",
            Self::Descent(_) => "descent",
            Self::Adam(_) => "adam",
        }
    }

    /// Whether a run can begin with the cuts of an earlier run.
    pub(crate) fn takes_cuts(&self) -> bool {
        matches!(self, Self::Auto(_) | Self::Hybrid(_) | Self::Bundle(_))
    }

    /// Whether the method keeps cuts, or has primal solutions of its own. Only then is there a primal solution.
    #[must_use]
    pub fn has_primal(&self) -> bool {
        !matches!(self, Self::Descent(_) | Self::Adam(_))
    }

    /// The model, if the method has a network and it is not the built-in one.
    #[must_use]
    pub fn model(&self) -> Option<&Arc<Model>> {
        match self {
            Self::Auto(settings) => settings.model.as_ref(),
            Self::Hybrid(settings) => settings.model.as_ref(),
            Self::Network(settings) => settings.model.as_ref(),
            Self::Bundle(_) | Self::Barrier(_) | Self::Descent(_) | Self::Adam(_) => None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), InvalidSetting> {
        match self {
            Self::Auto(settings) => settings.pruning.check(),
            Self::Hybrid(settings) => settings.as_auto().pruning.check(),
            Self::Bundle(settings) => {
                settings.eta0.map_or(Ok(()), |eta0| positive("eta0", eta0))?;
                at_least("serious_steps", settings.serious_steps, 1)?;
                at_least("null_steps", settings.null_steps, 1)?;
                settings.pruning.check()
            }
            Self::Network(settings) => at_least("max_cuts", settings.max_cuts, 3),
            Self::Barrier(NoSettings {}) => Ok(()),
            Self::Descent(settings) | Self::Adam(settings) => positive("eta0", settings.eta0.unwrap_or(1.0)),
        }
    }
}

/// The option of the given name. An error if the method does not have it.
fn option_of(method: &str, option: &str) -> Result<&'static OptionInfo, InvalidSetting> {
    if !Method::NAMES.contains(&method) {
        return Err(InvalidSetting::new("method", listed(&Method::NAMES), method));
    }
    let Some(info) = OPTIONS.iter().find(|info| info.name == option) else {
        let names: Vec<&str> =
            OPTIONS.iter().filter(|info| info.methods.contains(&method)).map(|info| info.name).collect();
        return Err(InvalidSetting::new("method", format!("options of {method}: {}", listed(&names)), option));
    };
    if info.methods.contains(&method) {
        return Ok(info);
    }
    let expected = format!("method {}", listed(info.methods));
    Err(InvalidSetting::new(info.name, expected, format!("method {method}")))
}

/// A list of names: `a, b or c`.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_string(),
        [one] => (*one).to_string(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
