//! The file of `solve --primal`.

use std::path::Path;

use bundlenet_problems::assignment::Placement;
use bundlenet_problems::facility_location::Plan;
use bundlenet_problems::network_design::Design;
use bundlenet_problems::unit_commitment::Schedules;
use bundlenet_problems::{ProblemPrimal, Recovered, Violation};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{self, Subject};

#[derive(Serialize)]
struct File<'a, S> {
    #[serde(flatten)]
    subject: &'a Subject,
    /// Value of the dual.
    bound: f64,
    largest_violation: f64,
    total_violation: f64,
    convex: S,
    relaxed: Option<S>,
    feasible: Option<S>,
}

#[derive(Serialize)]
struct Flows {
    value: f64,
    /// Open arcs, and the share of each that is open.
    designs: Vec<(usize, f64)>,
    /// Commodities, arcs and amounts.
    flows: Vec<(usize, usize, f64)>,
}

#[derive(Serialize)]
struct Shares {
    value: f64,
    /// Items, bins, and the share of the item in the bin.
    shares: Vec<(usize, usize, f64)>,
}

#[derive(Serialize)]
struct Service {
    value: f64,
    /// Open sites, and how far each is open.
    openings: Vec<(usize, f64)>,
    /// Customers, sites, and the share of the customer that the site serves.
    shares: Vec<(usize, usize, f64)>,
}

#[derive(Serialize)]
struct Commitment {
    value: f64,
    /// Units, periods, shares on, outputs and reserves of units that are on.
    schedules: Vec<(usize, usize, f64, f64, f64)>,
    /// Output of renewable units, or demand that is lost, in each period.
    flexible: Vec<f64>,
}

/// Writes the primal solutions of a run as one JSON object.
pub(crate) fn write(path: &Path, subject: &Subject, bound: f64, primal: &ProblemPrimal) -> Result<(), Failure> {
    let text = match primal {
        ProblemPrimal::NetworkDesign(recovered) => text(subject, bound, recovered, flows),
        ProblemPrimal::Assignment(recovered) => text(subject, bound, recovered, shares),
        ProblemPrimal::FacilityLocation(recovered) => text(subject, bound, recovered, service),
        ProblemPrimal::UnitCommitment(recovered) => text(subject, bound, recovered, commitment),
    };
    output::file(path, &(text? + "\n"))
}

fn text<S, T: Serialize>(
    subject: &Subject,
    bound: f64,
    recovered: &Recovered<S>,
    sparse: fn(&S) -> T,
) -> serde_json::Result<String> {
    let Violation { largest, total } = recovered.violation;
    serde_json::to_string(&File {
        subject,
        bound,
        largest_violation: largest,
        total_violation: total,
        convex: sparse(&recovered.convex),
        relaxed: recovered.relaxed.as_ref().map(sparse),
        feasible: recovered.feasible.as_ref().map(sparse),
    })
}

fn flows(design: &Design) -> Flows {
    let of_commodity = |commodity: usize| {
        let flows = design.flows(commodity).iter().enumerate();
        flows.filter(|(_, flow)| **flow != 0.0).map(move |(arc, &flow)| (commodity, arc, flow))
    };
    let designs = design.designs().iter().copied().enumerate();
    Flows {
        value: design.cost(),
        designs: designs.filter(|(_, design)| *design != 0.0).collect(),
        flows: (0..design.commodities()).flat_map(of_commodity).collect(),
    }
}

fn shares(placement: &Placement) -> Shares {
    let of_item = |item: usize| {
        let shares = placement.shares(item).iter().enumerate();
        shares.filter(|(_, share)| **share != 0.0).map(move |(bin, &share)| (item, bin, share))
    };
    Shares { value: placement.value(), shares: (0..placement.items()).flat_map(of_item).collect() }
}

fn service(plan: &Plan) -> Service {
    let of_customer = |customer: usize| {
        let shares = plan.shares(customer).iter().enumerate();
        shares.filter(|(_, share)| **share != 0.0).map(move |(site, &share)| (customer, site, share))
    };
    let openings = plan.openings().iter().copied().enumerate();
    Service {
        value: plan.cost(),
        openings: openings.filter(|(_, opening)| *opening != 0.0).collect(),
        shares: (0..plan.customers()).flat_map(of_customer).collect(),
    }
}

fn commitment(schedules: &Schedules) -> Commitment {
    let places = (0..schedules.units()).flat_map(|unit| (0..schedules.periods()).map(move |period| (unit, period)));
    let numbers = places.map(|(unit, period)| {
        let [on, output, reserve] = schedules.at(unit, period);
        (unit, period, on, output, reserve)
    });
    Commitment {
        value: schedules.cost(),
        schedules: numbers.filter(|(_, _, on, ..)| *on != 0.0).collect(),
        flexible: schedules.flexible().to_vec(),
    }
}
