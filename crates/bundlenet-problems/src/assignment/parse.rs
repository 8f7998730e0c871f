//! Readers: generalised assignment text, with and without a problem count, and the published JSON.

use super::Assignment;
use crate::error::{Element, Error, ParseError};
use crate::format::TextLayout;
use crate::json::RawInstance;
use crate::text::{JsonStep, Tokens};
use bundlenet::Sense;

/// Reads a text: for each problem `bins items`, profits (or costs) and weights bin by bin, capacities.
pub(crate) fn text(file: &str, text: &str, layout: TextLayout, sense: Sense) -> Result<Vec<Assignment>, Error> {
    let mut tokens = Tokens::new(file, text);
    let count = match layout {
        TextLayout::Counted => tokens.count(format_args!("the number of problems"))?,
        TextLayout::Single | TextLayout::Location => 1,
    };
    if count == 0 {
        return Err(tokens.error("at least one problem", count).into());
    }
    let mut problems = Vec::new();
    for _ in 0..count {
        problems.push(problem(file, &mut tokens, sense)?);
    }
    tokens.end()?;
    Ok(problems)
}

fn problem(file: &str, tokens: &mut Tokens<'_>, sense: Sense) -> Result<Assignment, Error> {
    let bins = tokens.count(format_args!("the number of bins"))?;
    let header = tokens.line();
    let items = tokens.count(format_args!("the number of items"))?;
    // The rest of the file bounds the sizes, so that a wrong header cannot ask for too much memory.
    let cells = bins.saturating_mul(items);
    let left = tokens.count_left();
    if cells.saturating_mul(2).saturating_add(bins) > left {
        let expected = format!("so few bins and items that the {left} numbers left are enough for them");
        return Err(tokens.error(expected, format_args!("{bins} bins and {items} items")).into());
    }
    let mut profits = Vec::with_capacity(cells);
    let mut weights = Vec::with_capacity(cells);
    for cell in 0..cells {
        let (bin, item) = (cell / items + 1, cell % items + 1);
        profits.push(tokens.real(format_args!("the profit or cost of item {item} in bin {bin}"))?);
    }
    for cell in 0..cells {
        let (bin, item) = (cell / items + 1, cell % items + 1);
        weights.push(tokens.integer(format_args!("the weight of item {item} in bin {bin}"))?);
    }
    let mut capacities = Vec::with_capacity(bins);
    let mut lines = Vec::with_capacity(bins);
    for bin in 1..=bins {
        capacities.push(tokens.integer(format_args!("the capacity of bin {bin}"))?);
        lines.push(tokens.line());
    }
    Assignment::new(sense, items, capacities, profits, weights).map_err(|invalid| {
        let line = match invalid.element {
            Element::BinCapacity(bin) => lines[bin],
            _ => header,
        };
        invalid.at(file, line).into()
    })
}

/// Builds the instance from the published fields `I`, `J`, `c[J]`, `p[J][I]`, `w[J][I]`, and from `sense`, which is
/// ours.
pub(crate) fn json(raw: &RawInstance<'_>, sense: Option<Sense>) -> Result<Assignment, Error> {
    let items = raw.count("I", raw.fields.items)?;
    let bins = raw.count("J", raw.fields.bins)?;
    let sense = raw.fields.sense.map(Sense::from).or(sense).unwrap_or(Sense::Maximize);
    let capacities = raw.list("c", raw.fields.capacity.as_deref())?;
    raw.same_length("c", bins, capacities.len())?;
    let capacities = raw.whole_numbers(&[JsonStep::Key("c")], capacities)?.collect();
    let profits = raw.matrix("p", raw.fields.profits.as_deref(), bins, items)?.concat();
    let weights = raw
        .matrix("w", raw.fields.weights.as_deref(), bins, items)?
        .iter()
        .enumerate()
        .map(|(bin, row)| raw.whole_numbers(&[JsonStep::Key("w"), JsonStep::Index(bin)], row))
        .collect::<Result<Vec<_>, ParseError>>()?
        .into_iter()
        .flatten()
        .collect();
    Assignment::new(sense, items, capacities, profits, weights).map_err(|invalid| {
        let path = match invalid.element {
            Element::BinCapacity(bin) => vec![JsonStep::Key("c"), JsonStep::Index(bin)],
            Element::Profit { bin, item } => vec![JsonStep::Key("p"), JsonStep::Index(bin), JsonStep::Index(item)],
            _ => vec![],
        };
        raw.invalid(path, invalid).into()
    })
}
