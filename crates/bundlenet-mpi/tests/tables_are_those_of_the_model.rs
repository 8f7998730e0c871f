//! The tables and the picture of `docs/scale-out.md` are those of their commands.

use bundlenet_testing::pages::words;
use bundlenet_testing::sources::workspace;

#[path = "../examples/model.rs"]
#[allow(dead_code, reason = "the program is not called")]
mod model;

/// Ranks of the columns.
const COLUMNS: [usize; 6] = [2, 8, 32, 128, 512, 1024];

#[test]
fn tables_have_the_figures_of_their_commands() {
    let page = std::fs::read_to_string(workspace().join("docs/scale-out.md")).unwrap();
    let mut count = 0;
    for line in page.lines().filter(|line| line.contains("| `model ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let arguments = words(cells[2].trim_matches('`'));
        let rows = model::rows(&arguments[1..]);
        for (ranks, cell) in COLUMNS.iter().zip(&cells[3..]) {
            let (_, _, gain) = rows.iter().find(|row| row.0 == *ranks).unwrap();
            let shown = if *gain < 100.0 { format!("{gain:.1}") } else { format!("{gain:.0}") };
            assert_eq!(*cell, shown, "{line}: {ranks} ranks");
            count += 1;
        }
    }
    assert_eq!(count, 5 * COLUMNS.len());
}

#[test]
fn the_picture_is_that_of_its_command() {
    let docs = workspace().join("docs");
    let page = std::fs::read_to_string(docs.join("scale-out.md")).unwrap();
    let (_, command) = page.split_once("/model draw ").unwrap();
    let (works, file) = command.split_once('>').unwrap();
    let works = words(&works.replace("\\\n", " "));
    let file = file.lines().next().unwrap().trim();
    assert_eq!(works.len(), 6);
    assert!(file.ends_with(".svg") && page.contains(&format!("]({})", file.trim_start_matches("docs/"))));
    assert_eq!(std::fs::read_to_string(docs.with_file_name(file)).unwrap(), model::picture(&works));
}
