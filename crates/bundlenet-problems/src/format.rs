//! File formats. The extension of a file's name tells its format; without a known extension, the content does.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::Error;

/// A file format for instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// JSON: the layout of the published data sets, and a similar one for facility location.
    Json,
    /// Network design, routing costs per commodity (`.dat`).
    Dat,
    /// Network design, routing costs alike for all commodities (`.dow`).
    Dow,
    /// Plain text (`.txt`, `.gap`): generalised assignment, with or without a leading problem count, or facility
    /// location. The sizes tell which.
    Text,
}

impl Format {
    /// The usual file name extension.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Dat => "dat",
            Self::Dow => "dow",
            Self::Text => "txt",
        }
    }

    /// The format that belongs to the extension of a file's name, in any case and also before `.gz`. `None` if the
    /// extension is unknown or missing.
    pub(crate) fn of_name(file: &str) -> Option<Self> {
        Self::extension_of(file)?.parse().ok()
    }

    /// The extension of a file's name in small letters, the one before `.gz` if there is one.
    fn extension_of(file: &str) -> Option<String> {
        let extension = |path: &Path| path.extension().and_then(|end| end.to_str()).map(str::to_ascii_lowercase);
        let path = Path::new(file);
        match extension(path) {
            Some(end) if end == "gz" => extension(Path::new(path.file_stem()?)),
            end => end,
        }
    }

    /// The format in which a file of this name is written.
    ///
    /// # Errors
    /// If no format has its extension.
    pub fn of_output(path: &Path) -> Result<Self, Error> {
        let extension = Self::extension_of(&path.to_string_lossy()).unwrap_or_default();
        extension.parse().map_err(|reason| Error::Extension { path: path.to_path_buf(), reason })
    }

    /// The format of a text, guessed from its content.
    ///
    /// JSON begins with a brace, `.dow` with a title that is not a number. The other two formats differ in their first
    /// line. In `.dat` it has three numbers: nodes, arcs and commodities. In plain text it has one (the number of
    /// problems) or two (bins and items, or sites and customers). In a file with other line breaks, the number of
    /// numbers decides.
    pub(crate) fn detect(text: &str) -> Self {
        let content = text.trim_start();
        if content.starts_with('{') {
            return Self::Json;
        }
        let first_line = content.lines().next().unwrap_or("");
        let is_number = |token: &str| token.parse::<f64>().is_ok();
        if !content.is_empty() && !first_line.split_ascii_whitespace().all(is_number) {
            return Self::Dow;
        }
        match (first_line.split_ascii_whitespace().count(), TextLayout::detect(text)) {
            (1 | 2, _) | (3, Some(TextLayout::Counted)) => Self::Text,
            (3, _) | (_, None) => Self::Dat,
            (_, Some(_)) => Self::Text,
        }
    }
}

/// The three layouts of plain texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextLayout {
    /// One assignment problem: bins, items, profits, weights, capacities.
    Single,
    /// A problem count, then that many assignment problems.
    Counted,
    /// Facility location: sites, customers, capacities and fixed costs, demands and costs.
    Location,
}

impl TextLayout {
    /// The layout of a text, if its lines or its number of numbers show it.
    ///
    /// One assignment problem and facility location have the same number of numbers only with two of each. A text that
    /// is cut off may have the number of numbers of the other one. So the lines of sites are facility location,
    /// whatever the number, and a row of items on the second line is not. Without either, the number decides.
    pub(crate) fn detect(text: &str) -> Option<Self> {
        let lines = SiteLines::of(text);
        if lines == SiteLines::Certain {
            return Some(Self::Location);
        }
        let all = Self::candidates(text).iter().copied().chain([Self::Location]);
        all.filter(|layout| *layout != Self::Location || lines != SiteLines::Ruled).find(|layout| layout.fits(text))
    }

    /// The likely layout of a text that adds up to none.
    pub(crate) fn guess(text: &str) -> Self {
        match SiteLines::of(text) {
            SiteLines::Certain | SiteLines::Likely => Self::Location,
            SiteLines::Unknown | SiteLines::Ruled => Self::candidates(text)[0],
        }
    }

