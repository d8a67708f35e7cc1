#include "core/order/check_kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/infer/infer.h"
#include "core/model/domain.h"
#include "core/model/layout.h"
#include "core/order/check_calls.h"
#include "core/order/check_ranges.h"
#include "core/order/check_uses.h"
#include "core/order/inline_calls.h"
#include "core/sets/bounded.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

// ---- Writes to variables that only the caller or a loop may set.

void check_writes(const Kernel& k) {
  std::unordered_map<std::string, const Argument*> scalars;
  for (const Argument& a : k.args)
    if (!a.is_array) scalars.emplace(a.name, &a);
  std::set<std::string> bounds, inames;
  for (const Domain& d : k.domains) {
    for (std::string& p : d.params()) bounds.insert(std::move(p));
    for (std::string& i : d.inames()) inames.insert(std::move(i));
  }
  for (const InsnPtr& i : k.instructions)
    for (const Expr& l : i->lhs) {
      const std::string& name = written_name(l);
      const Span& at = l.at() ? l.at() : i->at;
      if (inames.count(name)) fail("writes-input", at, "`{}` writes the iname `{}`", i->id, name);
      if (scalars.count(name))
        fail("writes-input", at, "`{}` writes `{}`, which is {}", i->id, name,
             bounds.count(name) ? "a parameter of a loop's bounds" : "a scalar argument");
      const Temporary* t = k.find_temporary(name);
      if (t && t->read_only)
        fail("writes-input", at, "`{}` writes `{}`, which is read only", i->id, name);
    }
}

// ---- Loop variables.

/// Where `name` occurs in the instruction other than bound by a reduction.
std::optional<Span> free_place(const std::string& name, const Instruction& insn) {
  std::optional<Span> found;
  const auto look = [&](const Expr& e) {
    if (!e || found) return;
    walk(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      if (v && v->name == name && !found) found = x.at() ? x.at() : insn.at;
      const auto* r = x.as<Reduce>();
      const auto* s = x.as<SubArray>();
      const std::vector<std::string>* bound = r ? &r->inames : s ? &s->inames : nullptr;
      return !bound || std::find(bound->begin(), bound->end(), name) == bound->end();
    });
  };
  look(insn.rhs);
  for (const Expr& l : insn.lhs) look(l);
  for (const Expr& p : insn.predicates) look(p);
  return found;
}

/// An iname has a value only in its loop.
void check_loops(const Kernel& k) {
  std::unordered_set<std::string> inames;
  for (const Domain& d : k.domains)
    for (std::string& i : d.inames()) inames.insert(std::move(i));
  for (const InsnPtr& i : k.instructions) {
    std::set<std::string> seen = i->inames;
    for_each_read(k, *i, [&](const std::string& n) {
      if (!inames.count(n) || !seen.insert(n).second) return;
      const std::optional<Span> at = free_place(n, *i);
      if (!at) return;
      std::set<std::string> all = i->inames;
      all.insert(n);
      throw Error({"outside-loop",
                   fmt::format("`{}` reads the iname `{}`, but is in no loop over it", i->id, n),
                   {*at, {}},
                   {},
                   fmt::format("`inames={}` has all of its loops", fmt::join(all, ":"))});
    });
  }
}

// ---- Domains.

void check_domains(const Kernel& k) {
  if (k.assumptions && yes(isl_set_is_empty(k.assumptions.get())))
    fail("empty-domain", k.at, "the assumptions contradict each other: `{}`", str(k.assumptions));
  for (const Domain& d : k.domains) {
    const std::vector<std::string> names = d.inames();
    const Span& at = d.at ? d.at : k.at;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto n = static_cast<unsigned>(i);
      const bool lower = has_lower_bound(d.set, n);
      const bool upper = has_upper_bound(d.set, n);
      if (!lower || !upper)
        fail("unbounded-iname", at, "iname `{}` has no {} bound in `{}`", names[i],
             lower   ? "upper"
             : upper ? "lower"
                     : "lower and no upper",
             str(d.set));
    }
    for (const std::string& p : d.params()) {
      const Argument* a = k.find_arg(p);
      const Temporary* t = k.find_temporary(p);
      const std::optional<Type> type = t ? t->type : a ? a->type : std::nullopt;
      if (!type || type->is_record() || !is_integer(type->scalar) || !is_unsigned(type->scalar))
        continue;
      const Type fits = size_of(type->scalar) < 8 ? Scalar::I32 : Scalar::I64;
      throw Error({"unsigned-bound",
                   fmt::format("`{}` of type {} is in the bounds of `{}`, which are computed with "
                               "signed numbers",
                               p, type->str(), fmt::join(names, "`, `")),
                   {at, {}},
                   {},
                   t ? fmt::format("declare it as in `<{}> {} = …`", fits.str(), p)
                     : fmt::format("declare `{}: {}`", p, fits.str())});
    }
  }
}

