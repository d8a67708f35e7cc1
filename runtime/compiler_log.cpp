#include "runtime/compiler_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <vector>

namespace moonloop {
namespace {

struct Place {
  std::size_t line = 0, column = 0;  // from 1; column 0: not known
};

/// `kernel.c:12:5: error: …` of GCC and Clang, `kernel.cu(12): error: …` of NVRTC.
std::optional<Place> first_error(const std::string& log) {
  static const std::regex kPlace(R"(:(\d{1,9}):(\d{1,9}):|\((\d{1,9})\):)");
  for (std::size_t from = 0; from < log.size();) {
    const std::size_t end = std::min(log.find('\n', from), log.size());
    const std::string line = log.substr(from, end - from);
    from = end + 1;
    std::smatch m;
    if (line.find("error") == line.npos || !std::regex_search(line, m, kPlace)) continue;
    if (m[3].matched) return Place{std::stoul(m[3]), 0};
    return Place{std::stoul(m[1]), std::stoul(m[2])};
  }
  return std::nullopt;
}

}  // namespace

std::string with_marked_line(const std::string& log, const std::string& source) {
  const std::optional<Place> at = first_error(log);
  if (!at) return log;
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < source.size();) {
    const std::size_t end = std::min(source.find('\n', from), source.size());
    lines.push_back(source.substr(from, end - from));
    from = end + 1;
  }
  if (at->line == 0 || at->line > lines.size()) return log;
  std::string out = log + "\nthe generated code there:";
  const std::size_t last = std::min(lines.size(), at->line + 2);
  for (std::size_t n = at->line > 2 ? at->line - 2 : 1; n <= last; ++n) {
    out += fmt::format("\n{} {:>5} | {}", n == at->line ? '>' : ' ', n, lines[n - 1]);
    if (n == at->line && at->column > 0 && at->column <= lines[n - 1].size())
      out += fmt::format("\n        | {}^", std::string(at->column - 1, ' '));
  }
  return out;
}

}  // namespace moonloop
