#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/infer/reductions.h"
#include "core/model/domain.h"
#include "core/order/order.h"
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
      fail("bad-option", d.from.at, "`dup` names `{}`, which is not a loop around `{}`",
           d.from.text, insn.id);
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
    // Copies of one domain's inames may bound each other, and so may those of outer domains.
    Set set = rename_dims(copied(d.set, mine, used), names);
    domains.push_back({std::move(set), d.at});
  }
  // A domain whose parameters are duplicated but which itself is not keeps the original loops.
  k.domains = std::move(domains);
  std::vector<std::string> order = k.loop_order;
  for (const auto& [from, to] : names) {
    const auto at = std::find(order.begin(), order.end(), from);
    if (at != order.end()) order.insert(at + 1, to);
  }
  k.loop_order = std::move(order);
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

namespace {

using Inames = std::set<std::string>;

/// The loops of each instruction that statement `n` becomes when reductions are realized, without
/// those of teams (`l.N`, `ilp`, `vec`), which are not loops.
std::vector<std::set<Inames>> loops_by_statement(const Kernel& k) {
  const Kernel realized = realize_reductions(k);
  std::vector<std::set<Inames>> out(k.instructions.size());
  std::size_t n = 0;
  for (const InsnPtr& part : realized.instructions) {
    Inames loops = part->inames;
    std::erase_if(loops, [&](const std::string& i) { return in_team(k.tag(i)); });
    out[n].insert(std::move(loops));
    n += part->id == k.instructions[n]->id;
  }
  return out;
}

/// Whether instructions in these loops keep `iname` from nesting with some other loop: one is in
/// both, one only in each.
bool crosses(const std::string& iname, const std::set<Inames>& all) {
  Inames beside, apart;  // loops around instructions with the iname, and around those without
  for (const Inames& loops : all)
    if (loops.count(iname))
      beside.insert(loops.begin(), loops.end());
    else
      apart.insert(loops.begin(), loops.end());
  beside.erase(iname);
  return std::any_of(beside.begin(), beside.end(), [&](const std::string& other) {
    return apart.count(other) && std::any_of(all.begin(), all.end(), [&](const Inames& loops) {
             return loops.count(iname) && !loops.count(other);
           });
  });
}

/// The inames of a statement's reductions, outer ones first.
std::vector<std::string> reduced_by(const Kernel& k, const Instruction& insn) {
  std::vector<std::string> out;
  const std::set<std::string> all = all_inames(k, insn);
  for (const std::string& i : k.loop_order)
    if (all.count(i) && !insn.inames.count(i)) out.push_back(i);
  return out;
}

/// `iname` and those of `among` whose bounds depend on it.
std::vector<std::string> with_dependents(const Kernel& k, const std::string& iname,
                                         const std::vector<std::string>& among) {
  std::vector<std::string> out{iname};
  const auto has = [](const std::vector<std::string>& v, const std::string& s) {
    return std::find(v.begin(), v.end(), s) != v.end();
  };
  for (std::size_t n = 0; n < out.size(); ++n)
    for (const Domain& d : k.domains)
      if (const std::vector<std::string> params = d.params(); has(params, out[n]))
        for (const std::string& i : d.inames())
          if (has(among, i) && !has(out, i)) out.push_back(i);
  return out;
}

/// Statement `n` reduces over copies of `inames`, which have their tags and priorities.
void reduce_over_copies(Kernel& k, std::size_t n, const std::vector<std::string>& inames) {
  std::vector<Options::Duplicate> wanted;
  std::map<std::string, std::string> names;
  std::set<std::string> taken = k.all_names();
  for (const std::string& i : inames) {
    std::string to;
    for (int c = 0; to.empty() || taken.count(to); ++c) to = i + "_" + std::to_string(c);
    taken.insert(to);
    names.emplace(i, to);
    wanted.push_back({{i, k.instructions[n]->at}, to});
  }
  duplicate_inames(k, n, wanted);
  for (const auto& [from, to] : names) {
    if (const InameTag* t = k.tag(from)) k.iname_tags.emplace(to, InameTag(*t));
    if (const auto s = k.slabs.find(from); s != k.slabs.end()) k.slabs.emplace(to, s->second);
  }
  std::vector<std::vector<std::string>> copies;
  for (std::vector<std::string> chain : k.priorities) {
    bool changed = false;
    for (std::string& i : chain)
      if (const auto it = names.find(i); it != names.end()) i = it->second, changed = true;
    if (changed) copies.push_back(std::move(chain));
  }
  k.priorities.insert(k.priorities.end(), copies.begin(), copies.end());
}

void separate(Kernel& k) {
  // A loop is in question if a reduction runs in it and another statement does as well.
  std::map<std::string, int> statements;
  std::set<std::string> reduced;
  for (const InsnPtr& insn : k.instructions)
    for (const std::string& i : all_inames(k, *insn)) {
      ++statements[i];
      if (!insn->inames.count(i)) reduced.insert(i);
    }
  if (std::none_of(reduced.begin(), reduced.end(),
                   [&](const std::string& i) { return statements[i] > 1; }))
    return;
  std::set<Inames> known;  // of all statements without their reductions, and of earlier ones as a
                           // whole
  std::vector<std::set<Inames>> loops = loops_by_statement(k);
  for (const InsnPtr& insn : k.instructions) {
    Inames own = insn->inames;
    std::erase_if(own, [&](const std::string& i) { return in_team(k.tag(i)); });
    known.insert(std::move(own));
  }
  for (std::size_t n = 0; n < k.instructions.size(); ++n) {
    const auto crossing = [&](const std::string& i) {
      std::set<Inames> all = known;
      all.insert(loops[n].begin(), loops[n].end());
      return std::any_of(known.begin(), known.end(), [&](const Inames& l) { return l.count(i); }) &&
             crosses(i, all) && !crosses(i, loops[n]);
    };
    for (;;) {
      const std::vector<std::string> inames = reduced_by(k, *k.instructions[n]);
      const auto first = std::find_if(inames.begin(), inames.end(), crossing);
      if (first == inames.end()) break;
      reduce_over_copies(k, n, with_dependents(k, *first, inames));
      Kernel alone = k;
      alone.instructions = {k.instructions[n]};
      loops[n] = loops_by_statement(alone)[0];
    }
    known.insert(loops[n].begin(), loops[n].end());
  }
}

}  // namespace

void separate_reductions(Kernel& k) {
  Kernel separated = k;
  try {
    separate(separated);
  } catch (const Error&) { return; }
  k = std::move(separated);
}

}  // namespace moonloop::text
