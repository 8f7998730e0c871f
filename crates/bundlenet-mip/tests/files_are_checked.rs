//! Readers of structures and stochastic programs: what they accept, what they refuse, and that no file breaks them.

use std::path::{Path, PathBuf};

use bundlenet::{Oracle, Sense, Settings, Solver, State};
use bundlenet_linalg::Stream;
use bundlenet_mip::{Blocks, Model, Structure, TwoStage, Watch, candidates};
use bundlenet_testing::{cases, stream};
use tempfile::TempDir;

const LP: &str = "Maximize\n obj: 3 x1 + 2 x2 + 4 y1 + y2 + 5\nSubject To\n link_1: x1 + y1 <= 1\n link_2: x2 + y2 >= 1\n \
                  cap_1: 2 x1 + 3 x2 <= 4\n cap_2: 2 y1 + 3 y2 <= 4\nBinary\n x1 x2 y1 y2\nEnd\n";
const DEC: &str =
    "\\ a comment\nPRESOLVED\n0\nNBLOCKS\n2\nBLOCK 1\ncap_1\nBLOCK 2\ncap_2\nMASTERCONSS\nlink_1\nlink_2\n";
const BLK: &str = "Presolved\n0\nNBlocks\n2\nBlock 1\n x1\n x2\nBlock 2\n y1\n y2\n";
const JDEC: &str = r#"{
  "version": 1,
  "name": "two blocks",
  "problem_name": "model.lp",
  "decomposition": {
    "presolved": false,
    "n_blocks": 2,
    "master_constraints": ["link_1", "link_2"],
    "blocks": [
      {"index": 0, "constraints": ["cap_1"], "symmetry_representative_block": 0},
      {"index": 1, "constraints": ["cap_2"],
       "symmetry_representative_block": 0}
    ],
    "symmetry_var_mapping": {"y1": "x1", "y2": "x2"}
  }
}
"#;
const CORE: &str = "NAME T\nROWS\n N obj\n L land\n G need\nCOLUMNS\n M1 'MARKER' 'INTORG'\n x obj 3 land 1\n x need 2\n \
                    M2 'MARKER' 'INTEND'\n y obj 5 need 1\nRHS\n RHS land 4 need 3\nBOUNDS\n UP BND x 4\n UP BND y 9\nENDATA\n";
const TIME: &str = "TIME T\nPERIODS IMPLICIT\n x obj ONE\n y need TWO\nENDATA\n";
const SCENARIOS: &str = "STOCH T\nSCENARIOS DISCRETE\n SC A ROOT 0.25 TWO\n RHS need 1\n SC B 'ROOT' 0.75 TWO\n RHS need 6\n \
                         x need 1\n y obj 4\nENDATA\n";
/// A random vector of two numbers.
const BLOCKS: &str = "STOCH T\nBLOCKS DISCRETE\n BL B1 TWO 0.25\n RHS need 1\n y obj 4\n BL B1 TWO 0.75\n RHS need 6\n y obj 5\nENDATA\n";
const INDEP: &str =
    "STOCH T\nINDEP DISCRETE\n RHS need 1 TWO 0.5\n RHS need 6 TWO 0.5\n y obj 4 0.25\n y obj 5 0.75\nENDATA\n";

fn model() -> Model {
    Model::parse("model", LP.as_bytes(), "lp").unwrap()
}

