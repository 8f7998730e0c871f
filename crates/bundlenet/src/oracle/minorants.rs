//! Numbers of the components: minorants at a point, affine functions, primal solutions.

use bundlenet_linalg::SparseRows;

/// Values and sparse subgradients of the components of a [`SumOracle`](crate::SumOracle) at one point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Minorants {
    values: Vec<f64>,
    subgradients: SparseRows,
}

impl Minorants {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all minorants and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.subgradients.clear();
    }

    /// Appends the next component: its value at the point and the nonzero entries of its subgradient. Entries with the
    /// same coordinate are added up.
    pub fn push(&mut self, value: f64, subgradient: impl IntoIterator<Item = (u32, f64)>) {
        self.values.push(value);
        self.subgradients.push(subgradient);
    }

    /// Appends all components of `other`.
    pub fn append(&mut self, other: &Self) {
        self.values.extend_from_slice(&other.values);
        self.subgradients.append(&other.subgradients);
    }

    /// Number of components.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no components.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Value of every component at the point.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Coordinates and entries of a component's subgradient.
    ///
    /// # Panics
    /// If `component >= len()`.
    #[must_use]
    pub fn subgradient(&self, component: usize) -> (&[u32], &[f64]) {
        self.subgradients.row(component)
    }

    /// All subgradients.
    pub(crate) fn subgradients(&self) -> &SparseRows {
        &self.subgradients
    }

    /// Multiplies values and subgradients by a number.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|value| *value *= factor);
        self.subgradients.scale(factor);
    }
}

/// Affine functions `constant + slope'x`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    constants: Vec<f64>,
    slopes: SparseRows,
}

impl Lines {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all lines and keeps the memory.
    pub fn clear(&mut self) {
        self.constants.clear();
        self.slopes.clear();
    }

    /// Appends a line: its value at the origin and the nonzero entries of its slope. Entries with the same coordinate
    /// are added up.
    pub fn push(&mut self, constant: f64, slope: impl IntoIterator<Item = (u32, f64)>) {
        self.constants.push(constant);
        self.slopes.push(slope);
    }

    /// Number of lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.constants.len()
    }

    /// Whether there are no lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.constants.is_empty()
    }

    /// Value of every line at the origin.
    #[must_use]
    pub fn constants(&self) -> &[f64] {
        &self.constants
    }

    /// Coordinates and entries of a line's slope.
    ///
    /// # Panics
    /// If `line >= len()`.
    #[must_use]
    pub fn slope(&self, line: usize) -> (&[u32], &[f64]) {
        self.slopes.row(line)
    }

    /// Appends all lines of `other`.
    pub(crate) fn append(&mut self, other: &Self) {
        self.constants.extend_from_slice(&other.constants);
        self.slopes.append(&other.slopes);
    }

    /// Multiplies constants and slopes by a number.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.constants.iter_mut().for_each(|constant| *constant *= factor);
        self.slopes.scale(factor);
    }
}

/// Solutions of the subproblems of a [`PrimalOracle`](crate::PrimalOracle): costs and nonzero variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solutions {
    costs: Vec<f64>,
    variables: SparseRows,
}

impl Solutions {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all solutions and keeps the memory.
    pub fn clear(&mut self) {
        self.costs.clear();
        self.variables.clear();
    }

    /// Appends a solution: its cost in the objective of the problem, and its nonzero variables with their values.
    pub fn push(&mut self, cost: f64, variables: impl IntoIterator<Item = (u32, f64)>) {
        self.costs.push(cost);
        self.variables.push(variables);
    }

    /// Number of solutions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.costs.len()
    }

    /// Whether there are no solutions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }

    /// Cost of every solution.
    #[must_use]
    pub fn costs(&self) -> &[f64] {
        &self.costs
    }

    /// Nonzero variables of a solution, and their values.
    ///
    /// # Panics
    /// If `solution >= len()`.
    #[must_use]
    pub fn variables(&self, solution: usize) -> (&[u32], &[f64]) {
        self.variables.row(solution)
    }

    /// Appends all solutions of `other`.
    pub fn append(&mut self, other: &Self) {
        self.costs.extend_from_slice(&other.costs);
        self.variables.append(&other.variables);
    }

    /// Values of the nonzero variables of all solutions.
    pub(crate) fn values(&self) -> &[f64] {
        self.variables.entries()
    }
}
