//! The inequalities that every oracle obeys.

use bundlenet::{Function, Minorants, Oracle};

/// Value and subgradient, checked, and minimised.
pub fn evaluate(oracle: &mut dyn Oracle, point: &[f64]) -> (f64, Vec<f64>) {
    let mut subgradient = vec![0.0; point.len()];
    let value = Function::new(oracle).unwrap().evaluate(point, &mut subgradient).unwrap();
    (value, subgradient)
}

/// `f(y) >= f(x) + g'(y - x)`, and the same with `x` and `y` exchanged. The tolerance allows for round-off.
pub fn assert_subgradient_inequality(oracle: &mut dyn Oracle, x: &[f64], y: &[f64]) {
    let (at_x, g_x) = evaluate(oracle, x);
    let (at_y, g_y) = evaluate(oracle, y);
    let slope = |g: &[f64]| -> f64 { g.iter().zip(x.iter().zip(y)).map(|(g, (x, y))| g * (y - x)).sum() };
    let size =
        |g: &[f64]| -> f64 { g.iter().zip(x.iter().zip(y)).map(|(g, (x, y))| g.abs() * (x.abs() + y.abs())).sum() };
    let tolerance = 1e-12 * (at_x.abs() + at_y.abs() + size(&g_x) + size(&g_y)).max(1.0);
    assert!(at_y >= at_x + slope(&g_x) - tolerance, "{at_y} < {at_x} + {}", slope(&g_x));
    assert!(at_x >= at_y - slope(&g_y) - tolerance, "{at_x} < {at_y} - {}", slope(&g_y));
}

/// The linear part and the components add up to the function, in value and in subgradient.
pub fn assert_components_add_up(oracle: &mut dyn Oracle, point: &[f64]) {
    let (value, subgradient) = evaluate(oracle, point);
    let mut minorants = Minorants::new();
    let mut function = Function::new(oracle).unwrap();
    let by_components = function.evaluate_components(point, &mut minorants).unwrap();
    let sign = function.sense().sign();
    let linear = oracle.as_sum().unwrap().linear().to_vec();
    let mut total: f64 = linear.iter().zip(point).map(|(l, x)| sign * l * x).sum();
    let mut gradient: Vec<f64> = linear.iter().map(|l| sign * l).collect();
    for component in 0..minorants.len() {
        total += minorants.values()[component];
        let (coordinates, entries) = minorants.subgradient(component);
        coordinates.iter().zip(entries).for_each(|(&at, entry)| gradient[at as usize] += entry);
    }
    let size: f64 = minorants.values().iter().map(|value| value.abs()).sum::<f64>().max(1.0);
    assert!((total - value).abs() <= 1e-12 * size, "{total} {value}");
    assert!((by_components - value).abs() <= 1e-12 * size, "{by_components} {value}");
    // Most entries are small whole numbers or sums of a few demands.
    let largest = subgradient.iter().fold(0.0, |most: f64, entry| most.max(entry.abs()));
    let tolerance = f64::max(1e-9, 1e-12 * largest);
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance;
    assert!(gradient.iter().zip(&subgradient).all(is_near), "{gradient:?} {subgradient:?}");
}
