//! Readers: `.dat`, `.dow` and the published JSON.

use super::{Arc, Commodity, NetworkDesign};
use crate::error::{Element, Error, InvalidInstance, ParseError};
use crate::json::RawInstance;
use crate::text::{JsonStep, Tokens};

/// A size in a text header. The rest of the file bounds it, so that a wrong header cannot ask for too much memory.
fn size(tokens: &mut Tokens<'_>, what: &str, tokens_each: usize) -> Result<usize, ParseError> {
    let count = tokens.count(format_args!("the number of {what}"))?;
    let most = tokens.count_left() / tokens_each;
    if count == 0 || count > most {
        let expected = format!("a number of {what} from 1 to {most}, as many as the rest of the file can hold");
        return Err(tokens.error(expected, count));
    }
    Ok(count)
}

/// Reads `.dat`: `N E K`; for each arc `HEAD TAIL fixed capacity nk` and `nk` lines `k cost capacity_k`; then
/// `k node b`, `b < 0` at the origin.
pub(crate) fn dat(file: &str, text: &str) -> Result<NetworkDesign, Error> {
    let mut tokens = Tokens::new(file, text);
    let nodes = tokens.count(format_args!("the number of nodes of a .dat file"))?;
    let header = tokens.line();
    let arc_count = size(&mut tokens, "arcs", 5)?;
    let commodity_count = size(&mut tokens, "commodities", 6)?;
    let cells = arc_count.saturating_mul(commodity_count);
    if cells > tokens.count_left() / 3 {
        let expected = "so few arcs and commodities that the rest of the file holds a line for each pair";
        return Err(tokens.error(expected, format_args!("{arc_count} and {commodity_count}")).into());
    }
    let mut arcs = Vec::with_capacity(arc_count);
    let mut arc_lines = Vec::with_capacity(arc_count);
    let mut routing_costs = vec![f64::NAN; cells];
    // (arc, commodity, limit, line) of limits below the arc's capacity. Demands come later in the file.
    let mut limits = Vec::new();
    for arc in 0..arc_count {
        let head = tokens.index(format_args!("the head of arc {}", arc + 1), nodes)?;
        arc_lines.push(tokens.line());
        let tail = tokens.index(format_args!("the tail of arc {}", arc + 1), nodes)?;
        let fixed_cost = tokens.real(format_args!("the fixed cost of arc {}", arc + 1))?;
        let capacity = tokens.real(format_args!("the capacity of arc {}", arc + 1))?;
        let listed = tokens.count(format_args!("the number of commodities on arc {}", arc + 1))?;
        if listed != commodity_count {
            // An arc closed to some commodities is not supported; to ignore it would give a wrong result.
            let expected = format!("all {commodity_count} commodities listed on arc {}", arc + 1);
            return Err(tokens.error(expected, listed).into());
        }
        for _ in 0..listed {
            let commodity = tokens.index(format_args!("a commodity on arc {}", arc + 1), commodity_count)?;
            let cell = &mut routing_costs[arc * commodity_count + commodity];
            if !cell.is_nan() {
                let expected = format!("each commodity once on arc {}", arc + 1);
                return Err(tokens.error(expected, format_args!("commodity {} again", commodity + 1)).into());
            }
            *cell = tokens.real(format_args!("the routing cost of commodity {}", commodity + 1))?;
            let limit = tokens.real(format_args!("the capacity for commodity {}", commodity + 1))?;
            if limit < capacity {
                limits.push((arc, commodity, limit, tokens.line()));
            }
        }
        arcs.push(Arc { tail, head, fixed_cost, capacity });
    }
    let (commodities, commodity_lines) = dat_commodities(&mut tokens, nodes, commodity_count)?;
    for (arc, commodity, limit, line) in limits {
        let needed = commodities[commodity].demand.min(arcs[arc].capacity);
        if limit < needed {
            return Err(tight_limit(file, line, commodity, (limit, needed)).into());
        }
    }
    let line_of = |element| line_of(element, header, &arc_lines, &commodity_lines);
    NetworkDesign::new(nodes, arcs, commodities, routing_costs)
        .map_err(|invalid| invalid_at(invalid, file, line_of).into())
}

