#include "runtime/in_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

#include "core/base/diagnostic.h"
#include "runtime/memory.h"

namespace moonloop {
namespace {

constexpr char kWhole = '.';  // after the text: it is complete

[[noreturn]] void run_child(const std::function<std::string()>& work, const ChildLimits& limits,
                            int to) {
  signal(SIGINT, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  constexpr int polite = 5;
  if (limits.gives_way) ::setpriority(PRIO_PROCESS, 0, polite);
  if (limits.memory > 0) {
    const auto most = static_cast<rlim_t>(private_memory() + limits.memory);
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
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

/// All that `process` has started, and what that has; as far as the system tells.
void add_descendants(int process, std::vector<int>& all) {
  std::ifstream in(fmt::format("/proc/{0}/task/{0}/children", process));
  std::vector<int> own;
  for (int child = 0; in >> child;) own.push_back(child);
  for (const int child : own) {
    all.push_back(child);
    add_descendants(child, all);
  }
}

}  // namespace

ChildProcess::ChildProcess(const std::function<std::string()>& work, const ChildLimits& limits)
    : start_(std::chrono::steady_clock::now()), seconds_(limits.seconds) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    fail("cannot-start", {}, "cannot start a process: {}", std::strerror(errno));
  std::fflush(stdout);  // or the child would write it too
  std::fflush(stderr);
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    fail("cannot-start", {}, "cannot start a process: {}", std::strerror(error));
  }
  if (child_ == 0) {
    ::close(ends[0]);
    // It ends with what started it, however that ends.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
    run_child(work, limits, ends[1]);
  }
  ::close(ends[1]);
  file_ = ends[0];
  ::fcntl(file_, F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() { stop(); }

void ChildProcess::stop() {
  if (file_ < 0) return;
  std::vector<int> all{child_};
  add_descendants(child_, all);
  for (const int process : all) ::kill(process, SIGKILL);
  result_.stopped = true;
  wait();
}

/// For its end, which is near.
void ChildProcess::wait() {
  ::close(file_);
  file_ = -1;
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
  if (result_.stopped) return;
  if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
  result_.ended = result_.signal == 0 && !result_.text.ends_with(kWhole);
  if (result_.signal == 0 && !result_.ended) result_.text.pop_back();
}

bool ChildProcess::done() {
  if (file_ < 0) return true;
  std::array<char, 4096> chunk{};
  for (;;) {
    const ssize_t n = ::read(file_, chunk.data(), chunk.size());
    if (n > 0) {
      result_.text.append(chunk.data(), static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    wait();
    return true;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
  if (seconds_ > 0 && took.count() > seconds_) {
    result_.late = true;
    stop();
  }
  return file_ < 0;
}

ChildResult run_in_child(const std::function<std::string()>& work,
                         const std::function<bool()>& stop, const ChildLimits& limits) {
  ChildProcess child(work, limits);
  while (!child.done()) {
    // A signal may come in just before the call, so it must not wait for ever.
    pollfd ready{child.file(), POLLIN, 0};
    constexpr int kPatience = 200;  // ms
    ::poll(&ready, 1, kPatience);
    if (stop && stop()) child.stop();
  }
  ChildResult out = child.result();
  if (stop && stop()) out.stopped = true;
  if (out.ended && !out.stopped)
    throw InternalError("a child process ended before its work was done");
  return out;
}

}  // namespace moonloop
