#include "runtime/in_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

constexpr char kWhole = '.';  // after the text: it is complete

[[noreturn]] void run_child(const std::function<std::string()>& work, int to) {
  signal(SIGINT, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  int status = 1;
  try {
    const std::string text = work() + kWhole;
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = ::write(to, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    status = done == text.size() ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: internal error: %s [internal-error]\n", e.what());
  }
  std::fflush(stdout);
  std::fflush(stderr);
  ::_exit(status);
}

}  // namespace

ChildResult run_in_child(const std::function<std::string()>& work,
                         const std::function<bool()>& stop) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    fail("cannot-start", {}, "cannot start a process: {}", std::strerror(errno));
  std::fflush(stdout);  // or the child would write it too
  std::fflush(stderr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    fail("cannot-start", {}, "cannot start a process: {}", std::strerror(error));
  }
  if (child == 0) {
    ::close(ends[0]);
    // It ends with what started it, however that ends.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
    run_child(work, ends[1]);
  }
  ::close(ends[1]);

  ChildResult out;
  std::array<char, 4096> chunk{};
  for (;;) {
    // A signal may come in just before the call, so it must not wait for ever.
    pollfd ready{ends[0], POLLIN, 0};
    constexpr int kPatience = 200;  // ms
    ::poll(&ready, 1, kPatience);
    if (stop && stop()) {
      out.stopped = true;
      ::kill(child, SIGKILL);
      break;
    }
    if (!ready.revents) continue;
    const ssize_t n = ::read(ends[0], chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    out.text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (out.stopped) return out;
  if (stop && stop()) out.stopped = true;
  if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
  if (out.text.ends_with(kWhole) && out.signal == 0)
    out.text.pop_back();
  else if (!out.stopped && out.signal == 0)
    throw InternalError("a child process ended before its work was done");
  return out;
}

}  // namespace moonloop
