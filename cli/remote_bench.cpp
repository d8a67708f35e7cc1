#include "cli/remote_bench.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "core/base/diagnostic.h"

namespace moonloop::cli {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;
constexpr double kReadyWithin = 120;  // seconds, from its start
constexpr double kSilence = 60;       // seconds, besides those that a job may take
constexpr double kTurnsOfJob = 6;     // a compilation, five runs
constexpr std::chrono::milliseconds kEndWithin{2000};

/// How a process ended.
std::string status_text(int status) {
  if (WIFSIGNALED(status)) return fmt::format("it ended by signal {}", WTERMSIG(status));
  return fmt::format("it ended with status {}", WEXITSTATUS(status));
}

struct SpawnActions {
  posix_spawn_file_actions_t raw;
  SpawnActions() { posix_spawn_file_actions_init(&raw); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&raw); }
};

}  // namespace

RemoteBench::RemoteBench(std::size_t number, std::string command, const tuning::WorkerTask& task)
    : number_(number), command_(std::move(command)), task_limit_(task.seconds) {
  std::array<int, 2> in{}, out{};
  // A socket, so that writing to a worker that has ended is an error and no signal.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) != 0 ||
      ::pipe2(out.data(), O_CLOEXEC) != 0)
    fail("cannot-start", {}, "cannot start `{}`: {}", command_, std::strerror(errno));
  SpawnActions actions;
  posix_spawn_file_actions_adddup2(&actions.raw, in[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions.raw, out[1], STDOUT_FILENO);
  std::string shell = "/bin/sh", option = "-c", text = command_;
  std::array<char*, 4> argv{shell.data(), option.data(), text.data(), nullptr};
  const int error =
      posix_spawn(&child_, shell.c_str(), &actions.raw, nullptr, argv.data(), environ);
  ::close(in[1]);
  ::close(out[1]);
  to_ = in[0];
  from_ = out[0];
  if (error != 0) {
    ::close(to_);
    ::close(from_);
    fail("cannot-start", {}, "cannot start `{}`: {}", command_, std::strerror(error));
  }
  ::fcntl(from_, F_SETFL, O_NONBLOCK);
  const auto has = [&](std::size_t script, const tuning::TaskFile& f) {
    for (const auto& [path, content] : f.files) sent_.emplace(script, path);
  };
  has(0, task.input);
  for (std::size_t i = 0; i < task.scripts.size(); ++i) has(i + 1, task.scripts[i]);
  if (task.input.name.ends_with(".lua")) first_script_ = 0;
  to_write_ = to_line(task) + "\n";
  flush();
}

