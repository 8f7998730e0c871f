//! The combination of the cuts of all components is repaired to a solution of the relaxation, which proves a bound.

mod network_design {
    use bundlenet::{Lines, SumOracle};
    use bundlenet_problems::network_design::{Arc, Commodity, Design};
    use bundlenet_problems::{NetworkDesign, NetworkDesignDual};

    fn arc(tail: usize, head: usize, fixed_cost: f64, capacity: f64) -> Arc {
        Arc { tail, head, fixed_cost, capacity }
    }

    /// The bound from flows by commodity, and the solution behind it.
    fn prove(instance: &NetworkDesign, flows: &[&[f64]]) -> Option<Design> {
        let mut aggregate = Lines::new();
        for (index, arc) in instance.arcs().iter().enumerate() {
            let first = |k: usize| k * instance.nodes();
            let entries = flows.iter().enumerate().flat_map(|(k, flows)| {
                [((first(k) + arc.tail) as u32, -flows[index]), ((first(k) + arc.head) as u32, flows[index])]
            });
            aggregate.push(0.0, entries);
        }
        let mut dual = NetworkDesignDual::new(instance);
        let bound = dual.prove(&aggregate);
        assert_eq!(bound, dual.proof().map(Design::cost));
        dual.proof().cloned()
    }

    fn one(arcs: Vec<Arc>, costs: &[f64], nodes: usize, demand: f64) -> NetworkDesign {
        let commodity = Commodity { origin: 0, destination: nodes - 1, demand };
        NetworkDesign::with_common_costs(nodes, arcs, vec![commodity], costs).unwrap()
    }

    fn arcs(ends: &[(usize, usize)], capacity: f64) -> Vec<Arc> {
        ends.iter().map(|&(tail, head)| arc(tail, head, 0.0, capacity)).collect()
    }

    #[test]
    fn what_leads_nowhere_is_dropped_and_what_is_missing_is_sent() {
        let mut arcs = arcs(&[(0, 1), (1, 3), (0, 2), (2, 3), (1, 4), (3, 4)], 8.0);
        arcs[0].fixed_cost = 8.0;
        let instance = one(arcs, &[1.0, 2.0, 3.0, 2.0, 1.0, 0.0], 5, 4.0);
        let solution = prove(&instance, &[&[3.0, 1.0, 1.0, 2.0, 0.0, 4.0]]).unwrap();
        // One unit arrives on each of the two ways; the other two units are cheapest over node 1.
        assert_eq!(solution.flows(0), [3.0, 1.0, 1.0, 1.0, 2.0, 2.0]);
        assert_eq!(solution.designs(), [0.75, 0.25, 0.25, 0.25, 0.5, 0.5]);
        assert_eq!(solution.cost(), 8.0 * 0.75 + 3.0 + 2.0 + 3.0 + 2.0 + 2.0);
    }

