/* The Lagrangian dual of a generalised assignment, as a branch and bound uses it: solved once, then with one pair
   forbidden at a time, from the state of the parent.

       maximise   sum profit[b][i] x[b][i]   each item in at most one bin, each bin within its capacity
       dual       min  sum_i u_i + sum_b knapsack_b(profit[b] - u),   u >= 0                                          */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bundlenet.h"

enum { BINS = 4, ITEMS = 16, MOST = 51 };

typedef struct {
    int profit[BINS][ITEMS], weight[BINS][ITEMS], capacity[BINS], is_forbidden[BINS][ITEMS];
} instance;

/* Ends the program with the message of the solver if there is an error. */
static void check(bundlenet_code code, const bundlenet_solver *solver) {
    if (code != BUNDLENET_CODE_OK) {
        fprintf(stderr, "error %d: %s\n", code, bundlenet_solver_message(solver));
        exit(1);
    }
}

/* The best knapsack of a bin at prices u, by dynamic programming. Returns its value and marks its items. */
static double knapsack(const instance *data, size_t bin, const double *u, int *takes) {
    double best[ITEMS + 1][MOST + 1];
    int capacity = data->capacity[bin];
    for (int room = 0; room <= capacity; room++) best[0][room] = 0.0;
    for (int item = 0; item < ITEMS; item++) {
        int weight = data->weight[bin][item];
        double gain = data->profit[bin][item] - u[item];
        for (int room = 0; room <= capacity; room++) {
            double with = weight <= room && !data->is_forbidden[bin][item] ? best[item][room - weight] + gain : -1.0;
            best[item + 1][room] = fmax(best[item][room], with);
        }
    }
    int room = capacity;
    for (int item = ITEMS - 1; item >= 0; item--) {
        takes[item] = best[item + 1][room] > best[item][room];
        if (takes[item]) room -= data->weight[bin][item];
    }
    return best[ITEMS][capacity];
}

/* A minorant of each bin: its value at u, and the slope -1 for each item that it takes. */
static int evaluate(void *user, size_t dim, const double *u, size_t count, const size_t *bins,
                    bundlenet_minorants *out) {
    (void)dim;
    for (size_t place = 0; place < count; place++) {
        int takes[ITEMS];
        uint32_t coordinates[ITEMS];
        double entries[ITEMS];
        size_t length = 0;
        double value = knapsack(user, bins[place], u, takes);
        for (uint32_t item = 0; item < ITEMS; item++) {
            if (takes[item]) {
                coordinates[length] = item;
                entries[length++] = -1.0;
            }
        }
        if (bundlenet_minorants_push(out, value, length, coordinates, entries)) return 1;
    }
    return 0;
}

/* A cut of a parent is valid for a child if its knapsack takes no forbidden item. Its constant is the profit. */
static int reprice(void *user, size_t bin, size_t count, const uint32_t *items, const double *entries,
                   double *constant) {
    const instance *data = user;
    *constant = 0.0;
    for (size_t place = 0; place < count; place++) {
        if (data->is_forbidden[bin][items[place]]) return 1;
        *constant -= entries[place] * data->profit[bin][items[place]];
    }
    return 0;
}

static void make(instance *data) {
    const int capacity[BINS] = {43, 38, 51, 46};
    for (int bin = 0; bin < BINS; bin++) {
        data->capacity[bin] = capacity[bin];
        for (int item = 0; item < ITEMS; item++) {
            data->weight[bin][item] = 8 + (37 * item + 11 * bin * item + 3 * bin) % 21;
            data->profit[bin][item] = 2 * data->weight[bin][item] + (53 * item + 17 * bin) % 9;
            data->is_forbidden[bin][item] = 0;
        }
    }
}

int main(void) {
    instance data;
    make(&data);
    double ones[ITEMS], zeros[ITEMS];
    for (int item = 0; item < ITEMS; item++) ones[item] = 1.0, zeros[item] = 0.0;

    bundlenet_solver *solver = bundlenet_solver_new(ITEMS);
    check(bundlenet_solver_set_components(solver, BINS, evaluate, &data), solver);
    check(bundlenet_solver_set_linear(solver, ITEMS, ones), solver);
    check(bundlenet_solver_set_box(solver, ITEMS, zeros, NULL), solver);
    check(bundlenet_solver_set_reprice(solver, reprice, &data), solver);
    check(bundlenet_solver_set_number(solver, "tolerance", 1e-9), solver);

    bundlenet_state *parent = bundlenet_state_new();
    bundlenet_result result;
    check(bundlenet_solve(solver, 0, NULL, parent, &result), solver);
    printf("root: bound %.6f, %zu calls, %zu cuts\n", result.value, result.oracle_calls, bundlenet_state_cuts(parent));

    double root = result.value;
    for (int bin = 0; bin < BINS; bin++) {
        data.is_forbidden[bin][3] = 1;
        bundlenet_state *child = bundlenet_state_copy(parent);
        check(bundlenet_solve(solver, 0, NULL, child, &result), solver);
        printf("item 3 not in bin %d: bound %.6f, %zu calls, %zu cuts reused\n", bin, result.value, result.oracle_calls,
               result.cuts_reused);
        if (result.value > root + 1e-6) return 1;
        bundlenet_state_free(child);
        data.is_forbidden[bin][3] = 0;
    }
    bundlenet_state_free(parent);
    bundlenet_solver_free(solver);
    return 0;
}
