#include "core/model/match.h"

#include <algorithm>
#include <cctype>

namespace moonloop {

// ---- Globs.

namespace {

/// Matches one character against the `[...]` at `p[i]`; moves `i` past it. A bracket that is never
/// closed stands for itself.
bool class_matches(std::string_view p, std::size_t& i, char c) {
  std::size_t end = i + 1;
  if (end < p.size() && p[end] == '!') ++end;
  if (end < p.size() && p[end] == ']') ++end;  // first in the class: itself
  while (end < p.size() && p[end] != ']') ++end;
  if (end >= p.size()) return p[i++] == c;
  std::size_t j = i + 1;
  const bool negated = p[j] == '!';
  if (negated) ++j;
  bool found = false;
  while (j < end) {
    if (j + 2 < end && p[j + 1] == '-') {
      found |= p[j] <= c && c <= p[j + 2];
      j += 3;
    } else {
      found |= p[j++] == c;
    }
  }
  i = end + 1;
  return found != negated;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, star_text = 0;  // the last `*` and what it took so far
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    std::size_t next = p;
    const bool fits =
        p < pattern.size() && (pattern[p] == '?'   ? (++next, true)
                               : pattern[p] == '[' ? class_matches(pattern, next, text[t])
                                                   : pattern[next++] == text[t]);
    if (fits) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// ---- Compiled matches.

namespace {

/// A condition on one level of a stack.
struct Query {
  enum class Kind { Name, Tag, Reads, Writes, Iname, InKernel, And, Or, Not, Any } kind;
  std::string glob;  // of the leaves
  std::string tag;   // Name: the glob after `$`
  bool has_tag = false;
  std::vector<Query> parts = {};
};

bool any_matches(const std::string& glob, const std::set<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& n) { return glob_match(glob, n); });
}

bool holds(const Query& q, const Kernel& k, const Instruction& insn, const StackLevel& level) {
  switch (q.kind) {
    case Query::Kind::Name:
      return glob_match(q.glob, level.name) && (!q.has_tag || any_matches(q.tag, level.tags));
    case Query::Kind::Tag: return any_matches(q.glob, level.tags);
    // A rule's reads count as reads of the instruction that calls it.
    case Query::Kind::Reads: return any_matches(q.glob, reads(k, insn));
    case Query::Kind::Writes: return any_matches(q.glob, writes(insn));
    case Query::Kind::Iname: return any_matches(q.glob, all_inames(k, insn));
    case Query::Kind::InKernel: return glob_match(q.glob, k.name);
    case Query::Kind::And:
      return std::all_of(q.parts.begin(), q.parts.end(),
                         [&](const Query& p) { return holds(p, k, insn, level); });
    case Query::Kind::Or:
      return std::any_of(q.parts.begin(), q.parts.end(),
                         [&](const Query& p) { return holds(p, k, insn, level); });
    case Query::Kind::Not: return !holds(q.parts.front(), k, insn, level);
    case Query::Kind::Any: return true;
  }
  throw InternalError("unknown kind of match");
}

struct Level {
  bool ellipsis = false;
  Query query{Query::Kind::Any, {}, {}};
};

struct Pattern {
  std::vector<Level> levels;  // innermost first, open ends spelled out as ellipses
  /// One query without `<` and `>`: it may be about the instruction or about the call itself.
  bool single = false;
};

}  // namespace

struct Match::Impl : Pattern {};

namespace {

/// Reads the text of a match.
class Reader {
 public:
  Reader(const std::string& text, const Span& at) : text_(text), at_(at) {}

