/* C interface of bundlenet. Written by cbindgen from crates/bundlenet-c: do not edit.
   docs/c.md explains it: how to link, ownership, threads and errors. */

#ifndef BUNDLENET_H
#define BUNDLENET_H

#include <stddef.h>
#include <stdint.h>

// Code of an error. The message of the handle says more.
typedef enum {
    // No error.
    BUNDLENET_CODE_OK = 0,
    // A pointer is null.
    BUNDLENET_CODE_NULL = 1,
    // A number of entries is wrong.
    BUNDLENET_CODE_LENGTH = 2,
    // A setting has an unknown name or an invalid value, or a text is not UTF-8.
    BUNDLENET_CODE_SETTING = 3,
    // The function is unusable, or its evaluation at the start failed.
    BUNDLENET_CODE_ORACLE = 4,
    // A file cannot be read or written.
    BUNDLENET_CODE_FILE = 5,
    // The handle is in use: by another thread, or by a run whose callback made this call.
    BUNDLENET_CODE_BUSY = 6,
    // A fault of the library. The handle can be used again or freed.
    BUNDLENET_CODE_PANIC = 7,
} bundlenet_code;

// Reason for the end of a run. The best point is there in every case.
typedef enum {
    // Proved: the gap is at most the tolerance.
    BUNDLENET_STATUS_OPTIMAL = 0,
    // The stop test holds: the estimated gap is at most the tolerance. There is no proof.
    BUNDLENET_STATUS_CONVERGED = 1,
    // The function is unbounded along the ray.
    BUNDLENET_STATUS_UNBOUNDED = 2,
    // The limit of steps is reached.
    BUNDLENET_STATUS_STEP_LIMIT = 3,
    // The limit of wall time is reached.
    BUNDLENET_STATUS_TIME_LIMIT = 4,
    // The limit of oracle calls is reached.
    BUNDLENET_STATUS_ORACLE_CALL_LIMIT = 5,
    // The target value is reached.
    BUNDLENET_STATUS_BOUND_REACHED = 6,
    // The caller or an observer ended the run.
    BUNDLENET_STATUS_INTERRUPTED = 7,
    // The callback failed, or returned unusable numbers, after the first evaluation. The message says more.
    BUNDLENET_STATUS_ORACLE_FAILED = 8,
    // The estimated gap is within the tolerance and the width of the intervals.
    BUNDLENET_STATUS_ORACLE_ACCURACY = 9,
    // Neither the proof nor the estimate is within the tolerance, but no step changes anything any more.
    BUNDLENET_STATUS_STALLED = 10,
    // A reason that this header does not know.
    BUNDLENET_STATUS_OTHER = 11,
} bundlenet_status;

// Direction of optimisation.
typedef enum {
    // The function is convex; smaller values are better.
    BUNDLENET_SENSE_MINIMIZE = 0,
    // The function is concave; larger values are better.
    BUNDLENET_SENSE_MAXIMIZE = 1,
} bundlenet_sense;

// Answers of components. It is valid during the callback that receives it.
typedef struct bundlenet_minorants bundlenet_minorants;

// A solver of one function: its callbacks, its settings, and the result of the last run.
typedef struct bundlenet_solver bundlenet_solver;

// The state of a run: a warm start for a later run of the same function, or of one with changed data.
typedef struct bundlenet_state bundlenet_state;

// Writes the value of the function at `point` and all `dim` entries of a subgradient there. Returns 0, or another
// number if it failed.
typedef int (*bundlenet_evaluate)(void *user, size_t dim, const double *point, double *value, double *subgradient);

// As `bundlenet_evaluate`, for a value that is known as an interval: `cut` is the value of the minorant, `bound` the
// other end. To minimise, cut <= f(point) <= bound; to maximise, bound <= f(point) <= cut.
typedef int (*bundlenet_evaluate_within)(void *user,
                                         size_t dim,
                                         const double *point,
                                         double *cut,
                                         double *bound,
                                         double *subgradient);

// Evaluates `count` components at `point` and pushes one minorant for each, in the order of `components`. Returns 0,
// or another number if it failed.
typedef int (*bundlenet_evaluate_components)(void *user,
                                             size_t dim,
                                             const double *point,
                                             size_t count,
                                             const size_t *components,
                                             bundlenet_minorants *minorants);

