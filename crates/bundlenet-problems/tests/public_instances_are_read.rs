//! Every public instance, and some generated ones, can be read, has a sound dual, and survives a round trip.

use bundlenet::Function;
use bundlenet_problems::{Family, Format, Generator, Problem, ReadOptions, Source};
use bundlenet_testing::public;
use bundlenet_testing::reference::{PlainAssignmentDual, PlainFacilityLocationDual, PlainNetworkDesignDual};

/// A point without a pattern.
fn point(dim: usize) -> Vec<f64> {
    (0..dim).map(|at| ((at * 7919) % 1009) as f64 / 25.0).collect()
}

fn assert_sound(name: &str, problem: &Problem) {
    let mut dual = problem.dual();
    let mut function = Function::new(&mut *dual).unwrap();
    let point = point(function.dim());
    let mut subgradient = vec![0.0; point.len()];
    let value = function.evaluate(&point, &mut subgradient).unwrap();
    let sign = function.sense().sign();
    let (expected, format) = match problem {
        Problem::NetworkDesign(instance) => {
            (PlainNetworkDesignDual::new(instance).evaluate(&point, &mut subgradient), Format::Dat)
        }
        Problem::Assignment(instance) => {
            (PlainAssignmentDual::new(instance).evaluate(&point, &mut subgradient), Format::Text)
        }
        Problem::FacilityLocation(instance) => {
            (PlainFacilityLocationDual::new(instance).evaluate(&point, &mut subgradient), Format::Text)
        }
        Problem::UnitCommitment(instance) => (bundlenet_testing::units::plain_dual(instance, &point), Format::Json),
    };
    assert!((sign * value - expected).abs() <= 1e-11 * expected.abs().max(1.0), "{name}: {} {expected}", sign * value);
    for format in [Format::Json, format] {
        let text = problem.to_text(format).unwrap();
        let mut options = ReadOptions::default();
        match problem {
            Problem::Assignment(instance) => options.sense = Some(instance.sense()),
            Problem::UnitCommitment(instance) => options.formulation = Some(instance.formulation()),
            _ => {}
        }
        let file = format!("{name}.{}", format.extension());
        let read = Source::parse(&file, text.into_bytes(), options).unwrap().choose(None).unwrap();
        assert!(&read == problem, "{name} in {format}");
    }
}

#[test]
fn generated_instances() {
    for family in Family::ALL {
        for index in [0, 5] {
            let generated = Generator::new(family, 9).instance(index).unwrap();
            assert_sound(&generated.name, &generated.problem);
        }
    }
}

#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn text_formats() {
    let data = public::data();
    for (folder, format) in [
        ("network-design", Format::Dat),
        ("canad", Format::Dow),
        ("gap", Format::Text),
        ("facility-location", Format::Text),
    ] {
        for path in public::files(&data.join(folder)) {
            let source = Source::read(&path, None).unwrap();
            assert_eq!(source.format, format, "{}", path.display());
            let problem = source.choose(None).unwrap();
            assert_eq!(matches!(problem, Problem::FacilityLocation(_)), folder == "facility-location");
            if format == Format::Dow {
                let text = problem.to_text(Format::Dow).unwrap();
                assert_eq!(
                    Source::parse("written.dow", text.into_bytes(), None).unwrap().choose(None).unwrap(),
                    problem
                );
            }
            assert_sound(&path.display().to_string(), &problem);
        }
    }
}

#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn published_data_sets() {
    let data = public::data();
    for (name, is_network) in [
        ("MCNDsmallCom40", true),
        ("MCNDsmallComVar", true),
        ("MCNDbigCom40", true),
        ("MCNDbigComVar", true),
        ("GA", false),
        ("GA_20400", false),
    ] {
        let mut count = 0;
        // All are read; every fiftieth has its dual and its round trip checked.
        public::published(&data, name, |instance, text, _| {
            let problem = Source::parse(instance, text.into_bytes(), None).unwrap().choose(None).unwrap();
            assert_eq!(matches!(problem, Problem::NetworkDesign(_)), is_network);
            if count % 50 == 0 {
                assert_sound(instance, &problem);
            }
            count += 1;
        });
        assert!(count > 400, "{name}: only {count}");
    }
}
