/* C++ interface of bundlenet: a thin layer over bundlenet.h for C++17. docs/c.md explains it.
   Errors are exceptions. An exception of a callback ends the run and leaves solve(). */

#ifndef BUNDLENET_HPP
#define BUNDLENET_HPP

#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bundlenet.h"

namespace bundlenet {

/// An error of the library: its code, and its message.
struct Error : std::runtime_error {
    bundlenet_code code;
    Error(bundlenet_code code, const char *message) : std::runtime_error(message), code(code) {}
};

/// Warm start of a later run. A copy is the warm start of a child in a branch and bound.
class State {
    std::unique_ptr<bundlenet_state, void (*)(bundlenet_state *)> handle;
    void check(bundlenet_code code) const { if (code) throw Error(code, bundlenet_state_message(get())); }

public:
    State() : handle(bundlenet_state_new(), bundlenet_state_free) {}
    State(const State &other) : handle(bundlenet_state_copy(other.get()), bundlenet_state_free) {
        if (!handle) throw Error(BUNDLENET_CODE_BUSY, "the state is in use");
    }
    State(State &&) = default;
    State &operator=(State other) { handle = std::move(other.handle); return *this; }
    bundlenet_state *get() const { return handle.get(); }
    std::size_t cuts() const { return bundlenet_state_cuts(get()); }
    void trust_cuts() { check(bundlenet_state_trust_cuts(get())); }
    void save(const std::string &path) const { check(bundlenet_state_save(get(), path.c_str())); }
    void load(const std::string &path) { check(bundlenet_state_load(get(), path.c_str())); }
};

/// Answers of components, valid during one callback.
class Minorants {
    bundlenet_minorants *list;
    static void check(bundlenet_code code) { if (code) throw Error(code, "minorants: wrong arguments"); }

public:
    explicit Minorants(bundlenet_minorants *list) : list(list) {}
    void push(double value, const std::vector<uint32_t> &at, const std::vector<double> &entries) {
        push_within(value, value, at, entries);
    }
    void push_within(double cut, double bound, const std::vector<uint32_t> &at, const std::vector<double> &entries) {
        if (at.size() != entries.size()) check(BUNDLENET_CODE_LENGTH);
        check(bundlenet_minorants_push_within(list, cut, bound, at.size(), at.data(), entries.data()));
    }
    void push_all(const std::vector<double> &values, const std::vector<std::size_t> &ends,
                  const std::vector<uint32_t> &at, const std::vector<double> &entries) {
        const std::size_t count = ends.empty() ? 0 : ends.back();
        if (values.size() != ends.size() || at.size() != count || entries.size() != count) check(BUNDLENET_CODE_LENGTH);
        check(bundlenet_minorants_push_all(list, values.size(), values.data(), ends.data(), at.data(), entries.data()));
    }
};

/// A solver of one function. The callbacks get `dim` numbers of the point.
class Solver {
public:
    using Function = std::function<double(const double *point, double *subgradient)>;
    using Components = std::function<void(const double *point, std::size_t count, const std::size_t *, Minorants &)>;

    using InPlace = std::function<void(const double *point, std::size_t count, const std::size_t *components,
                                       double *values, std::size_t *ends, uint32_t *at, double *entries)>;

    explicit Solver(std::size_t dim)
        : callbacks(new Callbacks), handle(bundlenet_solver_new(dim), bundlenet_solver_free) {}
    bundlenet_solver *get() const { return handle.get(); }

    void function(Function function) {
        callbacks->function = std::move(function);
        check(bundlenet_solver_set_function(get(), &Solver::evaluate, callbacks.get()));
    }
    void components(std::size_t count, Components components, const std::vector<double> &linear) {
        callbacks->components = std::move(components);
        check(bundlenet_solver_set_components(get(), count, &Solver::evaluate_components, callbacks.get()));
        check(bundlenet_solver_set_linear(get(), linear.size(), linear.data()));
    }
    /// The callback writes into arrays of the solver, with room for `length` entries of all subgradients together.
    void components_in_place(std::size_t count, std::size_t length, InPlace components,
                             const std::vector<double> &linear) {
        callbacks->in_place = std::move(components);
        check(bundlenet_solver_set_components_in_place(get(), count, length, &Solver::evaluate_in_place,
                                                       callbacks.get()));
        check(bundlenet_solver_set_linear(get(), linear.size(), linear.data()));
    }
    void fingerprints(const std::vector<uint64_t> &each) {
        check(bundlenet_solver_set_fingerprints(get(), each.size(), each.data()));
    }
    void box(const std::vector<double> &lower, const std::vector<double> &upper) {
        if (lower.size() != upper.size()) throw Error(BUNDLENET_CODE_LENGTH, "box: the corners differ in length");
        check(bundlenet_solver_set_box(get(), lower.size(), lower.data(), upper.data()));
    }
    void sense(bundlenet_sense sense) { check(bundlenet_solver_set_sense(get(), sense)); }
    void set(const char *name, const char *value) { check(bundlenet_solver_set(get(), name, value)); }
    void set(const char *name, double value) { check(bundlenet_solver_set_number(get(), name, value)); }
    void interrupt() { check(bundlenet_solver_interrupt(get())); }

    /// The result is valid until the next run. A failure after the first evaluation is a status.
    bundlenet_result solve(State *state = nullptr, const std::vector<double> &start = {}) {
        callbacks->raised = nullptr;
        bundlenet_result result;
        const double *point = start.empty() ? nullptr : start.data();
        bundlenet_code code = bundlenet_solve(get(), start.size(), point, state ? state->get() : nullptr, &result);
        if (callbacks->raised) std::rethrow_exception(callbacks->raised);
        check(code);
        return result;
    }
    std::string message() const { return bundlenet_solver_message(get()); }

private:
    struct Callbacks {
        Function function;
        Components components;
        InPlace in_place;
        std::exception_ptr raised;
        /// Runs a callback. An exception must not enter the library.
        template <class Work> int run(Work work) {
            try { work(); return 0; } catch (...) { raised = std::current_exception(); return 1; }
        }
    };
    std::unique_ptr<Callbacks> callbacks;
    std::unique_ptr<bundlenet_solver, void (*)(bundlenet_solver *)> handle;

    void check(bundlenet_code code) const { if (code) throw Error(code, bundlenet_solver_message(get())); }
    static int evaluate(void *user, std::size_t, const double *point, double *value, double *subgradient) {
        auto *callbacks = static_cast<Callbacks *>(user);
        return callbacks->run([&] { *value = callbacks->function(point, subgradient); });
    }
    static int evaluate_components(void *user, std::size_t, const double *point, std::size_t count,
                                   const std::size_t *components, bundlenet_minorants *list) {
        auto *callbacks = static_cast<Callbacks *>(user);
        Minorants minorants(list);
        return callbacks->run([&] { callbacks->components(point, count, components, minorants); });
    }
    static int evaluate_in_place(void *user, std::size_t, const double *point, std::size_t count,
                                 const std::size_t *components, double *values, std::size_t *ends, uint32_t *at,
                                 double *entries) {
        auto *callbacks = static_cast<Callbacks *>(user);
        return callbacks->run([&] { callbacks->in_place(point, count, components, values, ends, at, entries); });
    }
};

}  // namespace bundlenet

#endif