// Evaluates `count` components at `point` and writes one minorant for each, in the order of `components`: the value at
// the point, and the nonzero entries of a subgradient there. The entries of the component at place `i` begin where those
// of the one before end, the first at 0, and end before `ends[i]`. Returns 0, or another number if it failed.
//
// The arrays belong to the solver. They are valid during the call, and hold nothing before: every entry below the last
// end has to be written.
typedef int (*bundlenet_evaluate_in_place)(void *user,
                                           size_t dim,
                                           const double *point,
                                           size_t count,
                                           const size_t *components,
                                           double *values,
                                           size_t *ends,
                                           uint32_t *coordinates,
                                           double *entries);

// Writes the value at the origin of the component's minorant with this slope, after a change of the data. Returns 0,
// or another number if there is no such minorant any more.
typedef int (*bundlenet_reprice)(void *user,
                                 size_t component,
                                 size_t count,
                                 const uint32_t *coordinates,
                                 const double *entries,
                                 double *constant);

// Called with an accuracy before evaluations: the next intervals should not be wider, for the whole function. The
// callback may ignore it.
typedef void (*bundlenet_wish)(void *user, double accuracy);

// A step, as an observer sees it. Values are in the sense of the function.
typedef struct {
    // Number of the step; 0 for the evaluation at the start.
    size_t step;
    // Value at the point of this step.
    double value;
    // Best value so far.
    double best;
    // Estimated gap over max(1, |best|). Infinite if there is none.
    double estimate;
    // Oracle calls so far.
    size_t oracle_calls;
    // Seconds since the start of the run.
    double seconds;
} bundlenet_step;

// Called after the evaluation at the start and after every step. Returns 0 to go on, or another number to end the run.
typedef int (*bundlenet_observe)(void *user, const bundlenet_step *step);

// A convex combination of the solutions of all components, with the weights of their cuts. It satisfies relaxed rows
// as far as the run got. The arrays belong to the solver: they are valid until its next run, or until it is freed.
typedef struct {
    // Cost in the objective of the problem.
    double cost;
    // Number of entries of the arrays.
    size_t count;
    // Variables that are not 0, in ascending order.
    const uint32_t *variables;
    // Their values.
    const double *values;
} bundlenet_primal;

// Result of a run. Values are in the sense of the function. The arrays belong to the solver: they are valid until its
// next run, or until it is freed.
typedef struct {
    // Reason for the end of the run.
    bundlenet_status status;
    // Best value.
    double value;
    // The best point.
    const double *point;
    // Direction of length 1 along which the function is unbounded. NULL unless it is.
    const double *ray;
    // Number of entries of the arrays.
    size_t dim;
    // Estimated gap over max(1, |value|). Infinite if there is none.
    double estimate;
    // Proved gap over max(1, |value|). Infinite if there is no proof.
    double certificate;
    // Steps taken.
    size_t steps;
    // Oracle calls, the one at the start included.
    size_t oracle_calls;
    // Components that were evaluated in these calls.
    size_t component_calls;
    // Cuts of the state that were used.
    size_t cuts_reused;
    // Cuts of the state that were not used.
    size_t cuts_dropped;
    // Wall time of the run, in seconds.
    double seconds;
    // Wall time in the callbacks of the function, in seconds.
    double oracle_seconds;
    // Wall time in master problems, in seconds.
    double master_seconds;
} bundlenet_result;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Version of the library, as `"0.2.0"`. It is never freed.
const char *bundlenet_version(void);

// Appends the next component: its value at the point, and the nonzero entries of a subgradient there.
//
// A caller with all components in arrays saves time by `bundlenet_minorants_push_all`.
bundlenet_code bundlenet_minorants_push(bundlenet_minorants *minorants,
                                        double value,
                                        size_t count,
                                        const uint32_t *coordinates,
                                        const double *entries);

// Appends the next `count` components, all at once: their values at the point, and the nonzero entries of their
// subgradients there, one after the other. The entries of component `i` begin where those of the one before end, the
// first at 0, and end before `ends[i]`. So both arrays of entries have `ends[count - 1]` numbers.
//
// Ends that are not in order are the error `BUNDLENET_CODE_LENGTH`, and nothing is appended.
bundlenet_code bundlenet_minorants_push_all(bundlenet_minorants *minorants,
                                            size_t count,
                                            const double *values,
                                            const size_t *ends,
                                            const uint32_t *coordinates,
                                            const double *entries);

