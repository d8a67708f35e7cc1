#pragma once

/// Ctrl-C as a flag that can be tested, so that a session survives it.
namespace moonloop {

/// While one lives, an interrupt is noted and stops isl's work on this thread (it fails then).
/// Calls of the system that wait come back with EINTR. At most one at a time.
class CatchInterrupts {
 public:
  CatchInterrupts();
  ~CatchInterrupts();
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;
};

/// Whether there was an interrupt since the last call of forget_interrupt().
bool interrupted();
/// Lets isl work again.
void forget_interrupt();
/// Waits until something can be read from `file`, or its end; false when there was an interrupt,
/// also one that came before the call.
bool wait_for_input(int file);

}  // namespace moonloop
