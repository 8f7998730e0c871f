//! Tables and ratios, as markdown; figures as JSON.

use bundlenet_testing::foreign::Half;
use serde_json::{Value, json};

use crate::measure::{FIXED, Figures, GAPS, OUTSIDE, Reached};

/// All figures of a function.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) half: Half,
    pub(crate) dim: usize,
    pub(crate) optimum: f64,
    /// Nanoseconds of an evaluation: as stated, and as measured.
    pub(crate) work: (f64, f64),
    /// The default first.
    pub(crate) figures: Vec<Figures>,
}

/// The two variants of a function: the figure that counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Calls of dear oracles.
    Dear,
    /// Seconds with cheap oracles.
    Cheap,
}

impl Variant {
    /// Calls, or milliseconds, of a method.
    fn figure(self, figures: &Figures, gap: usize) -> Option<f64> {
        match self {
            Self::Dear => figures.dear[gap].map(|reached| reached.0 as f64),
            Self::Cheap => figures.cheap[gap].map(|reached| 1e3 * reached.1),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Dear => "Dear functions: oracle calls",
            Self::Cheap => "Cheap functions: milliseconds",
        }
    }

    fn cell(self, figure: Option<f64>) -> String {
        match (self, figure) {
            (_, None) => "-".to_string(),
            (Self::Dear, Some(calls)) => format!("{calls}"),
            (Self::Cheap, Some(time)) => format!("{time:.3}"),
        }
    }
}

/// The default beside the best fixed method of a function.
enum Comparison {
    Ratio(f64),
    /// A fixed method reaches the gap, the default does not.
    Failed,
    /// No fixed method reaches the gap.
    Skipped,
}

impl Row {
    fn compare(&self, variant: Variant, gap: usize) -> Comparison {
        let fixed = self.figures[1..].iter().filter(|figures| FIXED.contains(&figures.method.as_str()));
        let best = fixed.filter_map(|figures| variant.figure(figures, gap)).reduce(f64::min);
        match (variant.figure(&self.figures[0], gap), best) {
            (_, None) => Comparison::Skipped,
            (None, Some(_)) => Comparison::Failed,
            (Some(own), Some(best)) => Comparison::Ratio(own / best),
        }
    }

    /// All figures of the function, one line for each method.
    pub(crate) fn print(&self) {
        let (stated, measured) = self.work;
        let title = format!("{} ({} variables, optimum {:.9e}", self.name, self.dim, self.optimum);
        let mut lines = vec![format!("{title}, work {stated:.0} ns, measured {measured:.0} ns)")];
        let calls = |all: &[Reached; 3]| -> String {
            all.iter().map(|reached| format!("{:>7}", Variant::Dear.cell(reached.map(|r| r.0 as f64)))).collect()
        };
        let times = |all: &[Reached; 3]| -> String {
            all.iter().map(|reached| format!("{:>10}", Variant::Cheap.cell(reached.map(|r| 1e3 * r.1)))).collect()
        };
        for Figures { method, dear, cheap, .. } in &self.figures {
            lines.push(format!("  {method:<11}dear{}   cheap{} {} ms", calls(dear), calls(cheap), times(cheap)));
        }
        eprintln!("{}", lines.join("\n"));
    }

    pub(crate) fn to_json(&self) -> Value {
        let reached = |all: &[Reached; 3]| -> Vec<Value> { all.iter().map(|reached| json!(reached)).collect() };
        let of_method = |figures: &Figures| {
            json!({ "method": figures.method, "best": figures.best, "dear": reached(&figures.dear),
                "cheap": reached(&figures.cheap) })
        };
        let methods: Vec<Value> = self.figures.iter().map(of_method).collect();
        json!({ "name": self.name, "half": self.half.to_string(), "dim": self.dim,
            "optimum": self.optimum, "work": self.work, "methods": methods })
    }
}

/// The figures of a function in a JSON file.
pub(crate) fn figures_in(known: &Value, name: &str) -> Vec<Figures> {
    let reached = |value: &Value| -> [Reached; 3] {
        std::array::from_fn(|gap| {
            let pair = value[gap].as_array()?;
            Some((usize::try_from(pair[0].as_u64()?).ok()?, pair[1].as_f64()?))
        })
    };
    let row = known.as_array().and_then(|rows| rows.iter().find(|row| row["name"] == name));
    let methods = row.and_then(|row| row["methods"].as_array()).into_iter().flatten();
    let of_method = |value: &Value| Figures {
        method: value["method"].as_str().unwrap().to_string(),
        dear: reached(&value["dear"]),
        cheap: reached(&value["cheap"]),
        best: value["best"].as_f64(),
    };
    methods.map(of_method).filter(|figures| figures.method != "auto").collect()
}