    /// The layouts of assignment that the first lines allow, the likely one first: sizes may add up to the other by
    /// chance.
    fn candidates(text: &str) -> &'static [Self] {
        let mut lines = lengths(text);
        match (lines.next(), lines.next()) {
            (Some(1), Some(1)) | (None, _) => &[Self::Counted, Self::Single],
            (Some(1), _) => &[Self::Counted],
            (Some(2), _) => &[Self::Single],
            _ => &[Self::Single, Self::Counted],
        }
    }

    /// Whether the sizes add up to the number of tokens in the text.
    fn fits(self, text: &str) -> bool {
        let mut tokens = text.split_ascii_whitespace();
        let mut left = tokens.clone().count();
        let count = match self {
            Self::Single | Self::Location => 1,
            Self::Counted => {
                let Some(count) = tokens.next().and_then(|token| token.parse::<usize>().ok()) else { return false };
                left -= 1;
                count
            }
        };
        // Every problem takes at least the two tokens of its sizes, so a lying count ends here.
        if count == 0 || count > left / 2 {
            return false;
        }
        for _ in 0..count {
            let mut size = || tokens.next().and_then(|token| token.parse::<usize>().ok());
            let (Some(rows), Some(columns)) = (size(), size()) else { return false };
            let (Some(body), Some(room)) = (self.body(rows, columns), left.checked_sub(2)) else { return false };
            let Some(rest) = room.checked_sub(body) else { return false };
            left = rest;
            if body > 0 && tokens.nth(body - 1).is_none() {
                return false;
            }
        }
        left == 0
    }

    /// Number of numbers after the sizes of a problem.
    fn body(self, rows: usize, columns: usize) -> Option<usize> {
        let cells = rows.checked_mul(columns)?;
        match self {
            Self::Single | Self::Counted => cells.checked_mul(2)?.checked_add(rows),
            Self::Location => cells.checked_add(rows.checked_mul(2)?)?.checked_add(columns),
        }
    }
}

/// How far the lines of a text look like those of facility location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SiteLines {
    /// Two numbers for each site, then the demand of a customer alone.
    Certain,
    /// Two numbers on the first lines, and they are not two items.
    Likely,
    Unknown,
    /// The second line is a row of items.
    Ruled,
}

impl SiteLines {
    fn of(text: &str) -> Self {
        let mut tokens = text.split_ascii_whitespace().map(|token| token.parse::<usize>().ok());
        let (Some(rows), Some(columns)) = (tokens.next().flatten(), tokens.next().flatten()) else {
            return Self::Unknown;
        };
        let mut lines = lengths(text).skip(1).take(rows.saturating_add(1));
        let first: Vec<usize> = lengths(text).take(2).collect();
        let [2, second] = first[..] else { return Self::Unknown };
        let twos = lines.by_ref().take(rows).take_while(|&count| count == 2).count();
        match (twos == rows, lines.next()) {
            (true, Some(1)) if rows > 0 => Self::Certain,
            _ if second == columns => Self::Ruled,
            // A file may end among its sites.
            (is_complete, _) if second == 2 && (is_complete || lengths(text).skip(1).all(|count| count == 2)) => {
                Self::Likely
            }
            _ => Self::Unknown,
        }
    }
}