/// A limit of a commodity on an arc that would bind: not supported.
fn tight_limit(file: &str, line: usize, commodity: usize, (limit, needed): (f64, f64)) -> ParseError {
    let expected = format!(
        "a capacity for commodity {} of at least {needed} (its demand or the arc's capacity; tighter limits are not \
         supported)",
        commodity + 1
    );
    ParseError { file: file.to_string(), line, expected, found: limit.to_string() }
}

/// Reads the lines `k node b` up to the end: one origin (`b < 0`, or a written `-0`) and one destination for each
/// commodity, with the same amount.
fn dat_commodities(
    tokens: &mut Tokens<'_>,
    nodes: usize,
    count: usize,
) -> Result<(Vec<Commodity>, Vec<usize>), ParseError> {
    let mut ends: Vec<[Option<(usize, f64)>; 2]> = vec![[None; 2]; count];
    let mut lines = vec![0; count];
    for _ in 0..2 * count {
        let commodity = tokens.index(format_args!("the commodity of a supply or demand"), count)?;
        let node = tokens.index(format_args!("the node of a supply or demand"), nodes)?;
        let amount = tokens.real(format_args!("the amount of a supply or demand"))?;
        let side = usize::from(amount.is_sign_positive());
        let name = ["origin", "destination"][side];
        if ends[commodity][side].is_some() {
            let expected = format!("one {name} for commodity {}", commodity + 1);
            return Err(tokens.error(expected, "a second one"));
        }
        ends[commodity][side] = Some((node, amount.abs()));
        lines[commodity] = tokens.line();
    }
    tokens.end()?;
    let mut commodities = Vec::with_capacity(count);
    for (index, pair) in ends.into_iter().enumerate() {
        // Two different lines for each of `count` commodities: none is missing.
        let [Some((origin, supply)), Some((destination, demand))] = pair else {
            return Err(tokens.error(format_args!("an origin and a destination for commodity {}", index + 1), "one"));
        };
        if supply != demand {
            let error = ParseError {
                line: lines[index],
                ..tokens
                    .error(format_args!("as much of commodity {} to arrive as leaves ({supply})", index + 1), demand)
            };
            return Err(error);
        }
        commodities.push(Commodity { origin, destination, demand });
    }
    Ok((commodities, lines))
}

/// Reads `.dow`: a title line, `N E K`, arcs `from to cost capacity fixed _ _`, then `origin destination demand`.
pub(crate) fn dow(file: &str, text: &str) -> Result<NetworkDesign, Error> {
    let mut tokens = Tokens::new(file, text);
    let blank_lines = text.lines().take_while(|line| line.trim().is_empty()).count();
    (0..=blank_lines).for_each(|_| tokens.skip_line());
    let nodes = tokens.count(format_args!("the number of nodes of a .dow file"))?;
    let header = tokens.line();
    let arc_count = size(&mut tokens, "arcs", 7)?;
    let commodity_count = size(&mut tokens, "commodities", 3)?;
    let mut arcs = Vec::with_capacity(arc_count);
    let mut arc_lines = Vec::with_capacity(arc_count);
    let mut costs = Vec::with_capacity(arc_count);
    for arc in 1..=arc_count {
        let tail = tokens.index(format_args!("the start of arc {arc}"), nodes)?;
        arc_lines.push(tokens.line());
        let head = tokens.index(format_args!("the end of arc {arc}"), nodes)?;
        costs.push(tokens.real(format_args!("the routing cost of arc {arc}"))?);
        let capacity = tokens.real(format_args!("the capacity of arc {arc}"))?;
        let fixed_cost = tokens.real(format_args!("the fixed cost of arc {arc}"))?;
        tokens.real(format_args!("the first of two unused numbers of arc {arc}"))?;
        tokens.real(format_args!("the second of two unused numbers of arc {arc}"))?;
        arcs.push(Arc { tail, head, fixed_cost, capacity });
    }
    let mut commodities = Vec::with_capacity(commodity_count);
    let mut commodity_lines = Vec::with_capacity(commodity_count);
    for commodity in 1..=commodity_count {
        let origin = tokens.index(format_args!("the origin of commodity {commodity}"), nodes)?;
        commodity_lines.push(tokens.line());
        let destination = tokens.index(format_args!("the destination of commodity {commodity}"), nodes)?;
        let demand = tokens.real(format_args!("the demand of commodity {commodity}"))?;
        commodities.push(Commodity { origin, destination, demand });
    }
    tokens.end()?;
    let line_of = |element| line_of(element, header, &arc_lines, &commodity_lines);
    NetworkDesign::with_common_costs(nodes, arcs, commodities, &costs)
        .map_err(|invalid| invalid_at(invalid, file, line_of).into())
}

