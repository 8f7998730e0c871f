//! Messages that a rank sends without waiting for the receiver.
//!
//! A plain send may last until the receiver calls MPI, even for a few bytes: within a machine, Open MPI 4.1 does so for
//! the first message after each look of the receiver. A rank that evaluates a component does not look, so the sender would
//! wait as long as that takes.

use std::collections::VecDeque;

use mpi::datatype::traits::Equivalence;
use mpi::request::{Request, StaticScope};
use mpi::topology::Process;
use mpi::traits::Destination;

/// A message that MPI may still read.
struct Message<T: 'static> {
    request: Request<'static, [T], StaticScope>,
    /// The numbers of the message, of a box that was leaked for the request.
    numbers: *mut [T],
}

/// The messages that are on their way. They are kept until MPI has read them.
pub(crate) struct Outbox<T: Equivalence + 'static> {
    messages: VecDeque<Message<T>>,
}

impl<T: Equivalence + 'static> Outbox<T> {
    pub(crate) fn new() -> Self {
        Self { messages: VecDeque::new() }
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, process: &Process<'_>, message: Vec<T>, tag: i32) {
        self.forget_read();
        let numbers = Box::into_raw(message.into_boxed_slice());
        // SAFETY: The box was just leaked, so the numbers live until `forget` frees them, and nobody writes to them.
        let request = process.immediate_send_with_tag(StaticScope, unsafe { &*numbers }, tag);
        self.messages.push_back(Message { request, numbers });
    }

    /// Forgets the messages that MPI has read. They are read in order.
    fn forget_read(&mut self) {
        while let Some(Message { request, numbers }) = self.messages.pop_front() {
            match request.test() {
                Ok(_) => forget(numbers),
                Err(request) => {
                    self.messages.push_front(Message { request, numbers });
                    return;
                }
            }
        }
    }
}

impl<T: Equivalence + 'static> Drop for Outbox<T> {
    /// Waits until MPI has read all messages.
    fn drop(&mut self) {
        for Message { request, numbers } in self.messages.drain(..) {
            request.wait();
            forget(numbers);
        }
    }
}

/// Frees the numbers of a message whose request is complete.
fn forget<T>(numbers: *mut [T]) {
    // SAFETY: `send` got the pointer from a box. The request that read the numbers is complete, and each message is
    // forgotten once.
    drop(unsafe { Box::from_raw(numbers) });
}
