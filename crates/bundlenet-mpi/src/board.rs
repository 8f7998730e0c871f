//! Memory that the ranks of a machine share: a word of each for its components, and a shelf for its answers.
//!
//! Messages of MPI are slow after a rank has computed for a while, even short ones (`docs/experiments.md`). So a rank puts
//! its answer on its shelf, and rank 0 takes it from there. An answer that is too large for the shelf goes by message.

use std::sync::atomic::{AtomicU64, Ordering};

use mpi::collective::SystemOperation;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

use crate::world::{communicator, rank_number};

/// Bytes of a word: two cache lines, so that two words do not disturb each other.
const ROOM: usize = 128;

/// Bytes of a rank before its shelf: the word for its components, and the number of its last answer.
const WORDS: usize = 2 * ROOM;

/// Most bytes of a shelf.
const LARGEST_SHELF: usize = 8 << 20;

/// Looks at the shelf of a rank before the processor is given to others.
const LOOKS: usize = 2000;

/// Memory of each rank of this machine. All ranks create it and drop it at the same time.
pub(crate) struct Board {
    window: ffi::MPI_Win,
    /// The ranks of this machine by their numbers in the world, each with its memory.
    words: Vec<(usize, *const AtomicU64)>,
    /// Bytes of a shelf.
    shelf: usize,
}

impl Board {
    /// Zeros for the ranks of this machine, and shelves for `bytes` bytes, or less. `None` if there is one rank only, or no
    /// shared memory to be had.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let world = communicator();
        let machine = world.split_shared(world.rank());
        let size = usize::try_from(machine.size()).ok().filter(|&size| size > 1)?;
        let mut ranks = vec![0_i32; size];
        machine.all_gather_into(&world.rank(), &mut ranks[..]);
        let shelf = bytes.min(LARGEST_SHELF).next_multiple_of(ROOM);
        let mut board = Self { window: allocate(&machine, WORDS + shelf)?, words: vec![], shelf };
        let words = ranks.iter().enumerate().map(|(place, &rank)| {
            let rank = usize::try_from(rank).ok()?;
            board.word_of(place).map(|word| (rank, word))
        });
        board.words = words.collect::<Option<_>>().unwrap_or_default();
        let own = usize::try_from(world.rank()).unwrap_or(0);
        board.words().filter(|(rank, _)| *rank == own).for_each(|(_, word)| word.store(0, Ordering::Release));
        board.number_of(own).into_iter().for_each(|number| number.store(0, Ordering::Release));
        // All ranks of a machine take components of others, or none does. Nobody reads a word before it is 0.
        let mut have_all = false;
        machine.all_reduce_into(&!board.words.is_empty(), &mut have_all, SystemOperation::logical_and());
        have_all.then_some(board)
    }

    /// The word of a rank of this machine, by its place in it.
    fn word_of(&self, place: usize) -> Option<*const AtomicU64> {
        let (mut size, mut unit, mut address) = (0, 0, std::ptr::null::<AtomicU64>());
        // SAFETY: The window is one of shared memory, and all pointers are those of variables of the right types.
        let code = unsafe {
            ffi::MPI_Win_shared_query(
                self.window,
                rank_number(place),
                &raw mut size,
                &raw mut unit,
                (&raw mut address).cast(),
            )
        };
        Some(address).filter(|address| code == 0 && !address.is_null() && address.is_aligned())
    }

    /// Number of ranks of this machine.
    pub(crate) fn size(&self) -> usize {
        self.words.len()
    }

    /// The ranks of this machine, each with its word.
    pub(crate) fn words(&self) -> impl Iterator<Item = (usize, &AtomicU64)> + Clone {
        // SAFETY: Each word has a room of its own in the window, which is there until the board is dropped. All ranks
        // write to it as an atomic number.
        self.words.iter().map(|&(rank, word)| (rank, unsafe { &*word }))
    }

    /// The number of the last answer on the shelf of a rank, if the rank is one of this machine.
    fn number_of(&self, rank: usize) -> Option<&AtomicU64> {
        let &(_, word) = self.words.iter().find(|(other, _)| *other == rank)?;
        // SAFETY: The memory of a rank has two words in rooms of their own, and is there until the board is dropped.
        Some(unsafe { &*word.byte_add(ROOM) })
    }

    /// The shelf of a rank of this machine.
    fn shelf_of(&self, rank: usize) -> Option<*mut u8> {
        let &(_, word) = self.words.iter().find(|(other, _)| *other == rank)?;
        // SAFETY: The memory of a rank has a shelf behind its two words.
        Some(unsafe { word.byte_add(WORDS) }.cast_mut().cast())
    }

    /// Puts an answer on the own shelf: its words, then lists of coordinates and entries. False if there is no room. Then
    /// nothing but the number of the answer is there, and rank 0 expects messages.
    pub(crate) fn put<'a>(
        &self,
        (rank, number): (usize, u64),
        words: &[u64],
        lists: impl Iterator<Item = (&'a [u32], &'a [f64])> + Clone,
    ) -> bool {
        let (Some(shelf), Some(last)) = (self.shelf_of(rank), self.number_of(rank)) else { return false };
        let bytes = lists.clone().map(|(coordinates, entries)| size_of_val(coordinates) + size_of_val(entries));
        let has_room = size_of_val(words) + size_of::<u64>() + bytes.sum::<usize>() <= self.shelf;
        let count = if has_room { words.len() as u64 } else { u64::MAX };
        // SAFETY: Rank 0 does not read the shelf before it sees the number of this answer, nobody else reads or writes it,
        // and everything that is written has room there.
        unsafe {
            let mut place = write(shelf, &[count]);
            if has_room {
                place = write(place, words);
                for (coordinates, entries) in lists {
                    place = write(write(place, coordinates), entries);
                }
            }
        }
        last.store(number, Ordering::Release);
        has_room
    }

    /// Waits for an answer of another rank of this machine, and writes its words. Returns what is left on its shelf; `None`
    /// if the answer comes by messages.
    pub(crate) fn take(&self, (rank, number): (usize, u64), words: &mut Vec<u64>) -> Option<Shelf<'_>> {
        let (shelf, last) = (self.shelf_of(rank)?, self.number_of(rank)?);
        let mut looks = 0;
        while last.load(Ordering::Acquire) != number {
            looks += 1;
            if looks % LOOKS == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        let mut shelf = Shelf { place: shelf, board: std::marker::PhantomData };
        let mut count = [0_u64];
        shelf.read(&mut count);
        let count = usize::try_from(count[0]).ok().filter(|_| count[0] < u64::MAX)?;
        words.resize(count, 0);
        shelf.read(words);
        Some(shelf)
    }
}

