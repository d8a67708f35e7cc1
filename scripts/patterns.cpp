#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string_view>

#include "scripts/state.h"

/// `string.find`, `match`, `gmatch` and `gsub` for scripts that are not trusted: patterns as in
/// section 6.4.1 of the Lua 5.4 manual. A pattern may go back and forth for ever; here each step of
/// it is counted.
namespace moonloop::lua {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr int kMostCaptures = 32, kDeepest = 200;  // as in Lua

bool in_class(unsigned char c, unsigned char letter) {
  bool in = false;
  switch (std::tolower(letter)) {
    case 'a': in = std::isalpha(c) != 0; break;
    case 'c': in = std::iscntrl(c) != 0; break;
    case 'd': in = std::isdigit(c) != 0; break;
    case 'g': in = std::isgraph(c) != 0; break;
    case 'l': in = std::islower(c) != 0; break;
    case 'p': in = std::ispunct(c) != 0; break;
    case 's': in = std::isspace(c) != 0; break;
    case 'u': in = std::isupper(c) != 0; break;
    case 'w': in = std::isalnum(c) != 0; break;
    case 'x': in = std::isxdigit(c) != 0; break;
    case 'z': in = c == 0; break;  // not in the manual any more
    default: return c == letter;
  }
  return in != (std::isupper(letter) != 0);
}

class Matcher {
 public:
  Matcher(lua_State* L, State& s, std::string_view subject, std::string_view pattern)
      : L_(L), s_(s), subject_(subject), pattern_(pattern) {}

  /// The end of the match that begins at `at`, or kNone.
  std::size_t run(std::size_t at) {
    captures_ = 0;
    depth_ = 0;
    return match(at, 0);
  }
  /// Pushes the captures of the last match, or if there are none, the match if `whole`.
  int push_captures(std::size_t from, std::size_t to, bool whole) {
    const int n = captures_ == 0 && whole ? 1 : captures_;
    luaL_checkstack(L_, n, "too many captures");
    for (int i = 0; i < n; ++i) push_capture(i, from, to);
    return n;
  }
  void push_capture(int i, std::size_t from, std::size_t to) {
    if (i >= captures_) {
      if (i != 0) luaL_error(L_, "invalid capture index %%%d", i + 1);
      return push_string(L_, subject_.substr(from, to - from));
    }
    const Capture& c = capture_[static_cast<std::size_t>(i)];
    if (c.kind == Kind::Open) luaL_error(L_, "unfinished capture");
    if (c.kind == Kind::Position)
      lua_pushinteger(L_, static_cast<lua_Integer>(c.from) + 1);
    else
      push_string(L_, subject_.substr(c.from, c.size));
  }
  std::string_view subject() const { return subject_; }

 private:
  enum class Kind { Open, Position, Closed };
  struct Capture {
    std::size_t from = 0, size = 0;
    Kind kind = Kind::Open;
  };
  class Deeper {
   public:
    explicit Deeper(Matcher& m) : m_(m) {
      if (++m_.depth_ > kDeepest) luaL_error(m_.L_, "pattern too complex");
    }
    ~Deeper() { --m_.depth_; }

   private:
    Matcher& m_;
  };

  void count(std::int64_t n = 1) {
    constexpr std::int64_t kMany = 2000;
    if ((steps_ += n) >= kMany) s_.spend(L_, std::exchange(steps_, 0));
  }
  bool ends(std::size_t p) const { return p >= pattern_.size(); }
  char at(std::size_t p) const { return ends(p) ? '\0' : pattern_[p]; }
  unsigned char subject_at(std::size_t s) const {  // zero at its end
    return s < subject_.size() ? static_cast<unsigned char>(subject_[s]) : 0;
  }

  /// Where the item that begins at `p`, one character's worth, ends.
  std::size_t item_end(std::size_t p) {
    const char c = pattern_[p++];
    if (c == '%') {
      if (ends(p)) luaL_error(L_, "malformed pattern (ends with '%%')");
      return p + 1;
    }
    if (c != '[') return p;
    if (at(p) == '^') ++p;
    do {  // a `]` in the first place is one of the set
      if (ends(p)) luaL_error(L_, "malformed pattern (missing ']')");
      if (pattern_[p++] == '%') ++p;
      count();
    } while (ends(p) || pattern_[p] != ']');
    return p + 1;
  }

