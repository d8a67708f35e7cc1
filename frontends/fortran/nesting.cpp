#include "frontends/fortran/nesting.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <vector>

#include "core/base/diagnostic.h"

namespace moonloop::fortran {
namespace {

// Measured: 2^14 lines that are parsed again take half a second, 2^16 levels of calls a second or
// two, 1000 operators of one statement four. A bracket takes up to 5 kB of the stack.
constexpr double kMostLines = 1 << 14, kMostLevels = 1 << 16;
constexpr int kCheapLevels = 6;  // of calls in a statement, which do not count
constexpr int kMostOperators = 1000, kCheapOperators = 100;
constexpr double kOfTruthOrText = 2.2;  // the relative cost of operators of logicals and characters
constexpr int kMostBrackets = 200;
constexpr int kOfDirective = 2;  // a directive at a block is as much as two blocks more

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// A statement without its label, its name and its blanks, and the nesting of its brackets.
struct LogicalLine {
  std::string text, label, name;
  std::size_t at = 0, size = 0;  // of all of it
  bool directive = false;
  int brackets = 0;  // the most that are open
  int levels = 0;    // of them calls, subscripts and constructors; components count twice

  bool starts(std::string_view s) const { return text.starts_with(s); }
  /// Its end is that of the bracket at `open`.
  bool ends_with_bracket(std::size_t open) const { return after_bracket(open) == text.size(); }
  /// The place after the bracket that is opened at `open`; 0 if there is none.
  std::size_t after_bracket(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0) return i + 1;
    }
    return 0;
  }
  /// Whether a comma follows the first `=`, outside of brackets.
  bool is_loop_control() const {
    int depth = 0;
    bool equals = false;
    for (const char c : text) {
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
      if (depth != 0) continue;
      if (c == '=') equals = true;
      if (c == ',' && equals) return true;
    }
    return false;
  }
};

/// How many operators a statement has, weighed.
double operators(const std::string& text) {
  double out = 0;
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/' && at(i + 1) == '/')
      out += kOfTruthOrText, ++i;
    else if (text[i] == '*' && at(i + 1) == '*')
      out += 1, ++i;
    else if (std::string_view("+-*/<>").find(text[i]) != std::string_view::npos)
      out += 1;
    else if (text[i] == '.' && std::isalpha(static_cast<unsigned char>(at(i + 1))) != 0) {
      std::size_t end = i + 1;
      while (std::isalpha(static_cast<unsigned char>(at(end))) != 0) ++end;
      if (at(end) == '.') out += kOfTruthOrText, i = end;
    }
  }
  return out;
}

/// Cuts a text into statements.
class LogicalLines {
 public:
  explicit LogicalLines(std::string_view text) : text_(text) {}

