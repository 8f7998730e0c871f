//! C interface of bundlenet. `include/bundlenet.h` is made from this crate; `docs/c.md` is its guide.
//!
//! | handle | content |
//! |---|---|
//! | [`Solver`] | callbacks of the function, settings, and the last result |
//! | [`State`] | warm start of a later run |
//! | [`Minorants`] | answers of components, valid during one callback |
//!
//! Every function returns a [`Code`]. The message of an error belongs to its handle: there is no global state. A panic
//! does not cross the border; it is [`Code::Panic`].

// Rust code has no use for these functions, so their pages say what C code has to know.
#![allow(clippy::missing_safety_doc, reason = "docs/c.md has the rules for all pointers")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod border;
mod callbacks;
mod code;
mod minorants;
mod outcome;
mod settings;
mod solver;
mod state;

use std::ffi::c_char;

pub use callbacks::{Evaluate, EvaluateComponents, EvaluateInPlace, EvaluateWithin, Observe, Reprice, Wish};
pub use code::{Code, Sense, Status};
pub use minorants::{
    Minorants, bundlenet_minorants_push, bundlenet_minorants_push_all, bundlenet_minorants_push_more,
    bundlenet_minorants_push_within, bundlenet_minorants_solution,
};
pub use outcome::{Outcome, Primal, Step};
pub use solver::{
    Solver, bundlenet_solve, bundlenet_solver_free, bundlenet_solver_interrupt, bundlenet_solver_message,
    bundlenet_solver_new, bundlenet_solver_primal, bundlenet_solver_set, bundlenet_solver_set_box,
    bundlenet_solver_set_components, bundlenet_solver_set_components_in_place, bundlenet_solver_set_fingerprints,
    bundlenet_solver_set_function, bundlenet_solver_set_function_within, bundlenet_solver_set_linear,
    bundlenet_solver_set_minimizer_box, bundlenet_solver_set_multiplicities, bundlenet_solver_set_number,
    bundlenet_solver_set_observer, bundlenet_solver_set_primal, bundlenet_solver_set_reprice,
    bundlenet_solver_set_scales, bundlenet_solver_set_sense, bundlenet_solver_set_wish, bundlenet_solver_set_work,
};
pub use state::{
    State, bundlenet_state_copy, bundlenet_state_cuts, bundlenet_state_free, bundlenet_state_load,
    bundlenet_state_message, bundlenet_state_new, bundlenet_state_point, bundlenet_state_save,
    bundlenet_state_trust_cuts,
};

/// Version of the library, as `"0.2.0"`. It is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn bundlenet_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
