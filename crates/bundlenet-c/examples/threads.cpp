// Many small problems on several threads, each with a solver of its own: min sum_i |x_i - target_i| over a box.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <thread>

#include "bundlenet.hpp"

static double distance(const std::vector<double> &target) {
    bundlenet::Solver solver(target.size());
    solver.function([&](const double *x, double *g) {
        double sum = 0.0;
        for (std::size_t i = 0; i < target.size(); i++) {
            g[i] = x[i] >= target[i] ? 1.0 : -1.0;
            sum += std::abs(x[i] - target[i]);
        }
        return sum;
    });
    solver.box(std::vector<double>(target.size(), 0.0), std::vector<double>(target.size(), 5.0));
    bundlenet::State state;
    bundlenet_result first = solver.solve(&state);
    state.trust_cuts();
    bundlenet_result again = solver.solve(&state);
    if (again.oracle_calls > first.oracle_calls) throw std::runtime_error("a warm start needs more calls");
    return again.value;
}

// The same as a sum: one component for each coordinate, written into the arrays of the solver.
static double distance_in_place(const std::vector<double> &target) {
    bundlenet::Solver solver(target.size());
    auto components = [&](const double *x, std::size_t count, const std::size_t *which, double *values,
                          std::size_t *ends, uint32_t *at, double *entries) {
        for (std::size_t place = 0; place < count; place++) {
            const std::size_t i = which[place];
            values[place] = std::abs(x[i] - target[i]);
            at[place] = uint32_t(i);
            entries[place] = x[i] >= target[i] ? 1.0 : -1.0;
            ends[place] = place + 1;
        }
    };
    solver.components_in_place(target.size(), target.size(), components, std::vector<double>(target.size(), 0.0));
    solver.box(std::vector<double>(target.size(), 0.0), std::vector<double>(target.size(), 5.0));
    return solver.solve().value;
}

int main() {
    std::vector<std::thread> threads;
    std::vector<double> worst(4, 0.0);
    for (std::size_t thread = 0; thread < worst.size(); thread++) {
        threads.emplace_back([thread, &worst] {
            for (int problem = 0; problem < 25; problem++) {
                // The second target is 1 above the box, so the optimum is 1.
                double value = distance({0.1 * problem, 6.0, double(thread)});
                double in_place = distance_in_place({0.1 * problem, 6.0, double(thread)});
                worst[thread] = std::max({worst[thread], std::abs(value - 1.0), std::abs(in_place - 1.0)});
            }
        });
    }
    for (auto &thread : threads) thread.join();
    for (double error : worst) if (!(error < 1e-5)) return 1;
    std::cout << "100 problems on 4 threads are solved\n";

    // An exception of a callback leaves solve(), and a wrong setting is an Error.
    bundlenet::Solver solver(1);
    solver.function([](const double *, double *) -> double { throw std::domain_error("no value here"); });
    try {
        solver.solve();
        return 1;
    } catch (const std::domain_error &error) {
        std::cout << "the callback threw: " << error.what() << "\n";
    }
    try {
        solver.set("tolerance", -1.0);
        return 1;
    } catch (const bundlenet::Error &error) {
        std::cout << error.what() << "\n";
    }
    return 0;
}
