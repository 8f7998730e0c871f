//! Bounds on the dual from convex combinations of schedules that meet demand and reserve.
//!
//! In [`Formulation::Chp`] demand may be lost and every unit may be off, so any combination can be scaled down until no
//! period has too much.
//!
//! In [`Formulation::Pglib`] demand is met exactly. The schedules of all evaluations are the columns of a linear program,
//! the restricted master ([`Program`](super::program::Program)): weights for each unit that add up to 1, meet demand and
//! cover reserve at the least cost. Any feasible weights prove a bound.

use super::instance::{Formulation, UnitCommitment};
use super::lagrangian::Flexibility;
use super::program::Program;
use bundlenet::{Fingerprint, Lines, Minorants};

/// Most columns of a unit; the oldest one makes room.
const MOST_COLUMNS: usize = 128;

/// Columns of a component in the linear program: those with the least reduced costs. There are more of them if
/// components are few, and twice as many after a program without a solution.
const NEAREST: usize = 16;
const ALL_NEAREST: usize = 8000;

/// The program is solved again when the aggregate's gap has fallen to this share, or after some calls.
const CLOSER: f64 = 0.5;
const CALLS: usize = 10;

/// Makes balanced combinations of schedules.
#[derive(Clone, Debug)]
pub(super) struct Balance {
    kind: Kind,
    demand: Vec<f64>,
    /// Demand and reserve to meet: the right-hand sides.
    required: Vec<f64>,
    /// Columns of the units, then of the flexible periods.
    columns: Vec<Vec<Column>>,
    /// Number of thermal units.
    units: usize,
    /// The best point so far, and its value.
    centre: Vec<f64>,
    best: f64,
    program: Program,
    /// The last combined schedules of a dispatch.
    last: Vec<Column>,
    /// Cost of the cheapest balanced combination so far.
    proof: Option<f64>,
    /// Columns of a component in the linear program.
    nearest: usize,
    /// Gap of the aggregate at the last solution of the program, and calls since then.
    last_gap: f64,
    calls: usize,
}

/// How combinations are balanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Every unit may be off throughout, and demand may be lost.
    Scale,
    /// By the linear program, during the run.
    Combine,
    /// By the linear program, once after the run: the periods on are fixed, and the run needs no proof.
    Dispatch,
}

/// A schedule: its cost, and its output and reserve.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Column {
    pub(super) cost: f64,
    pub(super) coordinates: Vec<u32>,
    pub(super) amounts: Vec<f64>,
    /// Of the coordinates and amounts. Most columns of a unit differ in it, so few are compared.
    hash: u64,
}

fn hash(coordinates: &[u32], entries: &[f64]) -> u64 {
    Fingerprint::new().sparse(coordinates, entries).finish()
}

impl Column {
    fn new(cost: f64, (coordinates, entries): (&[u32], &[f64])) -> Self {
        let (amounts, hash) = (entries.iter().map(|entry| -entry).collect(), hash(coordinates, entries));
        Self { cost, coordinates: coordinates.to_vec(), amounts, hash }
    }

    pub(super) fn income(&self, prices: &[f64]) -> f64 {
        self.coordinates.iter().zip(&self.amounts).map(|(&at, amount)| prices[at as usize] * amount).sum()
    }

    pub(super) fn add_to(&self, sum: &mut [f64], factor: f64) {
        self.coordinates.iter().zip(&self.amounts).for_each(|(&at, amount)| sum[at as usize] += factor * amount);
    }

    fn has_slope(&self, (coordinates, entries): (&[u32], &[f64])) -> bool {
        self.coordinates == coordinates && self.amounts.iter().zip(entries).all(|(amount, entry)| *amount == -entry)
    }
}

impl Balance {
    pub(super) fn new(instance: &UnitCommitment, required: &[f64], flexibility: &Flexibility) -> Self {
        let mut columns = vec![vec![]; instance.units().len()];
        for &(period, amount) in &flexibility.amounts {
            let used = Column::new(amount * flexibility.price, (&[period as u32], &[-amount]));
            columns.push(vec![Column::default(), used]);
        }
        let nearest = (ALL_NEAREST / columns.len()).clamp(NEAREST, MOST_COLUMNS);
        Self {
            nearest,
            kind: match instance.formulation() {
                _ if instance.is_fixed() => Kind::Dispatch,
                Formulation::Chp => Kind::Scale,
                Formulation::Pglib => Kind::Combine,
            },
            demand: instance.demand().to_vec(),
            required: required.to_vec(),
            columns,
            units: instance.units().len(),
            centre: vec![0.0; required.len()],
            best: f64::NEG_INFINITY,
            program: Program::default(),
            last: vec![],
            proof: None,
            last_gap: f64::INFINITY,
            calls: 0,
        }
    }

