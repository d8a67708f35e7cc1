#include "core/model/lookup.h"

#include <algorithm>
#include <cctype>

#include "core/model/domain.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// "it has `i`, `j`", with the first ten of a long list.
std::string it_has(const std::vector<std::string>& names) {
  if (names.empty()) return "it has none";
  constexpr std::size_t kMost = 10;
  if (names.size() <= kMost) return "it has " + quoted_list(names);
  return fmt::format("it has {} and {} more", quoted_list({names.begin(), names.begin() + kMost}),
                     names.size() - kMost);
}

bool has_wildcard(const std::string& s) { return s.find_first_of("*?[") != std::string::npos; }

}  // namespace

void require_iname(const Kernel& k, const std::string& name) {
  if (!k.has_iname(name))
    fail_for(name, "unknown-iname", k.at, "no iname `{}` in kernel `{}`; {}", name, k.name,
             it_has(k.inames()));
}

void require_arg(const Kernel& k, const std::string& name) {
  if (k.find_arg(name)) return;
  std::vector<std::string> names;
  for (const Argument& a : k.args) names.push_back(a.name);
  fail_for(name, "unknown-argument", k.at, "no argument `{}` in kernel `{}`; {}", name, k.name,
           it_has(names));
}

void require_insn(const Kernel& k, const std::string& id) {
  if (!k.find_insn(id))
    fail_for(id, "unknown-instruction", k.at, "no instruction `{}` in kernel `{}`; {}", id, k.name,
             it_has(k.instruction_ids()));
}

void require_temporary(const Kernel& k, const std::string& name) {
  if (k.find_temporary(name)) return;
  std::vector<std::string> all;
  for (const auto& [n, t] : k.temporaries) all.push_back(n);
  fail_for(name, "unknown-temporary", k.at, "no temporary `{}` in kernel `{}`; {}{}", name, k.name,
           it_has(all), did_you_mean(name, all));
}

void require_identifier(const std::string& name, const Span& at) {
  const auto word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
      !std::all_of(name.begin(), name.end(), word))
    fail("bad-name", at, "`{}` is not a name: names are letters, digits and `_`", name);
}

void require_no_word(const std::string& name, const Span& at) {
  static const std::set<std::string> kWords{
      "and",     "or",     "not",          "if",         "else",  "True",     "False",   "true",
      "false",   "nan",    "NaN",          "inf",        "infty", "infinity", "exists",  "mod",
      "implies", "rat",    "min",          "max",        "floor", "ceil",     "floord",  "ceild",
      "cast",    "reduce", "simul_reduce", "make_tuple", "cse",   "indexof",  "address", "knows"};
  if (kWords.contains(name))
    fail("bad-name", at, "`{}` is a word of the language, and no name", name);
}

void require_new_name(const Kernel& k, const std::string& name) {
  require_identifier(name, k.at);
  require_no_word(name, k.at);
  if (k.all_names().contains(name))
    fail("name-taken", k.at, "the name `{}` is in use in kernel `{}`", name, k.name);
}

namespace {

/// Whether, as its constraints show, each value of the dimension `x` goes with each one of `y`,
/// whatever the others are: none has both, nor both by way of existential variables.
bool are_apart_in(const BasicSet& points, unsigned x, unsigned y) {
  const auto divs = static_cast<unsigned>(count(isl_basic_set_dim(points.get(), isl_dim_div)));
  const std::vector<Constraint> all = constraints_of(points);
  const auto has = [](const Constraint& c, isl_dim_type type, unsigned at) {
    return yes(isl_constraint_involves_dims(c.get(), type, at, 1));
  };
  std::vector<unsigned> reached;
  std::vector<bool> seen(divs);
  const auto reach = [&](const Constraint& c) {
    for (unsigned d = 0; d < divs; ++d)
      if (!seen[d] && has(c, isl_dim_div, d)) {
        seen[d] = true;
        reached.push_back(d);
      }
    return has(c, isl_dim_set, y);
  };
  for (const Constraint& c : all)
    if (has(c, isl_dim_set, x) && reach(c)) return false;
  while (!reached.empty()) {
    const unsigned d = reached.back();
    reached.pop_back();
    for (const Constraint& c : all)
      if (has(c, isl_dim_div, d) && reach(c)) return false;
  }
  return true;
}

}  // namespace

std::set<std::string> inames_bounding(const Kernel& k, const std::set<std::string>& inames,
                                      const std::set<std::string>* among) {
  std::set<std::string> out;
  for (const Domain& d : k.domains) {
    std::vector<std::string> dims = d.inames();
    if (std::none_of(dims.begin(), dims.end(), [&](const auto& i) { return inames.count(i) > 0; }))
      continue;
    for (const std::string& p : d.params())
      if (k.has_iname(p)) dims.push_back(p);
    const auto is_asked = [&](const std::string& i) {
      return !inames.contains(i) && (!among || among->contains(i));
    };
    if (std::none_of(dims.begin(), dims.end(), is_asked)) continue;
    const Set all = to_dims(d.set, dims);
    const std::vector<BasicSet> parts = parts_of(all);
    const auto free = [&](std::size_t i) {  // whatever the values of the others
      return Set(isl_set_eliminate(all.copy(), isl_dim_set, static_cast<unsigned>(i), 1));
    };
    for (std::size_t x = 0; x < dims.size(); ++x)
      for (std::size_t y = 0; y < dims.size(); ++y) {
        if (!inames.count(dims[x]) || !is_asked(dims[y]) || out.count(dims[y])) continue;
        if (parts.size() == 1 && are_apart_in(parts[0], unsigned(x), unsigned(y))) continue;
        const Set apart = isl_set_intersect(free(x).take(), free(y).take());
        if (!yes(isl_set_is_equal(apart.get(), all.get()))) out.insert(dims[y]);
      }
  }
  return out;
}

std::vector<std::size_t> matching(const Kernel& k, const Match& match) {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < k.instructions.size(); ++n)
    if (match.everything() || match(k, *k.instructions[n])) found.push_back(n);
  return found;
}

std::vector<std::size_t> some_matching(const Kernel& k, const Match& match,
                                       const std::string& what) {
  std::vector<std::size_t> found = matching(k, match);
  if (found.empty())
    fail("no-match", k.at, "{} in kernel `{}`; {}", what, k.name, it_has(k.instruction_ids()));
  return found;
}

std::vector<std::string> inames_like(const Kernel& k, const std::vector<std::string>& patterns,
                                     bool may_be_missing) {
  const std::vector<std::string> all = k.inames();
  std::set<std::string> found;
  for (const std::string& p : patterns) {
    if (!has_wildcard(p)) {
      if (!may_be_missing) require_iname(k, p);
      if (k.has_iname(p)) found.insert(p);
      continue;
    }
    bool any = false;
    for (const std::string& i : all)
      if (glob_match(p, i)) found.insert(i), any = true;
    if (!any && !may_be_missing)
      fail("no-match", k.at, "no iname of kernel `{}` matches `{}`; {}", k.name, p, it_has(all));
  }
  std::vector<std::string> ordered;
  for (const std::string& i : all)
    if (found.contains(i)) ordered.push_back(i);
  return ordered;
}

}  // namespace moonloop
