#include "core/model/set_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/model/read_set.h"
#include "core/sets/named_sets.h"

namespace moonloop {

namespace {

/// A reader of isl's set syntax that knows just enough to tell parameters from bound names.
class SetText {
 public:
  explicit SetText(const std::string& text) {
    for (std::size_t i = 0; i < text.size();) {
      const auto c = static_cast<unsigned char>(text[i]);
      std::size_t j = i + 1;
      if (std::isalpha(c) || c == '_') {
        while (j < text.size() && (std::isalnum(static_cast<unsigned char>(text[j])) ||
                                   text[j] == '_' || text[j] == '\''))
          ++j;
        tokens_.push_back(text.substr(i, j - i));
      } else if (c == '-' && j < text.size() && text[j] == '>') {
        tokens_.push_back("->");
        ++j;
      } else if (!std::isspace(c)) {
        tokens_.push_back(text.substr(i, 1));
      }
      i = j;
    }
  }

  /// Parameters that the text needs, those of its header first, then in order of appearance.
  std::vector<std::string> params(std::vector<std::string>& header) {
    std::size_t start = 0;
    while (start < tokens_.size() && tokens_[start] != "{") ++start;
    for (std::size_t i = 0; i < start; ++i)
      if (is_name(i)) header.push_back(tokens_[i]);
    std::set<std::string> bound;
    bool in_tuple = true;  // between the `{` or `;` that starts a piece and its `:`
    for (std::size_t i = start; i < tokens_.size(); ++i) {
      if (tokens_[i] == "{" || tokens_[i] == ";") in_tuple = true;
      if (tokens_[i] == ":") in_tuple = false;
      if (in_tuple && is_name(i)) bound.insert(tokens_[i]);
      if (tokens_[i] == "exists") i = quantified(i + 1, bound);
    }
    std::vector<std::string> out = header;
    for (std::size_t i = start; i < tokens_.size(); ++i)
      if (is_name(i) && !bound.count(tokens_[i]) &&
          std::find(out.begin(), out.end(), tokens_[i]) == out.end())
        out.push_back(tokens_[i]);
    return out;
  }

  bool has_header() const { return !tokens_.empty() && tokens_[0] == "["; }

 private:
  bool is_name(std::size_t i) const {
    static const std::set<std::string, std::less<>> kWords{
        "exists", "and", "or",   "not",   "implies", "infty", "infinity", "NaN",   "min",
        "max",    "rat", "true", "false", "ceil",    "floor", "floord",   "ceild", "mod"};
    const std::string& t = tokens_[i];
    const auto c = static_cast<unsigned char>(t[0]);
    return (std::isalpha(c) || c == '_') && !kWords.count(t) && t != "True" && t != "False";
  }

  /// Reads `a, b = e :` after `exists` or `exists (`; returns the index of the colon.
  std::size_t quantified(std::size_t i, std::set<std::string>& bound) {
    if (i < tokens_.size() && tokens_[i] == "(") ++i;
    int depth = 0;
    bool at_name = true;
    for (; i < tokens_.size(); ++i) {
      const std::string& t = tokens_[i];
      if (t == ":" && depth == 0) return i;
      if (t == "(" || t == "[") ++depth;
      if (t == ")" || t == "]") --depth;
      if (at_name && is_name(i)) bound.insert(t);
      at_name = t == "," && depth == 0;
    }
    return tokens_.empty() ? 0 : tokens_.size() - 1;
  }

