//! The snippet in Julia of `docs/c.md`: its calls have the names and types of the header, and it runs where Julia is
//! installed.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use bundlenet_testing::pages::{Piece, pages, pieces};

/// Julia's types of the result and of the arguments.
type Signature = (String, Vec<String>);

/// The block of the page that is in Julia.
fn snippet() -> String {
    let page = pages().into_iter().find(|page| page.path == Path::new("docs/c.md")).expect("the page");
    let mut blocks = pieces(&page.text).into_iter().filter_map(|piece| match piece {
        Piece::Block(language, lines) if language == "julia" => Some(lines.join("\n")),
        _ => None,
    });
    blocks.next().expect("a block in Julia")
}

/// The type in Julia of a type in C. Pointers to all but numbers are those of any memory.
fn julia(c: &str) -> String {
    let plain = c.replace("const ", "");
    let name = match plain.trim() {
        "void" => "Cvoid",
        "int" | "bundlenet_code" => "Cint",
        "size_t" => "Csize_t",
        "double" => "Cdouble",
        "double *" => "Ptr{Cdouble}",
        "char *" => "Cstring",
        pointer if pointer.ends_with('*') => "Ptr{Cvoid}",
        "bundlenet_evaluate" => "Ptr{Cvoid}",
        other => panic!("a type without a rule: {other}"),
    };
    name.to_string()
}

/// The type of a parameter: all but its name.
fn parameter(text: &str) -> String {
    let text = text.trim();
    let name = text.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_').map_or(0, |at| at + 1);
    if text == "void" { text.to_string() } else { text[..name].trim().to_string() }
}

/// The wanted functions of the header, and the callback that evaluates, as Julia has them.
fn header(is_wanted: impl Fn(&str) -> bool) -> HashMap<String, Signature> {
    let text = include_str!("../include/bundlenet.h");
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut found = HashMap::new();
    for statement in code.join(" ").replace("typedef", "").split(';') {
        let Some((head, parameters)) = statement.rsplit_once('(') else { continue };
        let head = head.replace("(*", "").replace(')', "");
        let at = head.find("bundlenet_").map(|at| at + head[at..].rfind("bundlenet_").unwrap_or(0));
        let Some((result, name)) = at.map(|at| head.split_at(at)) else { continue };
        if is_wanted(name) {
            let result = result.rsplit(['}', '{', '"']).next().unwrap_or_default();
            let parameters = parameters.trim().trim_end_matches(')').split(',').map(parameter);
            let parameters = parameters.filter(|text| text != "void").map(|text| julia(&text)).collect();
            found.insert(name.to_string(), (julia(result), parameters));
        }
    }
    found
}

/// The parts of a list in brackets that begins after `text`'s first bracket.
fn list(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for letter in text[text.find('(').expect("a bracket") + 1..].chars() {
        match letter {
            ')' if depth == 0 => break,
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().expect("a part").push(letter);
        }
    }
    let parts = parts.into_iter().map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    parts.filter(|part| !part.is_empty()).collect()
}

/// Name, signature and number of given arguments of each call.
fn calls(snippet: &str) -> Vec<(String, Signature, usize)> {
    let call = |text: &str| {
        let parts = list(text);
        let name = list(&parts[0])[0].trim_start_matches(':').to_string();
        (name, (parts[1].clone(), list(&parts[2])), parts.len() - 3)
    };
    snippet.match_indices("ccall(").map(|(at, _)| call(&snippet[at..])).collect()
}

#[test]
fn calls_have_the_types_of_the_header() {
    let snippet = snippet();
    let calls = calls(&snippet);
    assert!(calls.len() >= 8, "{calls:?}");
    let header = header(|name| name == "bundlenet_evaluate" || calls.iter().any(|(call, ..)| call == name));
    for (name, signature, given) in &calls {
        assert_eq!(Some(signature), header.get(name), "{name}");
        assert_eq!(*given, signature.1.len(), "arguments of {name}");
    }
    let callback = list(&snippet[snippet.find("@cfunction").expect("a callback")..]);
    assert_eq!(Some(&(callback[1].clone(), list(&callback[2]))), header.get("bundlenet_evaluate"));
    let written = list(&snippet[snippet.find("function distance").expect("its function")..]);
    let types: Vec<&str> = written.iter().filter_map(|part| part.split("::").nth(1)).collect();
    assert_eq!(types, list(&callback[2]));
}

#[test]
fn faults_are_found() {
    let calls = calls("x = ccall((:bundlenet_state_free, lib), Cint, (Ptr{Cvoid}, Csize_t), state)");
    let signature = ("Cint".to_string(), vec!["Ptr{Cvoid}".to_string(), "Csize_t".to_string()]);
    assert_eq!(calls, [("bundlenet_state_free".to_string(), signature.clone(), 1)]);
    assert_ne!(Some(&signature), header(|name| name == "bundlenet_state_free").get("bundlenet_state_free"));
}

/// Runs the snippet. `BUNDLENET_JULIA` names another program than `julia`.
#[test]
fn the_snippet_runs_where_julia_is_installed() {
    let julia = std::env::var("BUNDLENET_JULIA").unwrap_or_else(|_| "julia".to_string());
    if Command::new(&julia).arg("--version").output().is_err() {
        eprintln!("{julia} is not installed: the snippet is not run");
        return;
    }
    // The folder of this test has the library, too.
    let program = std::env::current_exe().unwrap();
    let library = program.parent().unwrap().join("libbundlenet_c.so");
    let text = snippet().replace("target/release/libbundlenet_c.so", &library.to_string_lossy());
    let output = Command::new(&julia).args(["-e", &text]).output().unwrap();
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let value = printed.split(" at ").next().and_then(|value| value.parse::<f64>().ok());
    assert!(output.status.success() && value.is_some_and(|value| (0.0..1e-6).contains(&value)), "{printed}{errors}");
}
