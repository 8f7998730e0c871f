//! Memory that the ranks of a machine share: one word of each.

use std::sync::atomic::{AtomicU64, Ordering};

use mpi::collective::SystemOperation;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

use crate::world::{communicator, rank_number};

/// Bytes of a rank: two cache lines, so that the words of two ranks do not disturb each other.
const ROOM: usize = 128;

/// A word of each rank of this machine. All ranks create it and drop it at the same time.
pub(crate) struct Board {
    window: ffi::MPI_Win,
    /// The ranks of this machine by their numbers in the world, each with its word.
    words: Vec<(usize, *const AtomicU64)>,
}

impl Board {
    /// Zeros for the ranks of this machine. `None` if there is one rank only, or no shared memory to be had.
    pub(crate) fn new() -> Option<Self> {
        let world = communicator();
        let machine = world.split_shared(world.rank());
        let size = usize::try_from(machine.size()).ok().filter(|&size| size > 1)?;
        let mut ranks = vec![0_i32; size];
        machine.all_gather_into(&world.rank(), &mut ranks[..]);
        let mut board = Self { window: allocate(&machine)?, words: vec![] };
        let words = ranks.iter().enumerate().map(|(place, &rank)| {
            let rank = usize::try_from(rank).ok()?;
            board.word_of(place).map(|word| (rank, word))
        });
        board.words = words.collect::<Option<_>>().unwrap_or_default();
        let own = usize::try_from(world.rank()).unwrap_or(0);
        board.words().filter(|(rank, _)| *rank == own).for_each(|(_, word)| word.store(0, Ordering::Release));
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
}

/// A window with room for a word of each rank of a machine.
fn allocate(machine: &SimpleCommunicator) -> Option<ffi::MPI_Win> {
    let mut address = std::ptr::null::<AtomicU64>();
    // SAFETY: All ranks of the communicator call this. The pointers are those of variables of the right types.
    unsafe {
        let mut window = ffi::RSMPI_WIN_NULL;
        // Without shared memory a rank does its share only.
        ffi::MPI_Comm_set_errhandler(machine.as_raw(), ffi::RSMPI_ERRORS_RETURN);
        let code = ffi::MPI_Win_allocate_shared(
            ROOM as ffi::MPI_Aint,
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
