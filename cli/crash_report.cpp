#include "cli/crash_report.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include "cli/commands.h"
#include "core/base/diagnostic.h"

namespace moonloop::cli {
namespace {

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/// Data for the handler: made before the signal comes.
struct Prepared {
  std::array<std::string, kSignals.size()> texts;
  std::array<struct sigaction, kSignals.size()> before;
  stack_t stack_before{};
  alignas(16) std::array<char, 1 << 16> stack;
};
Prepared& prepared() {
  static Prepared p;
  return p;
}

void tell(int signal) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != signal) continue;
    const std::string& text = prepared().texts[i];
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }
  ::_exit(kError);
}

}  // namespace

CrashReport::CrashReport(const Kernel& k, bool verified, bool color) {
  Prepared& p = prepared();
  stack_t own{};
  own.ss_sp = p.stack.data();
  own.ss_size = p.stack.size();
  ::sigaltstack(&own, &p.stack_before);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    const bool arithmetic = kSignals[i] == SIGFPE;
    p.texts[i] =
        render({"run-crashed",
                fmt::format("the run of kernel `{}` ended by signal {}, {}", k.name, kSignals[i],
                            arithmetic ? "as an integer division by zero does"
                                       : "as an access outside of all arrays does"),
                {k.at, {}},
                {},
                verified ? "the interpreter, which ran the kernel before, met nothing of that kind"
                         : "`--verify` also runs it in the interpreter, which says where"},
               color);
    struct sigaction action {};
    action.sa_handler = tell;
    action.sa_flags = SA_ONSTACK;
    ::sigaction(kSignals[i], &action, &p.before[i]);
  }
}

CrashReport::~CrashReport() {
  Prepared& p = prepared();
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &p.before[i], nullptr);
  ::sigaltstack(&p.stack_before, nullptr);
}

}  // namespace moonloop::cli
