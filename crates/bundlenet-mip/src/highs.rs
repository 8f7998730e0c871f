//! HiGHS behind a safe interface: reading a model, solving a block again and again with new costs.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

use bundlenet::Sense;
use highs_sys as c;

use crate::model::{Column, Model, Row};
use crate::watch::Watch;

/// Longest name of a row or a column in HiGHS.
const NAME_LENGTH: usize = 512;

/// The solver. It ends its calls when its watch says so.
pub(crate) struct Highs {
    pointer: *mut c_void,
    /// HiGHS has its address.
    watch: Box<Watch>,
    columns: usize,
    rows: usize,
}

// SAFETY: a HiGHS object has no thread of its own with `threads = 1`, and is used by one thread at a time.
unsafe impl Send for Highs {}

/// Result of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) ending: Ending,
    /// The best solution, if there is one.
    pub(crate) values: Option<Vec<f64>>,
    /// Duals of the rows of a linear program.
    pub(crate) row_duals: Vec<f64>,
    /// Bound on the objective that HiGHS states: that of branch and bound.
    pub(crate) bound: f64,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    Optimal,
    Infeasible,
    Unbounded,
    /// By its watch.
    Interrupted,
    /// By a failure of HiGHS.
    #[default]
    Failed,
}

/// Tells HiGHS to end if the watch is over.
unsafe extern "C" fn ask(
    _kind: c_int,
    _message: *const c_char,
    _out: *const c::HighsCallbackDataOut,
    input: *mut c::HighsCallbackDataIn,
    watch: *mut c_void,
) {
    // SAFETY: `watch` is the box that the solver owns, and HiGHS passes its own structure or none.
    unsafe {
        if let (Some(watch), Some(input)) = ((watch as *const Watch).as_ref(), input.as_mut()) {
            input.user_interrupt = c_int::from(watch.is_over());
        }
    }
}

/// Keeps a line of the log.
unsafe extern "C" fn keep(
    _kind: c_int,
    message: *const c_char,
    _out: *const c::HighsCallbackDataOut,
    _input: *mut c::HighsCallbackDataIn,
    log: *mut c_void,
) {
    // SAFETY: `log` is the list of the caller of HiGHS, and the message is a C string or none.
    unsafe {
        if let (Some(log), false) = (log.cast::<Vec<String>>().as_mut(), message.is_null()) {
            log.push(CStr::from_ptr(message).to_string_lossy().trim().to_string());
        }
    }
}

/// The words of HiGHS against a file: an error, or that it ignores a part of the file. The model is then another one.
fn objection(log: &[String], is_refused: bool) -> Option<String> {
    let ignores = |line: &&String| line.starts_with("WARNING") && line.ends_with("ignored");
    // The last error of the log has the path, and nothing else.
    let is_told = |line: &&String| line.starts_with("ERROR") && !line.contains("Parser error reading");
    let found = log.iter().find(is_told).filter(|_| is_refused);
    let found = found.or_else(|| log.iter().find(ignores));
    let text = found.map(|line| line.split_once(':').map_or(line.as_str(), |(_, text)| text).trim().to_string());
    text.or_else(|| is_refused.then(|| "one that it refuses".to_string()))
}

impl Highs {
    pub(crate) fn new() -> Self {
        // SAFETY: the object is destroyed once, by `drop`.
        let pointer = unsafe { c::Highs_create() };
        let highs = Self { pointer, watch: Box::default(), columns: 0, rows: 0 };
        // SAFETY: plain option values with constant names.
        unsafe {
            c::Highs_setBoolOptionValue(pointer, c"output_flag".as_ptr(), 0);
            c::Highs_setIntOptionValue(pointer, c"threads".as_ptr(), 1);
        }
        highs
    }

    /// Sets the watch of later calls.
    pub(crate) fn set_watch(&mut self, watch: Watch) {
        *self.watch = watch;
        let address: *mut Watch = &raw mut *self.watch;
        // SAFETY: the box lives as long as the solver, and `ask` only reads it.
        unsafe {
            c::Highs_setCallback(self.pointer, Some(ask), address.cast());
            for kind in
                [c::kHighsCallbackSimplexInterrupt, c::kHighsCallbackIpmInterrupt, c::kHighsCallbackMipInterrupt]
            {
                c::Highs_startCallback(self.pointer, kind as c_int);
            }
        }
    }

