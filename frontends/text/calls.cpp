#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/expr/external_arguments.h"
#include "core/infer/infer.h"
#include "core/model/layout.h"
#include "frontends/text/create.h"

// `call f(n, u=x[i, :])`, where `f` is a kernel.
namespace moonloop::text {
namespace {

/// What the call gives for each argument of the callee, in its order.
Exprs in_order(const Statement& s, const Kernel& callee) {
  const Exprs& given = s.rhs.as<Call>()->args;
  Exprs out(callee.args.size());
  std::vector<std::string> names;
  for (const Argument& a : callee.args) names.push_back(a.name);
  if (given.size() > names.size())
    fail("wrong-arg-count", s.at, "`{}` takes {} argument{}, got {}", callee.name, names.size(),
         names.size() == 1 ? "" : "s", given.size());
  for (std::size_t n = 0; n < given.size(); ++n) {
    std::size_t to = n;
    if (const Word& name = s.argument_names.at(n); !name.text.empty()) {
      const auto it = std::find(names.begin(), names.end(), name.text);
      if (it == names.end())
        fail("unknown-argument", name.at, "`{}` has no argument `{}`{}", callee.name, name.text,
             did_you_mean(name.text, names));
      to = static_cast<std::size_t>(it - names.begin());
    }
    if (out[to])
      fail("duplicate-argument", given[n].at(), "the argument `{}` of `{}` is given twice",
           names[to], callee.name);
    out[to] = given[n];
  }
  for (std::size_t n = 0; n < out.size(); ++n)
    if (!out[n])
      fail("missing-argument", s.at, "the call of `{}` gives no `{}`", callee.name, names[n]);
  return out;
}

/// The same where what the callee writes is on the left: the others, and those that it reads too,
/// are on the right.
Exprs by_results(const Statement& s, const Kernel& callee) {
  const Exprs& given = s.rhs.as<Call>()->args;
  const std::vector<Intent> goes = intents(callee);
  const auto count = [&](Intent without) {
    return static_cast<std::size_t>(
        std::count_if(goes.begin(), goes.end(), [&](Intent i) { return i != without; }));
  };
  if (given.size() != count(Intent::Out))
    fail("wrong-arg-count", s.at, "`{}` reads {} of its arguments, got {}", callee.name,
         count(Intent::Out), given.size());
  if (s.lhs.size() != count(Intent::In))
    fail("wrong-result-count", s.at, "`{}` writes {} of its arguments, found {} assignee{}",
         callee.name, count(Intent::In), s.lhs.size(), s.lhs.size() == 1 ? "" : "s");
  Exprs out;
  std::size_t in = 0, result = 0;
  for (std::size_t n = 0; n < goes.size(); ++n) {
    const Expr read = goes[n] != Intent::Out ? given[in++] : Expr();
    const Assignee* written = goes[n] != Intent::In ? &s.lhs[result++] : nullptr;
    if (read && written && !equal(read, written->e))
      fail("bad-operand", read.at(),
           "`{}` changes its argument `{}`: `{}` is on the right, and `{}` on the left",
           callee.name, callee.args[n].name, to_string(read), to_string(written->e));
    out.push_back(written ? written->e : read);
  }
  return out;
}

/// Fails unless the axes of `l` with slices step as those of the argument do.
void require_steps(const Expr& e, const Load& l, const Argument& to, const Kernel& callee,
                   const std::map<std::string, Expr>& scalars, const Exprs& whole) {
  const Exprs part = strides_of(to.shape.value(), to.order, to.strides);
  std::size_t axis = 0;
  for (std::size_t n = 0; n < l.index.size(); ++n) {
    if (!l.index[n].as<Slice>()) continue;
    const Expr step = index_add({substitute(part.at(axis++), scalars)});
    if (n < whole.size() && steps_alike(step, whole[n])) continue;
    throw Error(Diagnostic{
        "bad-section",
        fmt::format("`{}`, which `{}` gets as `{}`, steps by {} where `{}` steps by {}",
                    to_string(e), callee.name, to.name,
                    n < whole.size() ? to_string(whole[n]) : "nothing", to.name, to_string(step)),
        {e.at(), {}},
        {},
        fmt::format("declare `{}` with such strides, or pass a copy", to.name)});
  }
}

/// The address of what a call gives for an array.
Expr address_of(const Expr& e, const Argument& to, const Kernel& callee,
                const std::map<std::string, Expr>& scalars, const StridesOf& strides) {
  const auto known = [&](const std::string& array) {
    std::optional<Exprs> out = strides(array);
    if (!out)
      fail("unknown-shape", e.at(), "`{}` gets `{}`, for which no shape is declared", callee.name,
           array);
    return *out;
  };
  if (const Exprs* a = as_address(e)) return known(a->front().as<Var>()->name), e;
  if (const auto* v = e.as<Var>()) return known(v->name), address(v->name, {}, e.at());
  if (e.as<SubArray>())
    throw Error(Diagnostic{"unsupported",
                           fmt::format("the sub-array `{}` in the call of a kernel", to_string(e)),
                           {e.at(), {}},
                           {},
                           "write it with slices, as in `a[i, :]`"});
  const auto* l = e.as<Load>();
  const std::size_t rank = to.shape.value().size();
  const auto slices = l ? std::count_if(l->index.begin(), l->index.end(),
                                        [](const Expr& i) { return i.as<Slice>() != nullptr; })
                        : 0;
  if (!l || l->linear || static_cast<std::size_t>(slices) != rank)
    throw Error(Diagnostic{
        "bad-section",
        fmt::format("`{}`, which `{}` gets as `{}`, has {} of the {} ax{} that it needs",
                    to_string(e), callee.name, to.name, slices, rank, rank == 1 ? "is" : "es"),
        {e.at(), {}},
        {},
        "pass an array, or a part of one with a slice for each axis, as in `a[i, :]`"});
  require_steps(e, *l, to, callee, scalars, known(l->array));
  Exprs index;
  for (const Expr& i : l->index) {
    const auto* s = i.as<Slice>();
    if (s && (s->stop || s->step))
      throw Error(Diagnostic{
          "bad-section",
          fmt::format("the slice `{}` says where it ends", to_string(i)),
          {i.at() ? i.at() : e.at(), {}},
          {},
          fmt::format("leave that out: `{}` says how much of it it needs", callee.name)});
    index.push_back(!s ? i : s->start ? s->start : lit(0));
  }
  return address(l->array, index, e.at());
}

}  // namespace

void bind_call(Statement& s, const Kernel& callee, const StridesOf& strides) {
  Exprs given = s.by_results ? by_results(s, callee) : in_order(s, callee);
  std::map<std::string, Expr> scalars;
  for (std::size_t n = 0; n < given.size(); ++n)
    if (!callee.args[n].is_array) scalars.emplace(callee.args[n].name, given[n]);
  const std::vector<Intent> goes = intents(callee);
  s.lhs.clear();
  for (std::size_t n = 0; n < given.size(); ++n) {
    const Argument& to = callee.args[n];
    Expr& e = given[n];
    const bool written = goes[n] != Intent::In;
    if (!to.is_array) continue;
    if (!to.shape.value().empty()) {
      e = address_of(e, to, callee, scalars, strides);
      const Expr& array = as_address(e)->front();
      const bool known = std::any_of(s.lhs.begin(), s.lhs.end(),
                                     [&](const Assignee& a) { return equal(a.e, array); });
      if (written && !known) s.lhs.push_back({array, false, {}, e.at()});
    } else if (written) {
      if (!e.as<Var>() && !e.as<Load>())
        fail("bad-operand", e.at() ? e.at() : s.at,
             "`{}` writes its argument `{}`, and `{}` is not a variable", callee.name, to.name,
             to_string(e));
      s.lhs.push_back({e, false, {}, e.at()});
    }
  }
  s.rhs = call(callee.name, std::move(given), s.rhs.at());
}

}  // namespace moonloop::text
