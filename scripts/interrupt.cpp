#include "scripts/interrupt.h"

#include <poll.h>
#include <signal.h>

#include <cerrno>

#include "core/sets/isl.h"

namespace moonloop {
namespace {

volatile sig_atomic_t noted = 0;
isl_ctx* volatile context = nullptr;
struct sigaction before;

void note(int) {
  noted = 1;
  if (context) isl_ctx_abort(context);  // sets a flag
}

}  // namespace

CatchInterrupts::CatchInterrupts() {
  context = isl();
  struct sigaction action {};
  action.sa_handler = note;
  sigaction(SIGINT, &action, &before);
}

CatchInterrupts::~CatchInterrupts() {
  sigaction(SIGINT, &before, nullptr);
  context = nullptr;
  forget_interrupt();
}

bool interrupted() { return noted != 0; }

void forget_interrupt() {
  noted = 0;
  isl_ctx_resume(isl());
  isl_ctx_reset_error(isl());
}

bool wait_for_input(int file) {
  // An interrupt that comes between the question and the wait must end the wait.
  sigset_t interrupt, old;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, &old);
  pollfd ready{file, POLLIN, 0};
  int n = -1;
  while (!interrupted() && n < 0) {
    n = ppoll(&ready, 1, nullptr, &old);
    if (n < 0 && errno != EINTR) break;
  }
  sigprocmask(SIG_SETMASK, &old, nullptr);
  return !interrupted();
}

}  // namespace moonloop
