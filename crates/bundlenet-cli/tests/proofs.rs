//! `solve --safe --proof` and `tools/bundlenet_verify.py`: genuine proofs are accepted, tampered ones are rejected.
//!
//! A tampered proof or instance is used only if the claimed bound no longer follows. The exact bounds of the library
//! say so; the checker has no part in that.

mod program_runs;

use std::path::{Path, PathBuf};
use std::process::Command;

use bundlenet_problems::{Problem, ReadOptions, Source};
use program_runs::{failure, run, success, text};
use serde_json::{Value, json};

/// A random number below `most`.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }
}

/// Exit code and output of the checker.
fn verify(instance: &Path, proof: &Path, options: &[&str]) -> (i32, String) {
    let checker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/bundlenet_verify.py");
    let output =
        Command::new("python3").arg("-B").arg(checker).arg(instance).arg(proof).args(options).output().unwrap();
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(!printed.contains("Traceback"), "{printed}");
    (output.status.code().unwrap(), printed)
}

/// An instance and its proof, as files.
struct Case {
    instance: PathBuf,
    proof: PathBuf,
}

/// Generates instances of a family and solves each. Every other run ends early: any multipliers give a bound.
fn cases(folder: &Path, family: &str, options: &[&str], count: usize) -> Vec<Case> {
    let out = folder.join(format!("{family}{}", options.concat()));
    let number = count.to_string();
    success(&[&["generate", family, "--count", &number, "--seed=5", "--out", text(&out)], options].concat());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| !path.ends_with("manifest.json"));
    files.sort();
    let case = |(index, instance): (usize, PathBuf)| {
        let proof = instance.with_extension("proof");
        let steps = ["--steps=8", "--steps=200"][index % 2];
        success(&["solve", text(&instance), "--safe", "--proof", text(&proof), steps, "--quiet", "--threads=1"]);
        Case { instance, proof }
    };
    files.into_iter().enumerate().map(case).collect()
}