// ---- Sizes.

void check_size(const std::string& name, const Exprs& shape, const Type& type, const Span& at) {
  std::int64_t bytes = type.size();
  for (const Expr& e : shape) {
    const auto n = as_int(e);
    if (n && *n < 0)
      fail("bad-shape", e.at() ? e.at() : at, "`{}` has the negative extent {}", name, *n);
    if (n && (*n == 0 || *n == kUnknownExtent)) return;
  }
  for (const Expr& e : shape)
    if (const auto n = as_int(e); n && __builtin_mul_overflow(bytes, *n, &bytes))
      fail("size-overflow", at, "`{}` of shape ({}) has more bytes than 64 bits can count", name,
           to_string(shape));
}

/// Elements of an array are identified by subscripts: where it is written, no two of them mean one
/// place.
void check_written_strides(const Kernel& k) {
  std::optional<std::set<std::string>> written;
  for (const Argument& a : k.args) {
    if (!a.is_array || !a.strides || !a.shape || a.shape->size() != a.strides->size()) continue;
    const auto same = same_place(*a.shape, *a.strides);
    if (!same) continue;
    if (!written) {
      written.emplace();
      for (const InsnPtr& i : k.instructions) written->merge(writes(*i));
    }
    if (written->count(a.name))
      fail("bad-strides", a.at ? a.at : k.at,
           "strides ({}) put {} in one place, and kernel `{}` writes `{}`", to_string(*a.strides),
           same->text(a.name), k.name, a.name);
  }
}

void check_sizes(const Kernel& k) {
  check_written_strides(k);
  for (const Argument& a : k.args)
    if (a.is_array && a.shape && a.type) check_size(a.name, *a.shape, *a.type, a.at ? a.at : k.at);
  for (const auto& [name, t] : k.temporaries) {
    const Span& at = t.at ? t.at : k.at;
    if (t.shape && t.type) check_size(name, *t.shape, *t.type, at);
    check_strides(t);
    if (!t.initializer || !t.shape) continue;
    std::int64_t n = 1;
    bool known = true;
    for (const Expr& e : *t.shape) {
      const auto v = as_int(e);
      known &= v.has_value();
      n *= v.value_or(0);
    }
    if (!known || n != static_cast<std::int64_t>(t.initializer->size()))
      fail("bad-initializer", at, "`{}` of shape ({}) has {} initial values", name,
           to_string(*t.shape), t.initializer->size());
  }
}

void check_uses(const Kernel& k, bool known) {
  ProgramPoints points(k);
  const auto undefined = undefined_reads_check(k, points, known);
  const auto bounds = bounds_check(k, points, known);
  points.for_each_use([&](const Use& u) { undefined->see(u), bounds->see(u); });
  undefined->finish();
  bounds->finish();
}

/// Checks the kernel, or where its loops, split up by steps, make that too much work, whether the
/// reference passes.
void check_uses(const Kernel& k) {
  constexpr unsigned long kOperations = 50'000, kForEach = 100;
  if (!k.reference) return check_uses(k, false);
  try {
    const IslBudget budget(kOperations + kForEach * k.instructions.size());
    return check_uses(k, false);
  } catch (const IslQuota&) {
    // asked another way
  }
  check_uses(k, pass_as_in_reference(k));
}

}  // namespace

void check_kernel(const Kernel& k) {
  const WithoutRules expanded(k);
  const Kernel& flat = *expanded;
  check_writes(flat);
  check_loops(flat);
  check_domains(flat);
  check_ranges(flat, {});
  check_sizes(flat);
  check_uses(flat);
}

Kernel complete(Kernel k) {
  const IslBudget budget(kPhaseOperations, fmt::format("checking kernel `{}`", k.name), k.at);
  Kernel out = infer_shapes(infer_types(std::move(k)));
  check_intents(out);
  check_calls(out);
  check_kernel(out.callees.empty() ? out : inline_all_calls(out));
  return out;
}

}  // namespace moonloop