  /// Whether `c` is in the set `[...]` from `p`, whose last bracket is at `last`.
  bool in_set(unsigned char c, std::size_t p, std::size_t last) {
    bool wanted = true;
    if (pattern_[++p] == '^') wanted = false, ++p;
    for (; p < last; ++p) {
      count();
      const auto low = static_cast<unsigned char>(pattern_[p]);
      if (low == '%') {
        if (in_class(c, static_cast<unsigned char>(pattern_[++p]))) return wanted;
      } else if (pattern_[p + 1] == '-' && p + 2 < last) {
        p += 2;
        if (low <= c && c <= static_cast<unsigned char>(pattern_[p])) return wanted;
      } else if (low == c) {
        return wanted;
      }
    }
    return !wanted;
  }

  /// Whether the character at `s` is of the item in [p, end).
  bool one(std::size_t s, std::size_t p, std::size_t end) {
    count();
    if (s >= subject_.size()) return false;
    const unsigned char c = subject_at(s);
    switch (pattern_[p]) {
      case '.': return true;
      case '%': return in_class(c, static_cast<unsigned char>(pattern_[p + 1]));
      case '[': return in_set(c, p, end - 1);
      default: return static_cast<unsigned char>(pattern_[p]) == c;
    }
  }

  std::size_t match(std::size_t s, std::size_t p) {
    const Deeper deeper(*this);
    for (;;) {
      count();
      if (ends(p)) return s;
      switch (pattern_[p]) {
        case '(':
          return at(p + 1) == ')' ? open(s, p + 2, Kind::Position) : open(s, p + 1, Kind::Open);
        case ')': return close(s, p + 1);
        case '$':
          if (!ends(p + 1)) break;
          return s == subject_.size() ? s : kNone;
        case '%':
          if (at(p + 1) == 'b') {
            if ((s = balanced(s, p + 2)) == kNone) return kNone;
            p += 4;
            continue;
          }
          if (at(p + 1) == 'f') {
            p += 2;
            if (at(p) != '[') luaL_error(L_, "missing '[' after '%%f' in pattern");
            const std::size_t end = item_end(p);
            const unsigned char before = s == 0 ? 0 : subject_at(s - 1);
            if (in_set(before, p, end - 1) || !in_set(subject_at(s), p, end - 1)) return kNone;
            p = end;
            continue;
          }
          if (std::isdigit(static_cast<unsigned char>(at(p + 1)))) {
            if ((s = again(s, at(p + 1))) == kNone) return kNone;
            p += 2;
            continue;
          }
          break;
        default: break;
      }
      const std::size_t end = item_end(p);
      switch (at(end)) {
        case '*': return longest(s, p, end);
        case '+': return one(s, p, end) ? longest(s + 1, p, end) : kNone;
        case '-': return shortest(s, p, end);
        case '?':
          if (one(s, p, end)) {
            const std::size_t found = match(s + 1, end + 1);
            if (found != kNone) return found;
          }
          p = end + 1;
          break;
        default:
          if (!one(s, p, end)) return kNone;
          ++s;
          p = end;
      }
    }
  }

  std::size_t longest(std::size_t s, std::size_t p, std::size_t end) {
    std::size_t n = 0;
    while (one(s + n, p, end)) ++n;
    for (;; --n) {
      const std::size_t found = match(s + n, end + 1);
      if (found != kNone || n == 0) return found;
    }
  }
  std::size_t shortest(std::size_t s, std::size_t p, std::size_t end) {
    for (;; ++s) {
      const std::size_t found = match(s, end + 1);
      if (found != kNone) return found;
      if (!one(s, p, end)) return kNone;
    }
  }

  std::size_t open(std::size_t s, std::size_t p, Kind kind) {
    if (captures_ >= kMostCaptures) luaL_error(L_, "too many captures");
    capture_[static_cast<std::size_t>(captures_++)] = {s, 0, kind};
    const std::size_t found = match(s, p);
    if (found == kNone) --captures_;
    return found;
  }
  std::size_t close(std::size_t s, std::size_t p) {
    int i = captures_ - 1;
    while (i >= 0 && capture_[static_cast<std::size_t>(i)].kind != Kind::Open) --i;
    if (i < 0) luaL_error(L_, "invalid pattern capture");
    Capture& c = capture_[static_cast<std::size_t>(i)];
    c.size = s - c.from;
    c.kind = Kind::Closed;
    const std::size_t found = match(s, p);
    if (found == kNone) c.kind = Kind::Open;
    return found;
  }