/// Number of tokens on each line that is not empty.
fn lengths(text: &str) -> impl Iterator<Item = usize> {
    text.lines().map(|line| line.split_ascii_whitespace().count()).filter(|&count| count > 0)
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Json => "JSON",
            Self::Dat => ".dat",
            Self::Dow => ".dow",
            Self::Text => "text",
        })
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "json" => Ok(Self::Json),
            "dat" => Ok(Self::Dat),
            "dow" => Ok(Self::Dow),
            "txt" | "gap" => Ok(Self::Text),
            _ => Err(format!("expected json, dat, dow or txt, found {name:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_content() {
        assert_eq!(Format::detect(" {\"N\": 2}"), Format::Json);
        assert_eq!(Format::detect("MULTIGEN.DAT:\n 2 1 1\n"), Format::Dow);
        assert_eq!(Format::detect("2 1 1\n2 1 3 4 1\n1 5 6\n1 1 -6\n1 2 6\n"), Format::Dat);
        assert_eq!(Format::detect("1 2\n1 2\n3 4\n5\n"), Format::Text);
        assert_eq!(Format::detect("1\n1 2\n1 2\n3 4\n5\n"), Format::Text);
        assert_eq!(Format::detect("1 1 2 1 2 3 4 5"), Format::Text);
        assert_eq!(Format::detect("1 1 2\n1 2 3 4 5"), Format::Text);
        assert_eq!(Format::detect("2 1 1 2 1 3 4 1 1 5 6 1 1 -6 1 2 6"), Format::Dat);
        assert_eq!(Format::detect("1 3 9 8 7 1 6 2 5 3"), Format::Text);
    }

    #[test]
    fn layouts_are_told_by_the_number_of_numbers() {
        let location = "1 3\n9 8\n7\n1\n6\n2\n5\n3\n";
        for text in [location.to_string(), location.replace('\n', " "), location.replace('9', "capacity")] {
            assert_eq!(TextLayout::detect(&text), Some(TextLayout::Location), "{text}");
        }
        assert_eq!(TextLayout::detect("1 3\n9 8 7\n1 6 2\n5\n"), Some(TextLayout::Single));
        // Two of each: both add up.
        let both = "2 2\n1 2\n3 4\n5\n6 7\n8\n9 10\n";
        assert_eq!(TextLayout::detect(both), Some(TextLayout::Location));
        assert_eq!(TextLayout::detect(&both.replace('\n', " ")), Some(TextLayout::Single));
        assert_eq!(TextLayout::detect("2 2\n1 2\n3 4\n5 6\n7 8\n9 10\n"), Some(TextLayout::Single));
        // An assignment text without its last number, and a row that is broken elsewhere.
        assert_eq!(TextLayout::detect("2 3\n1 2 3\n4 5 6\n1 1 2\n2 1 1\n3\n"), None);
        assert_eq!(TextLayout::detect("3 2\n1 1\n2 2\n3 3\n1 1\n1 1\n1 1\n9 9\n"), None);
        assert_eq!(TextLayout::detect("1 3 9\n8 7 1 6\n2 5 3\n"), Some(TextLayout::Location));
    }

    #[test]
    fn layouts_that_do_not_add_up_are_guessed_by_their_lines() {
        assert_eq!(TextLayout::guess("2 3\n9 8\n7 6\n1\n"), TextLayout::Location);
        assert_eq!(TextLayout::guess("2 3\n9 8 7\n7 6 1\n"), TextLayout::Single);
        assert_eq!(TextLayout::guess("2 2\n9 8\n7 6\n"), TextLayout::Single);
        assert_eq!(TextLayout::guess("2\n2 2\n9 8\n7 6\n"), TextLayout::Counted);
    }

    #[test]
    fn formats_are_told_by_name() {
        for (file, format) in [
            ("a.dat", Some(Format::Dat)),
            ("folder.json/r01.1.DOW", Some(Format::Dow)),
            ("a.json.gz", Some(Format::Json)),
            ("a.txt", Some(Format::Text)),
            ("a.gap.gz", Some(Format::Text)),
            ("folder.dat/c0515_1", None),
            ("c801600.gz", None),
            ("a.instance", None),
            (".dat", None),
            ("", None),
        ] {
            assert_eq!(Format::of_name(file), format, "{file}");
        }
    }

    #[test]
    fn a_small_network_is_not_taken_for_an_assignment_of_the_same_length() {
        // 6 nodes, 7 arcs, 2 commodities have as many numbers as 6 bins and 7 items.
        let mut text = "6 7 2\n".to_string();
        for arc in 0..7 {
            text += &format!("{} {} 1 1 2\n1 1 1\n2 1 1\n", arc % 6 + 1, (arc + 1) % 6 + 1);
        }
        text += "1 1 -1\n1 2 1\n2 1 -1\n2 3 1\n";
        assert_eq!(TextLayout::detect(&text), Some(TextLayout::Single));
        assert_eq!(Format::detect(&text), Format::Dat);
    }

    #[test]
    fn sizes_that_overflow_match_no_layout() {
        let huge = usize::MAX.to_string();
        assert_eq!(TextLayout::detect(&format!("{huge} {huge} 1")), None);
        assert_eq!(TextLayout::detect(&format!("{huge} 1 1 1")), None);
        assert_eq!(TextLayout::detect(""), None);
    }
}