fn written(folder: &TempDir, name: &str, text: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn structure(name: &str, text: &str) -> Result<Structure, String> {
    let folder = tempfile::tempdir().unwrap();
    Structure::read(&model(), written(&folder, name, text.as_bytes())).map_err(|error| error.to_string())
}

fn two_stage(core: &str, time: &str, scenarios: &str) -> Result<TwoStage, String> {
    let folder = tempfile::tempdir().unwrap();
    written(&folder, "t.tim", time.as_bytes());
    written(&folder, "t.sto", scenarios.as_bytes());
    TwoStage::read(written(&folder, "t.cor", core.as_bytes())).map_err(|error| error.to_string())
}

fn value(blocks: &Blocks) -> f64 {
    let mut dual = blocks.dual(Watch::default()).unwrap();
    Solver::new(Settings::default()).unwrap().solve(&mut dual).unwrap().value
}

#[test]
fn models_are_read() {
    let model = model();
    assert_eq!((model.sense, model.offset, model.columns.len(), model.rows.len()), (Sense::Maximize, 5.0, 4, 4));
    assert_eq!(model.rows[1].name, "link_2");
    assert!(Model::parse("model", b"NAME\nROWS\n Q what\nENDATA\n", "mps").is_err());
    assert!(Model::read(Path::new("absent.mps")).unwrap_err().to_string().starts_with("absent.mps"));
    assert!(Model::read(Path::new("model.txt")).unwrap_err().to_string().contains(".mps or .lp"));
}

const MPS: &str = "NAME T\nROWS\n N obj\n L link\n L cap1\nCOLUMNS\n M1 'MARKER' 'INTORG'\n x1 obj -3 link 1\n x1 cap1 2\n \
                   x2 obj -2 cap1 3\n M2 'MARKER' 'INTEND'\nRHS\n RHS link 1 cap1 4\nBOUNDS\n UP BND x1 1\n UP BND x2 1\n\
                   ENDATA\n";

/// HiGHS reads some of these as another model, and does not return from others.
#[test]
fn models_that_are_wrong_are_refused_with_their_line() {
    assert!(Model::parse("a.mps", MPS.as_bytes(), "mps").is_ok());
    let cases = [
        ("x1 cap1 2", "x1 capp 2", "a.mps, line 9: expected the name of a row in ROWS, not \"capp\""),
        ("x1 cap1 2", "x1 cap1", "a.mps, line 9: expected rows, each with a number"),
        (
            "RHS link 1 cap1 4",
            "RHS link 1 cap1 4 obj -10",
            "a.mps, line 13: expected no more than two rows with their numbers",
        ),
        ("x1 cap1 2", "x1 cap1 two", "a.mps, line 9: expected rows and finite numbers"),
        ("x1 cap1 2", "x1 cap1 nan", "a.mps, line 9: expected rows and finite numbers"),
        (
            "x1 cap1 2",
            "x1 link 2",
            "a.mps, line 9: expected a model that HiGHS reads as .mps, found Column \"x1\" has duplicate",
        ),
        ("link 1 cap1 4", "link 1 capp 4", "a.mps, line 13: expected the name of a row"),
        ("UP BND x2", "UP BND z2", "a.mps, line 16: expected the name of a column in COLUMNS, not \"z2\""),
        ("UP BND x2", "XX BND x2", "a.mps, line 16: expected a bound of the type UP"),
        ("x2 1\n", "x2 one\n", "a.mps, line 16: expected a number as the bound"),
        ("UP BND x2", "UP BND x1", "a.mps, line 16: expected a model that HiGHS reads as .mps"),
        (" L cap1", " Q cap1", "a.mps, line 5: expected N, L, G or E"),
        (" L cap1", " L link", "a.mps, line 5: expected a name that no other row has"),
        ("\nRHS\n", "\nRSH\n", "a.mps, line 12: expected NAME"),
        ("'INTEND'", "'INTEN'", "a.mps, line 11: expected a model that HiGHS reads as .mps"),
        (
            "UP BND x1 1\n",
            "UP BND x1 1\n LO BND x1 2\n",
            "a.mps, line 16: expected bounds of column x1 with a value between them, found 2 and 1",
        ),
        ("UP BND x1 1\n", "SC BND x1 1\n", "a.mps, line 15: expected a model that HiGHS reads as .mps, found the semi"),
        ("BOUNDS\n", "SOS\n S1 s x1\nBOUNDS\n", "a.mps, line 14: expected NAME"),
        ("BOUNDS\n", "QUADOBJ\n x1 x1 2\nBOUNDS\n", "a.mps, line 14: expected NAME"),
        ("BOUNDS\n", "RANGES\n RNG capp 2\nBOUNDS\n", "a.mps, line 15: expected the name of a row in ROWS"),
        ("ENDATA\n", "", "a.mps, line 16: expected ENDATA, found the end of the file"),
    ];
    for (right, wrong, expected) in cases {
        let text = MPS.replace(right, wrong);
        let message = Model::parse("a.mps", text.as_bytes(), "mps").unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
    let bounds = "Bounds\n x1 >= 3\n x1 <= 1\n x2 <= 1\nGeneral\n x1\nBinary\n x2";
    let cases = [
        ("3 x2 <= 4", "3 x2 <= <= 4", "m.lp, line 6: expected a model that HiGHS reads as .lp"),
        ("cap_1: 2 x1", "cap_1: nan x1", "m.lp, line 6: expected names and numbers, found nan"),
        ("obj: 3 x1", "obj: 1e999 x1", "m.lp, line 2: expected a finite cost of column x1, found inf"),
        ("link_2:", "link_1:", "m.lp, line 5: expected a name that no other row has, found \"link_1\""),
        ("Binary\n x1 x2", bounds, "m.lp, line 10: expected bounds of column x1 with a value between them"),
        ("Binary\n", "Semi-continuous\n x2\nBinary\n", "m.lp, line 9: expected a model that HiGHS reads as .lp"),
        ("End\n", "SOS\n s1: S1:: x1:1 x2:2\nEnd\n", "m.lp, line 11: expected a model that HiGHS reads as .lp"),
        (LP, "", "m.lp, line 1: expected a model with columns, found the end of the file"),
        (LP, "no model at all\n", "m.lp, line 1: expected a model with columns, found the end of the file"),
    ];
    for (right, wrong, expected) in cases {
        let text = LP.replace(right, wrong);
        let message = Model::parse("m.lp", text.as_bytes(), "lp").unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

/// Free and fixed columns, exponents of Fortran, infinite bounds, names with blanks in fixed columns, maximisation.
#[test]
fn forms_of_models_are_read() {
    let same = |text: &str| Model::parse("a.mps", text.as_bytes(), "mps").unwrap();
    let model = same(MPS);
    assert_eq!(same(&MPS.replace("obj -2", "obj -2.0D0")), model);
    assert_eq!(same(&MPS.replace(" RHS link", " link")), model);
    assert_eq!(same(&MPS.replace(" UP BND x1 1\n", " UP x1 1\n")), model);
    assert_eq!(same(&MPS.replace(" UP BND x2 1\n", " UP BND x2 inf\n")).columns[1].upper, f64::INFINITY);
    let largest = same(&MPS.replace("NAME T\n", "NAME T\nOBJSENSE\n    MAX\n"));
    assert_eq!((largest.sense, &largest.rows), (Sense::Maximize, &model.rows));
    let fixed = "NAME          T\nROWS\n N  obj\n L  my row\nCOLUMNS\n    \
                 x1        obj               -3.0   my row             1.0\nRHS\n    \
                 RHS       my row             1.0\nENDATA\n";
    assert_eq!(same(fixed).rows[0].name, "my row");
    // HiGHS does not return from this one.
    let shifted = fixed.replace("-3.0   my", "-3.0 my");
    let message = Model::parse("a.mps", shifted.as_bytes(), "mps").unwrap_err().to_string();
    assert!(message.contains("line 6: expected the columns of the fixed format"), "{message}");
}

/// Sides and bounds as the format defines them: ranges of rows E have the sign of their number, the right side of the
/// objective is minus its constant.
#[test]
fn sides_and_bounds_are_read() {
    let text = "NAME T\nROWS\n N obj\n E up\n E down\n L less\n G more\n N free\nCOLUMNS\n a obj 1 up 1\n a down 1 less 1\n \
                a more 1 free 1\n b obj 1 up 1\n c obj 1\n d up 1\n e up 1\n f up 1\nRHS\n RHS obj -7 up 1\n RHS down 1 less 1\n \
                RHS more 1\nRANGES\n RNG up 3 down -3\n RNG less 2 more -2\nBOUNDS\n MI BND a\n PL BND b\n BV BND c\n \
                LI BND d -2\n UI BND d 5\n FR BND e\n FX BND f 2.5\nENDATA\n";
    let model = Model::parse("a.mps", text.as_bytes(), "mps").unwrap();
    let infinity = f64::INFINITY;
    let sides: Vec<(f64, f64)> = model.rows.iter().map(|row| (row.lower, row.upper)).collect();
    assert_eq!(sides, [(1.0, 4.0), (-2.0, 1.0), (-1.0, 1.0), (1.0, 3.0)]);
    let bounds: Vec<(f64, f64, bool)> = model.columns.iter().map(|it| (it.lower, it.upper, it.is_integer)).collect();
    let expected = [
        (-infinity, infinity, false),
        (0.0, infinity, false),
        (0.0, 1.0, true),
        (-2.0, 5.0, true),
        (-infinity, infinity, false),
        (2.5, 2.5, false),
    ];
    assert_eq!((bounds, model.offset), (expected.to_vec(), 7.0));
}

#[test]
fn a_model_that_was_cut_short_is_refused() {
    let message = Model::parse("m.lp", LP.replace("End\n", "").as_bytes(), "lp").unwrap_err().to_string();
    assert_eq!(message, "m.lp, line 9: expected End, found the end of the file");
}

#[test]
fn structures_agree() {
    let expected: Vec<usize> = vec![0, 1];
    let pattern = Structure::of_pattern(&model(), "^link").unwrap();
    // SCIP counts blocks from 0.
    let of_scip = DEC.replace("BLOCK 1", "BLOCK 0").replace("BLOCK 2", "BLOCK 1");
    for (name, text) in [("a.dec", DEC), ("a.blk", BLK), ("a.jdec", JDEC), ("a.dec", &of_scip)] {
        let found = structure(name, text).unwrap();
        assert_eq!(found.relaxed().collect::<Vec<usize>>(), expected, "{text}");
    }
    assert_eq!(pattern.relaxed().collect::<Vec<usize>>(), expected);
    // Rows that no list names belong to the master.
    let short = DEC.split("MASTERCONSS").next().unwrap();
    assert_eq!(structure("a.dec", short).unwrap().relaxed().collect::<Vec<usize>>(), expected);
    let found = candidates(&model());
    assert_eq!((found[0].pattern.as_str(), found[0].blocks, found[0].may_gain), (r"^link_\d+$", 2, true));
    // 4 and 2 of the two blocks, which have no gap, and the constant.
    let blocks = Blocks::new(model(), found[0].structure()).unwrap();
    assert!((value(&blocks) - 11.0).abs() <= 1e-5, "{}", value(&blocks));
}

#[test]
fn structures_that_do_not_fit_are_refused() {
    let cases = [
        (DEC.replace("cap_2", "cap_9"), "line 9: expected the name of a row of the model, found \"cap_9\""),
        (DEC.replace("NBLOCKS\n2", "NBLOCKS\n3"), "as many blocks as NBLOCKS states"),
        (DEC.replace("BLOCK 2", "BLOCK 7"), "expected block 2, found block 7"),
        (DEC.replace("link_1\n", "cap_1\n"), "\"cap_1\" in two"),
        (
            DEC.replace("BLOCK 2\n", "BLOCK 2\nlink_1\n").replace("CONSS\nlink_1", "CONSS"),
            "a.dec, line 9: expected rows of one block for column x1",
        ),
        ("cap_1\n".to_string(), "a heading"),
        (String::new(), "a.dec, line 1: expected blocks or MASTERCONSS, found the end of the file"),
    ];
    for (text, expected) in cases {
        let message = structure("a.dec", &text).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    assert!(
        structure("a.dec", &DEC.replace("BLOCK 1", "BLOCK 2")).unwrap_err().contains("expected block 1, found block 2")
    );
    assert!(structure("a.blk", &BLK.replace("y1", "q")).unwrap_err().contains("column of the model"));
    assert!(structure("a.txt", DEC).unwrap_err().contains("a structure .dec, .jdec or .blk"));
    assert!(Structure::of_pattern(&model(), "^nothing").unwrap_err().to_string().contains("none that matches"));
    assert!(Structure::of_pattern(&model(), "(").unwrap_err().to_string().contains("regular expression"));
}

#[test]
fn structures_in_json_that_do_not_fit_are_refused() {
    let cases = [
        (
            JDEC.replace("[\"cap_2\"]", "[\"cap_9\"]"),
            "a.jdec, line 11: expected the name of a row of the model, found \"cap_9\"",
        ),
        (JDEC.replace("\"cap_1\"", "7"), "a.jdec, line 10: expected the name of a row, found 7"),
        (JDEC.replace("\"cap_2\"", "\"link_2\""), "line 11: expected each row in one list, found \"link_2\" in two"),
        (
            JDEC.replace(", \"link_2\"", "").replace("\"cap_1\"", "\"cap_1\", \"link_2\""),
            "line 11: expected rows of one block for column y2",
        ),
        (JDEC.replace("\"version\": 1", "\"version\": 2"), "line 2: expected version 1, found 2"),
        (JDEC.replace("\"version\": 1,", ""), "missing field `version`"),
        (JDEC.replace("\"constraints\": [\"cap_1\"], ", ""), "line 10: expected a decomposition in JSON"),
        (JDEC.replace("0},", "0}"), "line 11: expected a decomposition in JSON"),
        (String::new(), "line 1: expected a decomposition in JSON"),
    ];
    for (text, expected) in cases {
        let message = structure("a.jdec", &text).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}

/// A block with a decomposition of its own is one block, whichever of its lists names its rows.
#[test]
fn blocks_within_blocks_are_one() {
    let inner = "\"decomposition\": {\"master_constraints\": [\"link_1\"], \"blocks\": [{\"constraints\": [\"cap_1\"]}, \
                 {\"constraints\": [\"cap_2\"]}]}";
    for rows in ["", "\"cap_1\", \"cap_2\", \"link_1\""] {
        let text = format!(
            "{{\"version\": 1, \"decomposition\": {{\"master_constraints\": [], \"blocks\": [\
             {{\"constraints\": [{rows}], {inner}}}]}}}}"
        );
        assert_eq!(structure("a.jdec", &text).unwrap().relaxed().collect::<Vec<usize>>(), [1]);
    }
}

#[test]
fn stochastic_programs_are_read() {
    let program = two_stage(CORE, TIME, SCENARIOS).unwrap();
    assert_eq!((program.first_stage(), program.scenarios().len()), (&["x".to_string()][..], 2));
    let second = &program.scenarios()[1];
    assert_eq!((second.model.rows[1].lower, second.model.columns[1].cost, second.probability), (6.0, 4.0, 0.75));
    assert_eq!(second.model.rows[1].entries.iter().find(|(column, _)| *column == 0), Some(&(0, 1.0)));
    // Any x >= 1 costs 3 and saves 0.75 x 4 at most: 0.25 x 5 + 0.75 x 24 without it.
    let solved = value(program.blocks());
    assert!(solved <= 19.25 + 1e-5, "{solved}");
    let independent = two_stage(CORE, TIME, INDEP).unwrap();
    let probabilities: Vec<f64> = independent.scenarios().iter().map(|it| it.probability).collect();
    assert_eq!(probabilities, [0.125, 0.375, 0.125, 0.375]);
    let blocks = two_stage(CORE, TIME, BLOCKS).unwrap();
    let numbers = |at: usize| {
        let scenario = &blocks.scenarios()[at];
        (scenario.model.rows[1].lower, scenario.model.columns[1].cost, scenario.probability)
    };
    assert!(blocks.scenarios().len() == 2 && numbers(0) == (1.0, 4.0, 0.25) && numbers(1) == (6.0, 5.0, 0.75));
    let off = SCENARIOS.replace("0.75", "0.74999");
    assert!(two_stage(CORE, TIME, &off).unwrap().warning().is_some_and(|text| text.contains("0.99999")));
}

#[test]
fn the_two_sides_of_a_program_meet() {
    let program = two_stage(CORE, TIME, SCENARIOS).unwrap();
    let mut dual = program.blocks().dual(Watch::default()).unwrap();
    let settings = Settings { primal: true, ..Settings::default() };
    let mut state = State::new();
    let solution = Solver::new(settings).unwrap().state(&mut state).solve(&mut dual).unwrap();
    let of_run = (&state, solution.primal.as_ref());
    let found = program.best_first_stage(&dual, of_run, Watch::default()).unwrap().unwrap();
    // By enumeration of x: 3 x + 0.25 x 5 max(0, 1 - 2 x) + 0.75 x 4 max(0, 6 - x).
    let cost = |x: f64| 3.0 * x + 1.25 * (1.0 - 2.0 * x).max(0.0) + 3.0 * (6.0 - x).max(0.0);
    let optimum = (0..5).map(|x| cost(f64::from(x))).fold(f64::INFINITY, f64::min);
    assert!((found.value - optimum).abs() <= 1e-6 * optimum, "{found:?} {optimum}");
    assert!(solution.value <= optimum + 1e-6 && solution.value >= optimum - 1e-3, "{} {optimum}", solution.value);
}

#[test]
fn stochastic_files_that_do_not_fit_are_refused() {
    let wrong = [
        (TIME.to_string(), SCENARIOS.replace("need 6", "absent 6"), "t.sto, line 6: expected a row of the core model"),
        (
            TIME.to_string(),
            SCENARIOS.replace("0.75", "0.5"),
            "t.sto, line 5: expected one or more scenarios, with probabilities that add up to 1, found 2 with the sum 0.75",
        ),
        // Files that were cut short.
        (TIME.to_string(), SCENARIOS.replace("ENDATA\n", ""), "t.sto, line 8: expected ENDATA, found the end"),
        (TIME.to_string(), String::new(), "t.sto, line 1: expected ENDATA, found the end of the file"),
        (TIME.to_string(), "STOCH T\nENDATA\n".to_string(), "t.sto, line 2: expected one or more scenarios"),
        (TIME.replace("ENDATA\n", ""), SCENARIOS.to_string(), "t.tim, line 4: expected ENDATA, found the end"),
        (TIME.to_string(), SCENARIOS.replace("'ROOT'", "Z"), "ROOT or an earlier scenario"),
        (TIME.to_string(), SCENARIOS.replace("SCENARIOS DISCRETE", "NODES DISCRETE"), "SCENARIOS, INDEP or BLOCKS"),
        (TIME.to_string(), SCENARIOS.replace("SCENARIOS DISCRETE", "BLOCKS DISCRETE"), "a line BL before"),
        (
            TIME.to_string(),
            BLOCKS.replace(" y obj 5\n", ""),
            "t.sto, line 6: expected all values of block B1 for the same",
        ),
        (
            TIME.to_string(),
            SCENARIOS.replace(" RHS need 6\n", " UP BND x -1\n"),
            "t.sto, line 5: expected bounds of column x in scenario B with a value between them, found 0 and -1",
        ),
        (
            TIME.to_string(),
            SCENARIOS.replace("ENDATA", "INDEP DISCRETE\n y obj 4 1\nENDATA"),
            "t.sto, line 3: expected either",
        ),
        (TIME.to_string(), BLOCKS.replace("TWO 0.75", "0.75"), "BL, the name of a block"),
        (TIME.to_string(), SCENARIOS.replace("need 6", "need many"), "line 6"),
        (TIME.replace(" y need", " q need"), SCENARIOS.to_string(), "t.tim, line 4: expected a column"),
        (TIME.replace(" y need TWO\n", ""), SCENARIOS.to_string(), "t.tim, line 4: expected two periods, found 1"),
        (TIME.replace(" x obj", " y obj"), SCENARIOS.to_string(), "t.tim, line 3: expected the first column, x"),
        (TIME.replace(" y need", " x need"), SCENARIOS.to_string(), "t.tim, line 4: expected a column after the first"),
        (
            TIME.replace("ENDATA", " y need THREE\nENDATA"),
            SCENARIOS.to_string(),
            "t.tim, line 5: expected no more than two",
        ),
        (TIME.replace("IMPLICIT", "EXPLICIT"), SCENARIOS.to_string(), "IMPLICIT"),
    ];
    for (time, scenarios, expected) in wrong {
        let message = two_stage(CORE, &time, &scenarios).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    let folder = tempfile::tempdir().unwrap();
    let lonely = written(&folder, "a.cor", CORE.as_bytes());
    assert!(TwoStage::read(lonely).unwrap_err().to_string().contains("a.tim beside it"));
}

#[test]
fn folders_of_scenarios_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = |need: u32| CORE.replace("need 3", &format!("need {need}"));
    written(&folder, "S1.mps", text(1).as_bytes());
    written(&folder, "S2.mps", text(6).as_bytes());
    let message = TwoStage::read_folder(folder.path(), None).unwrap_err().to_string();
    assert!(message.contains("--first-stage"), "{message}");
    let equal = TwoStage::read_folder(folder.path(), Some("^x$")).unwrap();
    assert_eq!(equal.scenarios().iter().map(|it| it.probability).collect::<Vec<f64>>(), [0.5, 0.5]);
    for (name, probability) in [("S1", 0.25), ("S2", 0.75)] {
        let json = format!(
            "{{\"scenarioData\": {{\"name\": \"{name}\", \"scenProb\": {probability}}}, \"treeData\": {{\
             \"globalNodeCount\": 1, \"nodes\": {{\"ROOT\": {{\"serialNumber\": 0, \"condProb\": 1.0, \
             \"nonAnts\": [\"x\"]}}}}}}}}"
        );
        written(&folder, &format!("{name}_nonants.json"), json.as_bytes());
    }
    let stated = TwoStage::read_folder(folder.path(), None).unwrap();
    assert_eq!(stated.scenarios().iter().map(|it| it.probability).collect::<Vec<f64>>(), [0.25, 0.75]);
    assert_eq!(stated.first_stage(), ["x"]);
}

/// Changes some bytes, lines or words.
fn mutated(stream: &mut Stream, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    for _ in 0..1 + stream.below(3) {
        let (at, other) = (stream.below(lines.len()), stream.below(lines.len()));
        match stream.below(5) {
            0 => drop(lines.remove(at)),
            1 => lines.swap(at, other),
            2 => lines.insert(at, lines[other].clone()),
            3 => lines[at] = lines[at].split_whitespace().rev().collect::<Vec<&str>>().join(" "),
            _ => {
                let mut bytes = lines[at].clone().into_bytes();
                if !bytes.is_empty() {
                    let place = stream.below(bytes.len());
                    bytes[place] = stream.below(256) as u8;
                }
                lines[at] = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.join("\n")
}

#[test]
fn no_file_breaks_a_reader() {
    let model = model();
    let mut accepted = 0;
    for index in 0..u64::from(cases(300).cases) {
        let mut stream = stream(5000 + index);
        let dec = mutated(&mut stream, DEC);
        let blk = mutated(&mut stream, BLK);
        let jdec = mutated(&mut stream, JDEC);
        for (name, text) in [("a.dec", dec), ("a.blk", blk), ("a.jdec", jdec)] {
            // Whatever is accepted has a dual, or an error that says why not.
            let Ok(structure) = structure(name, &text) else { continue };
            accepted += 1;
            if let Ok(blocks) = Blocks::new(model.clone(), &structure) {
                let mut dual = blocks.dual(Watch::default()).unwrap();
                let dim = dual.dim();
                let _ = dual.evaluate(&vec![0.0; dim], &mut vec![0.0; dim]);
            }
        }
        let _ = Model::parse("a.mps", mutated(&mut stream, MPS).as_bytes(), "mps");
        let _ = Model::parse("a.lp", mutated(&mut stream, LP).as_bytes(), "lp");
        let (time, scenarios) = (mutated(&mut stream, TIME), mutated(&mut stream, SCENARIOS));
        let _ = two_stage(CORE, &time, SCENARIOS);
        let _ = two_stage(CORE, TIME, &scenarios);
        let _ = two_stage(CORE, TIME, &mutated(&mut stream, INDEP));
    }
    assert!(accepted > 0);
}

/// PuLP writes the sense as a comment. A section counts more than that.
#[test]
fn a_comment_may_tell_the_sense() {
    let sense = |head: &str| Model::parse("model", format!("{head}{CORE}").as_bytes(), "mps").unwrap().sense;
    assert_eq!(sense(""), Sense::Minimize);
    assert_eq!(sense("*SENSE:Minimize\n"), Sense::Minimize);
    assert_eq!(sense("*SENSE:Maximize\n"), Sense::Maximize);
    let with_section = CORE.replace("ROWS", "OBJSENSE\n    MIN\nROWS");
    let model = Model::parse("model", format!("*SENSE:Maximize\n{with_section}").as_bytes(), "mps").unwrap();
    assert_eq!(model.sense, Sense::Minimize);
    assert_eq!(model.columns[0].cost, 3.0);
}
