//! The pages of the repository, and the command lines in them.

use std::path::{Path, PathBuf};

use crate::sources::workspace;

/// A page: its path from the root of the workspace, and its text.
pub struct Page {
    pub path: PathBuf,
    pub text: String,
}

/// A piece of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A line outside of blocks of code.
    Prose(String),
    /// A block of code with its language.
    Block(String, Vec<String>),
}

/// A command line in a page.
pub struct Line {
    /// Path of the page.
    pub page: PathBuf,
    /// Words as a shell has them.
    pub words: Vec<String>,
    /// The lines that a block of the language `console` shows as output; empty in other code.
    pub output: Vec<String>,
}

impl std::fmt::Display for Line {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.page.display(), self.words.join(" "))
    }
}

/// All pages at the top and in `docs`, by path.
#[must_use]
pub fn pages() -> Vec<Page> {
    let root = workspace();
    let folders = [root.clone(), root.join("docs")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    let page = |path: &Path| Page {
        path: path.strip_prefix(&root).unwrap().to_path_buf(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    files.iter().map(|path| page(path)).collect()
}

/// The pieces of a page in their order.
#[must_use]
pub fn pieces(text: &str) -> Vec<Piece> {
    let (mut pieces, mut block) = (vec![], None);
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), block.take()) {
            (Some(language), None) => block = Some((language.to_string(), vec![])),
            (Some(_), Some((language, lines))) => pieces.push(Piece::Block(language, lines)),
            (None, Some((language, mut lines))) => {
                lines.push(line.to_string());
                block = Some((language, lines));
            }
            (None, None) => pieces.push(Piece::Prose(line.to_string())),
        }
    }
    pieces
}

/// The text of a page outside of blocks of code.
#[must_use]
pub fn prose(text: &str) -> String {
    let lines = pieces(text).into_iter().map(|piece| match piece {
        Piece::Prose(line) => line + "\n",
        Piece::Block(..) => "\n".to_string(),
    });
    lines.collect()
}

/// All command lines of a page in their order: blocks of `sh` and `console`, and inline code.
#[must_use]
pub fn command_lines(page: &Page) -> Vec<Line> {
    let line = |text: &str| Line { page: page.path.clone(), words: words(text), output: vec![] };
    let inline = |prose: &mut String| -> Vec<Line> {
        std::mem::take(prose).split('`').skip(1).step_by(2).map(|code| line(&code.replace('\n', " "))).collect()
    };
    let (mut found, mut prose) = (vec![], String::new());
    for piece in pieces(&page.text) {
        match piece {
            Piece::Prose(text) => prose = prose + &text + "\n",
            Piece::Block(language, lines) => {
                found.extend(inline(&mut prose));
                let lines = lines.join("\n").replace("\\\n", " ");
                match language.as_str() {
                    "sh" => found.extend(lines.lines().map(line)),
                    "console" => {
                        for text in lines.lines() {
                            match (text.strip_prefix("$ "), found.last_mut()) {
                                (Some(command), _) => found.push(line(command)),
                                (None, Some(last)) => last.output.push(text.to_string()),
                                (None, None) => {}
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    found.extend(inline(&mut prose));
    found.retain(|line| !line.words.is_empty());
    found
}

/// The words of a line as a shell has them: quotes hold words together, and a comment ends the line.
#[must_use]
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (vec![], None::<String>, None);
    for letter in line.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if letter == '\'' || letter == '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter == '#' && word.is_none() => break,
            None if letter.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The command lines of `bundlenet` in all pages but the changelog, which has those of older versions. The words begin
/// with `bundlenet`; placeholders have values.
#[must_use]
pub fn program_lines() -> Vec<Line> {
    let pages = pages();
    let current = pages.iter().filter(|page| !page.path.ends_with("CHANGELOG.md"));
    current.flat_map(command_lines).filter_map(program_line).collect()
}

fn program_line(mut line: Line) -> Option<Line> {
    let cargo = ["cargo run --release --bin bundlenet --", "cargo run --profile quick --bin bundlenet --"].map(words);
    if let Some(cargo) = cargo.iter().find(|cargo| line.words.starts_with(cargo)) {
        line.words.splice(..cargo.len(), ["bundlenet".to_string()]);
    }
    // Variables, `time` and the launcher of ranks may come before the program.
    let first = line.words.iter().position(|word| word == "bundlenet" || word == "target/release/bundlenet")?;
    line.words[first] = "bundlenet".to_string();
    let is_before = |word: &String| {
        word.contains('=') || word.parse::<usize>().is_ok() || ["time", "mpirun", "srun", "-n"].contains(&word.as_str())
    };
    let next = line.words.get(first + 1)?;
    // `bundlenet = ...` is a line of a manifest.
    if !line.words[..first].iter().all(is_before) || next == "=" {
        return None;
    }
    let filled = |word: &String| match word.as_str() {
        "..." => None,
        "N" => Some("5".to_string()),
        word => Some(word.trim_end_matches("...").to_string()),
    };
    line.words = line.words[first..].iter().filter_map(filled).collect();
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(
            words("bundlenet bench '' --relax '^m job'  # all"),
            ["bundlenet", "bench", "", "--relax", "^m job"]
        );
    }

    #[test]
    fn lines_are_found_in_their_order() {
        let text = "`a\nb`\n```sh\nc \\\n  d\n# no\n```\n```rust\nno\n```\n`e`\n```console\n$ f\ng\n```\n";
        let lines = command_lines(&Page { path: PathBuf::new(), text: text.to_string() });
        let words: Vec<String> = lines.iter().map(|line| line.words.join(" ")).collect();
        assert_eq!(words, ["a b", "c d", "e", "f"]);
        assert_eq!(lines[3].output, ["g"]);
    }

    #[test]
    fn lines_of_the_program_begin_with_its_name() {
        let line = |text: &str| program_line(Line { page: PathBuf::new(), words: words(text), output: vec![] });
        let found = |text: &str| line(text).map(|line| line.words.join(" "));
        assert_eq!(found("time bundlenet solve FILE... --steps N").as_deref(), Some("bundlenet solve FILE --steps 5"));
        for profile in ["--release", "--profile quick"] {
            let text = format!("cargo run {profile} --bin bundlenet -- demo");
            assert_eq!(found(&text).as_deref(), Some("bundlenet demo"));
        }
        assert_eq!(found("mpirun -n 8 target/release/bundlenet demo").as_deref(), Some("bundlenet demo"));
        assert_eq!(found("srun --mpi=pmix bundlenet demo").as_deref(), Some("bundlenet demo"));
        assert_eq!(found("cargo test -p bundlenet --lib"), None);
        assert_eq!(found("bundlenet = { path = \"DIR\" }"), None);
    }
}