fn all_cases(folder: &Path) -> Vec<Case> {
    let mut all = cases(folder, "mc-sml-40", &["--commodities=5"], 4);
    all.extend(cases(folder, "ga-10-100", &[], 3));
    all.extend(cases(folder, "ga-yagiura-c", &["--size", "4", "30"], 3));
    all.extend(cases(folder, "ga-yagiura-e", &["--size", "5", "20"], 3));
    all
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A fraction of two integers.
fn fraction(value: &Value) -> (i128, i128) {
    let (numerator, denominator) = value.as_str().unwrap().split_once('/').unwrap_or((value.as_str().unwrap(), "1"));
    (numerator.parse().unwrap(), denominator.parse().unwrap())
}

fn shown((numerator, denominator): (i128, i128)) -> Value {
    json!(format!("{numerator}/{denominator}"))
}

fn add(value: &Value, (numerator, denominator): (i128, i128)) -> Value {
    let (own, below) = fraction(value);
    shown((own * denominator + numerator * below, below * denominator))
}

fn number(value: &Value) -> f64 {
    let (numerator, denominator) = fraction(value);
    numerator as f64 / denominator as f64
}

fn multipliers(proof: &Value) -> Vec<f64> {
    proof["multipliers"].as_array().unwrap().iter().map(number).collect()
}

/// By how much a claim is better than the exact value of the dual at the multipliers, if that can be told.
fn excess(problem: &Problem, proof: &Value) -> Option<f64> {
    let exact = problem.safe_bound(&multipliers(proof)).ok()?.value();
    let claimed = number(&proof["bound"]);
    Some(if proof["sense"] == "min" { claimed - exact } else { exact - claimed })
}

/// Ways to tamper with a proof. Each has to be rejected.
const WAYS: usize = 18;

/// Tampers with a proof or an instance. `None` if the bound still follows.
fn tamper(case: &Case, other: &Case, way: usize, random: &mut Random) -> Option<(Value, Value)> {
    if way >= 10 {
        return tamper_more(case, way, random);
    }
    let (mut instance, mut proof) = (read_json(&case.instance), read_json(&case.proof));
    // The direction in which a claim is stronger.
    let better = if proof["sense"] == "min" { 1 } else { -1 };
    let steps = [(1, 1_i128 << 60), (1, 1 << 20), (1, 3), (1, 1), (1000, 1)];
    let (numerator, denominator) = steps[random.below(steps.len())];
    let change = (better * numerator, denominator);
    let pick = |list: &Value, random: &mut Random| random.below(list.as_array().unwrap().len());
    match way {
        // A stronger claim.
        0 => proof["bound"] = add(&proof["bound"], change),
        // Another multiplier.
        1 | 2 => {
            let at = pick(&proof["multipliers"], random);
            let by = [(1, 1), (-1, 1), (40, 1), (-40, 1), (-7, 8)][random.below(5)];
            proof["multipliers"][at] = add(&proof["multipliers"][at], by);
        }
        // A lower bound on a knapsack, or a break cost that pays.
        3 if proof["knapsacks"].is_array() => {
            let at = pick(&proof["knapsacks"], random);
            proof["knapsacks"][at] = add(&proof["knapsacks"][at], (-numerator, denominator));
            proof["bound"] = add(&proof["bound"], change);
        }
        3 => {
            let at = pick(&proof["breaks"], random);
            proof["breaks"][at] = shown((numerator, denominator));
            proof["bound"] = add(&proof["bound"], change);
        }
        // A break cost far below: the arc's own bound is gone.
        4 if proof["breaks"].is_array() => {
            let at = pick(&proof["breaks"], random);
            proof["breaks"][at] = json!("-100000000");
        }
        // A negative price makes an upper bound too small.
        4 if better < 0 => {
            let at = pick(&proof["multipliers"], random);
            proof["multipliers"][at] = json!("-1000");
            proof["bound"] = add(&proof["bound"], (-1000, 1));
        }
        4 => proof["knapsacks"][0] = json!("-1"),
        // Other data.
        5 | 6 => {
            let key = if proof["knapsacks"].is_array() { "p" } else { "r" };
            let fields = if instance["instance"].is_object() { &mut instance["instance"] } else { &mut instance };
            for _ in 0..20 {
                let row = pick(&fields[key], random);
                let column = pick(&fields[key][row], random);
                let number = fields[key][row][column].as_f64().unwrap();
                fields[key][row][column] = json!(number - f64::from(better as i8) * [5.0, 50.0][way - 5]);
            }
        }
        // The proof of another instance of the same family.
        7 => proof = read_json(&other.proof),
        // Something is missing, or not what it should be.
        8 => {
            let key =
                ["format", "family", "sense", "bound", "multipliers", "breaks", "knapsacks", "ratios"][random.below(8)];
            proof.as_object_mut()?.remove(key)?;
        }
        _ => {
            let wrong = [json!("1/0"), json!("nan"), json!(1e300), json!("1e3"), json!(null), json!([]), json!("١")];
            let key = ["bound", "multipliers", "format", "family", "sense"][random.below(5)];
            proof[key] = wrong[random.below(wrong.len())].clone();
        }
    }
    // These ways may leave the bound as it was, or weaken it.
    if matches!(way, 1 | 2 | 5 | 6 | 7) && still_follows(&instance, &proof) {
        return None;
    }
    // A break cost of an arc that stays closed either way.
    if way == 4 && proof["breaks"].is_array() && !is_open(case, &proof) {
        return None;
    }
    Some((instance, proof))
}

/// Whether the bound still follows, as far as that can be told.
fn still_follows(instance: &Value, proof: &Value) -> bool {
    let parsed = Source::parse("tampered.json", instance.to_string().into(), ReadOptions::default());
    let problem = parsed.unwrap().choose(None).unwrap();
    let fits = proof["multipliers"].as_array().is_some_and(|all| all.len() == problem.dual().dim());
    fits && !excess(&problem, proof).is_some_and(|excess| excess > 1e-6)
}

/// The entries of a list that the proof has.
fn entries<'a>(proof: &'a mut Value, names: &[&str], random: &mut Random) -> &'a mut Vec<Value> {
    let names: Vec<&str> = names.iter().copied().filter(|name| proof[*name].is_array()).collect();
    proof[names[random.below(names.len())]].as_array_mut().unwrap()
}

