//! The paper's own figures, to stand beside ours: mean gaps in percent after 10, 25, 50 and 100 steps.

type Figures = [f64; 4];

/// Table 1, without the network: data set and method.
const METHODS: [(&str, &str, Figures); 36] = [
    ("mc-sml-40", "hard", [20.18, 6.68, 2.84, 1.17]),
    ("mc-sml-40", "balancing", [17.68, 6.09, 1.84, 0.41]),
    ("mc-sml-40", "soft", [17.58, 6.1, 1.82, 0.36]),
    ("mc-sml-40", "constant", [11.96, 4.16, 1.3, 0.31]),
    ("mc-sml-40", "descent", [44.66, 14.11, 4.7, 2.24]),
    ("mc-sml-40", "adam", [48.87, 12.84, 3.04, 1.89]),
    ("mc-sml-var", "hard", [18.27, 9.55, 4.08, 1.96]),
    ("mc-sml-var", "balancing", [15.83, 7.39, 2.88, 0.74]),
    ("mc-sml-var", "soft", [15.82, 6.92, 2.58, 0.67]),
    ("mc-sml-var", "constant", [12.79, 4.33, 1.66, 0.58]),
    ("mc-sml-var", "descent", [62.43, 28.64, 11.14, 4.0]),
    ("mc-sml-var", "adam", [51.48, 15.42, 4.74, 2.75]),
    ("mc-big-40", "hard", [20.66, 8.54, 5.32, 2.88]),
    ("mc-big-40", "balancing", [20.67, 7.37, 3.17, 1.24]),
    ("mc-big-40", "soft", [20.67, 7.37, 3.17, 1.19]),
    ("mc-big-40", "constant", [19.34, 5.64, 2.08, 0.78]),
    ("mc-big-40", "descent", [28.53, 14.12, 9.91, 8.21]),
    ("mc-big-40", "adam", [24.89, 9.38, 7.3, 6.9]),
    ("mc-big-var", "hard", [26.23, 9.99, 4.41, 2.23]),
    ("mc-big-var", "balancing", [21.82, 10.01, 3.46, 1.08]),
    ("mc-big-var", "soft", [21.83, 9.53, 3.43, 1.02]),
    ("mc-big-var", "constant", [17.98, 6.34, 2.66, 0.93]),
    ("mc-big-var", "descent", [54.11, 24.69, 10.58, 4.85]),
    ("mc-big-var", "adam", [44.21, 13.75, 5.42, 3.84]),
    ("ga-10-100", "hard", [0.2333, 0.028, 0.0016, 0.0006]),
    ("ga-10-100", "balancing", [0.2333, 0.028, 0.0016, 0.0006]),
    ("ga-10-100", "soft", [0.3055, 0.0156, 0.0026, 0.0024]),
    ("ga-10-100", "constant", [0.1893, 0.0157, 0.0014, 0.0011]),
    ("ga-10-100", "descent", [0.8799, 0.2091, 0.0644, 0.0364]),
    ("ga-10-100", "adam", [0.7234, 0.1843, 0.0183, 0.0048]),
    ("ga-20-400", "hard", [0.157, 0.0343, 0.0088, 0.0021]),
    ("ga-20-400", "balancing", [0.157, 0.0343, 0.0088, 0.0021]),
    ("ga-20-400", "soft", [0.3542, 0.0284, 0.0048, 0.0028]),
    ("ga-20-400", "constant", [0.1129, 0.0193, 0.0052, 0.002]),
    ("ga-20-400", "descent", [0.5815, 0.2971, 0.0753, 0.0255]),
    ("ga-20-400", "adam", [0.6598, 0.0831, 0.016, 0.009]),
];

