//! The paper's own figures, to stand beside ours.

/// Mean gaps in percent after 10, 25, 50 and 100 steps: table 1.
const TABLE: [(&str, &str, [f64; 4]); 42] = [
    ("mc-sml-40", "hard", [20.18, 6.68, 2.84, 1.17]),
    ("mc-sml-40", "balancing", [17.68, 6.09, 1.84, 0.41]),
    ("mc-sml-40", "soft", [17.58, 6.1, 1.82, 0.36]),
    ("mc-sml-40", "constant", [11.96, 4.16, 1.3, 0.31]),
    ("mc-sml-40", "descent", [44.66, 14.11, 4.7, 2.24]),
    ("mc-sml-40", "adam", [48.87, 12.84, 3.04, 1.89]),
    ("mc-sml-40", "network", [9.2, 1.75, 0.53, 0.17]),
    ("mc-sml-var", "hard", [18.27, 9.55, 4.08, 1.96]),
    ("mc-sml-var", "balancing", [15.83, 7.39, 2.88, 0.74]),
    ("mc-sml-var", "soft", [15.82, 6.92, 2.58, 0.67]),
    ("mc-sml-var", "constant", [12.79, 4.33, 1.66, 0.58]),
    ("mc-sml-var", "descent", [62.43, 28.64, 11.14, 4.0]),
    ("mc-sml-var", "adam", [51.48, 15.42, 4.74, 2.75]),
    ("mc-sml-var", "network", [12.6, 3.28, 1.24, 0.5]),
    ("mc-big-40", "hard", [20.66, 8.54, 5.32, 2.88]),
    ("mc-big-40", "balancing", [20.67, 7.37, 3.17, 1.24]),
    ("mc-big-40", "soft", [20.67, 7.37, 3.17, 1.19]),
    ("mc-big-40", "constant", [19.34, 5.64, 2.08, 0.78]),
    ("mc-big-40", "descent", [28.53, 14.12, 9.91, 8.21]),
    ("mc-big-40", "adam", [24.89, 9.38, 7.3, 6.9]),
    ("mc-big-40", "network", [12.7, 3.41, 1.26, 0.47]),
    ("mc-big-var", "hard", [26.23, 9.99, 4.41, 2.23]),
    ("mc-big-var", "balancing", [21.82, 10.01, 3.46, 1.08]),
    ("mc-big-var", "soft", [21.83, 9.53, 3.43, 1.02]),
    ("mc-big-var", "constant", [17.98, 6.34, 2.66, 0.93]),
    ("mc-big-var", "descent", [54.11, 24.69, 10.58, 4.85]),
    ("mc-big-var", "adam", [44.21, 13.75, 5.42, 3.84]),
    ("mc-big-var", "network", [20.1, 5.11, 2.01, 0.7]),
    ("ga-10-100", "hard", [0.2333, 0.028, 0.0016, 0.0006]),
    ("ga-10-100", "balancing", [0.2333, 0.028, 0.0016, 0.0006]),
    ("ga-10-100", "soft", [0.3055, 0.0156, 0.0026, 0.0024]),
    ("ga-10-100", "constant", [0.1893, 0.0157, 0.0014, 0.0011]),
    ("ga-10-100", "descent", [0.8799, 0.2091, 0.0644, 0.0364]),
    ("ga-10-100", "adam", [0.7234, 0.1843, 0.0183, 0.0048]),
    ("ga-10-100", "network", [0.1484, 0.0228, 0.0047, 0.0009]),
    ("ga-20-400", "hard", [0.157, 0.0343, 0.0088, 0.0021]),
    ("ga-20-400", "balancing", [0.157, 0.0343, 0.0088, 0.0021]),
    ("ga-20-400", "soft", [0.3542, 0.0284, 0.0048, 0.0028]),
    ("ga-20-400", "constant", [0.1129, 0.0193, 0.0052, 0.002]),
    ("ga-20-400", "descent", [0.5815, 0.2971, 0.0753, 0.0255]),
    ("ga-20-400", "adam", [0.6598, 0.0831, 0.016, 0.009]),
    ("ga-20-400", "network", [0.1018, 0.019, 0.0052, 0.0014]),
];

/// The figure for a row of our tables.
pub(crate) fn gap(data_set: &str, method: &str, steps: usize) -> Option<f64> {
    // A network stands for the paper's only on the data that it was trained for.
    let method = match method.strip_prefix("network ") {
        Some(model) => (model == data_set).then_some("network")?,
        None => method.split(',').next()?,
    };
    let column = [10, 25, 50, 100].iter().position(|&column| column == steps)?;
    TABLE.iter().find(|row| row.0 == data_set && row.1 == method).map(|row| row.2[column])
}
