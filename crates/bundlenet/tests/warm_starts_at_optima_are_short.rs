//! A run that begins at the optimum of an earlier run, with its state, ends soon.

use bundlenet::{Answer, Components, Domain, OracleError, Parallel, Settings, Solution, Solver, State};

/// `sum_a w_a (x_a - a / 7)^2 + sum_a (x_a - x_(a + 1))^2`, a component for each variable.
struct Smooth(usize);

impl Components for Smooth {
    fn dim(&self) -> usize {
        self.0
    }

    fn component_count(&self) -> usize {
        self.0
    }

    fn evaluate_component(&self, at: usize, x: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
        let next = (at + 1) % self.0;
        let (weight, away, apart) = (1.0 + at as f64 / 10.0, x[at] - at as f64 / 7.0, x[at] - x[next]);
        let slope = [(at as u32, 2.0 * weight * away + 2.0 * apart), (next as u32, -2.0 * apart)];
        answer.push(weight * away * away + apart * apart, slope);
        Ok(())
    }

    fn fingerprint(&self, component: usize) -> Option<u64> {
        Some(component as u64)
    }
}

const BINS: usize = 4;
const ITEMS: usize = 16;

/// The Lagrangian dual of an assignment problem whose relaxed rows let each item be in one bin at most: a knapsack for
/// each bin. The data are those of the example `assignment.c` of the C interface.
/// One item may be forbidden in one bin, as in a branch and bound.
struct Assignment {
    forbidden: Option<(usize, usize)>,
}

fn weight(bin: usize, item: usize) -> usize {
    8 + (37 * item + 11 * bin * item + 3 * bin) % 21
}

fn profit(bin: usize, item: usize) -> f64 {
    (2 * weight(bin, item) + (53 * item + 17 * bin) % 9) as f64
}

impl Components for Assignment {
    fn dim(&self) -> usize {
        ITEMS
    }

    fn component_count(&self) -> usize {
        BINS
    }

    fn linear(&self) -> Option<&[f64]> {
        Some(&[1.0; ITEMS])
    }

    fn domain(&self) -> Domain {
        Domain::Nonnegative
    }

    fn evaluate_component(&self, bin: usize, x: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
        let capacity = [43, 38, 51, 46][bin];
        // Best profit for each capacity, and the items of it as bits.
        let mut best = vec![(0.0, 0_u32); capacity + 1];
        for item in (0..ITEMS).filter(|&item| self.forbidden != Some((bin, item))) {
            let gain = profit(bin, item) - x[item];
            for used in (weight(bin, item)..=capacity).rev() {
                let (before, items) = best[used - weight(bin, item)];
                if before + gain > best[used].0 {
                    best[used] = (before + gain, items | 1 << item);
                }
            }
        }
        let (value, items) = best[capacity];
        let chosen = (0..ITEMS as u32).filter(|item| items >> item & 1 == 1);
        answer.push(value, chosen.map(|item| (item, -1.0)));
        Ok(())
    }

    fn reprice(&self, bin: usize, items: &[u32], entries: &[f64]) -> Option<f64> {
        let is_allowed = items.iter().all(|&item| self.forbidden != Some((bin, item as usize)));
        let profits = items.iter().zip(entries).map(|(&item, entry)| -entry * profit(bin, item as usize));
        is_allowed.then(|| profits.sum())
    }
}

fn solve<C: Components>(components: C, tolerance: f64, state: &mut State) -> Solution {
    let settings = Settings { tolerance, ..Settings::default() };
    Solver::new(settings).unwrap().state(state).solve(&mut Parallel::new(components)).unwrap()
}

#[test]
fn smooth_functions_keep_their_cuts() {
    let mut state = State::new();
    let first = solve(Smooth(20), 1e-10, &mut state);
    let second = solve(Smooth(20), 1e-10, &mut state);
    let reuse = second.reuse.as_ref().unwrap();
    assert!(reuse.unusable == 0 && reuse.reused() > 0, "{reuse}");
    assert!(second.oracle_calls <= first.oracle_calls / 2, "{} then {}", first.oracle_calls, second.oracle_calls);
    assert!(second.value <= first.value);
}

/// Also after a change of the data, as in the children of a branch and bound.
#[test]
fn piecewise_linear_functions_take_no_more_calls_than_from_scratch() {
    for tolerance in [1e-6, 1e-9] {
        let mut parent = State::new();
        solve(Assignment { forbidden: None }, tolerance, &mut parent);
        for forbidden in [None, Some((0, 3)), Some((1, 3)), Some((2, 3)), Some((3, 3))] {
            let cold = solve(Assignment { forbidden }, tolerance, &mut State::new());
            let warm = solve(Assignment { forbidden }, tolerance, &mut parent.clone());
            let (calls, others) = (warm.oracle_calls, cold.oracle_calls);
            assert!(calls <= others, "{tolerance} {forbidden:?}: {calls} calls, {others} from scratch");
            assert!((warm.value - cold.value).abs() <= 2.0 * tolerance * cold.value, "{} {}", warm.value, cold.value);
        }
    }
}
