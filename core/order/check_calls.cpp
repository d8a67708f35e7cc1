#include "core/order/check_calls.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/infer/infer.h"
#include "core/infer/program_points.h"
#include "core/model/affine.h"
#include "core/model/call_binding.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/sets/named_sets.h"

namespace moonloop {
namespace {

Expr at_most(const Expr& a, const Expr& b) { return Expr(Compare{CompareOp::Le, a, b}); }

/// One call.
class CallCheck {
 public:
  CallCheck(const Kernel& k, const Instruction& insn)
      : k_(k),
        insn_(insn),
        callee_(*called_kernel(k, insn)->meaning),
        binding_(bind_call(k, *external_call(k, insn), callee_)),
        dims_(insn.inames.begin(), insn.inames.end()) {}

  void run() {
    for (const BoundArgument& b : binding_.all) {
      types(b);
      if (!b.value) section(b);
    }
    aliases();
    assumptions();
  }

 private:
  Span at(const BoundArgument& b) const {
    const Call& c = *external_call(k_, insn_);
    const Span here = c.args[static_cast<std::size_t>(&b - binding_.all.data())].at();
    return here ? here : insn_.at;
  }

  void types(const BoundArgument& b) const {
    const Type wanted = b.to->type.value();
    const bool place = !b.value || (b.to->is_array && (b.value.as<Var>() || b.value.as<Load>()));
    const Type given = b.value ? type_of(k_, b.value, wanted) : element_type(b.array);
    const bool fits =
        place ? given == wanted
              : wanted.is_record() == given.is_record() &&
                    (wanted.is_record() ? given == wanted
                                        : is_complex(wanted.scalar) || !is_complex(given.scalar));
    if (!fits)
      fail("type-mismatch", at(b), "the argument `{}` of `{}` is {}, but `{}` is {}", b.to->name,
           callee_.name, wanted.str(), b.value ? to_string(b.value) : b.array, given.str());
  }

  Type element_type(const std::string& array) const {
    const Temporary* t = k_.find_temporary(array);
    return t ? t->type.value() : k_.find_arg(array)->type.value();
  }

  Exprs shape_of(const std::string& array) const {
    const Temporary* t = k_.find_temporary(array);
    return t ? t->shape.value() : k_.find_arg(array)->shape.value();
  }

  void section(const BoundArgument& b) const {
    if (b.to->offset)
      fail("unsupported", at(b), "`{}` of `{}` has an offset, and cannot be passed", b.to->name,
           callee_.name);
    if (!b.axes) {
      Diagnostic d{"bad-section",
                   fmt::format("`{}` of `{}` has the strides ({}), and `{}` has ({})", b.to->name,
                               callee_.name, to_string(strides_of_argument(b)), b.array,
                               to_string(strides_in(k_, b.array).value())),
                   {at(b), {}},
                   {},
                   fmt::format("give `{}` strides of its own, or pass an array of the same shape",
                               b.to->name)};
      throw Error(std::move(d));
    }
    if (claimed_in_bounds(k_).count(b.array)) return;
    const Exprs whole = shape_of(b.array);
    for (std::size_t n = 0; n < b.axes->size(); ++n) {
      const auto axis = static_cast<std::size_t>((*b.axes)[n]);
      const Expr extent = index_add({substitute(b.to->shape->at(n), binding_.scalars)});
      const Expr end = index_add({b.base.at(axis), extent});
      if (equal(b.base.at(axis), lit(0)) && as_int(index_sub(extent, whole.at(axis))) == 0)
        continue;
      within(
          b, axis,
          conjunction({at_most(lit(1), extent), Expr(Compare{CompareOp::Lt, whole.at(axis), end})}),
          end, whole.at(axis));
      within(b, axis,
             conjunction(
                 {at_most(lit(1), extent), Expr(Compare{CompareOp::Lt, b.base.at(axis), lit(0)})}),
             b.base.at(axis), whole.at(axis));
    }
  }

  Exprs strides_of_argument(const BoundArgument& b) const {
    Exprs out = strides_in(callee_, b.to->name).value();
    for (Expr& e : out) e = index_add({substitute(e, binding_.scalars)});
    return out;
  }

  /// Fails where `outside`, which says that the section leaves the array, may hold. What depends on
  /// memory is not judged.
  void within(const BoundArgument& b, std::size_t axis, const Expr& outside, const Expr& place,
              const Expr& extent) const {
    const auto bad = to_condition(k_, outside, dims_);
    if (!bad) return;
    const Set all = isl_set_intersect(instances().take(), bad->copy());
    if (yes(isl_set_is_empty(all.get()))) return;
    Diagnostic d{"out-of-bounds",
                 fmt::format("`{}` of `{}` reaches to {} along axis {} of `{}`, which has the "
                             "extent {}{}",
                             b.to->name, callee_.name, to_string(place), axis, b.array,
                             to_string(extent), example(all)),
                 {at(b), {}},
                 {},
                 "a condition on the parameters, as in `assume`, may be missing"};
    throw Error(std::move(d));
  }