// Appends the next component, whose value is known as an interval: `cut` is the value of the minorant at the point,
// `bound` the other end. A subproblem that a MIP solver ended at a gap has its incumbent as `cut` and its dual bound
// as `bound`.
bundlenet_code bundlenet_minorants_push_within(bundlenet_minorants *minorants,
                                               double cut,
                                               double bound,
                                               size_t count,
                                               const uint32_t *coordinates,
                                               const double *entries);

// Appends a further cut of the last component, with its value at the point: each member of a solution pool is one.
bundlenet_code bundlenet_minorants_push_more(bundlenet_minorants *minorants,
                                             double value,
                                             size_t count,
                                             const uint32_t *coordinates,
                                             const double *entries);

// Appends the solution behind the next cut that has none yet: its cost in the objective of the problem, and its
// variables that are not 0. After `bundlenet_minorants_push_more` it is that of a further cut. The caller numbers the
// variables; two components have none in common.
//
// A run needs a solution of each component after `bundlenet_solver_set_primal`; it uses further cuts if all of them
// have one. The error `BUNDLENET_CODE_LENGTH`: there are more solutions than cuts.
bundlenet_code bundlenet_minorants_solution(bundlenet_minorants *minorants,
                                            double cost,
                                            size_t count,
                                            const uint32_t *variables,
                                            const double *values);

// A solver for a function of `dim` variables: all free, to minimise, without a callback. Free it with
// `bundlenet_solver_free`.
bundlenet_solver *bundlenet_solver_new(size_t dim);

// Frees a solver and the arrays of its last result. NULL is allowed. No run may use the solver.
void bundlenet_solver_free(bundlenet_solver *solver);

// Message of the last error with this solver. It is valid until the next call with the solver.
const char *bundlenet_solver_message(const bundlenet_solver *solver);

// Sets the function: one callback for value and subgradient.
bundlenet_code bundlenet_solver_set_function(bundlenet_solver *solver, bundlenet_evaluate evaluate, void *user);

// Sets the function: one callback for an interval of the value, and a subgradient.
bundlenet_code bundlenet_solver_set_function_within(bundlenet_solver *solver,
                                                    bundlenet_evaluate_within evaluate,
                                                    void *user);

// Sets the function: a sum of `count` components, with a linear part of 0, multiplicities of 1 and no fingerprints
// until they are set.
bundlenet_code bundlenet_solver_set_components(bundlenet_solver *solver,
                                               size_t count,
                                               bundlenet_evaluate_components evaluate,
                                               void *user);

// As `bundlenet_solver_set_components`, with a callback that writes into arrays of the solver: the fastest way. `length`
// is the largest number of entries that the subgradients of all components have together. There are no intervals, no
// further cuts and no solutions.
bundlenet_code bundlenet_solver_set_components_in_place(bundlenet_solver *solver,
                                                        size_t count,
                                                        size_t length,
                                                        bundlenet_evaluate_in_place evaluate,
                                                        void *user);

// Sets the coefficients of the linear part of a sum; `dim` numbers.
bundlenet_code bundlenet_solver_set_linear(bundlenet_solver *solver, size_t count, const double *linear);

// Sets the number of equal components that each component stands for.
bundlenet_code bundlenet_solver_set_multiplicities(bundlenet_solver *solver,
                                                   size_t count,
                                                   const double *multiplicities);

// Sets a hash of all data that each component depends on. A run reuses the cuts of a state for components whose hash
// is the same as in the run of the state.
bundlenet_code bundlenet_solver_set_fingerprints(bundlenet_solver *solver, size_t count, const uint64_t *fingerprints);

// Sets the callback that keeps cuts of components whose data have changed. NULL removes it.
bundlenet_code bundlenet_solver_set_reprice(bundlenet_solver *solver, bundlenet_reprice reprice, void *user);

// Sets the callback that learns which accuracy the next intervals should have. NULL removes it.
bundlenet_code bundlenet_solver_set_wish(bundlenet_solver *solver, bundlenet_wish wish, void *user);

// Sets the direction of optimisation: `BUNDLENET_SENSE_MINIMIZE` or `BUNDLENET_SENSE_MAXIMIZE`.
bundlenet_code bundlenet_solver_set_sense(bundlenet_solver *solver, int sense);