fn line_of(element: Element, header: usize, arcs: &[usize], commodities: &[usize]) -> usize {
    match element {
        Element::Tail(arc)
        | Element::Head(arc)
        | Element::FixedCost(arc)
        | Element::ArcCapacity(arc)
        | Element::RoutingCost { arc, .. } => arcs[arc],
        Element::Origin(commodity) | Element::Destination(commodity) | Element::Demand(commodity) => {
            commodities[commodity]
        }
        _ => header,
    }
}

fn invalid_at(invalid: InvalidInstance, file: &str, line_of: impl Fn(Element) -> usize) -> ParseError {
    let line = line_of(invalid.element);
    invalid.at(file, line)
}

/// Place of an element in the published JSON.
fn json_path(element: Element) -> Vec<JsonStep> {
    use JsonStep::{Index, Key};
    match element {
        Element::Nodes => vec![Key("N")],
        Element::Tail(arc) => vec![Key("tail"), Index(arc)],
        Element::Head(arc) => vec![Key("head"), Index(arc)],
        Element::FixedCost(arc) => vec![Key("f"), Index(arc)],
        Element::ArcCapacity(arc) => vec![Key("c"), Index(arc)],
        Element::Origin(commodity) => vec![Key("o"), Index(commodity)],
        Element::Destination(commodity) => vec![Key("d"), Index(commodity)],
        Element::Demand(commodity) => vec![Key("q"), Index(commodity)],
        Element::RoutingCost { arc, commodity } => vec![Key("r"), Index(commodity), Index(arc)],
        _ => vec![],
    }
}

/// Builds the instance from the fields `N`, `tail`, `head`, `f`, `c`, `o`, `d`, `q`, `r[K][E]`.
pub(crate) fn json(raw: &RawInstance<'_>) -> Result<NetworkDesign, Error> {
    let nodes = raw.count("N", raw.fields.nodes)?;
    let tail = raw.indices("tail", raw.fields.tail.as_deref())?;
    let head = raw.indices("head", raw.fields.head.as_deref())?;
    let fixed_cost = raw.list("f", raw.fields.fixed_cost.as_deref())?;
    let capacity = raw.list("c", raw.fields.capacity.as_deref())?;
    for (key, found) in [("head", head.len()), ("f", fixed_cost.len()), ("c", capacity.len())] {
        raw.same_length(key, tail.len(), found)?;
    }
    let origin = raw.indices("o", raw.fields.origin.as_deref())?;
    let destination = raw.indices("d", raw.fields.destination.as_deref())?;
    let demand = raw.list("q", raw.fields.demand.as_deref())?;
    for (key, found) in [("d", destination.len()), ("q", demand.len())] {
        raw.same_length(key, origin.len(), found)?;
    }
    let rows = raw.matrix("r", raw.fields.routing_costs.as_deref(), origin.len(), tail.len())?;
    let arcs = (0..tail.len())
        .map(|arc| Arc { tail: tail[arc], head: head[arc], fixed_cost: fixed_cost[arc], capacity: capacity[arc] })
        .collect();
    let commodities = (0..origin.len())
        .map(|k| Commodity { origin: origin[k], destination: destination[k], demand: demand[k] })
        .collect();
    let routing_costs = (0..tail.len()).flat_map(|arc| rows.iter().map(move |row| row[arc])).collect();
    NetworkDesign::new(nodes, arcs, commodities, routing_costs)
        .map_err(|invalid| raw.invalid(json_path(invalid.element), invalid).into())
}