  bool next(LogicalLine& s) {
    if (at_ >= text_.size()) return false;
    s = {};
    s.at = at_;
    s.directive = text_[at_] == '!';
    struct Bracket {
      int levels;
    };
    std::vector<Bracket> open;
    char quote = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') break;
      if (quote) {
        if (c == quote) quote = 0;
        continue;
      }
      if (c == ' ' || c == '\t') continue;
      if (c == ';' && !s.directive) break;
      if (c == '\'' || c == '"') quote = c;
      if (c == '(' || c == '[') {
        open.push_back({levels_of(s.text, c)});
        s.brackets = std::max(s.brackets, static_cast<int>(open.size()));
        int levels = 0;
        if (open.back().levels)
          for (const Bracket& b : open) levels += b.levels;
        s.levels = std::max(s.levels, levels);
      } else if ((c == ')' || c == ']') && !open.empty()) {
        open.pop_back();
      }
      s.text += c;
    }
    s.size = at_ - s.at;
    ++at_;
    take_label(s);
    return true;
  }

 private:
  int levels_of(const std::string& before, char bracket) const {
    if (bracket == '[' || (at_ + 1 < text_.size() && text_[at_ + 1] == '/')) return 1;
    std::size_t from = before.size();
    while (from > 0 && is_word(before[from - 1])) --from;
    if (from == before.size()) return before.ends_with(')') ? 1 : 0;
    return from > 0 && before[from - 1] == '%' ? 2 : 1;
  }
  static void take_label(LogicalLine& s) {
    std::size_t n = 0;
    while (n < s.text.size() && std::isdigit(static_cast<unsigned char>(s.text[n])) != 0) ++n;
    s.label = s.text.substr(0, n);
    s.text.erase(0, n);
    for (n = 0; n < s.text.size() && is_word(s.text[n]);) ++n;
    if (n == 0 || n + 1 >= s.text.size() || s.text[n] != ':' || s.text[n + 1] == ':') return;
    s.name = s.text.substr(0, n);
    s.text.erase(0, n + 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// A block, named by the word after `end`.
struct Block {
  std::string kind, name;
  TooDeep::Part where;
  int number = 0;      // of the statement
  int directives = 0;  // right before it
};

/// The kind of block that a statement opens; empty for none. A loop up to a label opens none.
std::string opened_by(const LogicalLine& s) {
  if (s.text == "do" || ((s.starts("dowhile(") || s.starts("doconcurrent(")))) return "do";
  if (s.starts("do") && s.text.size() > 2 &&
      std::isdigit(static_cast<unsigned char>(s.text[2])) == 0 && s.is_loop_control())
    return "do";
  if (s.starts("if(") && s.text.ends_with("then") && s.after_bracket(2) + 4 == s.text.size())
    return "if";
  for (const char* word : {"case(", "type(", "rank("})
    if (s.starts(std::string("select") + word) && s.ends_with_bracket(10)) return "select";
  if (s.text == "block" || s.text == "critical") return s.text;
  if (s.text == "interface" || s.text == "abstractinterface") return "interface";
  for (const std::string word : {"associate", "where", "forall", "critical"})
    if (s.starts(word + "(") && s.ends_with_bracket(word.size())) return word;
  if (s.starts("interface") && (s.text.find('=') == s.text.npos ||
                                s.starts("interfaceassignment(") || s.starts("interfaceoperator(")))
    return "interface";
  return {};
}

/// The kind of block whose part a statement begins; empty for others.
std::string continued_by(const LogicalLine& s) {
  if (s.text.find('=') != s.text.npos && !s.starts("elseif(") && !s.starts("case(") &&
      !s.starts("elsewhere("))
    return {};
  if (s.starts("elsewhere")) return "where";
  if (s.starts("else")) return "if";
  if (s.text == "casedefault" || s.starts("case(")) return "select";
  return {};
}

/// The kind of block or unit that a statement ends; empty for others.
std::string ended_by(const LogicalLine& s) {
  if (s.text == "end" || s.text == "contains") return "unit";
  if (!s.starts("end") || s.text.find_first_of("=(%") != s.text.npos) return {};
  for (const char* unit :
       {"subroutine", "function", "program", "module", "submodule", "procedure", "blockdata"})
    if (s.text.substr(3).starts_with(unit)) return "unit";
  for (const char* kind :
       {"do", "if", "select", "associate", "block", "critical", "where", "forall", "interface"})
    if (s.text.substr(3).starts_with(kind)) return kind;
  return {};
}

class Check {
 public:
  explicit Check(std::string_view text) : text_(text) {}

  std::optional<TooDeep> run() {
    LogicalLines statements(text_);
    for (LogicalLine s; statements.next(s); ++number_) {
      if (s.brackets > kMostBrackets) return too_many(s, "nesting of brackets as deep as here");
      if (s.levels > kCheapLevels) {
        levels_ += std::exp2(s.levels);
        if (levels_ > kMostLevels)
          return too_many(s, "nesting of calls, subscripts and array constructors as deep as here");
      }
      if (const double n = operators(s.text); n > kCheapOperators) {
        operators_ += n * n * n;
        if (operators_ > 1.0 * kMostOperators * kMostOperators * kMostOperators)
          return too_many(s, "a number of operators in a statement as large as here");
      }
      if (s.directive) {
        ++directives_;
        continue;
      }
      if (auto found = block(s)) return found;
      directives_ = 0;
    }
    return broken({}, "the end of the file");
  }

 private:
  static TooDeep too_many(const LogicalLine& s, const char* what) {
    TooDeep out;
    out.what = what;
    out.hint = "give a part of the statement a name, as a variable that is assigned before";
    out.where = {s.at, s.size};
    return out;
  }

  std::optional<TooDeep> block(const LogicalLine& s) {
    remember_label(s);
    if (const std::string kind = opened_by(s); !kind.empty()) {
      open_.push_back({kind, s.name, {s.at, s.size}, number_, directives_});
      return {};
    }
    if (open_.empty()) return {};
    const Block& top = open_.back();
    if (const std::string kind = continued_by(s); !kind.empty())
      return kind == top.kind ? std::nullopt : broken(s, quoted(s));
    const std::string kind = ended_by(s);
    if (kind.empty() || (kind == "do" && labels_.count(s.label) != 0)) return {};
    if (kind == "unit" && top.kind == "interface") return {};
    const std::string rest = kind == "unit" ? "" : s.text.substr(3 + kind.size());
    if (kind != top.kind || (kind != "interface" && rest != top.name)) return broken(s, quoted(s));
    open_.pop_back();
    return {};
  }

  /// `do 10 i = 1, n`, whose end may be `10 end do`.
  void remember_label(const LogicalLine& s) {
    if (!s.starts("do")) return;
    std::size_t n = 2;
    while (n < s.text.size() && std::isdigit(static_cast<unsigned char>(s.text[n])) != 0) ++n;
    if (n > 2) labels_.insert(s.text.substr(2, n - 2));
  }

  std::string quoted(const LogicalLine& s) const {
    std::string_view text = text_.substr(s.at, std::min<std::size_t>(s.size, 40));
    while (text.starts_with(' ')) text.remove_prefix(1);
    return fmt::format("`{}`", text);
  }

  /// The open block cannot be closed because of `s`, or of the end of the text. Where that is
  /// cheap, continues as Flang does: with no block open.
  std::optional<TooDeep> broken(const LogicalLine& s, const std::string& by) {
    if (open_.empty()) return {};
    int times = 0;
    for (const Block& b : open_) times += 1 + kOfDirective * b.directives;
    lines_ += std::exp2(times) * (number_ - open_.front().number + 1);
    const Block top = open_.back();
    if (lines_ <= kMostLines) {
      open_.clear();
      return {};
    }
    TooDeep out;
    out.is_wrong = true;
    out.what = fmt::format("`{}` is not closed before {}", top.kind, by);
    out.where = top.where;
    if (s.size) out.other = {s.at, s.size}, out.of_other = "it ends here";
    return out;
  }

  std::string_view text_;
  std::vector<Block> open_;
  std::set<std::string> labels_;
  int number_ = 0, directives_ = 0;
  double levels_ = 0, lines_ = 0, operators_ = 0;  // spent so far
};

}  // namespace

std::optional<TooDeep> too_deep(std::string_view text) { return Check(text).run(); }

}  // namespace moonloop::fortran
