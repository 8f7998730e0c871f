//! Settings by name.

use std::sync::Arc;

use bundlenet::{Method, Model, OPTIONS, Settings};
use serde_json::{Map, Value};

use crate::border::Failure;
use crate::code::Code;

/// The settings of a run, and the names that they were made from.
#[derive(Default)]
pub(crate) struct NamedSettings {
    pub(crate) settings: Settings,
    /// The method's own options.
    options: Map<String, Value>,
    model: Option<Arc<Model>>,
}

/// The value of a setting.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    /// The default.
    Default,
    Text(&'a str),
    Number(f64),
}

impl Given<'_> {
    fn number(self, name: &str) -> Result<Option<f64>, Failure> {
        match self {
            Self::Default => Ok(None),
            Self::Number(number) => Ok(Some(number)),
            Self::Text(text) => text.parse().map(Some).map_err(|_| unusable(name, "a number", text)),
        }
    }

    fn count(self, name: &str) -> Result<Option<usize>, Failure> {
        // The largest double below which all integers are exact.
        const MOST: f64 = 9_007_199_254_740_992.0;
        match self.number(name)? {
            Some(number) if number.fract() == 0.0 && (0.0..=MOST).contains(&number) => Ok(Some(number as usize)),
            Some(number) => Err(unusable(name, "a nonnegative integer", number)),
            None => Ok(None),
        }
    }

    /// The value as an option of a method: a number where the text is one.
    fn value(self) -> Option<Value> {
        let number = |number: f64| match number {
            _ if number.fract() == 0.0 && number.abs() < 1e15 => Value::from(number as i64),
            _ => Value::from(number),
        };
        match self {
            Self::Default => None,
            Self::Number(given) => Some(number(given)),
            Self::Text(text) => Some(text.parse().map_or_else(|_| Value::from(text), number)),
        }
    }
}

fn unusable(name: &str, expected: &str, found: impl std::fmt::Display) -> Failure {
    Failure::new(Code::Setting, format_args!("setting {name}: expected {expected}, found {found}"))
}

impl NamedSettings {
    /// Sets the setting of the given name. After an error all settings are as before.
    pub(crate) fn set(&mut self, name: &str, given: Given<'_>) -> Result<(), Failure> {
        let mut new = self.settings.clone();
        let limits = &mut new.limits;
        match name {
            "limits.steps" => limits.steps = given.count(name)?,
            "limits.oracle_calls" => limits.oracle_calls = given.count(name)?,
            "limits.seconds" => limits.seconds = given.number(name)?,
            "limits.target" => limits.target = given.number(name)?,
            "tolerance" => new.tolerance = given.number(name)?.unwrap_or(Settings::default().tolerance),
            "method" => return self.set_method(given),
            "model" => return self.set_model(given),
            _ => return self.set_option(name, given),
        }
        let _checked = bundlenet::Solver::new(new.clone())?;
        self.settings = new;
        Ok(())
    }

    /// A method has its default options at first.
    fn set_method(&mut self, given: Given<'_>) -> Result<(), Failure> {
        self.settings.method = match given {
            Given::Default => Method::default(),
            Given::Text(name) => Method::with_options(name, [])?,
            Given::Number(number) => return Err(unusable("method", "the name of a method", number)),
        };
        (self.options, self.model) = (Map::new(), None);
        Ok(())
    }

    fn set_model(&mut self, given: Given<'_>) -> Result<(), Failure> {
        let model = match given {
            Given::Default => None,
            Given::Text(path) => Some(Arc::new(Model::load(path)?)),
            Given::Number(number) => return Err(unusable("model", "the path of a file", number)),
        };
        let method = Method::with_options(self.settings.method.name(), self.options.clone())?;
        self.settings.method = model.iter().cloned().try_fold(method, Method::with_model)?;
        self.model = model;
        Ok(())
    }

    fn set_option(&mut self, name: &str, given: Given<'_>) -> Result<(), Failure> {
        let method = self.settings.method.name();
        if OPTIONS.iter().all(|option| option.name != name) {
            let own = OPTIONS.iter().filter(|option| option.methods.contains(&method)).map(|option| option.name);
            let own: Vec<&str> = own.collect();
            let others = "method, tolerance, limits.steps, limits.oracle_calls, limits.seconds, limits.target";
            let expected = format!("{others}, or an option of {method} ({})", own.join(", "));
            return Err(unusable(name, &expected, "an unknown name"));
        }
        let mut options = self.options.clone();
        match given.value() {
            Some(value) => options.insert(name.to_string(), value),
            None => options.remove(name),
        };
        let method = Method::with_options(method, options.clone())?;
        self.settings.method = self.model.iter().cloned().try_fold(method, Method::with_model)?;
        self.options = options;
        Ok(())
    }
}
