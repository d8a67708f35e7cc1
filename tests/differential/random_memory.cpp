#include "tests/differential/random_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <vector>

#include "tests/differential/random.h"
#include "tests/differential/random_names.h"

namespace moonloop::differential {
namespace {

/// Where the bracket that opens at `open` closes.
std::size_t closing(const std::string& s, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < s.size(); ++at) {
    if (s[at] == '[' || s[at] == '(') ++depth;
    if ((s[at] == ']' || s[at] == ')') && --depth == 0) return at;
  }
  return std::string::npos;
}

/// Parts between commas that are in no brackets.
std::vector<std::string> parts(const std::string& s) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : s) {
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else if (c != ' ' || !out.back().empty())
      out.back() += c;
  }
  return out;
}

class Layouts {
 public:
  Layouts(Random& random, const std::string& text) : r_(random) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) lines_.push_back(line);
  }

  std::string write() {
    arguments();
    for (std::string& line : lines_)
      if (is_statement(line)) flatten(line);
    if (r_.chance(50)) add_started();
    if (r_.chance(30)) add_numbers();
    return fmt::format("{}\n", fmt::join(lines_, "\n"));
  }

 private:
  static bool is_statement(const std::string& line) {
    return !line.starts_with("kernel ") && !line.starts_with("domain ") &&
           !line.starts_with("assume ") && !line.starts_with("temp ");
  }

  void arguments() {
    const std::size_t open = lines_[0].find('('), close = closing(lines_[0], open);
    std::vector<std::string> all = parts(lines_[0].substr(open + 1, close - open - 1));
    for (std::string& a : all) {
      const std::string name = a.substr(0, a.find(':'));
      if (name.size() != 1 || std::string("abcpq").find(name) == std::string::npos) continue;
      const bool two_axes = a.find(", ") != std::string::npos;
      if (name == "b") real_ = a.find("float") != std::string::npos;
      if (two_axes && r_.chance(12)) {
        a = a.substr(0, a.find('[')) + "[(3*n + 12)*(3*n + 12)]";
        joined_.insert(name);
        continue;
      }
      if (r_.chance(60)) {
        plain_.insert(name);
        continue;
      }
      a += two_axes ? r_.pick({" order=F", " strides=(3*n + 13, 1)", " strides=(1, 3*n + 15)",
                               " strides=(6*n + 25, 2) offset=1", " order=F offset=2"})
                    : r_.pick({" strides=(2,)", " offset=3", " strides=(3,) offset=1"});
    }
    lines_[0] = lines_[0].substr(0, open + 1) + fmt::format("{}", fmt::join(all, ", ")) +
                lines_[0].substr(close);
  }

  /// Addresses some elements by their places in memory, as far as their subscripts allow it; of
  /// joined arrays all.
  void flatten(std::string& line) {
    for (std::size_t at = 0; at < line.size(); ++at) {
      const bool begins = at == 0 || !in_name(line[at - 1]);
      if (!begins || at + 1 >= line.size() || line[at + 1] != '[') continue;
      const bool joined = joined_.count(line.substr(at, 1)) > 0;
      if (!joined && (!plain_.count(line.substr(at, 1)) || !r_.chance(12))) continue;
      const std::size_t close = closing(line, at + 1);
      const std::vector<std::string> index = parts(line.substr(at + 2, close - at - 2));
      const std::string flat =
          index.size() == 1 ? index[0] : fmt::format("(3*n + 12)*({}) + {}", index[0], index[1]);
      line.replace(at + 1, close - at, joined ? "[" + flat + "]" : "[[" + flat + "]]");
    }
  }

  struct Site {
    std::size_t line = 0;  // in which loops to put more statements, after it
    std::string inames, iname;
  };
  /// Nothing where no statement names its loops.
  bool site(Site& out) {
    std::vector<std::size_t> all;
    for (std::size_t l = 0; l < lines_.size(); ++l)
      if (is_statement(lines_[l]) && lines_[l].find("inames=") != std::string::npos)
        all.push_back(l);
    if (all.empty()) return false;
    out.line = r_.pick(all);
    const std::string& line = lines_[out.line];
    const std::size_t from = line.find("inames=") + 7;
    out.inames = line.substr(from, line.find_first_of(",}", from) - from);
    out.iname = out.inames.substr(0, out.inames.find(':'));
    return !out.iname.empty();
  }
  void insert(std::size_t line, const std::string& text) {
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(line), text);
  }

  void add_started() {
    Site s;
    if (!site(s)) return;
    const std::string element = fmt::format("w[{} % 4]", s.iname);
    insert(s.line + 1,
           fmt::format("b[{0}] = w[({0} + 1) % 4]  {{id=w1, inames={1}}}", s.iname, s.inames));
    insert(s.line + 1, fmt::format("{0} = {1}  {{id=w0, inames={2}}}", element,
                                   real_ ? fmt::format("0.5*{} + 0.25", element)
                                         : fmt::format("({} + 3) % 7", element),
                                   s.inames));
    const std::size_t head = static_cast<std::size_t>(
        std::find_if(lines_.begin() + 1, lines_.end(), is_statement) - lines_.begin());
    insert(head, fmt::format("temp w: {}[4] init=(1, 2, 3, 4)", real_ ? "float64" : "int32"));
  }

  void add_numbers() {
    Site s;
    if (!site(s)) return;
    const std::string element = r_.chance(50) && !joined_.count("p")
                                    ? fmt::format("p[{}, 2]", s.iname)
                                    : fmt::format("a[{} + 1]", s.iname);
    insert(s.line + 1, fmt::format("c[{}] = indexof({}) % 101  {{id=x0, inames={}}}", s.iname,
                                   element, s.inames));
  }

  Random& r_;
  std::vector<std::string> lines_;
  std::set<std::string> plain_;   // arrays in one piece from their first element on
  std::set<std::string> joined_;  // arrays of two axes that are written as one
  bool real_ = true;              // the values of `b`
};

}  // namespace

std::string with_layouts(std::uint64_t seed, const std::string& text) {
  Random random(seed ^ 0x6d656d6f7279u);
  return random.chance(20) ? Layouts(random, text).write() : text;
}

}  // namespace moonloop::differential
