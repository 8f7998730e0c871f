//! Readers: the text of the OR-Library, and JSON.

use super::instance::check_sizes;
use super::{FacilityLocation, Site};
use crate::error::{Element, Error, ParseError};
use crate::json::RawInstance;
use crate::text::{JsonStep, Tokens};

/// The word that stands for all capacities in some files of the OR-Library.
const CAPACITY: &str = "capacity";

/// Reads a text: sites and customers, capacity and fixed cost of each site, demand and costs of each customer.
/// `capacity` replaces the word of that name.
pub(crate) fn text(file: &str, text: &str, capacity: Option<f64>) -> Result<FacilityLocation, Error> {
    let mut tokens = Tokens::new(file, text);
    let count = tokens.count(format_args!("the number of sites"))?;
    let header = tokens.line();
    let customers = tokens.count(format_args!("the number of customers"))?;
    check_sizes(count, customers).map_err(|invalid| invalid.at(file, header))?;
    // The rest of the file bounds the sizes, so that a wrong header cannot ask for too much memory.
    let left = tokens.count_left();
    if 2 * count + customers + count * customers > left {
        let expected = format!("so few sites and customers that the {left} numbers left are enough for them");
        return Err(tokens.error(expected, format_args!("{count} sites and {customers} customers")).into());
    }
    let (mut sites, mut site_lines) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for site in 1..=count {
        let capacity = read_capacity(&mut tokens, site, capacity)?;
        site_lines.push(tokens.line());
        sites.push(Site { capacity, fixed_cost: tokens.real(format_args!("the fixed cost of site {site}"))? });
    }
    let (mut demands, mut demand_lines) = (Vec::with_capacity(customers), Vec::with_capacity(customers));
    let mut costs = vec![0.0; count * customers];
    for customer in 0..customers {
        demands.push(tokens.real(format_args!("the demand of customer {}", customer + 1))?);
        demand_lines.push(tokens.line());
        for site in 0..count {
            let what = format_args!("the cost of serving customer {} from site {}", customer + 1, site + 1);
            costs[site * customers + customer] = tokens.real(what)?;
        }
    }
    tokens.end()?;
    FacilityLocation::new(sites, demands, costs).map_err(|invalid| {
        let line = match invalid.element {
            Element::SiteCapacity(site) => site_lines[site],
            Element::CustomerDemand(customer) => demand_lines[customer],
            _ => header,
        };
        invalid.at(file, line).into()
    })
}

/// A capacity: a number, `inf`, or the word that `given` replaces.
fn read_capacity(tokens: &mut Tokens<'_>, site: usize, given: Option<f64>) -> Result<f64, ParseError> {
    let what = format!("the capacity of site {site}");
    let Some(token) = tokens.next() else {
        return Err(tokens.error(format_args!("{what} (a number)"), "the end of the file"));
    };
    if token.eq_ignore_ascii_case(CAPACITY) {
        let expected = format!("{what} (this file leaves it open: give a number with --capacity)");
        return given.ok_or_else(|| tokens.error(expected, format_args!("the word {token:?}")));
    }
    match token.parse::<f64>() {
        Ok(capacity) if !capacity.is_nan() => Ok(capacity),
        _ => Err(tokens.error(format_args!("{what} (a number)"), crate::text::Quoted(token))),
    }
}

/// Builds the instance from the fields `sites`, `customers`, `capacity[sites]`, `fixed_cost[sites]`,
/// `demand[customers]` and `cost[sites][customers]`.
pub(crate) fn json(raw: &RawInstance<'_>) -> Result<FacilityLocation, Error> {
    let fields = &raw.fields;
    let count = raw.count("sites", fields.sites)?;
    let customers = raw.count("customers", fields.customers)?;
    let capacities = raw.list("capacity", fields.site_capacity.as_deref())?;
    raw.same_length("capacity", count, capacities.len())?;
    let fixed_costs = raw.list("fixed_cost", fields.site_cost.as_deref())?;
    raw.same_length("fixed_cost", count, fixed_costs.len())?;
    let demands = raw.list("demand", fields.customer_demand.as_deref())?;
    raw.same_length("demand", customers, demands.len())?;
    let costs = raw.matrix("cost", fields.service_cost.as_deref(), count, customers)?.concat();
    // Without a number there is no limit.
    let site = |(capacity, &fixed_cost): (&Option<f64>, &f64)| Site {
        capacity: capacity.unwrap_or(f64::INFINITY),
        fixed_cost,
    };
    let sites = capacities.iter().zip(fixed_costs).map(site).collect();
    FacilityLocation::new(sites, demands.to_vec(), costs).map_err(|invalid| {
        let path = match invalid.element {
            Element::SiteCapacity(site) => vec![JsonStep::Key("capacity"), JsonStep::Index(site)],
            Element::CustomerDemand(customer) => vec![JsonStep::Key("demand"), JsonStep::Index(customer)],
            _ => vec![],
        };
        raw.invalid(path, invalid).into()
    })
}