/// Further ways to tamper.
fn tamper_more(case: &Case, way: usize, random: &mut Random) -> Option<(Value, Value)> {
    let (mut instance, mut proof) = (read_json(&case.instance), read_json(&case.proof));
    let is_design = proof["breaks"].is_array();
    let fields = if instance["instance"].is_object() { &mut instance["instance"] } else { &mut instance };
    match way {
        // Entries change places.
        10 => {
            let list = entries(&mut proof, &["multipliers"], random);
            let (one, two) = (random.below(list.len()), random.below(list.len()));
            list.swap(one, two);
        }
        // Multipliers with the other sign.
        11 => {
            let list = entries(&mut proof, &["multipliers"], random);
            for entry in list {
                let (numerator, denominator) = fraction(entry);
                *entry = shown((-numerator, denominator));
            }
        }
        // A list that is too short or too long.
        12 => {
            let list = entries(&mut proof, &["multipliers", "breaks", "knapsacks", "ratios"], random);
            if random.below(2) == 0 {
                list.pop();
            } else {
                list.push(json!("0"));
            }
        }
        // One entry is no fraction.
        13 => {
            let wrong = [
                "5/-3", "+5", " 5", "5 ", "0x10", "1_000", "1.5", "Infinity", "--1", "1/00", "", "5/3/2", "5\n", "1e9",
            ];
            let list = entries(&mut proof, &["multipliers", "breaks", "knapsacks", "ratios"], random);
            let at = random.below(list.len());
            list[at] =
                [json!(wrong[random.below(wrong.len())]), json!(true), json!(0), json!(["0"])][random.below(4)].clone();
        }
        // A problem of the other sense, or of the other family.
        14 => {
            let (key, name) = [
                ("sense", if proof["sense"] == "min" { "max" } else { "min" }),
                ("family", if is_design { "generalised assignment" } else { "network design" }),
            ][random.below(2)];
            proof[key] = json!(name);
        }
        // A subproblem is missing in the instance: an arc, or a bin.
        15 => {
            let keys: &[&str] = if is_design { &["tail", "head", "f", "c"] } else { &["p", "w", "c"] };
            keys.iter().for_each(|key| drop(fields[*key].as_array_mut().unwrap().pop()));
            if is_design {
                fields["r"].as_array_mut().unwrap().iter_mut().for_each(|row| drop(row.as_array_mut().unwrap().pop()));
            } else {
                fields["J"] = json!(fields["J"].as_u64().unwrap() - 1);
            }
        }
        // Arcs or bins hold more.
        16 => {
            let all = fields["c"].as_array_mut().unwrap();
            all.iter_mut().for_each(|capacity| *capacity = json!(capacity.as_f64().unwrap() as u64 * 3));
        }
        // The signs of a claim.
        _ => {
            let (numerator, denominator) = fraction(&proof["bound"]);
            let stronger = if proof["sense"] == "min" { 2 * numerator.abs() + 1 } else { -numerator.abs() - 1 };
            proof["bound"] = shown((stronger, denominator));
        }
    }
    if matches!(way, 10 | 11 | 16) && still_follows(&instance, &proof) {
        return None;
    }
    Some((instance, proof))
}

/// Whether the break cost -100000000 makes an arc open: its capacity times that is below minus its fixed cost.
fn is_open(case: &Case, proof: &Value) -> bool {
    let Problem::NetworkDesign(design) = Problem::read(&case.instance, ReadOptions::default()).unwrap() else {
        return false;
    };
    let breaks = proof["breaks"].as_array().unwrap();
    let at = breaks.iter().position(|slope| slope == "-100000000").unwrap();
    design.arcs()[at].fixed_cost < 1e8 * design.arcs()[at].capacity
}

/// Tampers with as many proofs, by all ways in turn. All have to be rejected.
fn reject(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let all = all_cases(folder.path());
    let (instance_file, proof_file) = (folder.path().join("tampered.json"), folder.path().join("tampered.proof"));
    let (mut random, mut rejected, mut tries) = (Random(0x2545_f491_4f6c_dd1d), [0; WAYS], 0);
    while rejected.iter().sum::<usize>() < count {
        tries += 1;
        assert!(tries < 20 * count + 200, "too few tampered proofs: {rejected:?}");
        let (way, at) = (tries % WAYS, random.below(all.len()));
        let others: Vec<usize> = (0..all.len()).filter(|&other| other != at).collect();
        let other = &all[others[random.below(others.len())]];
        let Some((instance, proof)) = tamper(&all[at], other, way, &mut random) else { continue };
        std::fs::write(&instance_file, instance.to_string()).unwrap();
        std::fs::write(&proof_file, proof.to_string()).unwrap();
        let (code, printed) = verify(&instance_file, &proof_file, &[]);
        assert!(code == 1 && printed.contains("rejected"), "way {way} of {}: {printed}", all[at].instance.display());
        rejected[way] += 1;
    }
    println!("rejected by way: {rejected:?}");
    assert!(count < 100 || rejected.iter().all(|&each| each > 0), "{rejected:?}");
}