// Sets the limits of the variables; `dim` numbers each, infinite ones among them. A side that is NULL is infinite.
bundlenet_code bundlenet_solver_set_box(bundlenet_solver *solver,
                                        size_t count,
                                        const double *lower,
                                        const double *upper);

// Sets a box that holds an optimal point, as a proof needs it. A box of finite limits is one and need not be repeated.
bundlenet_code bundlenet_solver_set_minimizer_box(bundlenet_solver *solver,
                                                  size_t count,
                                                  const double *lower,
                                                  const double *upper);

// Sets the typical size of each variable over the typical size of its entry of a subgradient.
bundlenet_code bundlenet_solver_set_scales(bundlenet_solver *solver, size_t count, const double *scales);

// Sets the work of one evaluation in nanoseconds. The default method compares it with the work of its master problems.
// A millisecond if it is not set.
bundlenet_code bundlenet_solver_set_work(bundlenet_solver *solver, double nanoseconds);

// Sets a setting by its name, from a text. NULL stands for the default. The names are those of docs/c.md.
bundlenet_code bundlenet_solver_set(bundlenet_solver *solver, const char *name, const char *value);

// Sets a setting by its name, from a number.
bundlenet_code bundlenet_solver_set_number(bundlenet_solver *solver, const char *name, double value);

// Sets a callback that sees every step and may end a run. NULL removes it.
bundlenet_code bundlenet_solver_set_observer(bundlenet_solver *solver, bundlenet_observe observe, void *user);

// Lets runs keep a solution for each cut (`keeps` is 1), or not (0, as at first). The function has to be a sum of
// components, whose callback calls `bundlenet_minorants_solution` for each minorant.
bundlenet_code bundlenet_solver_set_primal(bundlenet_solver *solver, int keeps);

// Writes the primal solution of the last run. The error `BUNDLENET_CODE_SETTING`: the run kept no solutions, or had no
// step.
bundlenet_code bundlenet_solver_primal(bundlenet_solver *solver, bundlenet_primal *primal);

// Ends the run in progress after its evaluation in progress, or the next run if there is none. Any thread may call it.
bundlenet_code bundlenet_solver_interrupt(bundlenet_solver *solver);

// Runs the method. All callbacks are called on the thread of this call.
//
// The run starts at `start`, which has `count` entries. If it is NULL and `count` is 0, it starts at the point of the
// state, or at 0, moved into the box. `state` may be NULL: the run then neither uses nor leaves one. `result` may be
// NULL.
//
// An error leaves the state as it was. A callback that fails after the first evaluation is no error: the result has
// the status `BUNDLENET_STATUS_ORACLE_FAILED` and the best point so far.
bundlenet_code bundlenet_solve(bundlenet_solver *solver,
                               size_t count,
                               const double *start,
                               bundlenet_state *state,
                               bundlenet_result *result);

// An empty state. A run with it begins like a run without a state, and fills it. Free it with `bundlenet_state_free`.
bundlenet_state *bundlenet_state_new(void);

// A copy: in a branch and bound, a copy of the parent's state is the warm start of a child. NULL if `state` is NULL or
// a run uses it. Free it with `bundlenet_state_free`.
bundlenet_state *bundlenet_state_copy(const bundlenet_state *state);

// Frees a state. NULL is allowed.
void bundlenet_state_free(bundlenet_state *state);

// Message of the last error with this state. It is valid until the next call with the state.
const char *bundlenet_state_message(const bundlenet_state *state);

// Number of cuts. 0 for NULL, for an empty state, and for one that a run uses.
size_t bundlenet_state_cuts(const bundlenet_state *state);

// Writes the best point so far, where the next run starts, and its value. An empty state has no point.
bundlenet_code bundlenet_state_point(const bundlenet_state *state, size_t count, double *point, double *value);

// Declares all cuts valid for the function of the next run, for functions without fingerprints. A cut that contradicts
// the value at the start is still dropped.
bundlenet_code bundlenet_state_trust_cuts(bundlenet_state *state);

// Writes the state to a file.
bundlenet_code bundlenet_state_save(const bundlenet_state *state, const char *path);

// Replaces the state by that of a file.
bundlenet_code bundlenet_state_load(bundlenet_state *state, const char *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BUNDLENET_H */
