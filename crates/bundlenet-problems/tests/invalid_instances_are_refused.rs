//! Data that are no valid instance are refused, and the error names the element at fault.

mod network_design {
    use bundlenet_problems::network_design::{Arc, Commodity};
    use bundlenet_problems::{Element, InvalidInstance, NetworkDesign};

    fn build(
        nodes: usize,
        change_arc: impl Fn(&mut Arc),
        change_commodity: impl Fn(&mut Commodity),
        cost: f64,
    ) -> Result<NetworkDesign, InvalidInstance> {
        let mut arc = Arc { tail: 0, head: 1, fixed_cost: 1.0, capacity: 2.0 };
        let mut commodity = Commodity { origin: 0, destination: 1, demand: 1.0 };
        change_arc(&mut arc);
        change_commodity(&mut commodity);
        NetworkDesign::new(nodes, vec![arc], vec![commodity], vec![cost])
    }

    #[test]
    fn invalid_data_are_refused_by_name() {
        assert!(build(2, |_| (), |_| (), 1.0).is_ok());
        let element = |result: Result<NetworkDesign, InvalidInstance>| result.unwrap_err().element;
        assert_eq!(element(build(2, |arc| arc.capacity = 0.0, |_| (), 1.0)), Element::ArcCapacity(0));
        assert_eq!(element(build(2, |arc| arc.capacity = -1.0, |_| (), 1.0)), Element::ArcCapacity(0));
        assert_eq!(element(build(2, |arc| arc.capacity = f64::NAN, |_| (), 1.0)), Element::ArcCapacity(0));
        assert_eq!(element(build(2, |arc| arc.head = 2, |_| (), 1.0)), Element::Head(0));
        assert_eq!(element(build(2, |arc| arc.tail = 9, |_| (), 1.0)), Element::Tail(0));
        assert_eq!(element(build(2, |arc| arc.fixed_cost = f64::INFINITY, |_| (), 1.0)), Element::FixedCost(0));
        assert_eq!(element(build(2, |_| (), |one| one.demand = -1.0, 1.0)), Element::Demand(0));
        assert_eq!(element(build(2, |_| (), |one| one.origin = 1, 1.0)), Element::Destination(0));
        assert_eq!(element(build(2, |_| (), |one| one.origin = 3, 1.0)), Element::Origin(0));
        assert_eq!(element(build(2, |_| (), |_| (), f64::NAN)), Element::RoutingCost { arc: 0, commodity: 0 });
        assert_eq!(element(build(1 << 40, |_| (), |_| (), 1.0)), Element::Nodes);
        assert_eq!(element(NetworkDesign::new(2, vec![], vec![], vec![])), Element::Arcs);
        let arc = Arc { tail: 0, head: 1, fixed_cost: 1.0, capacity: 2.0 };
        assert_eq!(element(NetworkDesign::new(2, vec![arc], vec![], vec![])), Element::Commodities);
        let commodity = Commodity { origin: 0, destination: 1, demand: 1.0 };
        assert_eq!(element(NetworkDesign::new(2, vec![arc], vec![commodity], vec![])), Element::RoutingCosts);
    }
}

mod facility_location {
    use bundlenet_problems::facility_location::Site;
    use bundlenet_problems::{Element, FacilityLocation, InvalidInstance};

    #[test]
    fn invalid_data_are_refused_by_name() {
        let site = |capacity, fixed_cost| vec![Site { capacity, fixed_cost }];
        assert!(FacilityLocation::new(site(f64::INFINITY, 1.0), vec![1.0, 0.0], vec![1.0, 2.0]).is_ok());
        let element = |sites, demands, costs| -> Element {
            let built: Result<_, InvalidInstance> = FacilityLocation::new(sites, demands, costs);
            built.unwrap_err().element
        };
        assert_eq!(element(vec![], vec![1.0], vec![]), Element::Sites);
        assert_eq!(element(site(1.0, 1.0), vec![], vec![]), Element::Customers);
        assert_eq!(element(site(1.0, 1.0), vec![1.0], vec![]), Element::ServiceCosts);
        for capacity in [0.0, -1.0, f64::NAN] {
            assert_eq!(element(site(capacity, 1.0), vec![1.0], vec![1.0]), Element::SiteCapacity(0));
        }
        assert_eq!(element(site(1.0, f64::INFINITY), vec![1.0], vec![1.0]), Element::SiteCost(0));
        for demand in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(element(site(1.0, 1.0), vec![1.0, demand], vec![1.0; 2]), Element::CustomerDemand(1));
        }
        let cost = vec![1.0, f64::NAN];
        assert_eq!(element(site(1.0, 1.0), vec![1.0; 2], cost), Element::ServiceCost { site: 0, customer: 1 });
    }
}

mod assignment {
    use bundlenet::Sense;
    use bundlenet_problems::{Assignment, Element, InvalidInstance};

    #[test]
    fn invalid_data_are_refused_by_name() {
        let build =
            |items, capacities, profits, weights| Assignment::new(Sense::Maximize, items, capacities, profits, weights);
        assert!(build(2, vec![3], vec![1.0, 2.0], vec![1, 0]).is_ok());
        let element = |result: Result<Assignment, InvalidInstance>| result.unwrap_err().element;
        assert_eq!(element(build(2, vec![], vec![], vec![])), Element::Bins);
        assert_eq!(element(build(0, vec![3], vec![], vec![])), Element::Items);
        assert_eq!(element(build(2, vec![3], vec![1.0], vec![1, 1])), Element::Profits);
        assert_eq!(element(build(2, vec![3], vec![1.0, 2.0], vec![1])), Element::Weights);
        assert_eq!(element(build(2, vec![0], vec![1.0, 2.0], vec![1, 1])), Element::BinCapacity(0));
        assert_eq!(element(build(2, vec![3], vec![1.0, f64::NAN], vec![1, 1])), Element::Profit { bin: 0, item: 1 });
        assert_eq!(element(build(usize::MAX, vec![3, 3], vec![1.0], vec![1])), Element::Profits);
    }
}
