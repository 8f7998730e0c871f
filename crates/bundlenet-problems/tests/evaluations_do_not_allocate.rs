//! In the steady state neither an oracle call nor a step of a method touches the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use bundlenet::{Family, Generator, Granularity, Limits, MethodName, Minorants, Model, Record, Settings, solve};

struct Counting;

thread_local! {
    /// Allocations of this thread: what others do is none of our business.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is going away has no count any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

fn allocations() -> usize {
    ALLOCATIONS.with(Cell::get)
}

// SAFETY: everything is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steady_state() {
    oracle_calls();
    steps();
}

fn steps() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for family in [Family::McSml40, Family::Ga20x400] {
        for method in [MethodName::Bundle, MethodName::Descent, MethodName::Adam, MethodName::Network] {
            let problem = Generator::new(family, 4).instance(0).unwrap().problem;
            let limits = Limits { steps: Some(100), ..Limits::default() };
            let model = Some(Arc::new(Model::default()));
            let settings = Settings { method, limits, model, cuts: Granularity::Aggregated, ..Settings::default() }
                .check()
                .unwrap();
            let mut counts = [0; 2];
            let mut watch = |record: &Record| {
                match record.step {
                    50 => counts[0] = allocations(),
                    80 => counts[1] = allocations(),
                    _ => {}
                }
                std::ops::ControlFlow::Continue(())
            };
            let solution = pool.install(|| solve(&mut *problem.dual(), None, &settings, &mut watch, None)).unwrap();
            assert!(solution.steps >= 80, "{family} {method:?}");
            assert_eq!(counts[1] - counts[0], 0, "{family} {method:?}");
        }
    }
}

fn oracle_calls() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for family in [Family::McSml40, Family::McBig40, Family::Ga10x100, Family::Ga20x400] {
        let problem = Generator::new(family, 4).instance(0).unwrap().problem;
        let allocations = pool.install(|| {
            let mut dual = problem.dual();
            let dim = dual.dim();
            let mut subgradient = vec![0.0; dim];
            let mut minorants = Minorants::new();
            let mut point = vec![0.0; dim];
            let mut walk = |count: usize| {
                for step in 0..count {
                    point.iter_mut().enumerate().for_each(|(at, x)| *x = ((at * 31 + step * 17) % 97) as f64 * 3.0);
                    dual.evaluate(&point, &mut subgradient).unwrap();
                    minorants.clear();
                    dual.as_sum().unwrap().evaluate_components(&point, &mut minorants).unwrap();
                }
            };
            // The buffers of minorants grow to the largest ones seen, so the same points are walked twice.
            walk(20);
            let before = allocations();
            walk(20);
            allocations() - before
        });
        assert_eq!(allocations, 0, "{family}");
    }
}