  /// `: n=5, i=2`, a point of a set.
  static std::string example(const Set& s) {
    const auto point = sample(s);
    if (!point) return "";
    std::vector<std::string> parts;
    for (const auto& [name, value] : point->params)
      parts.push_back(fmt::format("{}={}", name, value));
    for (const auto& [name, value] : point->dims)
      parts.push_back(fmt::format("{}={}", name, value));
    return parts.empty() ? "" : fmt::format(": {}", fmt::join(parts, ", "));
  }

  Set instances() const {
    Set out = domain_of(k_, dims_);
    for (const Expr& p : insn_.predicates)
      if (const auto holds = to_condition(k_, p, dims_))
        out = isl_set_intersect(out.take(), holds->copy());
    return out;
  }

  /// The elements that an argument may reach: { [dims, x0, x1, ...] }; nothing where it is not
  /// affine.
  std::optional<Set> reach(const BoundArgument& b, const Exprs& index) const {
    std::vector<std::string> names = dims_;
    Exprs conditions;
    for (std::size_t n = 0; n < index.size(); ++n) {
      const std::string x = "x'" + std::to_string(n);
      names.push_back(x);
      const auto axis = b.axes ? std::find(b.axes->begin(), b.axes->end(), static_cast<int>(n))
                               : std::vector<int>::const_iterator();
      if (b.axes && axis != b.axes->end()) {
        const auto along = static_cast<std::size_t>(axis - b.axes->begin());
        const Expr extent = substitute(b.to->shape->at(along), binding_.scalars);
        conditions.push_back(at_most(index[n], var(x)));
        conditions.emplace_back(Compare{CompareOp::Lt, var(x), index_add({index[n], extent})});
      } else {
        conditions.emplace_back(Compare{CompareOp::Eq, var(x), index[n]});
      }
    }
    return to_condition(k_, conjunction(conditions), names);
  }

  /// The array, or the variable, that an argument gives access to, and the subscripts.
  static std::pair<std::string, Exprs> place(const BoundArgument& b) {
    if (!b.value) return {b.array, b.base};
    if (!b.to->is_array) return {};
    if (const auto* v = b.value.as<Var>()) return {v->name, {}};
    const auto* l = b.value.as<Load>();
    return l ? std::pair(l->array, l->index) : std::pair<std::string, Exprs>();
  }

  void aliases() const {
    const std::vector<Intent> goes = intents(callee_);
    for (std::size_t i = 0; i < binding_.all.size(); ++i)
      for (std::size_t j = i + 1; j < binding_.all.size(); ++j) {
        const BoundArgument &a = binding_.all[i], &b = binding_.all[j];
        const auto [name, index] = place(a);
        const auto [other, others] = place(b);
        if (name.empty() || name != other || (goes[i] == Intent::In && goes[j] == Intent::In))
          continue;
        const auto x = reach(a, index), y = reach(b, others);
        if (x && y && index.size() == others.size()) {
          const Set both = isl_set_intersect(x->copy(), y->copy());
          const Set all = to_dims(both, dims_);
          if (yes(isl_set_is_empty(Set(isl_set_intersect(instances().take(), all.copy())).get())))
            continue;
        }
        fail("aliased-arguments", insn_.at,
             "`{}` gets `{}` as `{}` and as `{}`, and may change it: elements of the two may be "
             "the same",
             callee_.name, name, a.to->name, b.to->name);
      }
  }

  void assumptions() const {
    if (!callee_.assumptions) return;
    Set needed = callee_.assumptions;
    Exprs equal_to;
    std::map<std::string, std::string> away;
    std::vector<std::string> gone;
    for (const std::string& p : param_names(needed)) {
      const auto value = binding_.scalars.find(p);
      if (value == binding_.scalars.end()) continue;
      away[p] = p + "'";
      gone.push_back(p + "'");
      equal_to.emplace_back(Compare{CompareOp::Eq, var(p + "'"), value->second});
    }
    needed = rename_dims(std::move(needed), away);
    const auto holds = to_condition(k_, conjunction(equal_to), dims_);
    Set missing = instances();
    if (holds) {
      const Set given = isl_set_intersect(missing.take(), holds->copy());
      missing = isl_set_subtract(
          given.copy(), isl_set_intersect_params(isl_set_universe(isl_set_get_space(given.get())),
                                                 needed.copy()));
      if (yes(isl_set_is_empty(missing.get()))) return;
      missing = drop_params(std::move(missing), gone);
    }
    fail("callee-assumption", insn_.at, "`{}` assumes `{}`, which is not known to hold here{}",
         callee_.name, str(callee_.assumptions), holds ? example(missing) : "");
  }

  const Kernel& k_;
  const Instruction& insn_;
  const Kernel& callee_;
  CallBinding binding_;
  std::vector<std::string> dims_;
};

}  // namespace

void check_calls(const Kernel& k) {
  if (k.callees.empty()) return;
  const WithoutRules expanded(k);
  for (const InsnPtr& i : (*expanded).instructions)
    if (called_kernel(*expanded, *i)) CallCheck(*expanded, *i).run();
}

}  // namespace moonloop
