//! An option is accepted by the methods that have it and refused by all others, with one message.

use std::sync::Arc;

use bundlenet::{Architecture, Method, Model, OPTIONS, OptionInfo};
use serde_json::Value;

/// Names in a row: `a, b or c`.
fn listed(names: &[&str]) -> String {
    match names {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        names => names.concat(),
    }
}

/// A value that the option accepts.
fn value(option: &OptionInfo) -> Value {
    match option.name {
        "cuts" => "aggregated".into(),
        "evaluate" => "laggards".into(),
        "told" => "nothing".into(),
        "strategy" => "soft".into(),
        "eta0" => 2.5.into(),
        "max_bytes" => 2_000_000.into(),
        _ => 7.into(),
    }
}

#[test]
fn an_option_is_accepted_by_its_methods_and_refused_by_all_others() {
    for method in Method::NAMES {
        for option in OPTIONS.iter().filter(|option| option.name != "model") {
            let result = Method::with_options(method, [(option.name.to_string(), value(option))]);
            let is_its_own = option.methods.contains(&method);
            assert_eq!(result.is_ok(), is_its_own, "{method} {}: {result:?}", option.name);
            if let Err(error) = result {
                let expected = format!("setting {}: expected method {}", option.name, listed(option.methods));
                assert_eq!(error.to_string(), format!("{expected}, found method {method}"));
            }
        }
        let model = Arc::new(Model::untrained(&Architecture::default(), 1));
        let has_network = OPTIONS[0].methods.contains(&method);
        assert_eq!(Method::with_options(method, []).unwrap().with_model(model).is_ok(), has_network);
    }
}

#[test]
fn methods_round_trip() {
    for method in Method::NAMES {
        let options = OPTIONS.iter().filter(|option| option.methods.contains(&method) && option.name != "model");
        let all = options.map(|option| (option.name.to_string(), value(option)));
        let method = Method::with_options(method, all).unwrap();
        let text = serde_json::to_string(&method).unwrap();
        assert_eq!(serde_json::from_str::<Method>(&text).unwrap(), method, "{text}");
    }
}

#[test]
fn wrong_values_are_named() {
    let message = |method: &str, option: &str, value: Value| {
        Method::with_options(method, [(option.to_string(), value)]).unwrap_err().to_string()
    };
    assert_eq!(message("bundle", "eta0", (-1.0).into()), "setting eta0: expected a positive finite number, found -1");
    assert_eq!(message("auto", "max_cuts", 2.into()), "setting max_cuts: expected at least 3, found 2");
    let strategy = message("bundle", "strategy", "auto".into());
    assert!(strategy.contains("adaptive") && strategy.contains("auto"), "{strategy}");
    assert!(message("annealing", "eta0", 1.into()).contains("auto, hybrid, bundle, network, barrier, descent or adam"));
    assert!(message("descent", "speed", 1.into()).contains("options of descent: eta0"));
}
