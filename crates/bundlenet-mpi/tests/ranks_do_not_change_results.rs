//! Results have the same bits for 1 to 4 ranks. A rank that fails, panics or dies is named, and ends the job soon.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest time from the death of a rank to the end of the job.
const SOON: Duration = Duration::from_secs(60);

/// The example `ranks`, which cargo builds before it runs tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/ranks")
}

fn mpirun(ranks: usize, task: &str) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]).arg(program()).arg(task);
    // Open MPI writes below the folder for temporary files, whose name must be short.
    command.env("RAYON_NUM_THREADS", "1").stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn success(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{}", text(&stderr));
    text(&stdout)
}

#[test]
fn sums_have_the_same_bits() {
    let alone = success(&mut mpirun(1, "alone"));
    assert!(alone.lines().count() > 10 && !alone.contains("failed"), "{alone}");
    for ranks in [1, 2, 3, 4] {
        let found = success(&mut mpirun(ranks, "solve"));
        for (place, (found, expected)) in found.lines().zip(alone.lines()).enumerate() {
            assert!(found == expected, "{ranks} ranks, line {place}:\n{found}\n{expected}");
        }
        assert_eq!(found.len(), alone.len());
    }
    // Several threads in each rank, and ranks on any core.
    let found = success(mpirun(2, "solve").env("RAYON_NUM_THREADS", "3"));
    assert!(found == alone, "3 threads");
    let found = success(mpirun(3, "solve").env("OMPI_MCA_hwloc_base_binding_policy", "none"));
    assert!(found == alone, "without a binding");
}

#[test]
fn jobs_have_the_same_results() {
    let one = success(&mut mpirun(1, "jobs"));
    assert!(one.lines().count() == 4, "{one}");
    for ranks in [2, 3, 4] {
        assert_eq!(success(&mut mpirun(ranks, "jobs")), one);
    }
    assert_eq!(success(mpirun(2, "jobs").env("RAYON_NUM_THREADS", "3")), one);
}

#[test]
fn a_failure_names_rank_and_component() {
    let found = success(&mut mpirun(4, "error"));
    assert!(found.starts_with("OracleFailed") && found.contains("rank 3, component 7: no solution"), "{found}");
    let found = success(&mut mpirun(1, "error"));
    assert!(found.contains("no solution"), "{found}");
    // A component that is dealt, or taken by another rank, fails on any rank.
    for task in ["dear-error", "fickle-error"] {
        let found = success(&mut mpirun(3, task));
        let is_named = found.contains("rank ") && found.contains(", component 7: no solution");
        assert!(found.starts_with("OracleFailed") && is_named, "{task}: {found}");
    }
}

#[test]
fn a_late_rank_gives_components_away() {
    for ranks in [2, 4] {
        let found = success(&mut mpirun(ranks, "late"));
        assert!(found.contains("took components of others: true"), "{ranks} ranks: {found}");
    }
}

#[test]
fn a_panic_ends_the_job() {
    for (task, message) in [("panic", "rank 3 panicked"), ("exit", "")] {
        let begin = Instant::now();
        let output = mpirun(4, task).output().unwrap();
        let said = text(&output.stderr);
        assert!(!output.status.success() && begin.elapsed() < SOON, "{task}: {said}");
        assert!(said.contains(message) && (said.contains("rank 3") || said.contains(",3]")), "{task}: {said}");
    }
}

#[test]
fn a_killed_rank_ends_the_job() {
    let mut job = mpirun(3, "wait").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut processes = vec![];
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(job.stdout.take().unwrap()));
    while processes.len() < 3 {
        processes.push(lines.next().unwrap().unwrap());
    }
    std::thread::sleep(Duration::from_millis(300));
    let begin = Instant::now();
    assert!(Command::new("kill").args(["-9", &processes[1]]).status().unwrap().success());
    let output = job.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(!output.status.success() && begin.elapsed() < SOON, "{said}");
    assert!(said.contains("rank") && said.contains("signal 9"), "{said}");
}