    pub(crate) fn set_number(&mut self, option: &CStr, number: f64) {
        // SAFETY: the option's name is a C string.
        unsafe { c::Highs_setDoubleOptionValue(self.pointer, option.as_ptr(), number) };
    }

    pub(crate) fn set_flag(&mut self, option: &CStr, flag: bool) {
        // SAFETY: the option's name is a C string.
        unsafe { c::Highs_setBoolOptionValue(self.pointer, option.as_ptr(), c_int::from(flag)) };
    }

    /// Reads a model file. The error is the objection of HiGHS.
    pub(crate) fn read(&mut self, path: &Path) -> Result<Model, String> {
        let path = CString::new(path.to_string_lossy().as_bytes()).map_err(|error| error.to_string())?;
        let mut log: Vec<String> = vec![];
        let address: *mut Vec<String> = &raw mut log;
        // SAFETY: the path is a C string, and `keep` has the list of lines until it is stopped.
        let is_refused = unsafe {
            c::Highs_setCallback(self.pointer, Some(keep), address.cast());
            c::Highs_startCallback(self.pointer, c::kHighsCallbackLogging as c_int);
            c::Highs_setBoolOptionValue(self.pointer, c"log_to_console".as_ptr(), 0);
            c::Highs_setBoolOptionValue(self.pointer, c"output_flag".as_ptr(), 1);
            let status = c::Highs_readModel(self.pointer, path.as_ptr());
            c::Highs_setBoolOptionValue(self.pointer, c"output_flag".as_ptr(), 0);
            c::Highs_stopCallback(self.pointer, c::kHighsCallbackLogging as c_int);
            status == c::STATUS_ERROR
        };
        if let Some(found) = objection(&log, is_refused) {
            return Err(found);
        }
        // SAFETY: questions without arguments.
        let (columns, rows, entries, hessian) = unsafe {
            (
                c::Highs_getNumCol(self.pointer) as usize,
                c::Highs_getNumRow(self.pointer) as usize,
                c::Highs_getNumNz(self.pointer) as usize,
                c::Highs_getHessianNumNz(self.pointer),
            )
        };
        if hessian > 0 {
            return Err("a quadratic objective".to_string());
        }
        (self.columns, self.rows) = (columns, rows);
        self.model(entries)
    }

    /// The model that HiGHS holds.
    fn model(&self, count: usize) -> Result<Model, String> {
        let (columns, rows) = (self.columns, self.rows);
        let [mut costs, mut lower, mut upper] = [(); 3].map(|()| vec![0.0; columns]);
        let [mut row_lower, mut row_upper] = [(); 2].map(|()| vec![0.0; rows]);
        let (mut starts, mut places, mut entries) = (vec![0; rows + 1], vec![0; count], vec![0.0; count]);
        let mut kinds = vec![0; columns];
        let (mut num_columns, mut num_rows, mut num_entries, mut sense, mut offset) = (0, 0, 0, 0, 0.0);
        // SAFETY: all lists have the lengths that HiGHS told.
        let status = unsafe {
            c::Highs_getLp(
                self.pointer,
                c::MATRIX_FORMAT_ROW_WISE,
                &raw mut num_columns,
                &raw mut num_rows,
                &raw mut num_entries,
                &raw mut sense,
                &raw mut offset,
                costs.as_mut_ptr(),
                lower.as_mut_ptr(),
                upper.as_mut_ptr(),
                row_lower.as_mut_ptr(),
                row_upper.as_mut_ptr(),
                starts.as_mut_ptr(),
                places.as_mut_ptr(),
                entries.as_mut_ptr(),
                kinds.as_mut_ptr(),
            )
        };
        if status == c::STATUS_ERROR {
            return Err("one whose matrix it does not return".to_string());
        }
        starts[rows] = count as c_int;
        let integer = c::kHighsVarTypeInteger as c_int;
        if let Some(column) = kinds.iter().position(|&kind| kind != 0 && kind != integer) {
            return Err(format!("the semicontinuous column {}", self.name(column, false)));
        }
        let column = |at: usize| Column {
            name: self.name(at, false),
            cost: costs[at],
            lower: lower[at],
            upper: upper[at],
            is_integer: kinds[at] == integer,
        };
        let row = |at: usize| {
            let range = starts[at] as usize..starts[at + 1] as usize;
            let places = places[range.clone()].iter().map(|&place| place as usize);
            Row {
                name: self.name(at, true),
                lower: row_lower[at],
                upper: row_upper[at],
                entries: places.zip(entries[range].iter().copied()).collect(),
            }
        };
        Ok(Model {
            sense: if sense == c::OBJECTIVE_SENSE_MAXIMIZE { Sense::Maximize } else { Sense::Minimize },
            offset,
            columns: (0..columns).map(column).collect(),
            rows: (0..rows).map(row).collect(),
        })
    }