/// Copies numbers to a place. Returns the place behind them.
///
/// # Safety
/// The numbers have room there.
unsafe fn write<T: Copy>(place: *mut u8, numbers: &[T]) -> *mut u8 {
    let bytes = size_of_val(numbers);
    // SAFETY: By the caller.
    unsafe {
        std::ptr::copy_nonoverlapping(numbers.as_ptr().cast::<u8>(), place, bytes);
        place.add(bytes)
    }
}

/// An answer on a shelf, from the first number on that has not been read.
pub(crate) struct Shelf<'a> {
    place: *const u8,
    board: std::marker::PhantomData<&'a Board>,
}

/// Numbers of which every pattern of bits is one.
pub(crate) trait Plain: Copy {}
impl Plain for u64 {}
impl Plain for u32 {}
impl Plain for f64 {}

impl Shelf<'_> {
    /// Reads the next numbers. Both sides know how many there are.
    pub(crate) fn read<T: Plain>(&mut self, numbers: &mut [T]) {
        let bytes = size_of_val(numbers);
        // SAFETY: The words of the answer say how many numbers there are, and `put` found room for them. Its rank does not
        // write to the shelf before the next request, which comes after the last number has been read.
        unsafe {
            std::ptr::copy_nonoverlapping(self.place, numbers.as_mut_ptr().cast::<u8>(), bytes);
            self.place = self.place.add(bytes);
        }
    }
}

/// A window with `bytes` bytes for each rank of a machine.
fn allocate(machine: &SimpleCommunicator, bytes: usize) -> Option<ffi::MPI_Win> {
    let mut address = std::ptr::null::<AtomicU64>();
    // SAFETY: All ranks of the communicator call this. The pointers are those of variables of the right types.
    unsafe {
        let mut window = ffi::RSMPI_WIN_NULL;
        // Without shared memory a rank does its share only.
        ffi::MPI_Comm_set_errhandler(machine.as_raw(), ffi::RSMPI_ERRORS_RETURN);
        let code = ffi::MPI_Win_allocate_shared(
            bytes as ffi::MPI_Aint,
            1,
            ffi::RSMPI_INFO_NULL,
            machine.as_raw(),
            (&raw mut address).cast(),
            &raw mut window,
        );
        (code == 0).then_some(window)
    }
}

impl Drop for Board {
    /// Waits for the other ranks of this machine.
    fn drop(&mut self) {
        // SAFETY: The window was allocated and is freed once. No word outlives the board.
        unsafe { ffi::MPI_Win_free(&raw mut self.window) };
    }
}
