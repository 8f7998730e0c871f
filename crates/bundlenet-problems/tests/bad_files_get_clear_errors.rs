//! Errors name the file and the line. They say what was expected and what was found.

use bundlenet_problems::{Error, ParseError, Source};
use bundlenet_testing::sample;

fn parse_error(text: &str) -> ParseError {
    match Source::parse("instance", text.as_bytes().to_vec(), None) {
        Err(Error::Parse(error)) => error,
        Err(error) => panic!("another error: {error}"),
        Ok(source) => panic!("parsed as {}: {text}", source.format),
    }
}

/// Replaces the first `from` by `to` and expects an error on `line` whose message has all `words`.
#[track_caller]
fn expect(text: &str, from: &str, to: &str, line: usize, words: &[&str]) {
    assert!(text.contains(from), "the sample has no {from:?}");
    let error = parse_error(&text.replacen(from, to, 1));
    let message = error.to_string();
    assert!(message.starts_with(&format!("instance: line {line}: expected ")), "{message}");
    for word in words {
        assert!(message.contains(word), "{message:?} does not say {word:?}");
    }
}

#[test]
fn dat() {
    let text = sample::DAT;
    expect(text, "2 2 2", "2 0 2", 1, &["arcs", "found 0"]);
    expect(text, "2 2 2", "2 2 0", 1, &["commodities", "found 0"]);
    expect(text, "2 2 2", "2 99999999 2", 1, &["arcs", "99999999"]);
    expect(text, "2 2 2", "2 2 99999999", 1, &["commodities", "99999999"]);
    expect(text, "2 2 2", "18446744073709551615 2 2", 1, &["nodes", "18446744073709551615"]);
    expect(text, "2 2 2", "2 -2 2", 1, &["arcs", "\"-2\""]);
    expect(text, "2 1 10", "3 1 10", 2, &["head of arc 1", "from 1 to 2", "\"3\""]);
    expect(text, "2 1 10", "2 0 10", 2, &["tail of arc 1", "\"0\""]);
    expect(text, "10 5", "ten 5", 2, &["fixed cost of arc 1", "\"ten\""]);
    expect(text, "10 5", "nan 5", 2, &["fixed cost", "finite", "\"nan\""]);
    expect(text, "10 5", "10 0", 2, &["capacity of arc 0", "positive", "found 0"]);
    expect(text, "10 5", "10 -5", 2, &["capacity", "positive", "-5"]);
    expect(text, "10 5", "10 inf", 2, &["capacity", "finite", "\"inf\""]);
    expect(text, "10 5 2", "10 5 1", 2, &["all 2 commodities", "found 1"]);
    expect(text, "2 4 1", "1 4 1", 4, &["each commodity once", "commodity 1 again"]);
    expect(text, "2 4 1", "2 4 0.5", 4, &["tighter limits are not supported", "0.5"]);
    expect(text, "2 4 1", "7 4 1", 4, &["a commodity on arc 1", "\"7\""]);
    expect(text, "1 2 2\n2 1 -1", "1 1 2\n2 1 -1", 9, &["another node than the origin"]);
    expect(text, "1 1 -2", "1 1 2", 9, &["one destination for commodity 1", "second"]);
    expect(text, "1 1 -2", "1 1 -3", 9, &["as much of commodity 1", "3", "found 2"]);
    expect(text, "2 1 -1\n2 2 1\n", "2 1 -1\n2 2\n", 11, &["amount", "end of the file"]);
    expect(text, "2 1 -1\n2 2 1\n", "", 9, &["end of the file"]);
}

/// A unit commitment file with one unit, each field on a line of its own.
const UNIT: &str = r#"{"time_periods": 2,
"demand": [50, 60],
"reserves": [1, 1],
"thermal_generators": {"a": {
"must_run": 0,
"power_output_minimum": 10,
"power_output_maximum": 100,
"ramp_up_limit": 30,
"ramp_down_limit": 30,
"ramp_startup_limit": 20,
"ramp_shutdown_limit": 20,
"time_up_minimum": 2,
"time_down_minimum": 2,
"power_output_t0": 20,
"unit_on_t0": 1,
"time_up_t0": 5,
"time_down_t0": 0,
"startup": [{"lag": 2, "cost": 5}, {"lag": 4, "cost": 9}],
"piecewise_production": [{"mw": 10, "cost": 100}, {"mw": 100, "cost": 1500}]}},
"renewable_generators": {"w": {"power_output_minimum": [0, 0],
"power_output_maximum": [5, 5]}}}"#;

