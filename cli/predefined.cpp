#include "cli/predefined.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "runtime/file.h"
#include "runtime/process.h"

namespace moonloop::cli {

std::optional<Macros> predefined_macros(const std::vector<std::string>& command) {
  std::vector<std::string> words{find_program(command.at(0))};
  if (words[0].empty()) return std::nullopt;
  for (const std::string& w : command)
    for (const char* changes : {"-f", "-m", "-O", "-std=", "-q", "-acc", "-openmp", "-U"})
      if (w.starts_with(changes) && !w.starts_with("-module")) {
        words.push_back(w);
        break;
      }
  for (const char* w : {"-cpp", "-E", "-dM", "-x", "f95-cpp-input", "/dev/null"})
    words.emplace_back(w);
  const ProcessResult r = run_process(words);
  Macros out;
  static constexpr std::string_view kWord = "#define ";
  for (std::size_t at = 0; at < r.output.size();) {
    const std::size_t end = std::min(r.output.find('\n', at), r.output.size());
    const std::string line = r.output.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(kWord)) continue;
    const std::size_t blank = line.find(' ', kWord.size());
    const std::string name = line.substr(kWord.size(), blank - kWord.size());
    if (name.find('(') != std::string::npos) continue;  // with arguments
    out.emplace_back(name, blank == std::string::npos ? "" : line.substr(blank + 1));
  }
  if (r.status != 0 || out.empty()) return std::nullopt;
  return out;
}

Diagnostic unknown_macros(const std::string& compiler) {
  return {"unknown-macros",
          fmt::format("`{}` does not say which macros it defines, and the file is preprocessed",
                      compiler),
          {},
          {},
          "`-D NAME=VALUE` defines those that matter"};
}

bool has_preprocessor_lines(const std::string& path) {
  std::string text;
  return read_whole(path, text) && (text.starts_with('#') || text.find("\n#") != text.npos);
}

}  // namespace moonloop::cli