/// A table of all functions.
pub(crate) fn print_table(rows: &[Row], variant: Variant, gap: usize) {
    let Some(first) = rows.first() else { return };
    println!("\n### {} to a gap of {:e}\n", variant.title(), GAPS[gap]);
    let methods: Vec<&str> = first.figures.iter().map(|figures| figures.method.as_str()).collect();
    println!("| function | variables | half | {} | ratio |", methods.join(" | "));
    println!("|---|---:|---|{}---:|", "---:|".repeat(methods.len()));
    for row in rows {
        let cells: Vec<String> = row.figures.iter().map(|figures| variant.cell(variant.figure(figures, gap))).collect();
        let ratio = match row.compare(variant, gap) {
            Comparison::Ratio(ratio) => format!("{ratio:.2}"),
            Comparison::Failed => "**not reached**".to_string(),
            Comparison::Skipped => "skipped".to_string(),
        };
        println!("| {} | {} | {} | {} | {ratio} |", row.name, row.dim, row.half, cells.join(" | "));
    }
}

/// Mean and worst ratio of the default to the best fixed method, and the functions above the bars.
pub(crate) fn print_summary(rows: &[&Row], half: Half, variant: Variant, gap: usize) {
    if rows.is_empty() {
        return;
    }
    let mut ratios: Vec<(&str, f64)> = vec![];
    let (mut failed, mut skipped): (Vec<String>, Vec<String>) = (vec![], vec![]);
    for row in rows {
        match row.compare(variant, gap) {
            Comparison::Ratio(ratio) => ratios.push((&row.name, ratio)),
            Comparison::Failed => failed.push(row.name.clone()),
            Comparison::Skipped => skipped.push(row.name.clone()),
        }
    }
    ratios.sort_by(|a, b| b.1.total_cmp(&a.1));
    let within = |low: f64, high: f64| -> Vec<String> {
        let inside = ratios.iter().filter(|(_, ratio)| (low..high).contains(ratio));
        inside.map(|(name, ratio)| format!("{name} {ratio:.2}")).collect()
    };
    let counted = |names: Vec<String>| format!("{} | {}", names.len(), names.join(", "));
    println!("\n{} to a gap of {:e}, default over the best fixed method, half {half}:\n", variant.title(), GAPS[gap]);
    println!("| | | functions |\n|---|---:|---|");
    println!("| geometric mean | {:.3} | {} |", geometric_mean(&ratios), ratios.len());
    println!(
        "| worst | {} |",
        ratios.first().map_or("- | ".to_string(), |(name, worst)| format!("{worst:.2} | {name}"))
    );
    println!("| 1.5 and more | {} |", counted(within(1.5, f64::INFINITY)));
    println!("| 1.15 to 1.5 | {} |", counted(within(1.15, 1.5)));
    println!("| the default does not reach the gap | {} |", counted(failed));
    println!("| skipped: no fixed method reaches the gap | {} |", counted(skipped));
    for name in OUTSIDE {
        let ratios = ratios_to(name, rows, variant, gap);
        println!(
            "| geometric mean over {name}, where both reach the gap | {:.3} | {} |",
            geometric_mean(&ratios),
            ratios.len()
        );
    }
}

/// Ratios of the default to a method outside the library, on the functions where both reach the gap.
fn ratios_to<'a>(name: &str, rows: &[&'a Row], variant: Variant, gap: usize) -> Vec<(&'a str, f64)> {
    let ratio = |row: &&'a Row| {
        let other = row.figures.iter().find(|figures| figures.method == name)?;
        let ratio = variant.figure(&row.figures[0], gap)? / variant.figure(other, gap)?;
        Some((row.name.as_str(), ratio))
    };
    rows.iter().filter_map(ratio).collect()
}

fn geometric_mean(ratios: &[(&str, f64)]) -> f64 {
    let sum: f64 = ratios.iter().map(|(_, ratio)| ratio.ln()).sum();
    (sum / ratios.len().max(1) as f64).exp()
}
