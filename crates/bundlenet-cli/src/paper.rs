//! The figures of the paper: mean gaps in percent, and the best initial step lengths.

/// Lines of table, data set, name, and figures for 10, 25, 50 and 100 steps. A `method` is a row of Table 1. A network
/// has the data set that it was `trained on`, or is a `variant` of attention and sampling. These have gaps. `eta0` has
/// the best initial step length of a method.
const FIGURES: &str = include_str!("paper.csv");

/// The figure for a row of our tables. The name of a network is its training data or its variant.
pub(crate) fn gap(data_set: &str, method: &str, steps: usize) -> Option<f64> {
    let (is_network, name) = match method.strip_prefix("network ") {
        Some(name) => (true, name),
        None => (false, method.split(',').next()?),
    };
    let tables: &[&str] = if is_network { &["trained on", "variant"] } else { &["method"] };
    figure(tables, data_set, name, steps)
}

/// The best initial step length of a method on the paper's grid.
pub(crate) fn eta0(data_set: &str, method: &str, steps: usize) -> Option<f64> {
    figure(&["eta0"], data_set, method, steps)
}

fn figure(tables: &[&str], data_set: &str, name: &str, steps: usize) -> Option<f64> {
    let steps = steps.to_string();
    let column = FIGURES.lines().next()?.split(';').position(|title| title == steps)?;
    FIGURES.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(';').collect();
        let is_it = tables.contains(&fields[0]) && fields[1] == data_set && fields[2] == name;
        is_it.then(|| fields[column].parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_beside_the_rows_they_belong_to() {
        assert_eq!(gap("mc-sml-40", "network mc-sml-40", 10), Some(9.2));
        assert_eq!(gap("mc-sml-40", "network mc-sml-var", 10), Some(8.02));
        assert_eq!(gap("mc-sml-40", "network softmax, sampling none", 100), Some(0.17));
        assert_eq!(gap("mc-sml-40", "constant, grid by test", 25), Some(4.16));
        assert_eq!((gap("mc-sml-40", "network general", 10), gap("mine", "constant", 10)), (None, None));
        assert_eq!(gap("mc-sml-40", "constant", 11), None);
        assert_eq!((eta0("mc-sml-40", "hard", 10), eta0("mc-sml-40", "constant", 100)), (Some(10.0), Some(100.0)));
        assert_eq!((eta0("ga-20-400", "adam", 10), eta0("ga-20-400", "auto", 10)), (Some(100.0), None));
    }
}
