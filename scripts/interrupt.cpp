#include "scripts/interrupt.h"

#include <signal.h>

#include "core/isl.h"

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

}  // namespace moonloop
