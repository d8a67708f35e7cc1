#include "transforms/former_inames.h"

#include <algorithm>

#include "core/model/lookup.h"

namespace moonloop {
namespace {

/// Argument `number` of a step, or its option `name`.
const Value* argument(const Step& s, std::size_t number, std::string_view name) {
  if (number < s.positional.size()) return &s.positional[number];
  for (const auto& [key, value] : s.options)
    if (key == name) return &value;
  return nullptr;
}

std::optional<std::string> text(const Step& s, std::size_t number, std::string_view name) {
  const Value* v = argument(s, number, name);
  const auto* t = v ? v->as<std::string>() : nullptr;
  return t ? std::optional(*t) : std::nullopt;
}

constexpr std::size_t kOption = 99;  // not by position

/// `name` after the step, if the step determines it.
std::optional<Expr> after(const Step& s, const std::string& name) {
  if (s.name == "split_iname" && text(s, 0, "split_iname") == name) {
    const Value* v = argument(s, 1, "inner_length");
    const auto* length = v ? v->as<std::int64_t>() : nullptr;
    if (!length) return {};
    const std::string outer = text(s, kOption, "outer_iname").value_or(name + "_outer");
    const std::string inner = text(s, kOption, "inner_iname").value_or(name + "_inner");
    return index_add({var(inner), Expr(Nary{NaryOp::Mul, {lit(*length), var(outer)}})});
  }
  if (s.name == "rename_iname" && text(s, 0, "old_iname") == name)
    if (const auto now = text(s, 1, "new_iname")) return var(*now);
  return {};
}

/// `name`, an iname that is gone, in present inames: what join_inames, map_domain and others made
/// of it. Nothing where it is not the same in all instructions.
std::optional<Expr> by_origin(const Kernel& k, const std::string& name) {
  std::optional<Expr> now;
  for (const InsnPtr& i : k.instructions) {
    const auto it = i->origin.find(name);
    if (it == i->origin.end()) continue;
    if (now && !equal(*now, it->second)) return {};
    now = it->second;
  }
  return now;
}

}  // namespace

std::optional<Expr> former_iname(const Kernel& k, const std::string& name) {
  std::optional<Expr> now;
  for (const Step& s : k.trace) {
    std::set<std::string> names;
    if (now)
      collect_vars(*now, names);
    else
      names = {name};
    std::map<std::string, Expr> by;
    for (const std::string& n : names)
      if (auto e = after(s, n); e && !k.has_iname(n)) by.emplace(n, *e);
    if (!by.empty()) now = now ? substitute(*now, by) : by.at(name);
  }
  std::set<std::string> names{name};
  if (now) {
    names.clear();
    collect_vars(*now, names);
  }
  std::map<std::string, Expr> by;
  for (const std::string& n : names)
    if (!k.has_iname(n))
      if (auto e = by_origin(k, n)) by.emplace(n, *e);
  if (!now && by.empty()) return {};
  now = now ? substitute(*now, by) : by.at(name);
  names.clear();
  collect_vars(*now, names);
  const std::set<std::string> known = k.all_names();
  const bool all = std::all_of(names.begin(), names.end(),
                               [&](const std::string& n) { return known.count(n) > 0; });
  return all ? now : std::nullopt;
}

Expr with_present_inames(const Kernel& k, const Expr& e, const Span& at) {
  std::set<std::string> names;
  collect_vars(e, names);
  std::map<std::string, Expr> by;
  std::optional<std::set<std::string>> known;
  for (const std::string& n : names) {
    if (k.has_iname(n)) continue;
    if (!known) known = k.all_names();
    if (known->count(n)) continue;
    std::optional<Expr> now = former_iname(k, n);
    if (!now)
      fail_for(n, "unknown-iname", at, "`{}` is not an iname of kernel `{}`; it has {}", n, k.name,
               quoted_list(k.inames()));
    by.emplace(n, *std::move(now));
  }
  return by.empty() ? e : substitute(e, by);
}

}  // namespace moonloop