  /// The end of `%bxy` from `s`, where x and y are at `p`.
  std::size_t balanced(std::size_t s, std::size_t p) {
    if (ends(p + 1)) luaL_error(L_, "malformed pattern (missing arguments to '%%b')");
    if (s >= subject_.size() || subject_[s] != pattern_[p]) return kNone;
    std::int64_t depth = 1;
    for (++s; s < subject_.size(); ++s) {
      count();
      if (subject_[s] == pattern_[p + 1]) {
        if (--depth == 0) return s + 1;
      } else if (subject_[s] == pattern_[p]) {
        ++depth;
      }
    }
    return kNone;
  }

  /// The end, from `s`, of the text of capture `digit`.
  std::size_t again(std::size_t s, char digit) {
    const int i = digit - '1';
    if (i < 0 || i >= captures_ || capture_[static_cast<std::size_t>(i)].kind == Kind::Open)
      luaL_error(L_, "invalid capture index %%%d", i + 1);
    const Capture& c = capture_[static_cast<std::size_t>(i)];
    if (c.kind == Kind::Position) return kNone;
    count(static_cast<std::int64_t>(c.size / 16));
    const std::string_view text = subject_.substr(c.from, c.size);
    return subject_.substr(s).starts_with(text) ? s + c.size : kNone;
  }

  lua_State* L_;
  State& s_;
  std::string_view subject_, pattern_;
  int captures_ = 0, depth_ = 0;
  std::int64_t steps_ = 0;
  std::array<Capture, kMostCaptures> capture_;
};

std::string_view check_view(lua_State* L, int index) {
  std::size_t size = 0;
  const char* s = luaL_checklstring(L, index, &size);
  return {s, size};
}

/// The offset that the argument `index` means, counted from 1 or, below zero, from the end.
std::size_t check_start(lua_State* L, int index, std::size_t size) {
  const lua_Integer n = luaL_optinteger(L, index, 1);
  if (n > 0) return static_cast<std::size_t>(n) - 1;
  if (n == 0 || n < -static_cast<lua_Integer>(size)) return 0;
  return size - static_cast<std::size_t>(-n);
}

int find_or_match(lua_State* L, State& s, bool find) {
  const std::string_view subject = check_view(L, 1);
  std::string_view pattern = check_view(L, 2);
  std::size_t at = check_start(L, 3, subject.size());
  if (at > subject.size()) {
    luaL_pushfail(L);
    return 1;
  }
  if (find && (lua_toboolean(L, 4) != 0 || pattern.find_first_of("^$*+?.([%-") == kNone)) {
    s.spend(L, static_cast<std::int64_t>((subject.size() - at) / 16));
    const void* found = pattern.empty() ? subject.data() + at
                                        : memmem(subject.data() + at, subject.size() - at,
                                                 pattern.data(), pattern.size());
    if (!found) {
      luaL_pushfail(L);
      return 1;
    }
    const auto from = static_cast<const char*>(found) - subject.data();
    lua_pushinteger(L, from + 1);
    lua_pushinteger(L, from + static_cast<std::ptrdiff_t>(pattern.size()));
    return 2;
  }
  const bool anchored = pattern.starts_with('^');
  if (anchored) pattern.remove_prefix(1);
  Matcher m(L, s, subject, pattern);
  do {
    const std::size_t end = m.run(at);
    if (end == kNone) continue;
    if (!find) return m.push_captures(at, end, true);
    lua_pushinteger(L, static_cast<lua_Integer>(at) + 1);
    lua_pushinteger(L, static_cast<lua_Integer>(end));
    return 2 + m.push_captures(at, end, false);
  } while (!anchored && ++at <= subject.size());
  luaL_pushfail(L);
  return 1;
}
int find_function(lua_State* L, State& s) { return find_or_match(L, s, true); }
int match_function(lua_State* L, State& s) { return find_or_match(L, s, false); }

/// The iterator of `gmatch`: the text, the pattern, where to go on, where the last match ended.
int next_match(lua_State* L, State& s) {
  Matcher m(L, s, check_view(L, lua_upvalueindex(1)), check_view(L, lua_upvalueindex(2)));
  const lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
  for (auto at = static_cast<std::size_t>(lua_tointeger(L, lua_upvalueindex(3)));
       at <= m.subject().size(); ++at) {
    const std::size_t end = m.run(at);
    if (end == kNone || static_cast<lua_Integer>(end) == last) continue;
    for (const int upvalue : {3, 4}) {
      lua_pushinteger(L, static_cast<lua_Integer>(end));
      lua_replace(L, lua_upvalueindex(upvalue));
    }
    return m.push_captures(at, end, true);
  }
  return 0;
}
int gmatch_function(lua_State* L, State&) {
  const std::size_t size = check_view(L, 1).size();
  check_view(L, 2);
  const std::size_t at = std::min(check_start(L, 3, size), size + 1);
  lua_settop(L, 2);
  lua_pushinteger(L, static_cast<lua_Integer>(at));
  lua_pushinteger(L, -1);
  lua_pushcclosure(L, guarded<next_match>, 4);
  return 1;
}

/// Appends the replacement of the match in [from, to), from argument 3 of `gsub`. False when the
/// text stays.
bool replace(lua_State* L, Matcher& m, std::size_t from, std::size_t to, std::string& out) {
  switch (lua_type(L, 3)) {
    case LUA_TFUNCTION:
      lua_pushvalue(L, 3);
      lua_call(L, m.push_captures(from, to, true), 1);
      break;
    case LUA_TTABLE:
      m.push_capture(0, from, to);
      lua_gettable(L, 3);
      break;
    default: {
      const std::string_view text = check_view(L, 3);
      for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
          out += text[i];
          continue;
        }
        const char c = ++i < text.size() ? text[i] : '\0';
        if (c == '%') {
          out += c;
        } else if (c == '0') {
          out.append(m.subject().substr(from, to - from));
        } else if (std::isdigit(static_cast<unsigned char>(c))) {
          m.push_capture(c - '1', from, to);
          luaL_tolstring(L, -1, nullptr);
          out.append(check_view(L, -1));
          lua_pop(L, 2);
        } else {
          luaL_error(L, "invalid use of '%%' in replacement string");
        }
      }
      return true;
    }
  }
  const bool changed = lua_toboolean(L, -1) != 0;
  if (changed && !lua_isstring(L, -1))
    luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  out.append(changed ? check_view(L, -1) : m.subject().substr(from, to - from));
  lua_pop(L, 1);
  return changed;
}