    /// Keeps the schedules of an evaluation.
    pub(super) fn learn(&mut self, point: &[f64], minorants: &Minorants) {
        if self.kind == Kind::Scale {
            return;
        }
        let linear: f64 = self.required.iter().zip(point).map(|(amount, price)| amount * price).sum();
        let value = linear + minorants.values().iter().sum::<f64>();
        if value > self.best {
            self.best = value;
            self.centre.copy_from_slice(point);
        }
        for (unit, columns) in self.columns[..self.units].iter_mut().enumerate() {
            let slope = minorants.subgradient(unit);
            let hash = hash(slope.0, slope.1);
            if columns.iter().any(|column| column.hash == hash && column.has_slope(slope)) {
                continue;
            }
            if columns.len() == MOST_COLUMNS {
                columns.remove(0);
            }
            let mut column = Column::new(0.0, slope);
            column.cost = minorants.values()[unit] + column.income(point);
            columns.push(column);
        }
    }

    /// Cost of a balanced combination, if one is found.
    pub(super) fn prove(&mut self, aggregate: &Lines, is_over: &dyn Fn() -> bool) -> Option<f64> {
        match self.kind {
            Kind::Scale => Some(self.scale(aggregate)),
            Kind::Combine => self.combine(aggregate, is_over),
            Kind::Dispatch => {
                self.last = self.lines(aggregate)?;
                None
            }
        }
    }

    /// Scales the units down to the demand. The rest of it is lost.
    fn scale(&self, aggregate: &Lines) -> f64 {
        let mut output = vec![0.0; self.demand.len()];
        for unit in 0..self.units {
            let (periods, entries) = aggregate.slope(unit);
            periods.iter().zip(entries).for_each(|(&period, entry)| output[period as usize] -= entry);
        }
        let cost: f64 = aggregate.constants()[..self.units].iter().sum();
        let shares = self.demand.iter().zip(&output).filter(|(_, output)| **output > 0.0);
        let share = shares.map(|(demand, output)| demand / output).fold(1.0, f64::min);
        let lost = self.demand.iter().zip(&output).map(|(demand, output)| (demand - share * output).max(0.0));
        share * cost + UnitCommitment::LOST_LOAD * lost.sum::<f64>()
    }

    /// The bound of the linear program. It is solved again only if that is likely to help.
    fn combine(&mut self, aggregate: &Lines, is_over: &dyn Fn() -> bool) -> Option<f64> {
        let lines = self.lines(aggregate)?;
        let gap = self.gap(&lines);
        self.calls += 1;
        if self.proof.is_none() || gap <= CLOSER * self.last_gap || self.calls >= CALLS {
            (self.last_gap, self.calls) = (gap, 0);
            let found = self.solve(lines, is_over);
            self.proof = self.proof.into_iter().chain(found).reduce(f64::min);
        }
        self.proof
    }

    /// The aggregate's combined schedules.
    fn lines(&self, aggregate: &Lines) -> Option<Vec<Column>> {
        if !self.best.is_finite() || aggregate.len() != self.columns.len() {
            return None;
        }
        let line = |component: usize| Column::new(aggregate.constants()[component], aggregate.slope(component));
        Some((0..aggregate.len()).map(line).collect())
    }

    /// The optimum of the linear program. The next one has more columns if this one has no solution.
    fn solve(&mut self, lines: Vec<Column>, is_over: &dyn Fn() -> bool) -> Option<f64> {
        let (periods, groups) = (self.demand.len(), self.nearest(lines));
        let found = self.program.solve(groups, &self.required, (&self.centre, periods), is_over);
        if found.is_none() {
            self.nearest = (2 * self.nearest).min(MOST_COLUMNS);
        }
        found
    }

    /// From now on, the linear program of a dispatch is solved during the run.
    pub(super) fn prove_dispatches(&mut self) {
        self.kind = Kind::Combine;
    }

    /// Balances all schedules of a dispatch after its run.
    pub(super) fn settle(&mut self, is_over: &dyn Fn() -> bool) {
        if self.kind == Kind::Dispatch && self.solve(self.last.clone(), is_over).is_none() {
            self.nearest = MOST_COLUMNS;
            self.solve(self.last.clone(), is_over);
        }
    }

    /// Output and reserve of every unit in the cheapest balanced combination so far, and the use of each flexible period.
    pub(super) fn combination(&self) -> Option<&[Vec<f64>]> {
        self.program.best_supply()
    }

    /// Shortfall of the aggregate, at the prices of the best point.
    fn gap(&self, lines: &[Column]) -> f64 {
        let mut lack = self.required.clone();
        lines.iter().for_each(|line| line.add_to(&mut lack, -1.0));
        lack.iter().zip(&self.centre).map(|(lack, price)| (lack * price).abs()).sum()
    }

    /// The columns of each component with the least reduced costs at the best point, and its aggregate.
    fn nearest(&self, lines: Vec<Column>) -> Vec<Vec<Column>> {
        let mut lines = lines.into_iter();
        let nearest = self.columns.iter().map(|columns| {
            let mut ranked: Vec<(f64, &Column)> =
                columns.iter().map(|column| (column.cost - column.income(&self.centre), column)).collect();
            ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
            let mut chosen: Vec<Column> = lines.next().into_iter().collect();
            chosen.extend(ranked.into_iter().take(self.nearest).map(|(_, column)| column.clone()));
            chosen
        });
        nearest.collect()
    }
}
