#include "tests/differential/random_staging.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/differential/values.h"

namespace moonloop::differential {
namespace {

/// Rules that `e` calls itself.
std::vector<std::string> called(const Kernel& k, const Expr& e) {
  std::vector<std::string> out;
  if (e)
    walk(e, [&](const Expr& x) {
      if (const auto* c = x.as<Call>(); c && k.find_rule(c->name)) out.push_back(c->name);
      return true;
    });
  return out;
}

std::vector<std::string> some(Random& r, const std::vector<std::string>& all, int percent) {
  std::vector<std::string> out;
  for (const std::string& n : all)
    if (r.chance(percent)) out.push_back(n);
  return out;
}

}  // namespace

std::optional<Call> staging_step(Random& r, const Kernel& k, Flavour flavour) {
  const Instruction& insn = *r.pick(k.instructions);
  const std::set<std::string> around = all_inames(k, insn);
  const std::vector<std::string> loops(around.begin(), around.end());
  std::vector<std::string> rules = called(k, insn.rhs);
  for (const Rule& rule : k.rules)  // and those inside of rules
    if (r.chance(30))
      for (std::string& n : called(k, rule.body)) rules.push_back(std::move(n));
  ValueDict options;
  if (r.chance(flavour == Flavour::Device ? 25 : 50))
    options.emplace_back("default_tag", Value{false});
  if (r.chance(25)) options.emplace_back("fetch_bounding_box", Value{true});
  if (r.chance(20)) options.emplace_back("within", text("id:" + insn.id));

  if (!rules.empty() && r.chance(60)) {
    const std::string rule = r.pick(rules);
    if (r.chance(25)) {  // a rule of that rule
      const std::vector<std::string>& params = k.find_rule(rule)->params;
      const std::string all = fmt::format("{}", fmt::join(params, ", "));
      return Call{"extract_subst",
                  {text(k.fresh_name(rule + "_by")), text(fmt::format("{}({})", rule, all))},
                  {{"parameters", text(all)}}};
    }
    return Call{"precompute", {text(rule), list(some(r, loops, 50))}, options};
  }
  std::vector<std::string> staged;  // loops of copies that were made before
  for (const InsnPtr& i : k.instructions)
    if (i->lhs.size() == 1 && i->id.ends_with("_rule"))
      for (const std::string& n : i->inames)
        if (n.find("_dim_") != std::string::npos) staged.push_back(n);
  if (!staged.empty() && r.chance(30))
    return Call{"tag_inames",
                {Value{ValueDict{{r.pick(staged), text(r.pick({"l.0", "l.1", "unr", "vec"}))}}}},
                {}};

  std::vector<std::string> arrays;
  for (const std::string& n : reads(k, insn)) {
    const Argument* a = k.find_arg(n);
    const Temporary* t = k.find_temporary(n);
    if ((a && a->is_array) || (t && t->shape && !t->shape->empty())) arrays.push_back(n);
  }
  if (arrays.empty()) return {};
  if (r.chance(20)) options.emplace_back("fetch_outer_inames", list(some(r, loops, 60)));
  return Call{"add_prefetch", {text(r.pick(arrays)), list(some(r, loops, 50))}, options};
}

}  // namespace moonloop::differential