  Pattern read() {
    std::vector<Level> written;
    char direction = 0;
    bool closed = false;
    for (;;) {
      if (accept("...")) {
        written.push_back({true});
      } else {
        written.push_back({false, disjunction()});
      }
      skip();
      if (i_ == text_.size()) break;
      if (text_[i_] == '$') {
        const std::size_t at = i_++;
        skip();
        if (i_ != text_.size() || direction != '>')
          error(at, 1, "a `$` alone ends a pattern `outer > inner $`");
        closed = true;
        break;
      }
      const char c = text_[i_];
      if (c != '<' && c != '>') error(i_, 1, fmt::format("`{}` is not expected here", c));
      if (direction && c != direction) error(i_, 1, "`<` and `>` do not mix");
      direction = c;
      ++i_;
    }
    Pattern out;
    out.single = written.size() == 1 && !written.front().ellipsis && !direction;
    if (direction == '>') {
      std::reverse(written.begin(), written.end());
      if (!closed) written.insert(written.begin(), {true});
    } else {
      written.push_back({true});  // outer levels that are not mentioned
    }
    for (Level& l : written)  // one ellipsis says as much as two
      if (!l.ellipsis || out.levels.empty() || !out.levels.back().ellipsis)
        out.levels.push_back(std::move(l));
    return out;
  }

 private:
  [[noreturn]] void error(std::size_t from, std::size_t len, const std::string& what) const {
    Diagnostic d{"bad-match", fmt::format("in the match `{}`: {}", text_, what), {}, {}, {}, text_};
    d.where.at = span_at(add_source("<match>", text_), from, len);
    if (at_) d.notes.push_back({at_, "given here"});
    throw Error(std::move(d));
  }

  void skip() {
    while (i_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[i_]))) ++i_;
  }
  bool accept(std::string_view punct) {
    skip();
    if (!std::string_view(text_).substr(i_).starts_with(punct)) return false;
    i_ += punct.size();
    return true;
  }
  bool at_word(std::string_view word) {
    skip();
    return peek_word() == word;
  }
  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_*?!-.$:").find(c) != std::string_view::npos;
  }
  std::string_view peek_word() const {
    std::size_t j = i_;
    while (j < text_.size()) {
      const std::string_view rest = std::string_view(text_).substr(j);
      if (rest.starts_with("...")) break;
      if (rest[0] == '[') {
        // A `]` right after `[` or `[!` belongs to the class.
        const std::size_t from = rest.starts_with("[!") ? 3 : 2;
        const auto close = rest.find(']', std::min(from, rest.size()));
        if (close == std::string_view::npos) error(j, 1, "`[` is never closed");
        j += close + 1;
      } else if (in_word(rest[0])) {
        ++j;
      } else {
        break;
      }
    }
    return std::string_view(text_).substr(i_, j - i_);
  }

  Query join(Query::Kind kind, std::string_view word, Query (Reader::*part)()) {
    Query first = (this->*part)();
    if (!at_word(word)) return first;
    Query all{kind, {}, {}};
    all.parts.push_back(std::move(first));
    while (at_word(word)) {
      i_ += word.size();
      all.parts.push_back((this->*part)());
    }
    return all;
  }
  Query disjunction() { return join(Query::Kind::Or, "or", &Reader::conjunction); }
  Query conjunction() { return join(Query::Kind::And, "and", &Reader::factor); }

  Query factor() {
    constexpr int kDeepest = 200;
    if (++depth_ > kDeepest) error(i_, 1, "it is nested too deeply");
    Query q = at_word("not") ? (i_ += 3, Query{Query::Kind::Not, {}, {}, false, {factor()}})
              : accept("(")  ? parenthesized()
                             : leaf();
    --depth_;
    return q;
  }

  Query parenthesized() {
    const std::size_t open = i_ - 1;
    Query q = disjunction();
    if (!accept(")")) error(open, 1, "`(` is never closed");
    return q;
  }

  Query leaf() {
    skip();
    const std::size_t from = i_;
    std::string word(peek_word());
    i_ += word.size();
    if (i_ == text_.size() && word.size() > 1 && word.back() == '$') {  // ends the pattern
      word.pop_back();
      --i_;
    }
    if (word.empty() || word == "and" || word == "or" || word == "$")
      error(from, std::max<std::size_t>(word.size(), 1),
            from == text_.size() ? "a name or a query is missing at its end"
                                 : fmt::format("a name or a query is expected, not `{}`",
                                               word.empty() ? text_.substr(from, 1) : word));
    const auto colon = word.find(':');
    if (colon == std::string::npos) return name(word, from);
    const std::string key = word.substr(0, colon);
    std::string glob = word.substr(colon + 1);
    if (glob.empty()) {
      skip();
      glob = peek_word();
      i_ += glob.size();
    }
    if (glob.empty() || glob.find(':') != std::string::npos)
      error(from, word.size(), fmt::format("`{}:` is followed by one name", key));
    if (key == "id") return name(glob, from);
    if (key == "tag") return {Query::Kind::Tag, glob, {}};
    if (key == "reads") return {Query::Kind::Reads, glob, {}};
    if (key == "writes") return {Query::Kind::Writes, glob, {}};
    if (key == "iname") return {Query::Kind::Iname, glob, {}};
    if (key == "in_kernel") return {Query::Kind::InKernel, glob, {}};
    error(from, key.size() + 1,
          fmt::format("there is no query `{}:`; there are `id:`, `tag:`, `reads:`, `writes:`, "
                      "`iname:` and `in_kernel:`, and a tag is also written `{}${}`",
                      key, key, glob));
  }

  /// `glob` or `glob$glob`.
  Query name(const std::string& word, std::size_t from) const {
    const auto dollar = word.find('$');
    if (dollar == std::string::npos) return {Query::Kind::Name, word, {}};
    const std::string id = word.substr(0, dollar), tag = word.substr(dollar + 1);
    if (id.empty() || tag.empty() || tag.find('$') != std::string::npos)
      error(from, word.size(), "a tag is written `name$tag`, for any name `*$tag`");
    return {Query::Kind::Name, id, tag, true};
  }

  const std::string& text_;
  const Span& at_;
  std::size_t i_ = 0;
  int depth_ = 0;
};