int gsub_function(lua_State* L, State& s) {
  const std::string_view subject = check_view(L, 1);
  std::string_view pattern = check_view(L, 2);
  const int type = lua_type(L, 3);
  luaL_argexpected(
      L, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE,
      3, "string/function/table");
  const lua_Integer most = luaL_optinteger(L, 4, static_cast<lua_Integer>(subject.size()) + 1);
  const bool anchored = pattern.starts_with('^');
  if (anchored) pattern.remove_prefix(1);
  Matcher m(L, s, subject, pattern);
  std::string out;
  bool changed = false;
  lua_Integer n = 0;
  std::size_t at = 0, last = kNone;
  while (n < most) {
    const std::size_t end = m.run(at);
    if (end != kNone && end != last) {
      ++n;
      changed = replace(L, m, at, end, out) || changed;
      at = last = end;
    } else if (at < subject.size()) {
      out += subject[at++];
    } else {
      break;
    }
    if (anchored) break;
  }
  if (changed) {
    out.append(subject.substr(std::min(at, subject.size())));
    push_string(L, out);
  } else {
    lua_pushvalue(L, 1);
  }
  lua_pushinteger(L, n);
  return 2;
}

}  // namespace

void install_patterns(lua_State* L) {
  lua_getglobal(L, LUA_STRLIBNAME);
  const luaL_Reg functions[] = {{"find", guarded<find_function>},
                                {"gmatch", guarded<gmatch_function>},
                                {"gsub", guarded<gsub_function>},
                                {"match", guarded<match_function>},
                                {nullptr, nullptr}};
  luaL_setfuncs(L, functions, 0);
  lua_pop(L, 1);
}

}  // namespace moonloop::lua
