#include "frontends/fortran/crash.h"

#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <memory>

namespace moonloop::fortran {
namespace {

constexpr int kSignals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
constexpr std::size_t kStack = 64 * 1024;  // of the handler: there may be none left

thread_local sigjmp_buf* way_back = nullptr;

void leave(int signal) {
  if (way_back) siglongjmp(*way_back, signal);
  std::signal(signal, SIG_DFL);  // of another thread
  std::raise(signal);
}

/// While it lives, crashes of this thread go to `to`.
class Handlers {
 public:
  explicit Handlers(sigjmp_buf& to) : stack_(new char[kStack]), around_(way_back) {
    stack_t own{};
    own.ss_sp = stack_.get();
    own.ss_size = kStack;
    sigaltstack(&own, &stack_before_);
    struct sigaction action {};
    action.sa_handler = leave;
    action.sa_flags = SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &action, &before_[i]);
    way_back = &to;
  }
  ~Handlers() {
    way_back = around_;
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &before_[i], nullptr);
    sigaltstack(&stack_before_, nullptr);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  std::unique_ptr<char[]> stack_;
  sigjmp_buf* around_;
  stack_t stack_before_{};
  struct sigaction before_[std::size(kSignals)]{};
};

}  // namespace

int crash_of(const std::function<void()>& f) {
  sigjmp_buf here;
  const Handlers handlers(here);
  const int signal = sigsetjmp(here, 1);
  if (signal == 0) f();
  return signal;
}

}  // namespace moonloop::fortran
