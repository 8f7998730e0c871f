//! Work that is done in several places: on threads, or by a team of processes.
//!
//! This is the seam between the commands and an engine that connects processes. [`Workers::map`] does jobs and returns
//! their results in order. A [`Team`] spreads the jobs over processes; without one they run on threads. The results are
//! the same in both cases.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::error::Error;

/// Processes that run the same command on the same data.
///
/// Every member calls the same methods in the same order. One member, the leader, writes files and prints.
pub trait Team: Send + Sync {
    /// Whether this member is the leader.
    fn is_leader(&self) -> bool;

    /// The name of this member in messages.
    fn name(&self) -> String;

    /// Does the jobs `0..count`, each by one member. Returns all results in order, on every member. This member does
    /// `slots` jobs at the same time. The leader calls `done` with each result as it arrives.
    ///
    /// # Errors
    /// The failure of a job or of `done`, the same on every member. No further job is handed out after a failure.
    fn spread(&self, count: usize, slots: usize, job: &Job<'_>, done: &mut Done<'_>) -> Result<Vec<Vec<u8>>, Failed>;

    /// The bytes of the leader, on every member.
    fn tell(&self, bytes: Vec<u8>) -> Vec<u8>;
}

/// A job of a [`Team`]: from its number to its result, or to the message of an error.
pub type Job<'a> = dyn Fn(usize) -> Result<Vec<u8>, String> + Sync + 'a;

/// Takes the number and the result of a job.
pub type Done<'a> = dyn FnMut(usize, &[u8]) -> Result<(), String> + 'a;

/// The failure of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Name of the member that did the job.
    pub member: String,
    /// Message of the error.
    pub message: String,
}

impl From<Failed> for Error {
    fn from(Failed { member, message }: Failed) -> Self {
        Self::Elsewhere { member, message }
    }
}

/// Those who do the jobs of a command: the threads of this process, or a [`Team`] of processes.
#[derive(Clone, Default)]
pub struct Workers {
    team: Option<Arc<dyn Team>>,
    pool: Option<Arc<ThreadPool>>,
    is_single: bool,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let team = self.team.as_ref().map(|team| team.name());
        formatter.debug_struct("Workers").field("team", &team).finish_non_exhaustive()
    }
}

impl Workers {
    /// The threads of the current rayon pool.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The members of a team, each with the threads of its current rayon pool.
    #[must_use]
    pub fn of_team(team: Option<Arc<dyn Team>>) -> Self {
        Self { team, ..Self::default() }
    }

    /// The same workers, with threads of a pool of their own.
    #[must_use]
    pub fn with_pool(self, pool: ThreadPool) -> Self {
        Self { pool: Some(Arc::new(pool)), ..self }
    }

    /// The same workers, each process with one job at a time. A job may use several threads itself.
    #[must_use]
    pub fn one_at_a_time(self) -> Self {
        Self { is_single: true, ..self }
    }

