//! The instance type.

use crate::error::{Element, InvalidInstance};

/// Most sites times customers. It keeps the numbers of primal variables within 32 bits.
const MAX_PRODUCT: usize = 1 << 27;

/// A site that can be opened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// Demand that it serves when open, `s`. It may be infinite.
    pub capacity: f64,
    /// Cost of opening it, `f`.
    pub fixed_cost: f64,
}

/// A valid instance of capacitated facility location.
///
/// A site whose capacity is infinite, or at least the total demand, has no limit. A customer without demand takes no
/// capacity, and is served all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct FacilityLocation {
    sites: Vec<Site>,
    demands: Vec<f64>,
    costs: Vec<f64>,
}

impl FacilityLocation {
    /// Builds an instance; `costs` holds `c`, the cost of serving all of a customer's demand, by site, then customer.
    ///
    /// # Errors
    /// If there is no site or no customer, a capacity is not positive, a demand is negative, a number other than a
    /// capacity is not finite, or a list has the wrong length.
    pub fn new(sites: Vec<Site>, demands: Vec<f64>, costs: Vec<f64>) -> Result<Self, InvalidInstance> {
        check_sizes(sites.len(), demands.len())?;
        if costs.len() != sites.len() * demands.len() {
            return Err(InvalidInstance::new(Element::ServiceCosts, "one for each site and customer", costs.len()));
        }
        for (index, site) in sites.iter().enumerate() {
            if site.capacity.is_nan() || site.capacity <= 0.0 {
                return Err(InvalidInstance::new(Element::SiteCapacity(index), "a positive number", site.capacity));
            }
            if !site.fixed_cost.is_finite() {
                return Err(InvalidInstance::new(Element::SiteCost(index), "a finite number", site.fixed_cost));
            }
        }
        if let Some(index) = demands.iter().position(|demand| !(*demand >= 0.0 && demand.is_finite())) {
            let element = Element::CustomerDemand(index);
            return Err(InvalidInstance::new(element, "a nonnegative finite number", demands[index]));
        }
        if let Some(at) = costs.iter().position(|cost| !cost.is_finite()) {
            let element = Element::ServiceCost { site: at / demands.len(), customer: at % demands.len() };
            return Err(InvalidInstance::new(element, "a finite number", costs[at]));
        }
        Ok(Self { sites, demands, costs })
    }

    /// The sites.
    #[must_use]
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Number of customers.
    #[must_use]
    pub fn customers(&self) -> usize {
        self.demands.len()
    }

    /// Demand `d` of every customer.
    #[must_use]
    pub fn demands(&self) -> &[f64] {
        &self.demands
    }

    /// Cost `c` of serving all demand of each customer from a site.
    ///
    /// # Panics
    /// If there is no such site.
    #[must_use]
    pub fn costs(&self, site: usize) -> &[f64] {
        &self.costs[site * self.customers()..(site + 1) * self.customers()]
    }

    /// Costs of service by site, then customer.
    pub(crate) fn all_costs(&self) -> &[f64] {
        &self.costs
    }

    /// Sum of all demands.
    #[must_use]
    pub fn total_demand(&self) -> f64 {
        self.demands.iter().sum()
    }

    /// Total capacity over total demand, where no site counts with more than the total demand. Below 1, the problem has
    /// no solution.
    #[must_use]
    pub fn capacity_ratio(&self) -> f64 {
        let total = self.total_demand();
        self.sites.iter().map(|site| site.capacity.min(total)).sum::<f64>() / total
    }

    /// Capacities, each finite. A capacity beyond the total demand is no limit, so it may be reduced.
    pub(super) fn rooms(&self) -> Vec<f64> {
        let most = self.total_demand().max(1.0);
        self.sites.iter().map(|site| site.capacity.min(most)).collect()
    }
}

/// Refuses instances without sites or customers, and those too large for memory.
pub(super) fn check_sizes(sites: usize, customers: usize) -> Result<(), InvalidInstance> {
    if sites == 0 {
        return Err(InvalidInstance::new(Element::Sites, "at least one", "none"));
    }
    if customers == 0 {
        return Err(InvalidInstance::new(Element::Customers, "at least one", "none"));
    }
    let product = sites.saturating_add(1).saturating_mul(customers);
    if product > MAX_PRODUCT {
        return Err(InvalidInstance::new(Element::Customers, "sites times customers within 2^27", product));
    }
    Ok(())
}