    /// The name of a row or a column; its number if it has none.
    fn name(&self, at: usize, is_row: bool) -> String {
        let mut buffer = vec![0 as c_char; NAME_LENGTH + 1];
        // SAFETY: the buffer is longer than the longest name.
        let status = unsafe {
            if is_row {
                c::Highs_getRowName(self.pointer, at as c_int, buffer.as_mut_ptr())
            } else {
                c::Highs_getColName(self.pointer, at as c_int, buffer.as_mut_ptr())
            }
        };
        // SAFETY: the last byte is 0.
        let name = unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_string_lossy().into_owned();
        match (status == c::STATUS_ERROR || name.is_empty(), is_row) {
            (false, _) => name,
            (true, true) => format!("r{at}"),
            (true, false) => format!("c{at}"),
        }
    }

    /// Passes a model, to be minimised. `is_relaxed`: without integrality.
    pub(crate) fn pass(&mut self, model: &Model, is_relaxed: bool) -> Result<(), String> {
        (self.columns, self.rows) = (model.columns.len(), model.rows.len());
        let sign = model.sense.sign();
        let of_columns = |number: &dyn Fn(&Column) -> f64| model.columns.iter().map(number).collect::<Vec<f64>>();
        let of_rows = |number: &dyn Fn(&Row) -> f64| model.rows.iter().map(number).collect::<Vec<f64>>();
        let (costs, lower, upper) =
            (of_columns(&|it| sign * it.cost), of_columns(&|it| it.lower), of_columns(&|it| it.upper));
        let (row_lower, row_upper) = (of_rows(&|it| it.lower), of_rows(&|it| it.upper));
        let mut starts = vec![0 as c_int];
        let all = || model.rows.iter().flat_map(|row| &row.entries);
        for row in &model.rows {
            starts.push(starts[starts.len() - 1] + row.entries.len() as c_int);
        }
        let places: Vec<c_int> = all().map(|(column, _)| *column as c_int).collect();
        let entries: Vec<f64> = all().map(|(_, entry)| *entry).collect();
        let integer = c::kHighsVarTypeInteger as c_int;
        let kinds: Vec<c_int> =
            model.columns.iter().map(|it| if it.is_integer && !is_relaxed { integer } else { 0 }).collect();
        // SAFETY: all lists have the lengths that are passed with them.
        let status = unsafe {
            c::Highs_passMip(
                self.pointer,
                self.columns as c_int,
                self.rows as c_int,
                entries.len() as c_int,
                c::MATRIX_FORMAT_ROW_WISE,
                c::OBJECTIVE_SENSE_MINIMIZE,
                sign * model.offset,
                costs.as_ptr(),
                lower.as_ptr(),
                upper.as_ptr(),
                row_lower.as_ptr(),
                row_upper.as_ptr(),
                starts.as_ptr(),
                places.as_ptr(),
                entries.as_ptr(),
                kinds.as_ptr(),
            )
        };
        if status == c::STATUS_ERROR { Err("HiGHS refuses the model".to_string()) } else { Ok(()) }
    }

    pub(crate) fn set_costs(&mut self, costs: &[f64]) {
        debug_assert_eq!(costs.len(), self.columns);
        // SAFETY: there is a cost for each column.
        unsafe { c::Highs_changeColsCostByRange(self.pointer, 0, self.columns as c_int - 1, costs.as_ptr()) };
    }

    pub(crate) fn set_bounds(&mut self, column: usize, lower: f64, upper: f64) {
        // SAFETY: plain numbers; HiGHS checks the column.
        unsafe { c::Highs_changeColBounds(self.pointer, column as c_int, lower, upper) };
    }

    /// Forgets all earlier runs. The model stays.
    pub(crate) fn clear(&mut self) {
        // SAFETY: a request without arguments.
        unsafe { c::Highs_clearSolver(self.pointer) };
    }