/// Networks: the data set they are tested on, and the one they were trained on.
const CROSS: [(&str, &str, Figures); 36] = [
    ("mc-sml-40", "mc-sml-40", [9.2, 1.75, 0.53, 0.17]),
    ("mc-sml-40", "mc-sml-var", [8.02, 1.69, 0.51, 0.17]),
    ("mc-sml-40", "mc-big-40", [18.02, 4.14, 1.49, 0.47]),
    ("mc-sml-40", "mc-big-var", [10.77, 2.26, 0.7, 0.2]),
    ("mc-sml-40", "ga-10-100", [61.98, 20.79, 4.07, 0.95]),
    ("mc-sml-40", "ga-20-400", [86.33, 68.16, 14.2, 3.52]),
    ("mc-sml-var", "mc-sml-40", [19.87, 5.72, 2.32, 1.0]),
    ("mc-sml-var", "mc-sml-var", [12.6, 3.28, 1.24, 0.5]),
    ("mc-sml-var", "mc-big-40", [33.83, 14.03, 7.54, 3.9]),
    ("mc-sml-var", "mc-big-var", [16.21, 3.83, 1.39, 0.52]),
    ("mc-sml-var", "ga-10-100", [25.76, 7.6, 2.08, 0.67]),
    ("mc-sml-var", "ga-20-400", [66.15, 62.06, 38.19, 12.86]),
    ("mc-big-40", "mc-sml-40", [35.09, 5.78, 1.63, 0.62]),
    ("mc-big-40", "mc-sml-var", [56.68, 25.62, 8.88, 3.06]),
    ("mc-big-40", "mc-big-40", [12.7, 3.41, 1.26, 0.47]),
    ("mc-big-40", "mc-big-var", [37.57, 10.74, 4.89, 1.49]),
    ("mc-big-40", "ga-10-100", [95.7, 95.7, 78.63, 27.53]),
    ("mc-big-40", "ga-20-400", [100.0, 100.0, 99.53, 74.54]),
    ("mc-big-var", "mc-sml-40", [21.5, 5.48, 2.07, 0.85]),
    ("mc-big-var", "mc-sml-var", [21.03, 7.64, 2.67, 0.95]),
    ("mc-big-var", "mc-big-40", [28.39, 11.15, 5.87, 2.94]),
    ("mc-big-var", "mc-big-var", [20.1, 5.11, 2.01, 0.7]),
    ("mc-big-var", "ga-10-100", [41.66, 28.58, 20.72, 8.3]),
    ("mc-big-var", "ga-20-400", [72.89, 69.99, 53.1, 27.75]),
    ("ga-10-100", "mc-sml-40", [2.5903, 1.8558, 0.9291, 0.486]),
    ("ga-10-100", "mc-sml-var", [2.5165, 1.4663, 1.0522, 1.0512]),
    ("ga-10-100", "mc-big-40", [2.7488, 2.1948, 1.3515, 0.7463]),
    ("ga-10-100", "mc-big-var", [2.4958, 1.3267, 0.9705, 0.9683]),
    ("ga-10-100", "ga-10-100", [0.1484, 0.0228, 0.0048, 0.0009]),
    ("ga-10-100", "ga-20-400", [0.1332, 0.0233, 0.0056, 0.0016]),
    ("ga-20-400", "mc-sml-40", [2.3695, 1.9535, 1.1906, 0.5052]),
    ("ga-20-400", "mc-sml-var", [2.3357, 1.7168, 0.8963, 0.8654]),
    ("ga-20-400", "mc-big-40", [2.4715, 2.155, 1.5618, 0.8056]),
    ("ga-20-400", "mc-big-var", [2.3197, 1.6304, 0.8092, 0.7856]),
    ("ga-20-400", "ga-10-100", [0.1811, 0.0296, 0.0077, 0.0015]),
    ("ga-20-400", "ga-20-400", [0.1018, 0.019, 0.0052, 0.0014]),
];

