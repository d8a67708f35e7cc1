#include "reports/summary.h"

#include <algorithm>
#include <functional>

#include "core/model/print.h"

namespace moonloop {
namespace {

constexpr std::size_t kWidth = 78;
constexpr std::size_t kMostInstructions = 6, kMostElements = 40;

std::string cut(const std::string& line) {
  return line.size() <= kWidth ? line : line.substr(0, kWidth - 3) + "...";
}

std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

using Names = std::vector<std::string>;

Names minus(const Names& a, const Names& b) {
  Names out;
  for (const std::string& x : a)
    if (std::find(b.begin(), b.end(), x) == b.end()) out.push_back(x);
  return out;
}

/// `a, b` and how many more.
std::string listed(const Names& all) {
  constexpr std::size_t kMost = 6;
  std::string out = fmt::format(
      "{}", fmt::join(all.begin(), all.begin() + long(std::min(all.size(), kMost)), ", "));
  return all.size() <= kMost ? out : fmt::format("{} and {} more", out, all.size() - kMost);
}

/// `what a, b -> c`, where names were removed and added; for loops the arrow is enough.
void add_moved(Names& out, const char* what, const Names& before, const Names& after) {
  const Names gone = minus(before, after), come = minus(after, before);
  if (gone.empty() && come.empty()) return;
  const bool loops = std::string_view(what) == "loop";
  if (gone.empty())
    out.push_back(fmt::format("new {} {}", what, listed(come)));
  else if (come.empty())
    out.push_back(fmt::format("no {} {} any more", what, listed(gone)));
  else
    out.push_back(fmt::format("{}{} -> {}", loops ? "" : what + std::string(" "), listed(gone),
                              listed(come)));
}

Names temporaries(const Kernel& k) {
  Names out;
  for (const auto& entry : k.temporaries) out.push_back(entry.first);
  return out;
}

template <class Range>
Names names_of(const Range& all) {
  Names out;
  for (const auto& e : all) out.push_back(e.name);
  return out;
}

std::string step_text(const Step& s) {
  Names args;
  for (const Value& v : s.positional) args.push_back(to_lua(v));
  if (!s.options.empty()) args.push_back(to_lua(Value{s.options}));
  return fmt::format("{}({})", s.name, fmt::join(args, ", "));
}

}  // namespace

std::string summary(const Kernel& k) {
  Names args, loops;
  for (const Argument& a : k.args)
    args.push_back(a.name + (a.type ? ": " + a.type->str() : "") +
                   (a.is_array ? a.shape ? "[" + to_string(*a.shape) + "]" : "[...]" : ""));
  for (const std::string& i : k.inames())
    loops.push_back(k.tag(i) ? fmt::format("{}: {}", i, k.tag(i)->text) : i);
  std::string out = cut(fmt::format("kernel {}({})", k.name, fmt::join(args, ", "))) + "\n";
  out += cut(fmt::format("  loops {}",
                         loops.empty() ? "none" : fmt::format("{}", fmt::join(loops, ", ")))) +
         "\n";
  if (!k.rules.empty())
    out += cut("  rules " + fmt::format("{}", fmt::join(names_of(k.rules), ", "))) + "\n";
  if (k.temporaries.begin() != k.temporaries.end())
    out += cut("  temporaries " + fmt::format("{}", fmt::join(temporaries(k), ", "))) + "\n";
  for (std::size_t i = 0; i < k.instructions.size(); ++i) {
    if (i + 1 == kMostInstructions && k.instructions.size() > kMostInstructions) {
      out += fmt::format("  and {}\n", counted(k.instructions.size() - i, "more instruction"));
      break;
    }
    out += cut("  " + print_instruction(k, *k.instructions[i])) + "\n";
  }
  out += fmt::format("  {}, {}\n", counted(k.trace.size(), "transform"),
                     counted(k.claims.size(), "claim"));
  return out;
}

std::string summary(const Value& v) {
  const std::string line = to_lua(v);
  if (line.size() <= kWidth) return line;
  std::string out = "{\n";
  std::size_t shown = 0;
  const auto add = [&](const std::string& text) {
    if (++shown <= kMostElements) out += "  " + text + ",\n";
  };
  if (const auto* l = v.as<ValueList>())
    for (const Value& e : *l) add(to_lua(e));
  else if (const auto* d = v.as<ValueDict>())
    for (const auto& [name, e] : *d) add(name + " = " + to_lua(e));
  else
    return line;
  if (shown > kMostElements) out += fmt::format("  -- and {} more\n", shown - kMostElements);
  return out + "}";
}

std::string what_changed(const Kernel& before, const Kernel& after) {
  Names out;
  Names steps;
  for (std::size_t i = before.trace.size(); i < after.trace.size(); ++i)
    steps.push_back(step_text(after.trace[i]));
  if (!steps.empty()) out.push_back(cut(fmt::format("{}", fmt::join(steps, ", "))));
  add_moved(out, "loop", before.inames(), after.inames());
  for (const std::string& i : after.inames()) {
    const InameTag *was = before.tag(i), *is = after.tag(i);
    if (is && (!was || was->text != is->text)) out.push_back(fmt::format("{}: {}", i, is->text));
    if (was && !is && before.has_iname(i)) out.push_back(fmt::format("{}: no tag", i));
  }
  add_moved(out, "statement", before.instruction_ids(), after.instruction_ids());
  add_moved(out, "argument", names_of(before.args), names_of(after.args));
  add_moved(out, "temporary", temporaries(before), temporaries(after));
  add_moved(out, "rule", names_of(before.rules), names_of(after.rules));
  if (before.priorities != after.priorities && !after.priorities.empty())
    out.push_back(fmt::format("nested as {}", fmt::join(after.priorities.back(), ", ")));
  if (after.assumptions &&
      (!before.assumptions || str(before.assumptions) != str(after.assumptions)))
    out.push_back("other assumptions");
  Names claims;
  for (std::size_t i = before.claims.size(); i < after.claims.size(); ++i)
    claims.push_back(after.claims[i].step);
  if (!claims.empty())
    out.push_back(fmt::format("claimed, not proved: {}", fmt::join(claims, ", ")));
  else
    out.push_back(after.claims.empty() ? "legal" : "legal, given the claims");
  return fmt::format("{}", fmt::join(out, "; "));
}

// ---- Differences of texts -----------------------------------------------------------------------

namespace {

Names lines_of(const std::string& text) {
  Names out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

struct Edit {
  char kind;  // ' ', '-' or '+'
  std::string line;
};

/// The shortest way from `a` to `b`, by the longest common subsequence; where the table would be
/// too large, all of `a` goes and all of `b` comes.
std::vector<Edit> edits(const Names& a, const Names& b) {
  constexpr std::size_t kLargest = 16'000'000;
  std::size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const std::size_t n = a.size() - head - tail, m = b.size() - head - tail;
  std::vector<Edit> out;
  for (std::size_t i = 0; i < head; ++i) out.push_back({' ', a[i]});
  std::size_t i = 0, j = 0;
  if ((n + 1) * (m + 1) <= kLargest) {
    std::vector<int> common((n + 1) * (m + 1), 0);  // of the rest from i and j
    const auto at = [&](std::size_t x, std::size_t y) -> int& { return common[x * (m + 1) + y]; };
    for (std::size_t x = n; x-- > 0;)
      for (std::size_t y = m; y-- > 0;)
        at(x, y) = a[head + x] == b[head + y] ? at(x + 1, y + 1) + 1
                                              : std::max(at(x + 1, y), at(x, y + 1));
    while (i < n && j < m) {
      if (a[head + i] == b[head + j]) {
        out.push_back({' ', a[head + i]});
        ++i, ++j;
      } else if (at(i + 1, j) >= at(i, j + 1)) {
        out.push_back({'-', a[head + i++]});
      } else {
        out.push_back({'+', b[head + j++]});
      }
    }
  }
  for (; i < n; ++i) out.push_back({'-', a[head + i]});
  for (; j < m; ++j) out.push_back({'+', b[head + j]});
  for (std::size_t k = a.size() - tail; k < a.size(); ++k) out.push_back({' ', a[k]});
  return out;
}

}  // namespace

std::string diff(const std::string& before, const std::string& after,
                 const std::string& before_head, const std::string& after_head, bool color) {
  constexpr std::size_t kContext = 3;
  if (before == after) return {};
  const std::vector<Edit> all = edits(lines_of(before), lines_of(after));
  const auto painted = [&](const char* code, const std::string& line) {
    return color ? fmt::format("\033[{}m{}\033[0m\n", code, line) : line + "\n";
  };
  std::string out = painted("1", "--- " + before_head) + painted("1", "+++ " + after_head);
  std::size_t old_line = 1, new_line = 1;  // of all[i]
  for (std::size_t i = 0; i < all.size();) {
    // A block runs until no change comes within twice the context.
    std::size_t first = i;
    while (first < all.size() && all[first].kind == ' ') ++first;
    if (first == all.size()) break;
    const std::size_t from = first - std::min(first - i, kContext);
    old_line += from - i, new_line += from - i;
    std::size_t last = first;  // after the last change
    for (std::size_t j = first; j < all.size() && j < last + 2 * kContext + 1; ++j)
      if (all[j].kind != ' ') last = j + 1;
    const std::size_t to = std::min(last + kContext, all.size());
    const auto count = [&](char kind) {
      return std::size_t(
          std::count_if(all.begin() + long(from), all.begin() + long(to),
                        [&](const Edit& e) { return e.kind == ' ' || e.kind == kind; }));
    };
    const std::size_t olds = count('-'), news = count('+');
    out += painted("36", fmt::format("@@ -{},{} +{},{} @@", old_line - (olds == 0), olds,
                                     new_line - (news == 0), news));
    for (std::size_t j = from; j < to; ++j) {
      const std::string line = all[j].kind + all[j].line;
      out += all[j].kind == ' ' ? line + "\n" : painted(all[j].kind == '-' ? "31" : "32", line);
    }
    old_line += olds, new_line += news;
    i = to;
  }
  return out;
}

}  // namespace moonloop
