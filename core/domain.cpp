#include "core/domain.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <unordered_map>

#include "core/diagnostic.h"
#include "core/memo.h"
#include "core/read_set.h"

namespace moonloop {
namespace {

int find_dim(const Set& s, isl_dim_type type, const std::string& name) {
  return isl_set_find_dim_by_name(s.get(), type, name.c_str());
}
int dims(const Set& s, isl_dim_type type) { return count(isl_set_dim(s.get(), type)); }

std::vector<std::string> names_of(const Set& s, isl_dim_type type) {
  std::vector<std::string> out;
  const int n = dims(s, type);
  out.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    const char* name = isl_set_get_dim_name(s.get(), type, static_cast<unsigned>(i));
    if (!name) throw InternalError("a dimension without a name in " + str(s));
    out.emplace_back(name);
  }
  return out;
}

Set move(Set s, isl_dim_type to, int to_pos, isl_dim_type from, int from_pos) {
  return isl_set_move_dims(s.take(), to, static_cast<unsigned>(to_pos), from,
                           static_cast<unsigned>(from_pos), 1);
}

}  // namespace

std::vector<std::string> dim_names(const Set& s) {
  return yes(isl_set_is_params(s.get())) ? std::vector<std::string>{} : names_of(s, isl_dim_set);
}
std::vector<std::string> param_names(const Set& s) { return names_of(s, isl_dim_param); }

Set universe(const std::vector<std::string>& names) {
  Space space = isl_space_set_alloc(isl(), 0, static_cast<unsigned>(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i)
    space = isl_space_set_dim_name(space.take(), isl_dim_set, static_cast<unsigned>(i),
                                   names[i].c_str());
  return isl_set_universe(space.take());
}

Set to_dims(Set s, const std::vector<std::string>& names) {
  if (yes(isl_set_is_params(s.get()))) s = isl_set_from_params(s.take());
  if (names_of(s, isl_dim_set) == names) return s;
  const auto wanted = [&](int i) {
    const std::string name = isl_set_get_dim_name(s.get(), isl_dim_set, static_cast<unsigned>(i));
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (int end = dims(s, isl_dim_set); end > 0;) {  // runs of dimensions that go
    int begin = end;
    while (begin > 0 && !wanted(begin - 1)) --begin;
    if (begin < end)
      s = isl_set_project_out(s.take(), isl_dim_set, static_cast<unsigned>(begin),
                              static_cast<unsigned>(end - begin));
    end = begin - 1;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int at = static_cast<int>(i);
    int p = find_dim(s, isl_dim_param, names[i]);
    if (const int d = find_dim(s, isl_dim_set, names[i]); p < 0 && d >= 0) {
      if (d == at) continue;
      // isl moves dimensions only between types, so one in the wrong place goes by the parameters.
      p = dims(s, isl_dim_param);
      s = move(std::move(s), isl_dim_param, p, isl_dim_set, d);
    }
    if (p >= 0) {
      s = move(std::move(s), isl_dim_set, at, isl_dim_param, p);
    } else {
      s = isl_set_insert_dims(s.take(), isl_dim_set, static_cast<unsigned>(at), 1);
      s = isl_set_set_dim_name(s.take(), isl_dim_set, static_cast<unsigned>(at), names[i].c_str());
    }
  }
  return s;
}

Set dims_to_params(Set s, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const int d = find_dim(s, isl_dim_set, name);
    if (d < 0) continue;
    if (const int p = find_dim(s, isl_dim_param, name); p >= 0) {
      s = isl_set_equate(s.take(), isl_dim_set, d, isl_dim_param, p);
      s = isl_set_project_out(s.take(), isl_dim_set, static_cast<unsigned>(d), 1);
    } else {
      const int end = dims(s, isl_dim_param);
      s = move(std::move(s), isl_dim_param, end, isl_dim_set, d);
    }
  }
  return s;
}

Set all_to_params(Set s) {
  if (yes(isl_set_is_params(s.get()))) return s;
  const std::vector<std::string> names = names_of(s, isl_dim_set);
  s = dims_to_params(std::move(s), names);
  return isl_set_params(s.take());
}

Set drop_params(Set s, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (const int p = find_dim(s, isl_dim_param, name); p >= 0)
      s = isl_set_project_out(s.take(), isl_dim_param, static_cast<unsigned>(p), 1);
  return s;
}

Set rename_dims(Set s, const std::map<std::string, std::string>& names) {
  for (const isl_dim_type type : {isl_dim_set, isl_dim_param}) {
    if (type == isl_dim_set && yes(isl_set_is_params(s.get()))) continue;
    const std::vector<std::string> old = names_of(s, type);
    for (std::size_t i = 0; i < old.size(); ++i)
      if (const auto it = names.find(old[i]); it != names.end())
        s = isl_set_set_dim_name(s.take(), type, static_cast<unsigned>(i), it->second.c_str());
  }
  return s;
}

Set join_by_name(Set a, Set b) {
  std::vector<std::string> names = dim_names(a);
  for (std::string& n : dim_names(b))
    if (std::find(names.begin(), names.end(), n) == names.end()) names.push_back(std::move(n));
  return intersect(to_dims(std::move(a), names), to_dims(std::move(b), names));
}

// ---- Text.

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

/// isl reads integers of any size; what follows computes with those of 64 bits. It takes `1e3` for
/// `1*e3`, as it writes a quantified name itself: `exists (e3: …)`.
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
      fail("bad-domain", at, "`{}` is no whole number here; write its digits",
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
           "`{}` is no set: bounds have no elements of arrays, such as `{}`; assign it to a scalar "
           "around the loop, as in `<> bound = {}`, and write the scalar",
           shown, element, element);
    fail("bad-domain", at, "`{}` is no set: {}", shown, e.what());
  }
}

}  // namespace

