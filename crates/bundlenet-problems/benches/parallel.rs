//! Time of a call of `Parallel` over the time of a perfect schedule: components that sleep, on several threads.
//!
//! `cargo bench --bench parallel`. The ratio for 16 components of 20 ms on 4 threads has to be at most 1.05.

use std::time::{Duration, Instant};

use bundlenet::{Answer, Components, Oracle, OracleError, Parallel};

/// Components that take the given times.
struct Sleeping(Vec<Duration>);

impl Components for Sleeping {
    fn dim(&self) -> usize {
        1
    }

    fn component_count(&self) -> usize {
        self.0.len()
    }

    fn evaluate_component(&self, component: usize, point: &[f64], answer: &mut Answer) -> Result<(), OracleError> {
        std::thread::sleep(self.0[component]);
        answer.push(point[0].abs(), [(0, point[0].signum())]);
        Ok(())
    }
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let even = vec![Duration::from_millis(20); 16];
    // One component takes as long as eight others. No schedule ends before a quarter of the total time.
    let mut uneven = vec![Duration::from_millis(10); 32];
    uneven[0] = Duration::from_millis(80);
    for (name, times, best) in [("16 x 20 ms", even, 0.08), ("31 x 10 ms and 80 ms", uneven, 0.39 / 4.0)] {
        let mut oracle = Parallel::new(Sleeping(times));
        let mut ratios: Vec<f64> = (0..15)
            .map(|_| {
                let begin = Instant::now();
                pool.install(|| oracle.evaluate(&[1.0], &mut [0.0])).unwrap();
                begin.elapsed().as_secs_f64() / best
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        println!("{name:22} median {:.3}, greatest {:.3} of the best time", ratios[7], ratios[14]);
    }
}