#[test]
fn unit_commitment() {
    assert!(Source::parse("instance", UNIT.as_bytes().to_vec(), None).is_ok());
    expect(UNIT, r#""time_periods": 2"#, r#""time_periods": 3"#, 2, &["3 entries in \"demand\"", "found 2"]);
    expect(UNIT, r#""time_periods": 2"#, r#""time_periods": 1.5"#, 1, &["whole number", "1.5"]);
    expect(UNIT, "[50, 60]", "[50, -60]", 2, &["demand of period 1", "nonnegative", "-60"]);
    expect(UNIT, r#""reserves": [1, 1]"#, r#""reserves": [1]"#, 3, &["reserves", "one for each period", "found 1"]);
    expect(UNIT, r#""ramp_up_limit": 30,"#, "", 19, &["ramp_up_limit", "of unit \"a\"", "line 19"]);
    expect(UNIT, ",\n\"power_output_maximum\": [5, 5]", "", 20, &["of unit \"w\""]);
    expect(UNIT, "[50, 60]", "[50, NaN]", 2, &["\"NaN\"", "column"]);
    expect(UNIT, "[50, 60]", "[50, -Infinity]", 2, &["\"-Infinity\""]);
    expect(UNIT, "[50, 60]", "[50, 1e999]", 2, &["\"1e999\"", "out of range"]);
    let twice = UNIT
        .replace("\"w\": {", "\"w\": {\"power_output_minimum\": [0, 0], \"power_output_maximum\": [5, 5]}, \"v\": {");
    expect(&twice, "\"v\"", "\"w\"", 20, &["different names", "renewable_generators", "a second unit \"w\""]);
    // Numbers that leave no digits for others.
    expect(UNIT, "[50, 60]", "[50, 1e300]", 2, &["demand of period 1", "up to 1e12", "found 1e300"]);
    expect(UNIT, r#""cost": 1500"#, r#""cost": 1e300"#, 19, &["production costs", "\"a\"", "1e12", "found 1e300"]);
    expect(UNIT, r#""cost": 9"#, r#""cost": 2e12"#, 18, &["startup costs", "found 2e12"]);
    expect(
        UNIT,
        r#""ramp_up_limit": 30"#,
        r#""ramp_up_limit": -30"#,
        8,
        &["upward ramp of thermal unit 0", "\"a\"", "-30"],
    );
    expect(UNIT, "minimum\": 10,", "minimum\": 200,", 7, &["maximum output", "at least the minimum"]);
    expect(UNIT, "minimum\": 2,", "minimum\": 2.5,", 12, &["time_up_minimum", "\"a\"", "2.5"]);
    expect(UNIT, r#""unit_on_t0": 1"#, r#""unit_on_t0": 2"#, 15, &["0 or 1", "found 2"]);
    expect(UNIT, r#""unit_on_t0": 1,"#, "", 5, &["or none of them"]);
    expect(UNIT, r#""power_output_t0": 20"#, r#""power_output_t0": 5"#, 14, &["initial state", "found 5"]);
    expect(UNIT, r#""lag": 4"#, r#""lag": 2"#, 18, &["startup costs", "ascending lags", "found 2"]);
    expect(UNIT, r#""mw": 100"#, r#""mw": 90"#, 19, &["up to the maximum output", "found 90"]);
    expect(UNIT, "[5, 5]", "[5]", 20, &["renewable unit 0", "\"w\"", "one limit for each period", "found 1"]);
    expect(UNIT, "[0, 0]", "[9, 0]", 20, &["a minimum within the maximum", "found 9"]);
    // It cannot reach its output from below in time.
    let stuck = UNIT.replace("\"power_output_t0\": 20", "\"power_output_t0\": 0").replace("t0\": 1", "t0\": 0");
    let stuck = stuck.replace("\"must_run\": 0", "\"must_run\": 1").replace("_up_t0\": 5", "_up_t0\": 0");
    expect(&stuck, "time_down_t0\": 0", "time_down_t0\": 1", 5, &["some schedule", "found no schedule"]);
}

#[test]
fn dat_with_more_than_its_header_says() {
    let error = parse_error(&format!("{}1 1 1\n", sample::DAT));
    assert_eq!((error.line, error.expected.as_str()), (12, "the end of the file"));
}

#[test]
fn dow() {
    let text = sample::DOW;
    expect(text, "2 2 2", "2 x 2", 2, &["arcs", "\"x\""]);
    expect(text, "2 2 2", "2 2 1000000000000", 2, &["commodities"]);
    expect(text, "1 2 3 5 10", "1 3 3 5 10", 3, &["end of arc 1", "\"3\""]);
    expect(text, "1 2 3 5 10", "1 2 3 0 10", 3, &["capacity of arc 0", "positive"]);
    expect(text, "1 2 1 9 20", "1 2 1 -9 20", 4, &["capacity of arc 1", "-9"]);
    expect(text, "1 2 2\n", "1 1 2\n", 5, &["another node than the origin"]);
    expect(text, "1 2 2\n", "1 2 -2\n", 5, &["demand of commodity 0", "nonnegative", "-2"]);
    expect(text, "1 2 2\n1 2 1\n", "1 2 2\n1 2\n", 6, &["demand of commodity 2", "end of the file"]);
    expect(text, "1 2 2\n1 2 1\n", "1 2 2\n1 2 1\n5\n", 7, &["end of the file", "\"5\""]);
}

#[test]
fn network_json() {
    let text = sample::NETWORK_JSON;
    expect(text, "[5, 9]", "[5, 0]", 8, &["capacity of arc 1", "positive", "found 0"]);
    expect(text, "[5, 9]", "[5]", 8, &["2 entries in \"c\"", "found 1"]);
    expect(text, "[1, 1],\n  \"f\"", "[1, 2],\n  \"f\"", 6, &["head of arc 1", "exists", "found 2"]);
    expect(text, "[1, 1],\n  \"f\"", "[1, 0.5],\n  \"f\"", 6, &["whole number", "0.5"]);
    expect(text, "\"q\": [2, 1]", "\"q\": [2, -1]", 11, &["demand of commodity 1", "-1"]);
    expect(text, "\"q\": [2, 1]", "\"q\": [2, \"x\"]", 11, &["string"]);
    expect(text, "\"q\": [2, 1]", "\"x\": 1", 4, &["a field \"q\"", "none"]);
    expect(text, "[4, 2]", "[4]", 13, &["2 entries in row 1 of \"r\"", "found 1"]);
    expect(text, "\"o\": [0, 0]", "\"o\": [0, 1]", 10, &["another node than the origin"]);
    expect(text, "\"N\": 2", "\"N\": 1e18", 4, &["number of nodes", "1000000000000000000"]);
    expect(text, "\"N\": 2", "\"N\": -1", 4, &["whole number N", "-1"]);
    expect(text, "\"labels\"", "labels", 16, &["JSON"]);
    let error = parse_error(&text[..200]);
    assert!(error.found.contains("EOF"), "{error}");
    let error = parse_error("{\"instance\": {\"x\": 1}}");
    assert!(error.expected.contains("tail") && error.expected.contains("assignment"), "{error}");
}

#[test]
fn assignment_text() {
    let text = sample::ASSIGNMENT_TEXT;
    expect(text, "4 5 6", "4 x 6", 3, &["profit or cost of item 2 in bin 2", "\"x\""]);
    expect(text, "4 5 6", "4 inf 6", 3, &["finite", "\"inf\""]);
    expect(text, "2 1 1", "2 1 -1", 5, &["weight of item 3 in bin 2", "\"-1\""]);
    expect(text, "2 1 1", "2 1 1.5", 5, &["weight", "whole number", "\"1.5\""]);
    expect(text, "3 2\n", "3 0\n", 6, &["capacity of bin 1", "positive", "found 0"]);
    expect(text, "3 2\n", "3\n", 1, &["2 bins and 3 items", "13 numbers left"]);
    expect(text, "2 3", "2 4294967296000", 1, &["2 bins and 4294967296000 items"]);
    expect(text, "2 3", "2 -3", 1, &["items", "\"-3\""]);
    expect(text, "3 2\n", "3 2 9\n", 6, &["end of the file", "\"9\""]);
    expect(text, "2 3\n", "3\n2 3\n", 7, &["number of bins", "end of the file"]);
    assert!(parse_error("").found.contains("the end of the file"));
    assert!(parse_error("0 0\n").to_string().contains("at least one"));
    assert!(parse_error("0\n").to_string().contains("at least one problem"));
}

#[test]
fn assignment_json() {
    let text = sample::ASSIGNMENT_JSON;
    expect(text, "[3, 2]", "[3, 0]", 2, &["capacity of bin 1", "found 0"]);
    expect(text, "[3, 2]", "[3, 2.5]", 2, &["whole number", "2.5"]);
    expect(text, "[2, 1, 1]", "[2, 1, -1]", 5, &["whole number", "-1"]);
    expect(text, "[4, 5, 6]", "[4, 5]", 3, &["3 entries in row 1 of \"p\"", "found 2"]);
    expect(text, "\"I\": 3", "\"I\": 0", 3, &["0 entries in row 0 of \"p\""]);
    expect(text, "\"J\": 2", "\"J\": 3", 2, &["3 entries in \"c\"", "found 2"]);
    expect(text, "\"I\": 3", "\"sense\": \"up\", \"I\": 3", 1, &["up"]);
}

#[test]
fn location_text() {
    let text = sample::LOCATION_TEXT;
    expect(text, "5 10", "0 10", 2, &["capacity of site 0", "positive", "found 0"]);
    expect(text, "5 10", "-5 10", 2, &["capacity of site 0", "-5"]);
    expect(text, "5 10", "nan 10", 2, &["capacity of site 1", "\"nan\""]);
    expect(text, "5 10", "capacity 10", 2, &["capacity of site 1", "--capacity", "the word \"capacity\""]);
    expect(text, "5 10", "5 inf", 2, &["fixed cost of site 1", "\"inf\""]);
    expect(text, "\n4\n", "\n-4\n", 4, &["demand of customer 0", "nonnegative", "-4"]);
    expect(text, "\n4\n", "\nx\n", 4, &["demand of customer 1", "\"x\""]);
    expect(text, "3 4", "3 nan", 7, &["cost of serving customer 2 from site 2", "\"nan\""]);
    // Too few numbers, or too many: the lines still show the family.
    expect(text, "5 6\n", "5\n", 1, &["2 sites and 3 customers", "12 numbers left"]);
    expect(text, "5 6\n", "5 6 7\n", 9, &["end of the file", "\"7\""]);
    expect(text, "2 3\n", "2 30\n", 1, &["2 sites and 30 customers"]);
    expect(text, "2 3\n", "2 4294967296\n", 1, &["customers", "2^27"]);
}

#[test]
fn location_json() {
    let text = sample::LOCATION_JSON;
    expect(text, "[5, null]", "[5, 0]", 2, &["capacity of site 1", "positive", "found 0"]);
    expect(text, "[5, null]", "[5]", 2, &["2 entries in \"capacity\"", "found 1"]);
    expect(text, "[4, 0, 2]", "[4, 0, -2]", 4, &["demand of customer 2", "-2"]);
    expect(text, "[2, 4, 6]", "[2, 4]", 6, &["3 entries in row 1 of \"cost\"", "found 2"]);
    expect(text, "\"demand\"", "\"x\"", 1, &["a field \"demand\"", "none"]);
    expect(text, "\"sites\": 2", "\"sites\": 2.5", 1, &["whole number sites", "2.5"]);
}

#[test]
fn a_file_of_another_format_than_its_extension() {
    let texts = [
        ("dat", sample::DAT),
        ("dow", sample::DOW),
        ("json", sample::NETWORK_JSON),
        ("txt", sample::ASSIGNMENT_TEXT),
        ("gap", sample::ASSIGNMENT_TEXT),
        ("json", sample::ASSIGNMENT_JSON),
        ("txt", sample::LOCATION_TEXT),
        ("json", sample::LOCATION_JSON),
    ];
    for (own, text) in texts {
        for (extension, _) in texts {
            for (file, bytes) in [
                (format!("file.{extension}"), text.as_bytes().to_vec()),
                (format!("file.{extension}.gz"), sample::gzip(text)),
            ] {
                let is_text = |extension| ["txt", "gap"].contains(&extension);
                match Source::parse(&file, bytes, None) {
                    Ok(_) => assert!(own == extension || is_text(own) && is_text(extension), "{file} has {own}"),
                    Err(Error::Parse(error)) => {
                        assert_ne!(own, extension);
                        assert_eq!(error.file, file);
                        assert!(error.line >= 1, "{error}");
                    }
                    Err(error) => panic!("another error: {error}"),
                }
            }
        }
    }
    let message = |file: &str, text: &str| Source::parse(file, text.into(), None).unwrap_err().to_string();
    let expected = "a.dat: line 1: expected the number of nodes of a .dat file (a whole number), found \"{\"";
    assert_eq!(message("a.dat", sample::NETWORK_JSON), expected);
    assert!(message("a.json", sample::DAT).starts_with("a.json: line 1: expected JSON"));
}

#[test]
fn files_that_are_not_there_or_not_readable() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.dat");
    let error = Source::read(&missing, None).unwrap_err();
    assert!(matches!(error, Error::Read { .. }));
    assert!(error.to_string().contains("missing.dat"), "{error}");
    assert!(matches!(Source::read(folder.path(), None), Err(Error::Read { .. })));
    let truncated = folder.path().join("truncated.gz");
    std::fs::write(&truncated, [0x1f, 0x8b, 8, 0, 0, 0]).unwrap();
    let error = Source::read(&truncated, None).unwrap_err();
    assert!(matches!(error, Error::Read { .. }) && error.to_string().contains("truncated.gz"), "{error}");
}
