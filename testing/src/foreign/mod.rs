//! Functions that neither the default method nor any network was made for: academic functions, duals of other problem
//! families, eigenvalues, sums at other scales. Each is a fixed instance with a name.

mod covering;
mod eigenvalue;
mod list;
mod location;
mod median;
mod paths;
mod priced;
mod quadratics;
mod symmetric;
mod tables;
mod tabulated;

pub use covering::Covering;
pub use eigenvalue::{Cut, Eigenvalue};
pub use list::{Half, Instance, fresh_transfer_instances, instances, rule_instances, transfer_instances};
pub use location::Location;
pub use median::Median;
pub use paths::{Grid, Paths};
pub use priced::{Price, Priced, Whole};
pub use quadratics::Quadratics;
pub use tables::Tables;
pub use tabulated::{Sizes, knapsack, sum_of_maxima, two_stage, units};
