#include <algorithm>
#include <limits>
#include <unordered_set>

#include "core/check_bounds.h"
#include "core/domain.h"
#include "core/infer.h"
#include "core/tree_build.h"

namespace moonloop {
namespace {

// ---- Writes to what only the caller or a loop may set.

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
      if (inames.count(name))
        fail("writes-input", at, "`{}` writes the iname `{}`", i->id, name);
      if (scalars.count(name))
        fail("writes-input", at, "`{}` writes `{}`, which is {}", i->id, name,
             bounds.count(name) ? "a parameter of a loop's bounds" : "a scalar argument");
      const Temporary* t = k.find_temporary(name);
      if (t && t->read_only)
        fail("writes-input", at, "`{}` writes `{}`, which is read only", i->id, name);
    }
}

// ---- Domains.

void check_domains(const Kernel& k) {
  if (k.assumptions && yes(isl_set_is_empty(k.assumptions.get())))
    fail("empty-domain", k.at, "the assumptions contradict each other: `{}`", str(k.assumptions));
  for (const Domain& d : k.domains) {
    const std::vector<std::string> names = d.inames();
    const Span& at = d.at ? d.at : k.at;
    const Set whole = domain_of(k, names);
    if (yes(isl_set_is_empty(whole.get()))) {
      const bool alone = yes(isl_set_is_empty(d.set.get()));
      fail("empty-domain", at, "the domain `{}` is empty{}", str(d.set),
           alone ? "" : " under the assumptions and the domains around it");
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto n = static_cast<unsigned>(i);
      const bool lower = yes(isl_set_dim_has_lower_bound(d.set.get(), isl_dim_set, n));
      const bool upper = yes(isl_set_dim_has_upper_bound(d.set.get(), isl_dim_set, n));
      if (!lower || !upper)
        fail("unbounded-iname", at, "iname `{}` has no {} bound in `{}`", names[i],
             lower ? "upper" : upper ? "lower" : "lower and no upper", str(d.set));
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
    if (n && *n == 0) return;
  }
  for (const Expr& e : shape)
    if (const auto n = as_int(e); n && __builtin_mul_overflow(bytes, *n, &bytes))
      fail("size-overflow", at, "`{}` of shape ({}) has more bytes than 64 bits can count", name,
           to_string(shape));
}

void check_sizes(const Kernel& k) {
  for (const Argument& a : k.args)
    if (a.is_array && a.shape && a.type) check_size(a.name, *a.shape, *a.type, a.at ? a.at : k.at);
  for (const auto& [name, t] : k.temporaries) {
    const Span& at = t.at ? t.at : k.at;
    if (t.shape && t.type) check_size(name, *t.shape, *t.type, at);
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

// ---- Reads of what was never written.

/// Refuses a read of a temporary that no instance of any write can come before: the reader stands
/// before every writer in statement order and shares no loop with one. A temporary written in the
/// same loop, later in its body, may hold the value of an earlier iteration, and so is let pass.
void check_undefined_reads(const Kernel& k) {
  const std::vector<int> order = textual_order(k);
  std::vector<int> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);

  struct Writers {
    int first = std::numeric_limits<int>::max();
    std::unordered_set<std::string> inames;  // of any of them
  };
  std::unordered_map<std::string, Writers> writers;
  for (std::size_t i = 0; i < k.instructions.size(); ++i)
    for (const std::string& n : writes(*k.instructions[i])) {
      if (!k.find_temporary(n)) continue;
      Writers& w = writers[n];
      w.first = std::min(w.first, position[i]);
      w.inames.insert(k.instructions[i]->inames.begin(), k.instructions[i]->inames.end());
    }
  const auto check_read = [&](const std::string& n, const Instruction& insn, int at, const Span& where) {
    const Temporary* t = k.find_temporary(n);
    if (!t || t->initializer) return;
    const auto w = writers.find(n);
    if (w == writers.end()) {
      fail("undefined-read", where ? where : insn.at,
           "`{}` reads the temporary `{}`, which nothing writes", insn.id, n);
    }
    if (w->second.first < at) return;
    const bool shares = std::any_of(insn.inames.begin(), insn.inames.end(), [&](const auto& i) {
      return w->second.inames.count(i) > 0;
    });
    if (shares) return;
    Diagnostic d;
    d.code = "undefined-read";
    d.text = fmt::format("`{}` reads the temporary `{}` before anything is written to it", insn.id, n);
    d.where = {where ? where : insn.at, {}};
    const Instruction& writer = *k.instructions[static_cast<std::size_t>(order[w->second.first])];
    if (writer.id == insn.id) {
      d.hint = fmt::format("assign `{}` a first value", n);
    } else {
      d.notes.push_back({writer.at, fmt::format("first written by `{}`", writer.id)});
      d.hint = fmt::format("move `{}` before `{}`, or add `dep={}`", writer.id, insn.id, writer.id);
    }
    throw Error(std::move(d));
  };
  if (k.temporaries.empty()) return;
  for (std::size_t i = 0; i < k.instructions.size(); ++i) {
    const Instruction& insn = *k.instructions[i];
    const auto scan = [&](const Expr& e) {
      walk(e, [&](const Expr& x) {
        if (const auto* v = x.as<Var>()) check_read(v->name, insn, position[i], x.at());
        if (const auto* l = x.as<Load>()) check_read(l->array, insn, position[i], x.at());
        return true;
      });
    };
    if (insn.rhs) scan(insn.rhs);
    for (const Expr& p : insn.predicates) scan(p);
    for (const Expr& l : insn.lhs) {
      const Expr* target = &l;
      while (const auto* field = target->as<Field>()) target = &field->base;
      if (const auto* x = target->as<Load>())
        for (const Expr& s : x->index) scan(s);
    }
  }
  // Bounds that are read from temporaries.
  for (const Domain& d : k.domains)
    for (const std::string& p : d.params()) {
      const Temporary* t = k.find_temporary(p);
      if (t && !t->initializer && !writers.count(p))
        fail("undefined-read", d.at ? d.at : k.at,
             "the bounds of `{}` need the temporary `{}`, which nothing writes", str(d.set), p);
    }
}

}  // namespace

void check_kernel(const Kernel& k) {
  const Kernel flat = expand_all_rules(k);
  check_writes(flat);
  check_domains(flat);
  check_sizes(flat);
  check_undefined_reads(flat);
  check_bounds(flat);
}

Kernel complete(const Kernel& k) {
  Kernel out = infer_shapes(infer_types(k));
  intents(out);
  check_kernel(out);
  return out;
}

}  // namespace moonloop