    /// Whether this process writes files and prints: it has no team, or leads it.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.team.as_ref().is_none_or(|team| team.is_leader())
    }

    /// Does the jobs `0..count` and returns their results in order. `done` takes each result as it arrives; with a
    /// team, only that of the leader is called.
    ///
    /// # Errors
    /// The error of a job or of `done`. No further job is handed out after it.
    pub fn map<R: Travel + Send, E: From<Error> + Display + Send>(
        &self,
        count: usize,
        job: impl Fn(usize) -> Result<R, E> + Sync,
        mut done: impl FnMut(usize, &R) -> Result<(), E> + Send,
    ) -> Result<Vec<R>, E> {
        let Some(team) = &self.team else {
            return self.map_here(count, job, done);
        };
        let slots = match &self.pool {
            _ if self.is_single => 1,
            Some(pool) => pool.current_num_threads(),
            None => rayon::current_num_threads(),
        };
        let job = |index: usize| {
            let result = match &self.pool {
                Some(pool) => pool.install(|| job(index)),
                None => job(index),
            };
            result.map(|result| to_bytes(&result)).map_err(|error| error.to_string())
        };
        let mut done = |index: usize, bytes: &[u8]| {
            let result = from_bytes(bytes).ok_or_else(|| UNREADABLE.to_string())?;
            done(index, &result).map_err(|error| error.to_string())
        };
        let results = team.spread(count, slots, &job, &mut done).map_err(Error::from)?;
        let read = |bytes: &Vec<u8>| {
            from_bytes(bytes)
                .ok_or_else(|| Error::from(Failed { member: team.name(), message: UNREADABLE.to_string() }).into())
        };
        results.iter().map(read).collect()
    }

    /// Does jobs on the threads of this process.
    fn map_here<R: Send, E: Send>(
        &self,
        count: usize,
        job: impl Fn(usize) -> Result<R, E> + Sync,
        mut done: impl FnMut(usize, &R) -> Result<(), E> + Send,
    ) -> Result<Vec<R>, E> {
        if self.is_single {
            let each = |index| job(index).and_then(|result| done(index, &result).map(|()| result));
            return (0..count).map(each).collect();
        }
        let done = Mutex::new(done);
        let each = |index| {
            let result = job(index)?;
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done(index, &result).map(|()| result)
        };
        let work = || (0..count).into_par_iter().with_max_len(1).map(each).collect();
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Returns a value of the leader on every member. Without a team, this process makes the value.
    pub fn tell<R: Travel, E: From<Error> + Display>(&self, make: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        let Some(team) = &self.team else { return make() };
        let mut own = None;
        let bytes = if team.is_leader() {
            own = Some(make());
            let made = match &own {
                Some(Ok(made)) => (Some(to_bytes(made)), String::new()),
                Some(Err(error)) => (None, error.to_string()),
                None => (None, String::new()),
            };
            to_bytes(&made)
        } else {
            vec![]
        };
        let told = team.tell(bytes);
        if let Some(own) = own {
            return own;
        }
        let failed = |message: String| E::from(Failed { member: team.name(), message }.into());
        match from_bytes::<(Option<Vec<u8>>, String)>(&told) {
            Some((Some(bytes), _)) => from_bytes(&bytes).ok_or_else(|| failed(UNREADABLE.to_string())),
            Some((None, message)) => Err(failed(message)),
            None => Err(failed(UNREADABLE.to_string())),
        }
    }
}

const UNREADABLE: &str = "expected a result of this program, found other bytes: all members need the same program";

/// Data that travel between processes, bit by bit.
pub trait Travel: Sized {
    /// Appends the data.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Reads data from the front of `bytes` and moves on. `None` if they are not there.
    fn read(bytes: &mut &[u8]) -> Option<Self>;

    /// Appends the data of a list.
    fn write_all(list: &[Self], bytes: &mut Vec<u8>) {
        list.iter().for_each(|item| item.write(bytes));
    }

    /// Reads the data of a list.
    fn read_all(count: usize, bytes: &mut &[u8]) -> Option<Vec<Self>> {
        // An item may have no bytes at all, so the count says nothing about the memory that is needed.
        (0..count).map(|_| Self::read(bytes)).collect()
    }
}

/// Data as bytes.
pub fn to_bytes(data: &impl Travel) -> Vec<u8> {
    let mut bytes = vec![];
    data.write(&mut bytes);
    bytes
}

/// Data from their bytes. `None` if there are too few or too many.
pub fn from_bytes<R: Travel>(mut bytes: &[u8]) -> Option<R> {
    let data = R::read(&mut bytes)?;
    bytes.is_empty().then_some(data)
}

