//! Prices of a dispatch in merit order, from which the dual starts.
//!
//! Each thermal unit offers its capacity at its average cost at full output, whatever its state, ramps and start costs. In
//! each period the cheapest offers meet the demand that renewable units leave. The last offer used sets the price. Load
//! that may be lost is an offer, too.

use super::instance::{Formulation, UnitCommitment};

/// An offer of a unit: its capacity at a price for each MWh.
struct Offer {
    price: f64,
    capacity: f64,
}

/// The price of energy in each period. It is 0 where renewable units meet the demand, and that of the dearest offer where
/// all units together do not.
pub(super) fn prices(instance: &UnitCommitment) -> Vec<f64> {
    let units = instance.units().iter();
    let mut offers: Vec<Offer> = (units.map(|unit| (unit.cost.at(unit.range), unit.minimum + unit.range)))
        .filter(|(_, capacity)| *capacity > 0.0)
        .map(|(cost, capacity)| Offer { price: cost / capacity, capacity })
        .collect();
    if instance.formulation() == Formulation::Chp {
        offers.push(Offer { price: UnitCommitment::LOST_LOAD, capacity: f64::INFINITY });
    }
    offers.sort_by(|a, b| a.price.total_cmp(&b.price));
    let (_, renewable) = instance.renewable_limits();
    let price_of = |(demand, renewable): (&f64, &f64)| {
        let (mut left, mut price) = (demand - renewable, 0.0);
        for offer in &offers {
            if left <= 0.0 {
                break;
            }
            left -= offer.capacity;
            price = offer.price;
        }
        price
    };
    instance.demand().iter().zip(&renewable).map(price_of).collect()
}