#[test]
fn genuine_proofs_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    for Case { instance, proof } in all_cases(folder.path()) {
        let (code, printed) = verify(&instance, &proof, &[]);
        assert!(code == 0 && printed.starts_with("proved: "), "{}: {printed}", instance.display());
        // The exact value is claimed: it is the strongest bound of these multipliers.
        let problem = Problem::read(&instance, ReadOptions::default()).unwrap();
        let claimed = read_json(&proof);
        let bound = problem.safe_bound(&multipliers(&claimed)).unwrap().to_string();
        assert_eq!(claimed["bound"], bound);
        assert!(printed.contains(&bound), "{printed}");
        // Other formats of the same instance have the same proof.
        let is_design = matches!(problem, Problem::NetworkDesign(_));
        let other = instance.with_extension(if is_design { "dat" } else { "txt" });
        success(&["convert", text(&instance), text(&other)]);
        let sense = if read_json(&proof)["sense"] == "max" { "--sense=max" } else { "--sense=min" };
        assert_eq!(verify(&other, &proof, &[sense]).0, 0, "{}", other.display());
    }
}

/// The checker refuses repeated keys and numbers that no proof has, without a traceback.
#[test]
fn senseless_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let Case { instance, proof } = cases(folder.path(), "ga-10-100", &[], 1).remove(0);
    let claim = std::fs::read_to_string(&proof).unwrap();
    let twice = claim.replacen('{', r#"{"bound": "0", "#, 1);
    for (text, code) in [(twice, 1), ("[".repeat(100_000), 1), (claim.replace("multipliers", "multiplier"), 1)] {
        let path = folder.path().join("wrong.proof");
        std::fs::write(&path, text).unwrap();
        assert_eq!(verify(&instance, &path, &[]).0, code);
    }
    let data = std::fs::read_to_string(&instance).unwrap();
    let first = data.find("\"c\":").map(|at| at + 4).unwrap();
    let end = first + data[first..].find(',').unwrap();
    let replaced = |number: &str| format!("{}[{number}{}", &data[..first], &data[end..]);
    let numbers = ["NaN", "Infinity", "1e999999999", "1e-999999999", "true", "\"5\"", "null", "-1", "[1]"];
    let mut wrong: Vec<Vec<u8>> = numbers.iter().map(|number| replaced(number).into_bytes()).collect();
    wrong.push(data.replacen("\"c\":", "\"c\": [1], \"c\":", 1).into_bytes());
    wrong.push("[".repeat(100_000).into_bytes());
    wrong.push([&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[7; 40]].concat());
    for content in wrong {
        let path = folder.path().join("wrong.json");
        std::fs::write(&path, &content).unwrap();
        assert_eq!(verify(&path, &proof, &[]).0, 2, "{}", String::from_utf8_lossy(&content[..60.min(content.len())]));
    }
}

#[test]
fn tampered_proofs_are_rejected() {
    reject(60);
}

/// `cargo test -p bundlenet-cli --test proofs -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes: a run of Python for each proof"]
fn a_thousand_tampered_proofs_are_rejected() {
    reject(1000);
}

#[test]
fn proofs_are_refused_where_there_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cfl");
    success(&["generate", "cfl-20-50", "--count=1", "--seed=1", "--out", text(&out)]);
    let mut files = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    let instance = files.find(|path| !path.ends_with("manifest.json")).unwrap();
    let proof = folder.path().join("proof.json");
    let (code, message) = failure(&["solve", text(&instance), "--safe", "--proof", text(&proof)]);
    assert!(code == 2 && message.contains("--proof: expected an instance of network design"), "{message}");
    assert_eq!(run(&["solve", text(&instance), "--proof", text(&proof)]).status.code(), Some(2), "--safe is missing");
    assert!(!proof.exists());
    // A proof or an instance that is not there is no rejection.
    assert_eq!(verify(&instance, &proof, &[]).0, 2);
}