    /// Gives a solution to begin with.
    pub(crate) fn set_start(&mut self, values: &[f64]) {
        debug_assert_eq!(values.len(), self.columns);
        // SAFETY: there is a value for each column; the other lists may be absent.
        unsafe {
            c::Highs_setSolution(self.pointer, values.as_ptr(), std::ptr::null(), std::ptr::null(), std::ptr::null())
        };
    }

    /// Solves the model until there is a solution. It may take all the time that is left.
    pub(crate) fn run_to_solution(&mut self) -> Found {
        let option = c"mip_max_improving_sols".as_ptr();
        let mut before: c_int = 0;
        // SAFETY: plain option values with a constant name.
        unsafe {
            c::Highs_getIntOptionValue(self.pointer, option, &raw mut before);
            c::Highs_setIntOptionValue(self.pointer, option, 1);
        }
        let found = self.run_for(self.watch.share(1.0).seconds_of_call());
        // SAFETY: as above.
        unsafe { c::Highs_setIntOptionValue(self.pointer, option, before) };
        found
    }

    /// Solves the model.
    pub(crate) fn run(&mut self) -> Found {
        self.run_for(self.watch.seconds_of_call())
    }

    fn run_for(&mut self, seconds: Option<f64>) -> Found {
        if let Some(left) = seconds {
            // The limit of HiGHS counts from the first run of the object.
            // SAFETY: a question without arguments.
            let spent = unsafe { c::Highs_getRunTime(self.pointer) };
            self.set_number(c"time_limit", spent + left);
        }
        // SAFETY: the object holds a model.
        let failed = unsafe { c::Highs_run(self.pointer) } == c::STATUS_ERROR;
        // SAFETY: a question without arguments.
        let status = unsafe { c::Highs_getModelStatus(self.pointer) };
        let ending = match status {
            _ if self.watch.is_over() && status != c::MODEL_STATUS_OPTIMAL => Ending::Interrupted,
            _ if failed => Ending::Failed,
            c::MODEL_STATUS_OPTIMAL => Ending::Optimal,
            c::MODEL_STATUS_INFEASIBLE => Ending::Infeasible,
            c::MODEL_STATUS_UNBOUNDED | c::MODEL_STATUS_UNBOUNDED_OR_INFEASIBLE => Ending::Unbounded,
            c::MODEL_STATUS_REACHED_TIME_LIMIT
            | c::MODEL_STATUS_REACHED_SOLUTION_LIMIT
            | c::MODEL_STATUS_REACHED_INTERRUPT => Ending::Interrupted,
            // A model without columns or rows.
            c::MODEL_STATUS_MODEL_EMPTY => Ending::Optimal,
            _ => Ending::Failed,
        };
        let (values, row_duals) = self.solution();
        let is_feasible = self.whole(c"primal_solution_status") == 2;
        Found { ending, values: is_feasible.then_some(values), row_duals, bound: self.number(c"mip_dual_bound") }
    }

    fn solution(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut values, mut reduced) = (vec![0.0; self.columns], vec![0.0; self.columns]);
        let (mut activities, mut duals) = (vec![0.0; self.rows], vec![0.0; self.rows]);
        // SAFETY: the lists have the sizes of the model.
        unsafe {
            c::Highs_getSolution(
                self.pointer,
                values.as_mut_ptr(),
                reduced.as_mut_ptr(),
                activities.as_mut_ptr(),
                duals.as_mut_ptr(),
            )
        };
        (values, duals)
    }

    fn number(&self, name: &CStr) -> f64 {
        let mut number = f64::NAN;
        // SAFETY: the name is a C string.
        unsafe { c::Highs_getDoubleInfoValue(self.pointer, name.as_ptr(), &raw mut number) };
        number
    }

    fn whole(&self, name: &CStr) -> c_int {
        let mut number = 0;
        // SAFETY: the name is a C string.
        unsafe { c::Highs_getIntInfoValue(self.pointer, name.as_ptr(), &raw mut number) };
        number
    }

    /// Value of the objective of the last solution, to be minimised.
    pub(crate) fn objective(&self) -> f64 {
        self.number(c"objective_function_value")
    }
}

impl Drop for Highs {
    fn drop(&mut self) {
        // SAFETY: the object is not used afterwards.
        unsafe { c::Highs_destroy(self.pointer) };
    }
}
