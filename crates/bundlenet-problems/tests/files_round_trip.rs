//! A written instance reads back the same, in every format, plain and gzip.

use bundlenet::Sense;
use bundlenet_problems::facility_location::Site;
use bundlenet_problems::network_design::{Arc, Commodity};
use bundlenet_problems::{
    Assignment, Error, FacilityLocation, Family, Format, Generator, NetworkDesign, Problem, ReadOptions, Source,
};
use bundlenet_testing::{cases, sample};
use proptest::prelude::*;

/// Reads a text without a file name: the content tells the format.
fn parse(text: &str, sense: Option<Sense>) -> Source {
    Source::parse("test", text.as_bytes().to_vec(), sense).unwrap()
}

fn assert_round_trip(problem: &Problem, format: Format, sense: Option<Sense>) {
    let text = problem.to_text(format).unwrap();
    let file = format!("test.{}", format.extension());
    let source = Source::parse(&file, text.clone().into_bytes(), sense).unwrap();
    assert_eq!(source.format, format);
    assert!(!source.is_gzip);
    assert_eq!(&source.choose(None).unwrap(), problem, "{text}");
}

/// The name of a file chooses its format and whether it is compressed.
#[test]
fn names_choose_formats() {
    let problem = Generator::new(Family::Uc, 1).with_size(3, 4).unwrap().instance(0).unwrap().problem;
    let plain = problem.to_bytes("a.json").unwrap();
    assert_eq!(plain, problem.to_text(Format::Json).unwrap().into_bytes());
    for name in ["a.json.gz", "a.JSON.GZ"] {
        let bytes = problem.to_bytes(name).unwrap();
        assert_eq!(bytes, problem.to_bytes("b.json.gz").unwrap());
        let source = Source::parse(name, bytes, None).unwrap();
        assert!(source.is_gzip && source.format == Format::Json);
        assert_eq!(source.choose(None).unwrap(), problem);
    }
    for name in ["a.gz", "a.xml.gz", "a"] {
        let message = problem.to_bytes(name).unwrap_err().to_string();
        assert!(message.contains(name) && message.contains("expected json, dat, dow or txt"), "{message}");
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn network_design(instance in sample::network()) {
        let problem = Problem::NetworkDesign(instance);
        assert_round_trip(&problem, Format::Json, None);
        assert_round_trip(&problem, Format::Dat, None);
    }

    #[test]
    fn generalised_assignment(instance in sample::assignment()) {
        let sense = instance.sense();
        let problem = Problem::Assignment(instance);
        // JSON states its sense; plain text does not.
        assert_round_trip(&problem, Format::Json, None);
        assert_round_trip(&problem, Format::Text, Some(sense));
    }

    #[test]
    fn facility_location(instance in sample::location()) {
        let problem = Problem::FacilityLocation(instance);
        assert_round_trip(&problem, Format::Json, None);
        assert_round_trip(&problem, Format::Text, None);
    }

    #[test]
    fn network_design_with_common_costs(instance in sample::network()) {
        let costs: Vec<f64> = (0..instance.arcs().len()).map(|arc| instance.routing_costs(arc)[0]).collect();
        let common = NetworkDesign::with_common_costs(
            instance.nodes(), instance.arcs().to_vec(), instance.commodities().to_vec(), &costs,
        ).unwrap();
        assert_round_trip(&Problem::NetworkDesign(common), Format::Dow, None);
    }
}

#[test]
fn numbers_keep_every_bit() {
    let mut arcs = vec![];
    for fixed_cost in [0.1 + 0.2, 1e-308, 1.797e308, -0.0, 5e-324, 123_456_789.123_456_78] {
        arcs.push(Arc { tail: 0, head: 1, fixed_cost, capacity: 1.0 / 3.0 });
    }
    let commodities = vec![Commodity { origin: 0, destination: 1, demand: 0.0 }];
    let instance = NetworkDesign::new(2, arcs, commodities, vec![2.0 / 7.0; 6]).unwrap();
    let problem = Problem::NetworkDesign(instance.clone());
    for format in [Format::Json, Format::Dat, Format::Dow] {
        assert_round_trip(&problem, format, None);
        let Problem::NetworkDesign(read) = parse(&problem.to_text(format).unwrap(), None).choose(None).unwrap() else {
            panic!("another problem")
        };
        let bits = |instance: &NetworkDesign| -> Vec<u64> {
            instance.arcs().iter().map(|arc| arc.fixed_cost.to_bits()).collect()
        };
        assert_eq!(bits(&read), bits(&instance), "{format}");
    }
}

#[test]
fn samples_of_all_formats_agree() {
    let dat = parse(sample::DAT, None).choose(None).unwrap();
    let json = parse(sample::NETWORK_JSON, None).choose(None).unwrap();
    assert_eq!(dat, json);
    let Problem::NetworkDesign(dow) = parse(sample::DOW, None).choose(None).unwrap() else { panic!("another problem") };
    assert_eq!(dow.arcs()[0].fixed_cost, 10.0);
    assert_eq!((dow.routing_costs(0), dow.routing_costs(1)), (&[3.0, 3.0][..], &[1.0, 1.0][..]));
    assert_eq!(dow.commodities()[1].demand, 1.0);
    let text = parse(sample::ASSIGNMENT_TEXT, Some(Sense::Maximize)).choose(None).unwrap();
    assert_eq!(text, parse(sample::ASSIGNMENT_JSON, None).choose(None).unwrap());
    let text = parse(sample::LOCATION_TEXT, None).choose(None).unwrap();
    assert_eq!(text, parse(sample::LOCATION_JSON, None).choose(None).unwrap());
    let Problem::FacilityLocation(location) = text else { panic!("another problem") };
    assert_eq!(location.sites()[1], Site { capacity: f64::INFINITY, fixed_cost: 20.0 });
    assert_eq!((location.costs(1), location.demands()), (&[2.0, 4.0, 6.0][..], &[4.0, 0.0, 2.0][..]));
}

/// Two bins and two items, or two sites and two customers, have the same number of numbers.
#[test]
fn the_lines_tell_two_families_of_text_apart() {
    let sites = vec![Site { capacity: 3.0, fixed_cost: 4.0 }; 2];
    let location = FacilityLocation::new(sites, vec![1.0, 2.0], vec![5.0, 6.0, 7.0, 8.0]).unwrap();
    assert_round_trip(&Problem::FacilityLocation(location), Format::Text, None);
    let assignment = Assignment::new(Sense::Minimize, 2, vec![3, 4], vec![5.0; 4], vec![1; 4]).unwrap();
    let assignment = Problem::Assignment(assignment);
    assert_round_trip(&assignment, Format::Text, None);
    let text = assignment.to_text(Format::Text).unwrap().replace('\n', " ");
    assert_eq!(parse(&text, None).choose(None).unwrap(), assignment);
}

#[test]
fn a_capacity_that_is_left_open_is_an_option() {
    let text = sample::LOCATION_TEXT.replacen("5 10", "capacity 10", 1);
    let options = ReadOptions { capacity: Some(5.0), ..ReadOptions::default() };
    let source = Source::parse("open.txt", text.into_bytes(), options).unwrap();
    assert_eq!(source.choose(None).unwrap(), parse(sample::LOCATION_TEXT, None).choose(None).unwrap());
}

#[test]
fn the_sense_of_a_text_is_min_unless_told() {
    let sense = |text: &str, told| match parse(text, told).choose(None).unwrap() {
        Problem::Assignment(instance) => instance.sense(),
        _ => panic!("another problem"),
    };
    assert_eq!(sense(sample::ASSIGNMENT_TEXT, None), Sense::Minimize);
    assert_eq!(sense(sample::ASSIGNMENT_TEXT, Some(Sense::Maximize)), Sense::Maximize);
    assert_eq!(sense(sample::ASSIGNMENT_JSON, None), Sense::Maximize);
    assert_eq!(sense(sample::ASSIGNMENT_JSON, Some(Sense::Minimize)), Sense::Minimize);
    // A file that states its sense is not overruled.
    let stated = sample::ASSIGNMENT_JSON.replace("\"I\"", "\"sense\": \"min\", \"I\"");
    assert_eq!(sense(&stated, Some(Sense::Maximize)), Sense::Minimize);
}

#[test]
fn a_file_of_several_problems_needs_a_choice() {
    let text = format!("2\n{}1 1\n7\n1\n2\n", sample::ASSIGNMENT_TEXT);
    let source = parse(&text, None);
    assert_eq!(source.problems.len(), 2);
    let Err(error) = source.clone().choose(None) else { panic!("no choice was made") };
    assert!(matches!(error, Error::ProblemNumber { found: 2, chosen: None, .. }), "{error}");
    assert!(source.clone().choose(Some(3)).is_err() && source.clone().choose(Some(0)).is_err());
    let second = Assignment::new(Sense::Minimize, 1, vec![2], vec![7.0], vec![1]).unwrap();
    assert_eq!(source.choose(Some(2)).unwrap(), Problem::Assignment(second));
    // A single problem behind a count needs no choice.
    parse(&format!("1\n{}", sample::ASSIGNMENT_TEXT), None).choose(None).unwrap();
}

#[test]
fn line_breaks_do_not_matter() {
    for text in [sample::DAT, sample::ASSIGNMENT_TEXT, sample::LOCATION_TEXT] {
        let expected = parse(text, None).choose(None).unwrap();
        assert_eq!(parse(&text.replace('\n', "\r\n"), None).choose(None).unwrap(), expected);
        assert_eq!(parse(&text.replace('\n', " "), None).choose(None).unwrap(), expected);
        assert_eq!(parse(&text.replace(' ', "\t\t"), None).choose(None).unwrap(), expected);
        assert_eq!(parse(&format!("\u{feff}\n\n{text}\n\n"), None).choose(None).unwrap(), expected);
    }
}

#[test]
fn gzip_is_told_by_content() {
    for text in [
        sample::DAT,
        sample::DOW,
        sample::NETWORK_JSON,
        sample::ASSIGNMENT_TEXT,
        sample::ASSIGNMENT_JSON,
        sample::LOCATION_TEXT,
        sample::LOCATION_JSON,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance.without-extension");
        std::fs::write(&path, sample::gzip(text)).unwrap();
        let source = Source::read(&path, None).unwrap();
        assert!(source.is_gzip);
        assert_eq!(source.problems, parse(text, None).problems);
        Problem::read(&path, ReadOptions::default()).unwrap();
    }
}

/// By chance, the text has as many numbers as four assignment problems with its sizes.
#[test]
fn the_extension_decides_where_the_content_is_ambiguous() {
    let text = "4 2 3\n2 1 10 5 3\n1 3 5\n2 4 5\n3 4 5\n1 2 20 9 3\n2 1 3\n1 2 9\n3 2 9\n\
        1 1 -1\n1 4 1\n2 1 -2\n2 3 2\n3 1 -1\n3 2 1\n";
    let guessed = Source::parse("tiny", text.into(), None).unwrap_err().to_string();
    assert!(guessed.contains("capacity of bin 2"), "{guessed}");
    for (file, bytes) in [("tiny.dat", text.as_bytes().to_vec()), ("tiny.dat.gz", sample::gzip(text))] {
        let source = Source::parse(file, bytes, None).unwrap();
        assert_eq!(source.format, Format::Dat);
        assert_round_trip(&source.choose(None).unwrap(), Format::Dat, None);
    }
}

#[test]
fn formats_refuse_what_they_cannot_hold() {
    let network = parse(sample::DAT, None).choose(None).unwrap();
    let error = network.to_text(Format::Dow).unwrap_err().to_string();
    assert!(error.contains(".dow") && error.contains("3 for commodity 0 and 4 for commodity 1"), "{error}");
    assert!(network.to_text(Format::Text).is_err());
    let assignment = parse(sample::ASSIGNMENT_TEXT, None).choose(None).unwrap();
    assert!(assignment.to_text(Format::Dat).is_err() && assignment.to_text(Format::Dow).is_err());
    let location = parse(sample::LOCATION_TEXT, None).choose(None).unwrap();
    assert!(location.to_text(Format::Dat).is_err() && location.to_text(Format::Dow).is_err());
}