/// Numbers travel as their bits.
macro_rules! travel_as_bits {
    ($($number:ty),*) => {$(
        impl Travel for $number {
            fn write(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                let (first, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(Self::from_le_bytes(*first))
            }
        }
    )*};
}

travel_as_bits!(u64, f32, f64);

/// Bytes of a list travel all at once: results of jobs are such lists.
impl Travel for u8 {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(*self);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        Some(*first)
    }

    fn write_all(list: &[Self], bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(list);
    }

    fn read_all(count: usize, bytes: &mut &[u8]) -> Option<Vec<Self>> {
        let (list, rest) = bytes.split_at_checked(count)?;
        *bytes = rest;
        Some(list.to_vec())
    }
}

impl Travel for () {
    fn write(&self, _bytes: &mut Vec<u8>) {}

    fn read(_bytes: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

impl Travel for bool {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Some(u8::read(bytes)? != 0)
    }
}

impl Travel for usize {
    fn write(&self, bytes: &mut Vec<u8>) {
        (*self as u64).write(bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        u64::read(bytes)?.try_into().ok()
    }
}

impl<T: Travel> Travel for Vec<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.len().write(bytes);
        T::write_all(self, bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        T::read_all(usize::read(bytes)?, bytes)
    }
}

impl Travel for String {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.len().write(bytes);
        bytes.extend_from_slice(self.as_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::read(bytes)?).ok()
    }
}

impl<T: Travel> Travel for Option<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.is_some().write(bytes);
        self.iter().for_each(|item| item.write(bytes));
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        if bool::read(bytes)? { T::read(bytes).map(Some) } else { Some(None) }
    }
}

impl<A: Travel, B: Travel> Travel for (A, B) {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.0.write(bytes);
        self.1.write(bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Some((A::read(bytes)?, B::read(bytes)?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn data_arrive_as_they_were() {
        let numbers = vec![0.1, -0.0, f64::INFINITY, f64::MIN_POSITIVE, f64::from_bits(0x7ff8_0000_0000_0001)];
        let bytes = vec![0_u8, 255, 7];
        let data = (vec![Some("a \u{e9}".to_string()), None], (numbers, (bytes, (7_usize, (true, 0.1_f32)))));
        let bytes = to_bytes(&data);
        type Data = (Vec<Option<String>>, (Vec<f64>, (Vec<u8>, (usize, (bool, f32)))));
        let arrived: Data = from_bytes(&bytes).unwrap();
        assert_eq!((&arrived.0, &arrived.1.1), (&data.0, &data.1.1));
        let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<u64>>();
        assert_eq!(bits(&arrived.1.0), bits(&data.1.0));
        assert!(from_bytes::<(usize, f64)>(&bytes).is_none());
        assert!((0..bytes.len()).all(|end| from_bytes::<Data>(&bytes[..end]).is_none()));
    }

    #[test]
    fn results_come_in_order_and_errors_end_the_work() {
        let pool = || rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for workers in [Workers::new(), Workers::new().one_at_a_time(), Workers::new().with_pool(pool())] {
            let mut seen = BTreeSet::new();
            let squares = workers.map(
                100,
                |index| Ok::<usize, Error>(index * index),
                |index, square| {
                    assert!(*square == index * index && seen.insert(index));
                    Ok(())
                },
            );
            assert!(squares.unwrap().into_iter().eq((0..100).map(|index| index * index)) && seen.len() == 100);
            let failure = |index| Error::from(Failed { member: "test".to_string(), message: format!("job {index}") });
            let job = |index| if index == 7 { Err(failure(index)) } else { Ok(()) };
            assert_eq!(workers.map(9, job, |_, ()| Ok(())).unwrap_err().to_string(), "test: job 7");
            let done = |index, _: &()| if index == 3 { Err(failure(index)) } else { Ok(()) };
            assert_eq!(workers.map(9, |_| Ok(()), done).unwrap_err().to_string(), "test: job 3");
            assert_eq!(workers.tell(|| Ok::<usize, Error>(5)).unwrap(), 5);
            assert!(workers.is_leader());
        }
    }
}
