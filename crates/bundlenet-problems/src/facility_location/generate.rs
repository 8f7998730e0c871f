//! Instances of the families `cfl-20-50` and `cfl-100-1000`, after the scheme of Cornuéjols, Sridharan and
//! Thizy (1991).
//!
//! Sites and customers are points in the unit square. A unit of demand costs 10 for each unit of distance. All costs
//! are in hundredths and whole numbers, so that there are safe bounds.

use super::{FacilityLocation, Site};
use crate::Problem;
use crate::generate::Family;
use bundlenet_linalg::Stream;

/// Hundredths.
const COST_UNIT: f64 = 100.0;

/// Name, group and problem of instance `index`; every instance is a group of its own.
pub(crate) fn instance(family: Family, seed: u64, index: usize) -> (String, usize, Problem) {
    let group = index + 1;
    let mut stream = Stream::new(seed, family.name(), group as u64);
    let (sites, customers) = if family == Family::Cfl100x1000 { (100, 1000) } else { (20, 50) };
    let problem = draw(&mut stream, sites, customers);
    (format!("cfl-{group}"), group, Problem::FacilityLocation(problem))
}

fn draw(stream: &mut Stream, sites: usize, customers: usize) -> FacilityLocation {
    let mut uniform = |low: f64, high: f64| low + (high - low) * 0.5 * (1.0 + stream.symmetric());
    let mut places =
        |count: usize| -> Vec<(f64, f64)> { (0..count).map(|_| (uniform(0.0, 1.0), uniform(0.0, 1.0))).collect() };
    let (from, to) = (places(sites), places(customers));
    let demands: Vec<f64> = (0..customers).map(|_| uniform(5.0, 36.0).floor().min(35.0)).collect();
    let drawn: Vec<f64> = (0..sites).map(|_| uniform(10.0, 160.0)).collect();
    // Total capacity over total demand.
    let ratio = uniform(3.0, 10.0);
    let scale = ratio * demands.iter().sum::<f64>() / drawn.iter().sum::<f64>();
    let mut site = |drawn: f64| {
        let capacity = (drawn * scale).ceil();
        let fixed_cost = uniform(0.0, 90.0) + uniform(100.0, 110.0) * capacity.sqrt();
        Site { capacity, fixed_cost: (COST_UNIT * fixed_cost).round() }
    };
    let opened = drawn.into_iter().map(&mut site).collect();
    let mut costs = Vec::with_capacity(sites * customers);
    for site in &from {
        for (customer, demand) in to.iter().zip(&demands) {
            let (across, along) = (site.0 - customer.0, site.1 - customer.1);
            let distance = (across * across + along * along).sqrt();
            costs.push((COST_UNIT * 10.0 * distance * demand).round());
        }
    }
    FacilityLocation::new(opened, demands, costs)
        .unwrap_or_else(|invalid| unreachable!("numbers in these ranges are valid: {invalid}"))
}