  std::vector<std::string> tokens_;
};

/// isl reads integers of any size; the rest computes with 64 bits. It takes `1e3` for `1*e3`, as it
/// writes a quantified name itself: `exists (e3: …)`.
void check_integers(const std::string& text, const Span& at) {
  constexpr std::string_view kDigits = "0123456789";
  const auto is_part = [&](std::size_t i, auto is) {
    return i < text.size() && is(static_cast<unsigned char>(text[i]));
  };
  const auto word = [](int c) { return std::isalnum(c) || c == '_'; };
  const bool quantified = text.find("exists") != std::string::npos;
  for (std::size_t i = text.find_first_of(kDigits); i != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits, i), text.size());
    const std::string number = text.substr(i, end - i);
    std::int64_t value = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc())
      fail("integer-overflow", at, "the integer `{}` exceeds 64 bits",
           number.size() <= 40 ? number : number.substr(0, 37) + "...");
    if (!quantified && (i == 0 || !is_part(i - 1, word)) &&
        is_part(end, [](int c) { return c == 'e' || c == 'E'; }) &&
        is_part(end + 1, [](int c) { return std::isdigit(c) != 0; })) {
      std::size_t last = end + 1;
      while (is_part(last, word)) ++last;
      fail("bad-domain", at, "`{}` is not a whole number here; write its digits",
           text.substr(i, last - i));
    }
    i = text.find_first_of(kDigits, end);
  }
}

/// `text` with a header that declares all its parameters.
std::string with_header(const std::string& text, const Span& at) {
  check_integers(text, at);
  SetText reader(text);
  std::vector<std::string> header;
  const std::vector<std::string> all = reader.params(header);
  if (all == header) return text;
  const std::string body = reader.has_header() ? text.substr(text.find("->") + 2) : text;
  return fmt::format("[{}] -> {}", fmt::join(all, ", "), body);
}

/// The first element of an array in the conditions of a set, `a[i]`; empty if there is none.
std::string element_in(const std::string& text) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (std::size_t open = text.find('[', text.find(':')); open != std::string::npos;
       open = text.find('[', open + 1)) {
    std::size_t from = open;
    while (from > 0 && is_word(text[from - 1])) --from;
    const std::size_t close = text.find(']', open);
    if (from < open && close != std::string::npos) return text.substr(from, close + 1 - from);
  }
  return "";
}

Set read(const std::string& text, const std::string& shown, const Span& at) {
  try {
    return read_set(text);
  } catch (const IslError& e) {
    if (const std::string element = element_in(shown); !element.empty())
      fail("bad-domain", at,
           "`{}` is not a set: bounds have no elements of arrays, such as `{}`; assign it to a "
           "scalar "
           "around the loop, as in `<> bound = {}`, and write the scalar",
           shown, element, element);
    fail("bad-domain", at, "`{}` is not a set: {}", shown, e.what());
  }
}

}  // namespace

namespace {

/// The names of a tuple, `[i, j = n]`; nothing for an entry that is not a name.
std::vector<std::string> names_in_tuple(const std::string& tuple) {
  std::vector<std::string> out{""};
  bool value = false;  // after a `=`
  int depth = 0;
  for (const char c : tuple.substr(1, tuple.size() - 2)) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      out.emplace_back(), value = false;
    } else {
      value = value || c == '=';
      if (!value && !std::isspace(static_cast<unsigned char>(c))) out.back() += c;
    }
  }
  for (std::string& name : out)
    if (!std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; }) ||
        name.empty() || std::isdigit(static_cast<unsigned char>(name[0])))
      name.clear();
  return out;
}

/// isl reads one set, and ignores the text after it.
void check_end(const std::string& text, const Span& at, const char* code) {
  const std::size_t close = text.find('}');
  if (close == std::string::npos) return;  // isl says so
  const std::size_t from = text.find_first_not_of(" \t\r\n", close + 1);
  if (from == std::string::npos) return;
  throw Error({code,
               fmt::format("`{}` is after `{}`", text.substr(from), text.substr(0, close + 1)),
               {at, {}},
               {},
               "all conditions belong within the braces, joined by `and` and `or`"});
}

/// The parts of a union, `{ [i] : … ; [i] : … }`, are about the same dimensions: isl would take the
/// names of one of them for all.
void check_tuples(const std::string& text, const Span& at) {
  std::string first;
  for (std::size_t from = text.find('{'); from != std::string::npos;
       from = text.find(';', from + 1)) {
    const std::size_t open = text.find('[', from), close = text.find(']', from);
    const std::size_t end = std::min(text.find_first_of(";}", from + 1), text.size());
    if (open == std::string::npos || close == std::string::npos || open > end || close < open)
      continue;
    const std::string tuple = text.substr(open, close + 1 - open);
    if (first.empty()) first = tuple;
    const std::vector<std::string> a = names_in_tuple(first), b = names_in_tuple(tuple);
    if (std::equal(a.begin(), a.end(), b.begin(), b.end(),
                   [](const std::string& x, const std::string& y) {
                     return x == y || x.empty() || y.empty();
                   }))
      continue;
    throw Error({"bad-domain",
                 fmt::format("the parts of `{}` are about `{}` and `{}`", text, first, tuple),
                 {at, {}},
                 {},
                 "each loop nest has a set of its own, on a line of its own"});
  }
}

}  // namespace