StackLevel level_of(const Instruction& insn) { return {insn.id, insn.tags}; }

/// Whether the levels from `p` match the stack from `s`, both to their ends.
bool levels_match(const std::vector<Level>& levels, std::size_t p, const Stack& stack,
                  std::size_t s, const Kernel& k, const Instruction& insn) {
  for (; p < levels.size(); ++p, ++s) {
    if (levels[p].ellipsis) {
      for (std::size_t rest = s; rest <= stack.size(); ++rest)
        if (levels_match(levels, p + 1, stack, rest, k, insn)) return true;
      return false;
    }
    if (s == stack.size() || !holds(levels[p].query, k, insn, stack[s])) return false;
  }
  return s == stack.size();
}

}  // namespace

Match::Match() = default;

Match Match::parse(const std::string& text, const Span& at) {
  Match m;
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c); }))
    return m;
  m.impl_ = std::make_shared<Impl>(Impl{Reader(text, at).read()});
  return m;
}

bool Match::everything() const {
  return !impl_ || std::all_of(impl_->levels.begin(), impl_->levels.end(),
                               [](const Level& l) { return l.ellipsis; });
}

bool Match::operator()(const Kernel& k, const Instruction& insn) const {
  if (everything()) return true;
  const Stack alone{level_of(insn)};
  if (levels_match(impl_->levels, 0, alone, 0, k, insn)) return true;
  // The outermost level that the pattern mentions.
  const auto last = std::find_if(impl_->levels.rbegin(), impl_->levels.rend(),
                                 [](const Level& l) { return !l.ellipsis; });
  return holds(last->query, k, insn, alone.front());
}

bool Match::operator()(const Kernel& k, const Instruction& insn, const Stack& stack) const {
  if (everything()) return true;
  if (levels_match(impl_->levels, 0, stack, 0, k, insn)) return true;
  return impl_->single && holds(impl_->levels.front().query, k, insn, stack.back());
}

}  // namespace moonloop
