#include "frontends/fortran/residency.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/base/diagnostic.h"
#include "frontends/fortran/comments.h"

// Lines `!$moonloop resident: u, v` and `!$moonloop update`.
namespace moonloop::fortran {
namespace {

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string small(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// The words of a statement's beginning, up to two.
std::pair<std::string, std::string> first_words(std::string_view line) {
  const auto word = [&] {
    line = trimmed(line);
    std::size_t n = 0;
    while (n < line.size() && is_of_name(line[n])) ++n;
    std::string out = small(line.substr(0, n));
    line.remove_prefix(n);
    return out;
  };
  std::string first = word();
  return {std::move(first), word()};
}

/// Follows a text line by line: in which module's declarations it is.
class Declarations {
 public:
  void read(std::string_view line, int n, bool fixed) {
    if (comment_start(line, fixed) != std::string_view::npos) return;
    const auto [first, second] = first_words(line);
    static constexpr std::string_view kPrefixes[] = {"procedure", "subroutine", "function"};
    if (first == "module" && !second.empty() &&
        std::find(std::begin(kPrefixes), std::end(kPrefixes), second) == std::end(kPrefixes))
      module_ = second, first_ = n;
    else if ((first == "contains" && second.empty()) || first == "program" ||
             first == "endmodule" || (first == "end" && second == "module"))
      module_.clear();
  }
  const std::string& module() const { return module_; }
  int first() const { return first_; }

 private:
  std::string module_;
  int first_ = 0;
};

/// Whether a line from `first` to `last` that is no comment has the word.
bool has_word(const Source* source, int first, int last, bool fixed, const std::string& word) {
  for (int n = first; n <= last; ++n) {
    const std::string_view raw = source->line(n);
    if (comment_start(raw, fixed) != std::string_view::npos) continue;
    const std::string line = small(raw);
    for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      if ((at == 0 || !is_of_name(line[at - 1])) && (end == line.size() || !is_of_name(line[end])))
        return true;
    }
  }
  return false;
}

[[noreturn]] void refuse(const Span& at, const std::string& what) {
  throw Error(Diagnostic{"syntax",
                         what,
                         {at, {}},
                         {},
                         "write `resident: u, v` with arrays' names, `update`, or `update: u, v`"});
}

bool is_name(std::string_view s) {
  bool begins = true;  // a name, or one behind `%`
  for (const char c : s) {
    if (begins ? std::isalpha(static_cast<unsigned char>(c)) == 0 : !is_of_name(c) && c != '%')
      return false;
    begins = c == '%';
  }
  return !begins;
}

/// Reads what stands after the word, `: u, v`.
void read_names(std::string_view text, ResidencyLine& line) {
  if (text.empty()) {
    if (line.kind == ResidencyLine::Kind::Update) return;
    refuse(line.at, "`resident` names no array");
  }
  if (text.front() != ':') refuse(line.at, fmt::format("`{}` is not what may stand here", text));
  const std::string_view whole = line.at.source->line(line.at.line);
  for (bool more = true; more;) {
    text.remove_prefix(1);
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = trimmed(text.substr(0, comma));
    std::string name = small(one);
    std::erase_if(name, [](char c) { return c == ' ' || c == '\t'; });
    if (!is_name(name)) refuse(line.at, fmt::format("`{}` is not an array's name", one));
    Span at = line.at;
    at.col = static_cast<int>(one.data() - whole.data()) + 1;
    at.len = static_cast<int>(one.size());
    line.names.emplace_back(std::move(name), at);
    text.remove_prefix(comma);
    more = !text.empty();
  }
}

bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && small(text.substr(0, word.size())) == word &&
         (text.size() == word.size() || !is_of_name(text[word.size()]));
}

std::string base_of(const std::string& name) { return name.substr(0, name.find('%')); }

/// The name by which a line in its routine, or in its module, calls an argument.
std::string name_for(const Argument& a, bool in_module) {
  const FortranArgument& f = a.fortran;
  const std::string base = in_module && f.outer ? f.outer->name
                           : f.component        ? f.component->of
                                                : a.name;
  return small(f.component ? base + f.component->path : base);
}

}  // namespace

bool is_residency(std::string_view text) {
  return begins_with(text, "resident") || begins_with(text, "update");
}

std::vector<ResidencyLine> residency_lines(const Source* source, bool fixed) {
  std::vector<ResidencyLine> out;
  Declarations around;
  const int lines = static_cast<int>(source->line_starts.size());
  for (int n = 1; n <= lines; ++n) {
    const std::string_view whole = source->line(n);
    around.read(whole, n, fixed);
    std::optional<std::string_view> text = directive(whole, fixed);
    if (!text) continue;
    ResidencyLine line;
    const bool resident = begins_with(*text, "resident");
    if (!is_residency(*text)) continue;
    line.kind = resident ? ResidencyLine::Kind::Resident : ResidencyLine::Kind::Update;
    line.at.source = source;
    line.at.line = n;
    line.at.col = static_cast<int>(whole.find('$')) + 1;
    line.at.len = static_cast<int>(trimmed(whole.substr(whole.find('$'))).size());
    line.module = around.module();
    read_names(trimmed(text->substr(resident ? 8 : 6)), line);
    if (!line.module.empty() && !resident)
      fail("syntax", line.at,
           "`update` is among the declarations of the module `{}`, where nothing is done",
           line.module);
    if (!line.module.empty())
      for (const auto& [name, at] : line.names) {
        int last = n;  // declarations may follow
        for (Declarations after = around; last < lines && after.module() == line.module;) {
          ++last;
          after.read(source->line(last), last, fixed);
        }
        if (!has_word(source, around.first(), last, fixed, base_of(name)))
          fail("unknown-variable", at, "the module `{}` declares no `{}`", line.module,
               base_of(name));
      }
    out.push_back(std::move(line));
  }
  return out;
}

void mark_resident(Kernel& kernel, const ResidencyLine& line) {
  const bool in_module = !line.module.empty();
  for (const auto& [name, at] : line.names) {
    bool found = false;
    std::vector<std::string> arrays;
    for (Argument& a : kernel.args) {
      if (!a.is_array) continue;
      if (in_module && (!a.fortran.outer || a.fortran.outer->kind != FortranOuter::Kind::Module ||
                        a.fortran.outer->module != line.module))
        continue;
      arrays.push_back(name_for(a, in_module));
      // `grid` means all arrays of `grid`.
      if (arrays.back() != name && base_of(arrays.back()) != name) continue;
      a.fortran.resident = found = true;
    }
    if (!found && !in_module)
      fail("unknown-array", at,
           "`{}` has no argument and uses no variable around it that is an array `{}`{}",
           kernel.name, name, did_you_mean(name, arrays));
  }
}

std::string calls_of(const ResidencyLine& line, bool fixed) {
  const std::string begin = fixed ? "      call " : "call ";
  const bool resident = line.kind == ResidencyLine::Kind::Resident;
  if (line.names.empty()) return begin + "moonloop_update()\n";
  std::vector<std::string> calls;
  for (const auto& [name, at] : line.names)
    calls.push_back(begin + (resident ? "moonloop_resident(loc(" : "moonloop_update_array(loc(") +
                    name + (fixed ? "),\n     &sizeof(" : "), sizeof(") + name +
                    (resident ? fmt::format("), {})", line.at.line) : "))"));
  return fmt::format("{}\n", fmt::join(calls, fixed ? "\n" : "; "));
}

}  // namespace moonloop::fortran