Set parse_set(const std::string& text, const Span& at) {
  if (text.find('{') == std::string::npos)
    fail("bad-domain", at, "`{}` is not a set: it needs the form `{{ [i, j] : conditions }}`",
         text);
  check_end(text, at, "bad-domain");
  check_tuples(text, at);
  const std::size_t arrow = text.find("->", text.find('{'));
  if (arrow != std::string::npos) fail("bad-domain", at, "`{}` is a map, and no set", text);
  Set s = read(with_header(text, at), text, at);
  if (yes(isl_set_is_params(s.get()))) return s;
  std::set<std::string> seen;
  const int n = count(isl_set_dim(s.get(), isl_dim_set));
  for (int i = 0; i < n; ++i) {
    const char* name = isl_set_get_dim_name(s.get(), isl_dim_set, static_cast<unsigned>(i));
    if (!name) fail("bad-domain", at, "dimension {} of `{}` has no name of its own", i + 1, text);
    if (!seen.insert(name).second)
      fail("bad-domain", at, "two dimensions of `{}` are named `{}`", text, name);
  }
  if (yes(isl_set_has_tuple_id(s.get()))) s = isl_set_reset_tuple_id(s.take());
  return s;
}

Map parse_map(const std::string& text, const Span& at) {
  if (text.find('{') == std::string::npos || text.find("->") == std::string::npos)
    fail("bad-map", at, "`{}` is not a map: it needs the form `{{ [i] -> [j] : conditions }}`",
         text);
  check_end(text, at, "bad-map");
  Map m = [&]() -> Map {
    try {
      return isl_map_read_from_str(isl(), with_header(text, at).c_str());
    } catch (const IslError& e) { fail("bad-map", at, "`{}` is not a map: {}", text, e.what()); }
  }();
  for (const isl_dim_type side : {isl_dim_in, isl_dim_out}) {
    std::set<std::string> seen;
    const int n = count(isl_map_dim(m.get(), side)),
              inputs = count(isl_map_dim(m.get(), isl_dim_in));
    for (int i = 0; i < n; ++i) {
      const auto u = static_cast<unsigned>(i);
      for (int j = 0; side == isl_dim_out && j < inputs && !isl_map_has_dim_name(m.get(), side, u);
           ++j) {
        const Map same = isl_map_equate(m.copy(), side, i, isl_dim_in, j);
        if (!yes(isl_map_is_equal(same.get(), m.get()))) continue;
        const char* name = isl_map_get_dim_name(same.get(), isl_dim_in, static_cast<unsigned>(j));
        m = isl_map_set_dim_name(m.take(), side, u, name);
      }
      if (!yes(isl_map_has_dim_name(m.get(), side, u)))
        fail("bad-map", at, "{} {} of `{}` has no name of its own",
             side == isl_dim_in ? "input" : "output", i + 1, text);
      if (!seen.insert(isl_map_get_dim_name(m.get(), side, u)).second)
        fail("bad-map", at, "two {} of `{}` are named `{}`",
             side == isl_dim_in ? "inputs" : "outputs", text,
             isl_map_get_dim_name(m.get(), side, u));
    }
    if (yes(isl_map_has_tuple_id(m.get(), side))) m = isl_map_reset_tuple_id(m.take(), side);
  }
  return m;
}

Set parse_assumption(const std::string& text, const Span& at) {
  Set s = read(with_header("{ : " + text + " }", at), text, at);
  if (!yes(isl_set_is_params(s.get()))) s = isl_set_params(s.take());
  return s;
}

}  // namespace moonloop
