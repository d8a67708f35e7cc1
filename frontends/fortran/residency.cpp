#include "frontends/fortran/residency.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/fortran/comments.h"
#include "frontends/fortran/includes.h"

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
    if (one.empty()) refuse(line.at, "an array's name is missing");
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

/// Follows a text line by line, and those that it includes: in which module's declarations it is.
class ResidencyReader {
 public:
  ResidencyReader(const FortranOptions& how, bool fixed) : how_(how), fixed_(fixed) {}

  /// `order`: see ResidencyLine; 0 in the input's own file.
  void read(const Source* source, int order) {
    const int lines = static_cast<int>(source->line_starts.size());
    for (int n = 1; n <= lines; ++n) {
      const std::string_view whole = source->line(n);
      if (const auto text = directive(whole, fixed_)) {
        if (is_residency(*text)) add(*text, source, n, order ? order : n);
      } else if (comment_start(whole, fixed_) == std::string_view::npos) {
        follow(whole);
        if (const std::string name = included_by(whole); !name.empty())
          include(source, name, order ? order : n);
      }
    }
  }
  std::vector<ResidencyLine> taken() {
    leave();
    return std::move(out_);
  }

 private:
  void include(const Source* by, const std::string& name, int order) {
    const Source* source = included_source(by, name, how_);
    if (!source || !open_.insert(source->name).second) return;
    read(source, order);
    open_.erase(source->name);
  }

  void follow(std::string_view line) {
    static constexpr std::string_view kPrefixes[] = {"procedure", "subroutine", "function"};
    const auto [first, second] = first_words(line);
    if (first == "module" && !second.empty() &&
        std::find(std::begin(kPrefixes), std::end(kPrefixes), second) == std::end(kPrefixes))
      leave(), module_ = second;
    else if ((first == "contains" && second.empty()) || first == "program" ||
             first == "endmodule" || (first == "end" && second == "module"))
      leave();
    if (!module_.empty()) note_words(line);
  }
  void note_words(std::string_view line) {
    for (std::size_t at = 0; at < line.size();) {
      std::size_t end = at;
      while (end < line.size() && is_of_name(line[end])) ++end;
      if (end > at) words_.insert(small(line.substr(at, end - at)));
      at = end + 1;
    }
  }
  /// At the end of a module's declarations: they have what its lines name.
  void leave() {
    for (const ResidencyLine& line : out_)
      if (!module_.empty() && line.module == module_)
        for (const auto& [name, at] : line.names)
          if (!words_.contains(base_of(name)))
            fail("unknown-variable", at, "the module `{}` declares no `{}`", module_,
                 base_of(name));
    module_.clear();
    words_.clear();
  }

  void add(std::string_view text, const Source* source, int n, int order) {
    const std::string_view whole = source->line(n);
    ResidencyLine line;
    const bool resident = begins_with(text, "resident");
    line.kind = resident ? ResidencyLine::Kind::Resident : ResidencyLine::Kind::Update;
    line.order = order;
    line.at.source = source;
    line.at.line = n;
    line.at.col = static_cast<int>(whole.find('$')) + 1;
    line.at.len = static_cast<int>(trimmed(whole.substr(whole.find('$'))).size());
    line.module = module_;
    read_names(trimmed(text.substr(resident ? 8 : 6)), line);
    if (!line.module.empty() && !resident)
      fail("syntax", line.at,
           "`update` is among the declarations of the module `{}`, where nothing is done",
           line.module);
    out_.push_back(std::move(line));
  }

  const FortranOptions& how_;
  bool fixed_;
  std::set<std::string> open_;   // files that are being included
  std::string module_;           // whose declarations these are; empty: none
  std::set<std::string> words_;  // of these declarations
  std::vector<ResidencyLine> out_;
};

}  // namespace

bool is_residency(std::string_view text) {
  return begins_with(text, "resident") || begins_with(text, "update");
}

std::vector<ResidencyLine> residency_lines(const Source* source, const FortranOptions& how,
                                           bool fixed) {
  ResidencyReader reader(how, fixed);
  reader.read(source, 0);
  return reader.taken();
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
