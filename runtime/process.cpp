#include "runtime/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

constexpr std::size_t kMostOutput = 64 * 1024;

struct FileActions {
  posix_spawn_file_actions_t raw;
  FileActions() { posix_spawn_file_actions_init(&raw); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&raw); }
};

bool executable(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv, const std::string& folder) {
  ensure(!argv.empty(), "a process has a program");
  std::array<int, 2> pipe_ends{};
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
    fail("cannot-start", {}, "cannot start `{}`: {}", argv[0], std::strerror(errno));
  FileActions actions;
  posix_spawn_file_actions_addopen(&actions.raw, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.raw, pipe_ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions.raw, pipe_ends[1], 2);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions.raw, folder.c_str());
  std::vector<char*> raw;
  for (const std::string& a : argv) raw.push_back(const_cast<char*>(a.c_str()));
  raw.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, raw[0], &actions.raw, nullptr, raw.data(), environ);
  ::close(pipe_ends[1]);
  if (error != 0) {
    ::close(pipe_ends[0]);
    fail("cannot-start", {}, "cannot start `{}`: {}", argv[0], std::strerror(error));
  }

  ProcessResult result;
  std::array<char, 4096> chunk{};
  for (;;) {
    const ssize_t n = ::read(pipe_ends[0], chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    const std::size_t room = kMostOutput - result.output.size();
    result.output.append(chunk.data(), std::min(room, static_cast<std::size_t>(n)));
  }
  ::close(pipe_ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string find_program(const std::string& name) {
  if (name.empty()) return {};
  std::error_code none;
  if (name.find('/') != std::string::npos)
    return executable(name) ? std::filesystem::absolute(name, none).string() : std::string();
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t end = rest.find(':');
    const std::string folder(rest.substr(0, end));
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (executable(candidate)) return std::filesystem::absolute(candidate, none).string();
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
}

}  // namespace moonloop
