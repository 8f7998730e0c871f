//! The figures of the paper: mean gaps in percent.

/// Lines of table, data set, name, and gaps after 10, 25, 50 and 100 steps. A `method` is a row of Table 1; a network has
/// the data set that it was `trained on`, or is a `variant` of attention and sampling.
const FIGURES: &str = include_str!("paper.csv");

/// The figure for a row of our tables. The name of a network is its training data or its variant.
pub(crate) fn gap(data_set: &str, method: &str, steps: usize) -> Option<f64> {
    let (is_network, name) = match method.strip_prefix("network ") {
        Some(name) => (true, name),
        None => (false, method.split(',').next()?),
    };
    let steps = steps.to_string();
    let column = FIGURES.lines().next()?.split(';').position(|title| title == steps)?;
    FIGURES.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(';').collect();
        let is_it = (fields[0] != "method") == is_network && fields[1] == data_set && fields[2] == name;
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
    }
}