namespace {

/// The names of a tuple, `[i, j = n]`; of an entry that is none, nothing.
std::vector<std::string> names_in_tuple(const std::string& tuple) {
  std::vector<std::string> out{""};
  bool value = false;  // behind a `=`
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

/// isl reads one set, and leaves what stands behind it.
void check_end(const std::string& text, const Span& at, const char* code) {
  const std::size_t close = text.find('}');
  if (close == std::string::npos) return;  // isl says so
  const std::size_t from = text.find_first_not_of(" \t\r\n", close + 1);
  if (from == std::string::npos) return;
  throw Error({code,
               fmt::format("`{}` stands behind `{}`", text.substr(from), text.substr(0, close + 1)),
               {at, {}},
               {},
               "all conditions stand within the braces, joined by `and` and `or`"});
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
    fail("bad-domain", at, "`{}` is no set: it needs the form `{{ [i, j] : conditions }}`", text);
  check_end(text, at, "bad-domain");
  check_tuples(text, at);
  const std::size_t arrow = text.find("->", text.find('{'));
  if (arrow != std::string::npos) fail("bad-domain", at, "`{}` is a map, and no set", text);
  Set s = read(with_header(text, at), text, at);
  if (yes(isl_set_is_params(s.get()))) return s;
  std::set<std::string> seen;
  const int n = dims(s, isl_dim_set);
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
    fail("bad-map", at, "`{}` is no map: it needs the form `{{ [i] -> [j] : conditions }}`", text);
  check_end(text, at, "bad-map");
  Map m = [&]() -> Map {
    try {
      return isl_map_read_from_str(isl(), with_header(text, at).c_str());
    } catch (const IslError& e) { fail("bad-map", at, "`{}` is no map: {}", text, e.what()); }
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

// ---- The domain forest.

Set domain_of(const Kernel& k, const std::vector<std::string>& inames) {
  std::vector<const Domain*> needed;
  const auto need = [&](const Domain* d) {
    if (d && std::find(needed.begin(), needed.end(), d) == needed.end()) needed.push_back(d);
  };
  for (const std::string& i : inames) {
    const Domain* d = k.home_of(i);
    if (!d) throw InternalError("domain_of: no iname `" + i + "`");
    need(d);
  }
  for (std::size_t i = 0; i < needed.size(); ++i)  // grows: ancestors of ancestors
    for (const std::string& p : param_names(needed[i]->set)) need(k.home_of(p));
  std::string key = "domain ";
  if (k.assumptions) key += memo().name(k.assumptions);
  for (const Domain* d : needed) key += memo().name(d->set);
  for (const std::string& i : inames) key += " " + i;
  return memo().made(std::move(key), [&] {
    Set s = needed.empty() ? universe({}) : needed.front()->set;
    for (std::size_t i = 1; i < needed.size(); ++i) s = join_by_name(std::move(s), needed[i]->set);
    if (k.assumptions) s = isl_set_intersect_params(s.take(), k.assumptions.copy());
    return to_dims(std::move(s), inames);
  });
}

bool bounds_depend_on(const Kernel& k, const std::string& iname,
                      const std::vector<std::string>& names) {
  std::vector<const Domain*> above{k.home_of(iname)};
  for (std::size_t d = 0; d < above.size(); ++d)
    for (const std::string& p : above[d]->params()) {
      if (std::find(names.begin(), names.end(), p) != names.end()) return true;
      const Domain* parent = k.home_of(p);
      if (parent && std::find(above.begin(), above.end(), parent) == above.end())
        above.push_back(parent);
    }
  return false;
}

namespace {

class Forest {
 public:
  explicit Forest(const Kernel& k) : k_(k), parent_(k.domains.size(), kUnknown) {
    for (std::size_t d = 0; d < k.domains.size(); ++d)
      for (std::string& i : k.domains[d].inames()) home_.emplace(std::move(i), static_cast<int>(d));
  }

  std::vector<int> parents() {
    for (std::size_t d = 0; d < parent_.size(); ++d) parent(static_cast<int>(d));
    return parent_;
  }
  bool branches() {
    parents();
    return branches_;
  }

 private:
  static constexpr int kUnknown = -2, kInProgress = -3;

  const std::map<std::string, std::set<std::string>>& writer_inames() {
    if (!writers_) {
      writers_.emplace();
      for (const InsnPtr& i : k_.instructions)
        for (const std::string& w : writes(*i))
          (*writers_)[w].insert(i->inames.begin(), i->inames.end());
    }
    return *writers_;
  }

  /// Domains that introduce what bounds this one.
  std::vector<int> needs(int d) {
    std::vector<int> out;
    const auto add = [&](int domain) {
      if (std::find(out.begin(), out.end(), domain) == out.end()) out.push_back(domain);
    };
    for (const std::string& p : k_.domains[static_cast<std::size_t>(d)].params()) {
      if (const auto it = home_.find(p); it != home_.end()) {
        add(it->second);
      } else if (k_.find_temporary(p)) {
        const auto w = writer_inames().find(p);
        if (w == writer_inames().end()) continue;
        for (const std::string& i : w->second)
          if (const auto h = home_.find(i); h != home_.end()) add(h->second);
      }
    }
    return out;
  }

  int depth(int d) {
    int n = 0;
    for (int p = parent(d); p >= 0; p = parent_[static_cast<std::size_t>(p)]) ++n;
    return n;
  }
  bool is_ancestor(int a, int d) {
    for (; d >= 0; d = parent_[static_cast<std::size_t>(d)])
      if (d == a) return true;
    return false;
  }

  std::string shown(int d) const {
    return "`" + str(k_.domains[static_cast<std::size_t>(d)].set) + "`";
  }

  int parent(int d) {
    int& slot = parent_[static_cast<std::size_t>(d)];
    const Span& at = k_.domains[static_cast<std::size_t>(d)].at;
    if (slot == kInProgress)
      fail("cyclic-domains", at, "the bounds of domain {} depend on its own inames", shown(d));
    if (slot != kUnknown) return slot;
    slot = kInProgress;
    const std::vector<int> all = needs(d);
    int innermost = -1, deepest = -1;
    for (const int n : all)
      if (const int here = depth(n); here > deepest) deepest = here, innermost = n;
    for (const int n : all) branches_ = branches_ || !is_ancestor(n, innermost);
    return slot = innermost;
  }

  const Kernel& k_;
  std::vector<int> parent_;
  bool branches_ = false;  // some domain lies in two that are not nested in one another
  std::unordered_map<std::string, int> home_;
  std::optional<std::map<std::string, std::set<std::string>>> writers_;
};

}  // namespace

std::vector<int> domain_parents(const Kernel& k) { return Forest(k).parents(); }
bool domains_branch(const Kernel& k) { return Forest(k).branches(); }

Set context_of(const Kernel& k) {
  if (k.assumptions) return k.assumptions;
  return isl_set_universe(isl_space_params_alloc(isl(), 0));
}

// ---- Samples.

namespace {

/// The least value of dimension `i` of a set that is not empty; when there is none, the one nearest
/// to zero.
Val small_value(const Set& s, int i) {
  LocalSpace space = isl_local_space_from_space(isl_set_get_space(s.get()));
  Aff x = isl_aff_var_on_domain(space.take(), isl_dim_set, static_cast<unsigned>(i));
  Val least = isl_set_min_val(s.get(), x.get());
  if (yes(isl_val_is_int(least.get()))) return least;
  const auto at = static_cast<unsigned>(i);
  // Parts that become empty have no optimum, which would be the union's.
  Set positive = isl_set_detect_equalities(isl_set_lower_bound_si(s.copy(), isl_dim_set, at, 0));
  least = isl_set_min_val(positive.get(), x.get());
  if (yes(isl_val_is_int(least.get()))) return least;
  Set negative = isl_set_detect_equalities(isl_set_upper_bound_si(s.copy(), isl_dim_set, at, 0));
  Val most = isl_set_max_val(negative.get(), x.get());
  if (yes(isl_val_is_int(most.get()))) return most;
  const Point any = isl_set_sample_point(s.copy());
  return isl_point_get_coordinate_val(any.get(), isl_dim_set, i);
}

}  // namespace

std::optional<Sample> sample(const Set& set) {
  if (yes(isl_set_is_empty(set.get()))) return std::nullopt;
  const std::vector<std::string> params = param_names(set), names = dim_names(set);
  std::vector<std::string> all = params;
  all.insert(all.end(), names.begin(), names.end());
  Set s = to_dims(set, all);
  Sample out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Drops the parts without integers: isl's minimum may be one of theirs.
    s = isl_set_detect_equalities(s.take());
    Val v = small_value(s, static_cast<int>(i));
    (i < params.size() ? out.params : out.dims)[all[i]] = to_int(v);
    s = isl_set_fix_val(s.take(), isl_dim_set, static_cast<unsigned>(i), v.take());
  }
  return out;
}

}  // namespace moonloop
