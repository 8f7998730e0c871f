//! Model files: their structure, their dual, and results by the names of rows and columns.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bundlenet::{Components, Oracle, Primal, Settings};
use bundlenet_mip::{
    BlockDual, Blocks, Candidate, LinkingColumns, Model, Relaxation, Structure, TwoStage, Watch, candidates,
    linking_columns,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::input::{BlockOptions, Modes, Start, is_stochastic};
use crate::output::{self, Subject, sense_name};
use crate::run::{Outcome, Run, print_every};
use crate::solve_report::{BlockFields, Named, Report, StageFields};

/// Least limit of a run in seconds: it evaluates the start.
const LEAST_SECONDS: f64 = 1e-3;

/// Candidates that `inspect` shows.
const MOST_SHOWN: usize = 5;

/// Letters of a pattern that are shown, at most. A longer one lists the names of many rows.
const LONGEST_PATTERN: usize = 200;

/// Names of linking columns that are shown.
const MOST_NAMES: usize = 4;

/// The description of a model file.
pub(crate) struct Description {
    pub(crate) rows: Vec<(&'static str, String)>,
    pub(crate) json: Map<String, Value>,
    /// The dual, if the structure is known.
    pub(crate) dual: Option<Box<dyn Oracle>>,
}

/// A model with its structure.
enum Program {
    Blocks(Blocks),
    Stages(Box<TwoStage>),
}

impl From<bundlenet_mip::Error> for Failure {
    fn from(error: bundlenet_mip::Error) -> Self {
        Self::input(error)
    }
}

/// The structure that the options ask for.
fn structure(file: &Path, model: &Model, options: &BlockOptions) -> Result<Structure, Failure> {
    match (&options.dec, options.relax.as_deref()) {
        (Some(path), _) => Ok(Structure::read(model, path)?),
        (None, Some("auto")) => {
            let first = candidates(model).into_iter().next();
            let first = first.ok_or_else(|| {
                Failure::input(format!("{}: expected rows whose removal leaves blocks, found none", file.display()))
            })?;
            output::note(&format!("bundlenet: {}: {}", file.display(), candidate_text(&first)));
            Ok(first.structure().clone())
        }
        (None, Some(pattern)) => Ok(Structure::of_pattern(model, pattern).map_err(|error| error.in_file(file))?),
        (None, None) => Err(Failure::input(format!(
            "{}: expected --dec FILE, --relax REGEX or --relax auto, found none; `bundlenet inspect` shows candidates",
            file.display()
        ))),
    }
}

impl Program {
    fn read(file: &Path, options: &BlockOptions) -> Result<Self, Failure> {
        if !is_stochastic(file) {
            let model = Model::read(file)?;
            let structure = structure(file, &model, options)?;
            return Ok(Self::Blocks(Blocks::new(model, &structure).map_err(|error| error.in_file(file))?));
        }
        let stages = if file.is_dir() {
            TwoStage::read_folder(file, options.first_stage.as_deref())?
        } else {
            TwoStage::read(file)?
        };
        if let Some(warning) = stages.warning() {
            output::note(&format!("bundlenet: {}: {warning}", file.display()));
        }
        Ok(Self::Stages(Box::new(stages)))
    }

    fn blocks(&self) -> &Blocks {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Stages(stages) => stages.blocks(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Blocks(_) => "blocks",
            Self::Stages(_) => "two-stage",
        }
    }

    /// The sizes in words.
    fn sizes(&self) -> String {
        let blocks = self.blocks();
        let (all, distinct) = block_counts(blocks);
        let kind = match self {
            Self::Blocks(_) => "mixed-integer program".to_string(),
            Self::Stages(stages) => format!("two-stage stochastic program, {} scenarios", stages.scenarios().len()),
        };
        format!(
            "{kind}, {} columns, {} relaxed rows, {all} blocks ({distinct} distinct)",
            blocks.columns(),
            blocks.relaxed_rows().len()
        )
    }
}

/// Number of blocks, and of those that are not identical.
fn block_counts(blocks: &Blocks) -> (usize, usize) {
    (blocks.blocks().iter().map(|block| block.multiplicity()).sum(), blocks.blocks().len())
}

/// Solves the dual of a model file.
pub(crate) fn solve(
    file: &Path,
    options: &BlockOptions,
    (settings, interrupt, modes): (&Settings, &'static AtomicBool, Modes),
    run: Run<'_>,
) -> Result<Option<Report>, Failure> {
    let begin = Instant::now();
    let program = Program::read(file, options)?;
    let blocks = program.blocks();
    let whole = modes.is_safe.then(|| blocks.whole()).transpose();
    let whole = whole.map_err(|error| error.in_file(file))?;
    let watch = |share: f64| {
        let left = settings.limits.seconds.map(|all| (share * all - begin.elapsed().as_secs_f64()).max(LEAST_SECONDS));
        (left, Watch::default().interrupt(interrupt).seconds(left))
    };
    let relaxation = blocks.relaxation(watch(1.0).1)?;
    let start = relaxation.as_ref().map(|it| it.multipliers.as_slice());
    let is_staged = matches!(program, Program::Stages(_));
    let (seconds, until) = watch(if is_staged { 1.0 - TwoStage::SEARCH_SHARE } else { 1.0 });
    let mut settings = settings.clone();
    settings.limits.seconds = seconds;
    // The mean of the first-stage solutions needs them.
    settings.primal |= is_staged && settings.method.has_primal();
    let mut dual = blocks.dual(until)?;
    if let Some(relaxation) = &relaxation {
        dual.components().set_relaxation(relaxation);
    }
    let names: Vec<String> =
        blocks.named_multipliers(&vec![0.0; dual.dim()]).map(|(name, _)| name.to_string()).collect();
    let progress = (!modes.is_quiet).then(|| show_progress(dual.components()));
    let solved = run(&mut dual, &program.sizes(), Start { names: &names, point: start }, &settings);
    let is_cut_short = seconds.is_some() || interrupt.load(Ordering::Relaxed);
    let solved = solved.map_err(|failure| failed(file, failure, relaxation.as_ref().filter(|_| is_cut_short)))?;
    drop(progress);
    let Some(Outcome { solution, state, unsaved }) = solved else { return Ok(None) };
    let primal = solution.primal.as_ref();
    let found = match &program {
        Program::Stages(stages) => stages.best_first_stage(&dual, (&state, primal), watch(1.0).1)?,
        Program::Blocks(_) => None,
    };
    let (all, distinct) = block_counts(blocks);
    let stages = match &program {
        Program::Blocks(_) => None,
        Program::Stages(stages) => Some(StageFields {
            scenarios: stages.scenarios().len(),
            mean_first_stage: primal.map(|primal| Named(stages.mean_first_stage(primal))),
            best_first_stage: found.as_ref().map(|found| Named(found.columns.clone())),
        }),
    };
    let subject = Subject::named(file, program.name(), &dual);
    let text = primal.map(|primal| primal_file(&subject, blocks, solution.value, primal)).transpose()?;
    let fields = BlockFields {
        lp_bound: relaxation.as_ref().map(|it| it.bound),
        blocks: all,
        distinct_blocks: distinct,
        stages,
        multipliers: Named(names.into_iter().zip(solution.point.iter().copied()).collect()),
        primal: text,
    };
    let safe = whole.map(|whole| whole.safe_bound(&solution.point));
    let mut report = Report::of_run(subject, settings.method.name(), solution, found.map(|found| found.value));
    report.set_safe_bound(safe);
    (report.unsaved, report.blocks) = (unsaved, Some(fields));
    Ok(Some(report))
}

/// A failure of a run with the name of the file. With a limit of time, or after an interrupt, the bound of the linear
/// relaxation may be all that there is.
fn failed(file: &Path, failure: Failure, known: Option<&Relaxation>) -> Failure {
    let known = known.map_or_else(String::new, |it| format!("; the linear relaxation has the bound {}", it.bound));
    failure.of(&file.display().to_string()).with(|message| message + &known)
}

/// Prints the number of blocks that are done while a call takes long.
fn show_progress(dual: &BlockDual) -> impl Sized + use<> {
    let (solved, count) = (dual.solved(), dual.component_count().max(1));
    let mut before = 0;
    print_every(move || {
        let done = solved.load(Ordering::Relaxed);
        // A call that ends within the period has a line in the log.
        let is_same_call = done / count == before / count;
        before = done;
        is_same_call.then(|| format!("call {}: {} of {count} blocks done", done / count + 1, done % count))
    })
}

/// The file of `--primal`.
#[derive(Serialize)]
struct PrimalFile<'a> {
    #[serde(flatten)]
    subject: &'a Subject,
    /// Value of the dual.
    bound: f64,
    largest_violation: f64,
    convex: Columns,
}

/// Values of columns that are not 0.
#[derive(Serialize)]
struct Columns {
    value: f64,
    columns: Named,
}

fn primal_file(subject: &Subject, blocks: &Blocks, bound: f64, primal: &Primal) -> Result<String, Failure> {
    let values = blocks.values(primal);
    let named = blocks.model().columns.iter().zip(&values).filter(|(_, value)| **value != 0.0);
    let file = PrimalFile {
        subject,
        bound,
        largest_violation: blocks.largest_violation(&values),
        convex: Columns {
            value: blocks.model().objective(&values),
            columns: Named(named.map(|(column, value)| (column.name.clone(), *value)).collect()),
        },
    };
    Ok(serde_json::to_string(&file)? + "\n")
}

/// Describes a model file.
pub(crate) fn describe(file: &Path, options: &BlockOptions) -> Result<Description, Failure> {
    let mut found = Description { rows: vec![("file", file.display().to_string())], json: Map::new(), dual: None };
    found.json.insert("file".to_string(), file.display().to_string().into());
    let is_bare = !is_stochastic(file) && options.dec.is_none() && options.relax.is_none();
    if is_bare {
        found.describe_model(&Model::read(file)?);
        return Ok(found);
    }
    let program = Program::read(file, options)?;
    found.describe_program(&program)?;
    Ok(found)
}

impl Description {
    fn add(&mut self, row: &'static str, text: String, field: &str, value: impl Into<Value>) {
        self.rows.push((row, text));
        self.json.insert(field.to_string(), value.into());
    }

    fn add_sizes(&mut self, name: &str, model: &Model, columns: usize) {
        let own = &model.columns[..columns];
        let whole = own.iter().filter(|column| column.is_integer).count();
        let entries: usize = model.rows.iter().map(|row| row.entries.len()).sum();
        self.add("problem", format!("{name}, to {}", model.sense), "problem", name);
        self.json.insert("problem_sense".to_string(), sense_name(model.sense).into());
        self.add("columns", format!("{columns}, of which {whole} integer"), "columns", columns);
        self.json.insert("integer_columns".to_string(), whole.into());
        self.add("rows", format!("{} with {entries} entries", model.rows.len()), "rows", model.rows.len());
        self.json.insert("entries".to_string(), entries.into());
    }

    /// Sizes, and the structures that `--relax` would give.
    fn describe_model(&mut self, model: &Model) {
        self.add_sizes("mixed-integer program", model, model.columns.len());
        let found = candidates(model);
        let shown = &found[..found.len().min(MOST_SHOWN)];
        let values: Vec<Value> = shown.iter().map(candidate_json).collect();
        self.json.insert("candidates".to_string(), values.into());
        if shown.is_empty() {
            self.rows.push(("candidates", "none: no rows were found whose removal leaves blocks".into()));
        }
        self.rows.extend(shown.iter().map(|it| ("candidate", candidate_text(it))));
        let columns = linking_columns(model, &found);
        self.rows.extend(columns.iter().map(|it| ("columns", linking_text(it))));
        self.json.insert("linking_columns".to_string(), columns.as_ref().map_or(Value::Null, linking_json));
    }

    /// Sizes, relaxed rows and blocks.
    fn describe_program(&mut self, program: &Program) -> Result<(), Failure> {
        let blocks = program.blocks();
        self.add_sizes(program.name(), blocks.model(), blocks.columns());
        if let Program::Stages(stages) = program {
            let (scenarios, columns) = (stages.scenarios().len(), stages.first_stage().len());
            self.add("scenarios", scenarios.to_string(), "scenarios", scenarios);
            self.add("first stage", format!("{columns} columns"), "first_stage_columns", columns);
        }
        let relaxed = blocks.relaxed_rows().len();
        self.add("relaxed rows", relaxed.to_string(), "relaxed_rows", relaxed);
        let filled = blocks.filled_bounds();
        self.add("filled bounds", format!("{filled} of columns, implied by rows"), "filled_bounds", filled);
        let (all, distinct) = block_counts(blocks);
        self.add("blocks", format!("{all}, of which {distinct} distinct"), "blocks", all);
        self.json.insert("distinct_blocks".to_string(), distinct.into());
        let mut groups: BTreeMap<(String, usize, usize, usize), usize> = BTreeMap::new();
        for block in blocks.blocks() {
            let (columns, rows) = (block.columns().len(), block.rows().len());
            *groups.entry((block.kind().to_string(), columns, rows, block.multiplicity())).or_default() += 1;
        }
        let mut values = vec![];
        for ((kind, columns, rows, copies), count) in groups {
            let identical = if copies > 1 { format!(", each {copies} times") } else { String::new() };
            self.rows.push(("", format!("{count} x {kind}: {columns} columns, {rows} rows{identical}")));
            values.push(json!({
                "kind": kind, "columns": columns, "rows": rows, "multiplicity": copies, "count": count,
            }));
        }
        self.json.insert("kinds".to_string(), values.into());
        let dual = blocks.dual(Watch::default())?;
        let sense = sense_name(dual.sense());
        self.add("dual", format!("{}, {} multipliers", dual.sense(), dual.dim()), "dimension", dual.dim());
        self.json.insert("sense".to_string(), sense.into());
        self.dual = Some(Box::new(dual));
        Ok(())
    }
}

fn candidate_json(it: &Candidate) -> Value {
    json!({
        "relax": it.pattern,
        "relaxed_rows": it.relaxed_rows,
        "blocks": it.blocks,
        "loose_columns": it.loose_columns,
        "relaxed_share": it.relaxed_share,
        "largest_share": it.largest_share,
        "may_gain": it.may_gain,
    })
}

/// Begins with the option that asks for the candidate.
fn candidate_text(it: &Candidate) -> String {
    let gain = if it.may_gain { "" } else { "; no better than the LP bound" };
    let pattern = if it.pattern.len() <= LONGEST_PATTERN {
        format!("--relax '{}'", it.pattern)
    } else {
        "rows by name (--json lists them)".to_string()
    };
    format!(
        "{pattern}: {} relaxed rows, {} blocks, the largest with {:.1} % of all entries{gain}",
        it.relaxed_rows,
        it.blocks,
        100.0 * it.largest_share
    )
}

fn linking_json(it: &LinkingColumns) -> Value {
    json!({ "names": it.names, "blocks": it.blocks, "largest_share": it.largest_share })
}

/// Relaxed rows do not split such a model, so the text says what does.
fn linking_text(it: &LinkingColumns) -> String {
    let names: Vec<&str> = it.names.iter().take(MOST_NAMES).map(String::as_str).collect();
    let more = if it.names.len() > MOST_NAMES { ", ..." } else { "" };
    format!(
        "{} columns link {} blocks, the largest with {:.1} % of all entries ({}{more}): give each block its own copies of \
         them, and relax the rows that make copies equal",
        it.names.len(),
        it.blocks,
        100.0 * it.largest_share,
        names.join(", ")
    )
}