    #[test]
    fn the_shortest_path_does_not_block_the_others() {
        let ends = [(0, 1), (1, 4), (4, 7), (0, 2), (2, 3), (3, 4), (1, 6), (6, 5), (5, 7)];
        let solution = prove(&one(arcs(&ends, 1.0), &[1.0; 9], 8, 2.0), &[&[1.0; 9]]).unwrap();
        assert_eq!(solution.flows(0), [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn loops_parallel_arcs_and_idle_commodities() {
        let arcs = vec![arc(0, 1, 1.0, 2.0), arc(0, 1, 3.0, 2.0), arc(0, 0, 1.0, 5.0), arc(1, 1, -1.0, 5.0)];
        let commodities = vec![
            Commodity { origin: 0, destination: 1, demand: 3.0 },
            Commodity { origin: 1, destination: 0, demand: 0.0 },
        ];
        let instance = NetworkDesign::with_common_costs(2, arcs, commodities, &[1.0, 1.0, -1.0, 1.0]).unwrap();
        let solution = prove(&instance, &[&[2.0, 1.0, 4.0, 4.0], &[0.0, 0.0, 0.0, 0.0]]).unwrap();
        assert_eq!(solution.flows(0), [2.0, 1.0, 0.0, 0.0]);
        // The loop that pays is open, but the commodity is not sent round it.
        assert_eq!(solution.designs(), [1.0, 0.5, 0.0, 1.0]);
        assert_eq!(solution.cost(), 1.0 + 1.5 + 3.0 - 1.0);
        // Without any flow, the same arcs are found.
        assert_eq!(prove(&instance, &[&[0.0; 4], &[0.0; 4]]).unwrap().cost(), solution.cost());
    }

    #[test]
    fn nothing_is_proved_where_there_is_no_solution() {
        let nowhere = one(vec![arc(1, 0, 1.0, 5.0)], &[1.0], 2, 1.0);
        assert!(prove(&nowhere, &[&[1.0]]).is_none());
        let tight = one(vec![arc(0, 1, 1.0, 5.0)], &[1.0], 2, 6.0);
        assert!(prove(&tight, &[&[5.0]]).is_none());
        assert!(NetworkDesignDual::new(&tight).prove(&Lines::new()).is_none());
        // An arc that is just large enough suffices.
        let exact = one(vec![arc(0, 1, 1.0, 6.0)], &[1.0], 2, 6.0);
        assert_eq!(prove(&exact, &[&[5.0]]).unwrap().cost(), 7.0);
    }

    #[test]
    fn commodities_make_room_for_each_other() {
        // The second commodity can use only the last arc, and the first fills it.
        let arcs = arcs(&[(0, 1), (0, 2), (3, 2), (2, 1)], 10.0);
        let commodities = vec![
            Commodity { origin: 0, destination: 1, demand: 10.0 },
            Commodity { origin: 3, destination: 1, demand: 4.0 },
        ];
        let instance = NetworkDesign::with_common_costs(4, arcs, commodities, &[5.0, 1.0, 1.0, 1.0]).unwrap();
        let optimum = 6.0 * 2.0 + 4.0 * 5.0 + 4.0 * 2.0;
        for change in [1e-2, 1e-5, 1e-8] {
            let (first, second) = ([4.0 - change, 6.0 + change, 0.0, 6.0 + change], 4.0 - change);
            let solution = prove(&instance, &[&first, &[0.0, 0.0, second, second]]).unwrap();
            let loss = solution.cost() - optimum;
            assert!((-1e-11..=100.0 * change).contains(&loss), "{loss} at {change}");
        }
    }
}

mod assignment {
    use bundlenet::{Lines, Sense, SumOracle};
    use bundlenet_problems::assignment::Placement;
    use bundlenet_problems::{Assignment, AssignmentDual};

    /// The solution from shares by bin, then item.
    fn prove(instance: &Assignment, shares: &[f64]) -> Option<Placement> {
        let mut aggregate = Lines::new();
        for shares in shares.chunks_exact(instance.items()) {
            aggregate.push(0.0, shares.iter().enumerate().map(|(item, &share)| (item as u32, -share)));
        }
        let mut dual = AssignmentDual::new(instance);
        let bound = dual.prove(&aggregate);
        assert_eq!(bound, dual.proof().map(Placement::value));
        dual.proof().cloned()
    }

    fn instance(sense: Sense, capacity: u32) -> Assignment {
        Assignment::new(sense, 2, vec![capacity; 2], vec![4.0, -1.0, 3.0, 2.0], vec![2, 2, 2, 2]).unwrap()
    }

    #[test]
    fn an_item_leaves_where_it_is_worth_least() {
        let solution = prove(&instance(Sense::Maximize, 4), &[0.75, 0.5, 0.5, 0.25]).unwrap();
        assert_eq!((solution.shares(0), solution.shares(1)), (&[0.75, 0.25][..], &[0.0, 0.25][..]));
        assert_eq!(solution.value(), 3.0 + 0.75 + 0.5);
        let solution = prove(&instance(Sense::Minimize, 4), &[0.75, 1.0, 0.5, 0.25]).unwrap();
        assert_eq!((solution.shares(0), solution.shares(1)), (&[0.5, 0.5][..], &[1.0, 0.0][..]));
        assert_eq!(solution.value(), 2.0 + 1.5 - 1.0);
    }

    #[test]
    fn what_is_missing_comes_from_a_covering() {
        for change in [1e-2, 1e-5, 1e-8] {
            let solution = prove(&instance(Sense::Minimize, 4), &[0.0, 1.0, 1.0 - change, 0.0]).unwrap();
            // Both bins hold both items, so every item is covered twice: only the missing part is mixed in.
            assert!((0.0..=2.0 * change).contains(&(solution.value() - 2.0)), "{} at {change}", solution.value());
        }
    }

    #[test]
    fn nothing_is_proved_without_room() {
        // Each bin holds one of the two items: both can be covered, but only once.
        let tight = instance(Sense::Minimize, 2);
        assert_eq!(prove(&tight, &[0.0, 1.0, 1.0, 0.0]).unwrap().value(), 2.0);
        assert!(prove(&tight, &[0.0, 1.0, 0.9, 0.0]).is_none());
        assert!(prove(&instance(Sense::Minimize, 1), &[0.0; 4]).is_none());
        assert_eq!(prove(&instance(Sense::Maximize, 1), &[0.0; 4]).unwrap().value(), 0.0);
        assert!(AssignmentDual::new(&tight).prove(&Lines::new()).is_none());
    }
}
