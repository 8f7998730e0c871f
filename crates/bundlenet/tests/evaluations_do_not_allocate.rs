//! After the first evaluation, which may size a worker, an oracle call touches no allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use bundlenet::{Family, Generator, Minorants};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steady_state() {
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
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            walk(20);
            ALLOCATIONS.load(Ordering::Relaxed) - before
        });
        assert_eq!(allocations, 0, "{family}");
    }
}