/// Variants of the network: data set, and what is sampled.
const SAMPLING: [(&str, &str, Figures); 36] = [
    ("mc-sml-40", "softmax, sampling none", [9.2, 1.75, 0.53, 0.17]),
    ("mc-sml-40", "softmax, sampling step", [9.78, 1.85, 0.56, 0.17]),
    ("mc-sml-40", "softmax, sampling attention", [10.41, 1.99, 0.6, 0.18]),
    ("mc-sml-40", "sparsemax, sampling none", [58.3, 57.93, 57.47, 57.29]),
    ("mc-sml-40", "sparsemax, sampling step", [13.16, 2.61, 0.8, 0.24]),
    ("mc-sml-40", "sparsemax, sampling attention", [10.51, 2.07, 0.6, 0.18]),
    ("mc-sml-var", "softmax, sampling none", [12.6, 3.28, 1.24, 0.5]),
    ("mc-sml-var", "softmax, sampling step", [13.03, 3.27, 1.26, 0.51]),
    ("mc-sml-var", "softmax, sampling attention", [14.68, 3.94, 1.55, 0.62]),
    ("mc-sml-var", "sparsemax, sampling none", [30.23, 15.96, 12.45, 11.05]),
    ("mc-sml-var", "sparsemax, sampling step", [56.83, 56.03, 56.0, 56.0]),
    ("mc-sml-var", "sparsemax, sampling attention", [14.02, 3.8, 1.56, 0.64]),
    ("mc-big-40", "softmax, sampling none", [12.7, 3.41, 1.26, 0.47]),
    ("mc-big-40", "softmax, sampling step", [12.85, 3.34, 1.22, 0.45]),
    ("mc-big-40", "softmax, sampling attention", [12.88, 3.36, 1.26, 0.48]),
    ("mc-big-40", "sparsemax, sampling none", [38.65, 24.0, 10.34, 3.39]),
    ("mc-big-40", "sparsemax, sampling step", [39.4, 32.37, 17.76, 1.58]),
    ("mc-big-40", "sparsemax, sampling attention", [13.27, 3.5, 1.4, 0.51]),
    ("mc-big-var", "softmax, sampling none", [20.1, 5.11, 2.01, 0.7]),
    ("mc-big-var", "softmax, sampling step", [16.79, 4.78, 1.68, 0.63]),
    ("mc-big-var", "softmax, sampling attention", [16.66, 4.63, 1.8, 0.67]),
    ("mc-big-var", "sparsemax, sampling none", [42.84, 32.39, 29.68, 23.25]),
    ("mc-big-var", "sparsemax, sampling step", [30.2, 12.33, 6.25, 3.78]),
    ("mc-big-var", "sparsemax, sampling attention", [18.94, 4.24, 1.47, 0.61]),
    ("ga-10-100", "softmax, sampling none", [0.1484, 0.0228, 0.0047, 0.0009]),
    ("ga-10-100", "softmax, sampling step", [0.1544, 0.0229, 0.0049, 0.0009]),
    ("ga-10-100", "softmax, sampling attention", [0.1954, 0.037, 0.0081, 0.0013]),
    ("ga-10-100", "sparsemax, sampling none", [0.2335, 0.06, 0.0336, 0.0288]),
    ("ga-10-100", "sparsemax, sampling step", [1.0482, 0.9783, 0.9782, 0.9782]),
    ("ga-10-100", "sparsemax, sampling attention", [0.9172, 0.7001, 0.6827, 0.6818]),
    ("ga-20-400", "softmax, sampling none", [0.1018, 0.019, 0.0052, 0.0014]),
    ("ga-20-400", "softmax, sampling step", [0.1065, 0.0216, 0.006, 0.0014]),
    ("ga-20-400", "softmax, sampling attention", [0.1273, 0.0295, 0.0087, 0.0018]),
    ("ga-20-400", "sparsemax, sampling none", [0.1463, 0.0626, 0.0601, 0.0599]),
    ("ga-20-400", "sparsemax, sampling step", [0.786, 0.7696, 0.767, 0.7669]),
    ("ga-20-400", "sparsemax, sampling attention", [0.4002, 0.1272, 0.0681, 0.0627]),
];

/// The figure for a row of our tables: a method of the classical kind, or a network by the data set or the variant in its name.
pub(crate) fn gap(data_set: &str, method: &str, steps: usize) -> Option<f64> {
    let column = [10, 25, 50, 100].iter().position(|&column| column == steps)?;
    let find = |table: &[(&str, &str, Figures)], name: &str| {
        table.iter().find(|row| row.0 == data_set && row.1 == name).map(|row| row.2[column])
    };
    match method.strip_prefix("network ") {
        Some(name) => find(&CROSS, name).or_else(|| find(&SAMPLING, name)),
        None => find(&METHODS, method.split(',').next()?),
    }
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
