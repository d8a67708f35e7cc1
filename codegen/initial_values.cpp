#include "codegen/initial_values.h"

#include "codegen/language.h"
#include "core/order/reference.h"
#include "core/rewrite/staging.h"

namespace moonloop {
namespace {

/// `t = …`, or a loop for each axis around `t[i, j] = t_values[i, j]`.
InsnPtr filled(Kernel& k, const Temporary& t, const Exprs& values) {
  Instruction insn;
  insn.id = k.fresh_id(t.name + "_init");
  insn.at = t.at;
  std::set<std::string> taken = k.all_names();
  if (t.shape->empty()) {
    insn.lhs = {var(t.name)};
    insn.rhs = values.at(0);
    return std::make_shared<const Instruction>(std::move(insn));
  }
  Temporary table;
  table.name = take_name(taken, t.name + "_values");
  table.type = t.type;
  table.shape = t.shape;
  table.order = t.order;
  table.read_only = true;
  table.initializer = std::make_shared<const std::vector<Expr>>(values);
  table.at = t.at;
  Exprs index;
  std::vector<std::string> inames;
  std::string bounds;
  for (const Expr& extent : *t.shape) {
    const auto n = as_int(extent);
    if (!n) fail("unsupported", t.at, "`{}` has values, but its shape is not constant", t.name);
    inames.push_back(take_name(taken, fmt::format("{}_init_{}", t.name, inames.size())));
    index.push_back(var(inames.back()));
    bounds += fmt::format("{}0 <= i{} < {}", bounds.empty() ? "" : " and ", inames.size() - 1, *n);
  }
  std::string dims;
  for (std::size_t d = 0; d < inames.size(); ++d) dims += fmt::format("{}i{}", d ? ", " : "", d);
  Set points = isl_set_read_from_str(isl(), fmt::format("{{ [{}] : {} }}", dims, bounds).c_str());
  for (std::size_t d = 0; d < inames.size(); ++d)
    points = isl_set_set_dim_name(points.take(), isl_dim_set, unsigned(d), inames[d].c_str());
  k.domains.push_back({std::move(points), t.at});
  for (const std::string& i : inames) k.loop_order.push_back(i), insn.inames.insert(i);
  insn.lhs = {load(t.name, index)};
  insn.rhs = load(table.name, index);
  k.temporaries.emplace(table.name, table);
  return std::make_shared<const Instruction>(std::move(insn));
}

}  // namespace

Kernel with_initial_values(Kernel k, Target target) {
  std::set<std::string> written;
  std::vector<std::string> starting;
  for (const auto& [name, t] : std::as_const(k).temporaries)
    if (t.initializer && !t.read_only) starting.push_back(name);
  if (starting.empty()) return k;
  for (const InsnPtr& i : k.instructions) written.merge(writes(*i));
  bool ordered = false;
  for (const std::string& name : starting) {
    if (!written.count(name)) {
      k.temporaries.at(name).read_only = true;
      continue;
    }
    if (!is_device(target)) continue;
    const Temporary t = k.temporaries.at(name);
    if (t.space == AddressSpace::Local || t.space == AddressSpace::Private)
      throw Error({"unsupported",
                   fmt::format("`{}`, of which each {} would have one, starts with values and is "
                               "written",
                               name, t.space == AddressSpace::Local ? "group" : "work-item"),
                   {t.at ? t.at : k.at, {}},
                   {},
                   "assign the values in the kernel, or let the temporary be `global`"});
    if (!ordered) k = rebase(proved(std::move(k)));
    ordered = true;
    Temporary& own = k.temporaries.at(name);
    own.initializer = nullptr;
    if (!t.shape->empty()) own.space = AddressSpace::Global;
    const InsnPtr insn = filled(k, t, *t.initializer);
    k.instructions.insert(k.instructions.begin(), insn);
  }
  return k;
}

}  // namespace moonloop
