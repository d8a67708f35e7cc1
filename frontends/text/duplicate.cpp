#include <algorithm>

#include "core/diagnostic.h"
#include "core/domain.h"
#include "frontends/text/create.h"

namespace moonloop::text {
namespace {

/// A domain over copies of the inames `which` of `home`, for an instruction in the loops `used`. It
/// is independent of the other inames if the home domain is a product; else those that are used
/// become parameters.
Set copied(const Set& home, const std::vector<std::string>& which,
           const std::set<std::string>& used) {
  std::vector<std::string> rest;
  for (const std::string& n : dim_names(home))
    if (std::find(which.begin(), which.end(), n) == which.end()) rest.push_back(n);
  const Set alone = to_dims(home, which);
  const Set product = join_by_name(alone, to_dims(home, rest));
  if (yes(isl_set_is_equal(to_dims(product, dim_names(home)).get(), home.get()))) return alone;
  std::vector<std::string> kept;
  for (const std::string& n : rest)
    if (used.contains(n)) kept.push_back(n);
  std::vector<std::string> all = kept;
  all.insert(all.end(), which.begin(), which.end());
  return dims_to_params(to_dims(home, all), kept);
}

}  // namespace

void duplicate_inames(Kernel& k, std::size_t n, const std::vector<Options::Duplicate>& duplicates) {
  std::map<std::string, std::string> names;
  std::set<std::string> taken = k.all_names();
  const Instruction& insn = *k.instructions[n];
  const std::set<std::string> used = all_inames(k, insn);
  for (const Options::Duplicate& d : duplicates) {
    if (!k.has_iname(d.from.text))
      fail("unknown-iname", d.from.at, "no iname `{}`{}", d.from.text,
           did_you_mean(d.from.text, k.inames()));
    if (!used.contains(d.from.text))
      fail("bad-option", d.from.at, "`dup` names `{}`, which is no loop around `{}`", d.from.text,
           insn.id);
    std::string to = d.to;
    for (int i = 0; to.empty(); ++i) {
      const std::string name = d.from.text + "_" + std::to_string(i);
      if (!taken.contains(name)) to = name;
    }
    if (taken.contains(to)) fail("name-taken", d.from.at, "the name `{}` is in use", to);
    if (!names.emplace(d.from.text, to).second)
      fail("bad-option", d.from.at, "`dup` names `{}` twice", d.from.text);
    taken.insert(to);
  }
  for (const Domain& d : k.domains)
    for (const std::string& p : d.params())
      for (const std::string& i : d.inames())
        if (names.contains(p) && used.contains(i) && !names.contains(i))
          fail("bad-option", duplicates.front().from.at,
               "`dup` names `{}`, on which the bounds of `{}` depend; name both", p, i);
  std::vector<Domain> domains;
  for (const Domain& d : k.domains) {
    domains.push_back(d);
    std::vector<std::string> mine;
    for (const std::string& i : d.inames())
      if (names.contains(i)) mine.push_back(i);
    if (mine.empty()) continue;
    // Copies of one domain's inames may bound each other, and those of domains further out.
    Set set = rename_dims(copied(d.set, mine, used), names);
    domains.push_back({std::move(set), d.at});
  }
  // A domain whose parameters are duplicated but which itself is not keeps the original loops.
  k.domains = std::move(domains);
  for (const auto& [from, to] : names) {
    const auto at = std::find(k.loop_order.begin(), k.loop_order.end(), from);
    if (at != k.loop_order.end()) k.loop_order.insert(at + 1, to);
  }
  k.instructions[n] = edit(k.instructions[n], [&](Instruction& i) {
    const auto one = [&](const Expr& e) { return e ? rename(expand_rules(k, e), names) : e; };
    for (Expr& e : i.lhs) e = one(e);
    i.rhs = one(i.rhs);
    for (Expr& e : i.predicates) e = one(e);
    std::set<std::string> inames;
    for (const std::string& name : i.inames)
      inames.insert(names.contains(name) ? names.at(name) : name);
    i.inames = std::move(inames);
  });
}

}  // namespace moonloop::text
