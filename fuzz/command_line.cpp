#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/commands.h"
#include "core/base/diagnostic.h"
#include "core/sets/budget.h"
#include "fuzz/limits.h"

namespace {

using namespace moonloop;  // NOLINT: the program's own namespace
namespace fs = std::filesystem;

/// The present folder, with copies of the files of $MOONLOOP_FUZZ_FILES. A command may write there.
class Folder {
 public:
  Folder() {
    const char* files = std::getenv("MOONLOOP_FUZZ_FILES");
    std::string name = (fs::temp_directory_path() / "fuzz-command-XXXXXX").string();
    if (!files || !mkdtemp(name.data()) || chdir(name.c_str()) != 0) std::abort();
    files_ = files;
    fill();
  }
  /// Restores its files, where some were added or replaced.
  void restore() {
    if (changed() == as_filled_) return;
    for (const fs::directory_entry& e : fs::directory_iterator(".")) fs::remove_all(e.path());
    fill();
  }

 private:
  static std::pair<long, long> changed() {
    struct stat now {};
    if (::stat(".", &now) != 0) std::abort();
    return {now.st_mtim.tv_sec, now.st_mtim.tv_nsec};
  }
  void fill() {
    for (const fs::directory_entry& e : fs::directory_iterator(files_))
      fs::copy_file(e.path(), e.path().filename());
    as_filled_ = changed();
  }

  fs::path files_;
  std::pair<long, long> as_filled_;
};

/// Words are separated by blanks; quotes keep blanks within one.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  bool quoted = false, begun = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (!quoted && (c == ' ' || c == '\n')) {
      begun = false;
      continue;
    } else if (c == '\0') {
      continue;  // no argument has one
    }
    if (!begun) out.emplace_back();
    begun = true;
    if (c != '\'') out.back() += c;
  }
  return out;
}

/// Whether it may reach beyond the folder, or the sandbox.
bool is_out_of_bounds(const std::string& word) {
  return word.find('/') != std::string::npos || word.find("..") != std::string::npos ||
         word.starts_with("--trust");
}

/// As main(), except that bugs end the process.
void run(std::vector<std::string> words) {
  CLI::App app;
  cli::Common common;
  std::function<int()> action;
  try {
    cli::build_app(app, common, action);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(words);
    for (const char* command : {"run", "repl", "devices", "db", "tune"})
      if (app.got_subcommand(command)) return;
    if (common.trust) return;
    action();
  } catch (const CLI::ParseError& e) { app.exit(e); } catch (const Error& e) {
    cli::report(e, common.color);
  }
}

}  // namespace

/// Any words as a command line, except for those that would compile or run something.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Folder folder;
  if (size > 1024) return 0;
  std::vector<std::string> words = words_of({reinterpret_cast<const char*>(data), size});
  for (const std::string& w : words)
    if (is_out_of_bounds(w)) return 0;
  const fuzz::InputMemory memory;
  const IslBudget budget(200'000, "reading");  // isl's time is not tested here
  run(std::move(words));
  folder.restore();
  return 0;
}
