//! The examples in C and C++ are compiled and run, with warnings as errors, and under valgrind where it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use bundlenet::{Sense, Settings, Solver};
use bundlenet_problems::{Assignment, AssignmentDual};
use bundlenet_testing::pages::{command_lines, pages};
use bundlenet_testing::sources::workspace;

/// The folder of this test has the libraries, too.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// The output of a command that has to succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_string();
    assert!(output.status.success(), "{command:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The optimum of the Lagrangian dual of the instance of `assignment.c`.
fn bound() -> f64 {
    let pairs = || (0..4_u32).flat_map(|bin| (0..16_u32).map(move |item| (bin, item)));
    let weight = |(bin, item): (u32, u32)| 8 + (37 * item + 11 * bin * item + 3 * bin) % 21;
    let profit = |pair: (u32, u32)| f64::from(2 * weight(pair) + (53 * pair.1 + 17 * pair.0) % 9);
    let (profits, weights) = (pairs().map(profit).collect(), pairs().map(weight).collect());
    let instance = Assignment::new(Sense::Maximize, 16, vec![43, 38, 51, 46], profits, weights).unwrap();
    Solver::new(Settings::exact()).unwrap().solve(&mut AssignmentDual::new(&instance)).unwrap().value
}

/// Compiles an example.
fn compile(compiler: &str, options: &[&str], source: &str, program: &Path) {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-I"]).arg(crate_folder.join("include"));
    command.args(options).arg(crate_folder.join("examples").join(source)).arg("-o").arg(program);
    command.arg("-L").arg(libraries()).args(["-lbundlenet_c", "-lm", "-lpthread", "-ldl"]);
    output(&mut command);
}

fn run(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries());
    command
}

/// Runs a program under valgrind, if it is installed: no invalid access, no memory that is lost.
fn check_memory(program: &Path) {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("valgrind is not installed: memory is not checked");
        return;
    }
    let mut command = Command::new("valgrind");
    command.env("LD_LIBRARY_PATH", libraries());
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"]);
    // An optimised program may load the number of an `Option` before it looks whether there is one.
    output(command.arg("--undef-value-errors=no").arg(program));
}

#[test]
fn the_example_in_c_runs() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("assignment");
    compile("cc", &["-std=c11"], "assignment.c", &program);
    let text = output(&mut run(&program));
    assert!(text.starts_with(&format!("root: bound {:.6}, ", bound())), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("cuts reused")).count(), 4);
    check_memory(&program);
}

#[test]
fn the_example_in_cpp_runs() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("threads");
    compile("c++", &["-std=c++17"], "threads.cpp", &program);
    let text = output(&mut run(&program));
    let expected = "100 problems on 4 threads are solved\nthe callback threw: no value here\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("setting tolerance: expected a nonnegative finite number, found -1\n"), "{text}");
    check_memory(&program);
}

/// The first program of `docs/c.md` does what its comment says.
#[test]
fn the_program_of_the_page_runs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/c.md");
    let page = std::fs::read_to_string(page).unwrap();
    let code = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("first.c"), folder.path().join("first"));
    std::fs::write(&source, code).unwrap();
    // An absolute path stands for itself.
    compile("cc", &["-std=c11"], source.to_str().unwrap(), &program);
    let text = output(&mut run(&program));
    assert_eq!(text, "0.0000 at (3.0000, -1.0000)\n");
}

/// The static library suffices, too.
#[test]
fn the_static_library_links() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("assignment");
    let archive = libraries().join("libbundlenet_c.a");
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("cc");
    command.arg("-I").arg(crate_folder.join("include")).arg(crate_folder.join("examples/assignment.c"));
    output(command.arg("-o").arg(&program).arg(archive).args(["-lm", "-lpthread", "-ldl"]));
    assert!(output(&mut Command::new(&program)).starts_with("root: bound"));
}

/// The commands of the page, with the libraries of this test. The programs are written to another folder.
#[test]
fn the_commands_of_the_page_run() {
    let folder = tempfile::tempdir().unwrap();
    let page = pages().into_iter().find(|page| page.path == Path::new("docs/c.md")).expect("the page");
    let is_of_a_compiler = |word: &str| ["cc", "c++", "./assignment", "./threads"].contains(&word);
    let mut count = 0;
    for line in command_lines(&page) {
        let variables = line.words.iter().take_while(|word| word.contains('=')).count();
        if !is_of_a_compiler(&line.words[variables]) {
            continue;
        }
        let place = |word: &String| match word.as_str() {
            "assignment" | "threads" | "./assignment" | "./threads" => {
                folder.path().join(word.trim_start_matches("./")).to_string_lossy().into_owned()
            }
            other => other.replace("target/release", &libraries().to_string_lossy()),
        };
        let words: Vec<String> = line.words.iter().map(place).collect();
        let mut command = Command::new(&words[variables]);
        for (name, value) in words[..variables].iter().filter_map(|word| word.split_once('=')) {
            command.env(name, value);
        }
        output(command.args(&words[variables + 1..]).current_dir(workspace()));
        count += 1;
    }
    assert_eq!(count, 4);
}
