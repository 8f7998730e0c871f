//! The method and its options, generated from the library's table.

use std::path::Path;
use std::sync::Arc;

use bundlenet::{Method, Model, OPTIONS, OptionInfo};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde_json::Value;

use crate::failure::Failure;

/// `--method` and the options of all methods.
pub(crate) struct MethodOptions {
    name: String,
    /// The options that were given, with their texts.
    given: Vec<(&'static OptionInfo, String)>,
}

/// The option that names a file instead of a value.
const MODEL: &str = "model";

impl MethodOptions {
    /// The method with its options.
    pub(crate) fn method(&self) -> Result<Method, Failure> {
        let values = self.given.iter().filter(|(info, _)| info.name != MODEL);
        let method = Method::with_options(&self.name, values.map(|(info, text)| (info.name.to_string(), value(text))))?;
        let Some(file) = self.model_file() else { return Ok(method) };
        // A method without a network refuses the option before the file is read.
        let method = method.with_model(Model::general())?;
        Ok(method.with_model(Arc::new(Model::load(file)?))?)
    }

    /// The file of the network, if one was given.
    pub(crate) fn model_file(&self) -> Option<&Path> {
        self.given.iter().find(|(info, _)| info.name == MODEL).map(|(_, file)| Path::new(file))
    }
}

impl std::fmt::Display for MethodOptions {
    /// The method and the options that were given, for the log.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "method {}", self.name)?;
        self.given.iter().try_for_each(|(info, text)| write!(formatter, ", {} {text}", info.name))
    }
}

/// A number where the text is one, else a string.
fn value(text: &str) -> Value {
    let whole = text.parse::<u64>().map(Value::from);
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from);
    whole.ok().or(number).unwrap_or_else(|| text.into())
}

fn argument(info: &'static OptionInfo) -> Arg {
    let methods = info.methods.join(", ");
    Arg::new(info.name)
        .long(info.name.replace('_', "-"))
        .value_name(info.values)
        .allow_negative_numbers(true)
        .help(format!("{} [method: {methods}] [default: {}]", info.help, info.default))
}

impl Args for MethodOptions {
    fn augment_args(command: Command) -> Command {
        let method = Arg::new("method").long("method").value_name("NAME").default_value("auto");
        let method = method.value_parser(Method::NAMES).help("Method; auto combines a network with the bundle method");
        command.arg(method).args(OPTIONS.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for MethodOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let given = OPTIONS.iter().filter_map(|info| Some((info, text(info.name)?))).collect();
        Ok(Self { name: text("method").unwrap_or_default(), given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