RemoteBench::~RemoteBench() {
  ::close(to_);
  ::close(from_);
  const auto until = Clock::now() + (failure_ ? std::chrono::milliseconds(0) : kEndWithin);
  int status = 0;
  while (::waitpid(child_, &status, WNOHANG) == 0) {
    if (Clock::now() >= until) {
      ::kill(child_, SIGKILL);
      while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string RemoteBench::name() const { return fmt::format("worker {}, `{}`", number_, command_); }

std::size_t RemoteBench::room() const {
  return !failure_ && room_ > open_.size() ? room_ - open_.size() : 0;
}

// ---- Orders -------------------------------------------------------------------------------------

/// With the files that the scripts of `c` loaded and the worker does not have.
void RemoteBench::say(tuning::WorkerOrder order, const tuning::Candidate* c) {
  if (failure_) return;
  if (c) {
    const std::vector<UsedScript>& scripts = scripts_of(*c);
    for (std::size_t i = 0; i < scripts.size(); ++i)
      for (const auto& file : scripts[i].files)
        if (sent_.emplace(i + first_script_, file.first).second)
          order.files.push_back({i + first_script_, file});
  }
  to_write_ += to_line(order) + "\n";
  flush();
}

void RemoteBench::take(const tuning::Job& job) {
  tuning::WorkerOrder o;
  o.number = job.number;
  o.knobs = tuning::values_of(job.candidate->knobs);
  o.verify = job.verify;
  if (open_.empty()) heard_ = Clock::now();
  open_.insert(job.number);
  say(std::move(o), job.candidate.get());
}

void RemoteBench::cancel() {
  tuning::WorkerOrder o;
  o.kind = tuning::OrderKind::Cancel;
  open_.clear();
  say(std::move(o), nullptr);
}

void RemoteBench::lead(const tuning::SharedCandidate& best, double seconds) {
  tuning::WorkerOrder o;
  o.kind = tuning::OrderKind::Lead;
  o.knobs = tuning::values_of(best->knobs);
  o.seconds = seconds;
  say(std::move(o), best.get());
}

void RemoteBench::limit(double seconds) {
  limit_ = seconds;
  tuning::WorkerOrder o;
  o.kind = tuning::OrderKind::Limit;
  o.seconds = seconds;
  say(std::move(o), nullptr);
}

/// Writes what the worker takes now; the rest later. Its end is seen when its output is read.
void RemoteBench::flush() {
  while (!to_write_.empty()) {
    const ssize_t n = ::send(to_, to_write_.data(), to_write_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    to_write_.erase(0, static_cast<std::size_t>(n));
  }
}

// ---- Replies ------------------------------------------------------------------------------------

std::vector<int> RemoteBench::files() const {
  if (ended_) return {};
  return {from_};
}

std::vector<tuning::Answer> RemoteBench::answers() {
  std::vector<tuning::Answer> out;
  if (failure_) return out;
  flush();
  read();
  for (std::size_t end = 0; !failure_ && (end = have_.find('\n')) != std::string::npos;) {
    const std::string line = have_.substr(0, end);
    have_.erase(0, end + 1);
    take_reply(line, out);
  }
  if (!failure_ && have_.size() > kLongestLine)
    fail_with(fmt::format("it wrote a line of more than {} bytes", kLongestLine));
  if (!failure_ && ended_) fail_with(ending());
  if (!failure_) look_at_silence();
  return out;
}

void RemoteBench::read() {
  std::array<char, 65536> block{};
  while (!ended_ && have_.size() <= kLongestLine) {
    const ssize_t n = ::read(from_, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0)
      ended_ = true;
    else
      have_.append(block.data(), static_cast<std::size_t>(n));
  }
}

void RemoteBench::take_reply(const std::string& line, std::vector<tuning::Answer>& out) {
  tuning::WorkerReply r;
  try {
    r = tuning::parse_reply(line);
  } catch (const Error& e) { return fail_with(e.diagnostic().text); }
  heard_ = Clock::now();
  if (!r.error.empty()) return fail_with(fmt::format("{} [{}]", r.error, r.code));
  if (r.ready.has_value() == place_.has_value())
    return fail_with(place_ ? "it said twice that it is ready" : "it answers what it was not told");
  if (r.ready) {
    if (r.room == 0) return fail_with("it has no room for a job");
    place_ = std::move(r.ready);
    room_ = r.room;
  } else if (open_.erase(r.answer->number) > 0) {
    out.push_back(std::move(*r.answer));
  }  // else it was cancelled
}

void RemoteBench::look_at_silence() {
  const std::chrono::duration<double> silent = Clock::now() - heard_;
  const double limit = task_limit_ > 0 ? task_limit_ : limit_;
  if (!place_ && silent.count() > kReadyWithin)
    fail_with(fmt::format("it was not ready after {:.0f} s", kReadyWithin));
  else if (place_ && !open_.empty() && limit > 0 && silent.count() > kTurnsOfJob * limit + kSilence)
    fail_with(fmt::format("it said nothing for {:.0f} s", silent.count()));
}

/// It has closed its output, so that it ends soon, or is of no use.
std::string RemoteBench::ending() {
  const auto until = Clock::now() + kEndWithin;
  int status = 0;
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == child_) {
      status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
      return status_text(status) + (place_ ? "" : " before it was ready");
    }
    if (Clock::now() >= until) return "it has closed its output";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void RemoteBench::fail_with(const std::string& why) {
  failure_ = why;
  open_.clear();
}

}  // namespace moonloop::cli
