#include "transforms/separate_values.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "core/infer/infer.h"
#include "core/model/affine.h"
#include "core/model/external.h"
#include "core/model/flat_subscripts.h"
#include "core/model/lookup.h"
#include "core/order/order_reference.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"
#include "transforms/registry.h"
#include "transforms/temporary_axes.h"

namespace moonloop {
namespace {

/// Which reads of an array find the values of one statement, in the present order.
class ValuesOf {
 public:
  ValuesOf(const Kernel& k, const std::string& id, std::string array)
      : array_(std::move(array)), reference_(nest(k)), owner_(owners(k, order_)) {
    const auto all = reference_.by_variable().find(array_);
    ensure(all != reference_.by_variable().end(), "the array is accessed");
    for (const AccessAt& at : all->second) {
      if (reference_.at(at).write && order_.insn(at.insn).id == id)
        own_ = at;
      else if (reference_.at(at).write)
        others_.push_back(at);
      else
        reads_.push_back(at);
    }
  }

  /// Reads by instruction, with the instances that find a value of the statement, those not empty.
  struct Read {
    int owner = 0;  // index of the kernel's instruction
    AccessAt at;
    Set all, found;  // instances that read, and that find one of the values
    Map element;     // { instance -> subscripts }
  };
  const std::vector<Read>& found() const { return found_; }
  const Access& access(const Read& r) const { return reference_.at(r.at); }
  /// The elements that are read with one of the values, by parameters alone.
  const Set& elements() const { return elements_; }

  void find() {
    require_overwritten();
    for (const AccessAt& r : reads_) {
      Set found = coalesce(Set(isl_map_range(flow(r).take())));
      if (yes(isl_set_is_empty(found.get()))) continue;
      Read read{owner_[std::size_t(r.insn)], r, points(r), std::move(found), element(r)};
      Set there = isl_set_apply(read.found.copy(), read.element.copy());
      elements_ = elements_ ? Set(isl_set_union(elements_.take(), there.take())) : there;
      found_.push_back(std::move(read));
    }
    if (found_.empty())
      refuse("no-use", insn(own_).at, "nothing reads what `{}` writes to `{}`", insn(own_).id,
             array_);
    elements_ = coalesce(elements_.take());
    for (const Read& r : found_) require_one_value(r);
  }

  /// Whether the read finds the statement's values at all of its instances.
  static bool always(const Read& r) { return yes(isl_set_is_subset(r.all.get(), r.found.get())); }

 private:
  const Instruction& insn(const AccessAt& a) const { return order_.insn(a.insn); }
  const std::vector<std::string>& dims(const AccessAt& a) const { return order_.dims(a.insn); }

  [[noreturn]] void refuse_data(const AccessAt& a) const {
    refuse("not-proved", insn(a).at, "which elements of `{}` `{}` {} depends on data", array_,
           insn(a).id, reference_.at(a).write ? "writes" : "reads");
  }
  Map element(const AccessAt& a) const {
    const auto m = to_map(reference_.at(a).index, dims(a));
    if (!m) refuse_data(a);
    return *m;
  }
  /// The instances that make an access.
  Set points(const AccessAt& a) const {
    ApproximateSet s = order_.domain(a.insn);
    if (!s.exact) refuse_data(a);
    const Expr& when = reference_.at(a).when;
    if (!when) return std::move(s.all);
    const auto holds = to_condition(order_.kernel(), when, dims(a));
    if (!holds) refuse_data(a);
    return isl_set_intersect(s.all.take(), holds->copy());
  }
  /// { instances of a -> later ones of b that access the same element }.
  Map later(const AccessAt& a, const AccessAt& b) const {
    const Kernel& k = order_.kernel();
    ApproximateMap m =
        meetings(k, k, reference_.variables, reference_.at(a), dims(a), reference_.at(b), dims(b));
    if (!m.exact) refuse_data(b);
    for (const std::string& i : reference_.private_to(array_, a.insn, b.insn))
      m.all = equate(std::move(m.all), place(a, i), place(b, i));
    m.all =
        isl_map_intersect(m.all.take(), order_.before(a.insn, b.insn, is_never_parallel).take());
    m.all = isl_map_intersect_domain(m.all.take(), points(a).take());
    return coalesce(isl_map_intersect_range(m.all.take(), points(b).take()));
  }
  std::size_t place(const AccessAt& a, const std::string& iname) const {
    const auto& all = dims(a);
    return std::size_t(std::find(all.begin(), all.end(), iname) - all.begin());
  }

  /// { instances of the statement -> instances of a read that find what these wrote }.
  Map flow(const AccessAt& r) {
    Map out = later(own_, r);
    if (yes(isl_map_is_empty(out.get()))) return out;
    std::vector<AccessAt> writes = others_;
    writes.push_back(own_);
    if (until_.size() < writes.size()) until_.push_back(later(own_, own_));
    const Map all = out;
    // Mostly the last write before the read leaves nothing for the others.
    std::vector<std::size_t> order(writes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto back = [&](std::size_t w) {
      const int statements = order_.size();
      return (r.insn - writes[w].insn - 1 + statements) % statements;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t v, std::size_t w) { return back(v) < back(w); });
    for (const std::size_t w : order) {
      if (yes(isl_map_plain_is_empty(until_[w].get()))) continue;
      const Map second = w < others_.size() ? later(writes[w], r) : all;
      Map between = isl_map_apply_range(until_[w].copy(), second.copy());
      out = isl_map_subtract(out.take(), between.take());
      if (yes(isl_map_plain_is_empty(out.get()))) break;
    }
    return out;
  }

  /// Every value is overwritten before the kernel ends.
  void require_overwritten() {
    Set left = points(own_);
    for (const AccessAt& w : others_) {
      until_.push_back(later(own_, w));
      left = isl_set_subtract(left.take(), isl_map_domain(until_.back().copy()));
    }
    if (yes(isl_set_is_empty(left.get()))) return;
    const Witness x = witness(isl_map_from_domain(left.take()), dims(own_), {});
    std::map<std::string, std::int64_t> at = x.params;
    at.insert(x.a.begin(), x.a.end());
    refuse("still-needed", insn(own_).at,
           "{} writes {}, which nothing overwrites: it is there when the kernel ends{}",
           instance_text(insn(own_).id, dims(own_), x.a), element_text(reference_.at(own_), at),
           parameters_text(x.params));
  }

  /// Of an element that somewhere holds one of the values, `r` reads no other one.
  void require_one_value(const Read& r) const {
    Set there = isl_set_apply(elements_.copy(), isl_map_reverse(r.element.copy()));
    there = isl_set_intersect(there.take(), r.all.copy());
    Set other = isl_set_subtract(there.take(), r.found.copy());
    if (yes(isl_set_is_empty(other.get()))) return;
    const Witness x = witness(isl_map_from_domain(other.take()), dims(r.at), {});
    std::map<std::string, std::int64_t> at = x.params;
    at.insert(x.a.begin(), x.a.end());
    refuse("other-value", insn(r.at).at,
           "{} reads {}, which other instances read with the value of `{}`, with another value{}",
           instance_text(insn(r.at).id, dims(r.at), x.a), element_text(reference_.at(r.at), at),
           insn(own_).id, parameters_text(x.params));
  }

  std::string array_;
  Reference reference_;
  const RunOrder& order_ = reference_.order;
  std::vector<int> owner_;  // by statement
  AccessAt own_;
  std::vector<AccessAt> others_, reads_;
  std::vector<Map> until_;  // from the statement to the others that write, and then to itself
  std::vector<Read> found_;
  Set elements_;
};

class Change {
 public:
  Change(const Kernel& k, const std::string& id, const std::string& name)
      : k_(rebase(infer_shapes(infer_types(k)))), id_(id), name_(name) {
    const auto at = std::find_if(k_.instructions.begin(), k_.instructions.end(),
                                 [&](const InsnPtr& i) { return i->id == id; });
    ensure(at != k_.instructions.end(), "the instruction is there");
    own_ = static_cast<std::size_t>(at - k_.instructions.begin());
    const Instruction& insn = **at;
    const Load* l = insn.lhs.size() == 1 ? insn.lhs[0].as<Load>() : nullptr;
    if (insn.kind != InsnKind::Assign || !l || insn.atomic != Atomicity::None)
      refuse("no-definition", insn.at, "`{}` is not a plain assignment to elements of an array",
             id);
    array_ = l->array;
  }

  Kernel run() {
    Kernel out = k_;
    add_temporary(out);
    std::optional<ValuesOf> values;
    within_budget(k_.at, "which reads find the values", [&] {
      values.emplace(k_, id_, array_);
      values->find();
    });
    const std::string rule = add_rule(out, *values);
    std::map<int, std::set<std::string>> readers;  // subscripts of the reads, by instruction
    for (const ValuesOf::Read& r : values->found())
      readers[r.owner].insert(to_string(values->access(r).index));
    for (std::size_t i = 0; i < out.instructions.size(); ++i) {
      const auto it = readers.find(static_cast<int>(i));
      if (it == readers.end() && i != own_) continue;
      out.instructions[i] = edit(out.instructions[i], [&](Instruction& insn) {
        if (it != readers.end()) read_from(insn, it->second, rule);
        if (i == own_) {
          const Load& l = *insn.lhs[0].as<Load>();
          insn.lhs[0] = load(name_, l.index, insn.lhs[0].at());
        }
      });
    }
    return proved(rebase(std::move(out)));
  }

 private:
  void add_temporary(Kernel& out) {
    require_new_name(k_, name_);
    require_not_passed(k_, array_);
    require_no_flat_subscripts(k_, array_);
    Temporary t;
    t.name = name_;
    if (const Argument* a = k_.find_arg(array_)) {
      t.type = a->type, t.shape = a->shape, t.order = a->order;
    } else {
      const Temporary& old = *k_.find_temporary(array_);
      require_plain_elements(k_, old, "its values are not separated");
      t.type = old.type, t.shape = old.shape, t.order = old.order, t.space = old.space;
    }
    if (t.type && t.type->is_record())
      refuse("unsupported", k_.at, "`{}` has records; their values are not separated", array_);
    out.temporaries.emplace(name_, std::move(t));
  }

  /// The rule for an element's value after the instruction; empty where every read finds one of
  /// its values.
  std::string add_rule(Kernel& out, const ValuesOf& values) const {
    if (std::all_of(values.found().begin(), values.found().end(), ValuesOf::always)) return {};
    Rule r;
    r.name = k_.fresh_name("value_of_" + name_);
    Exprs index;
    Set where = values.elements();
    where = coalesce(isl_set_gist_params(where.copy(), isl_set_params(where.copy())));
    for (int d = 0; d < count(isl_set_dim(where.get(), isl_dim_set)); ++d) {
      std::string x = fmt::format("x{}", d);
      while (k_.has_iname(x) || k_.find_arg(x) || k_.find_temporary(x)) x += "_";
      where = isl_set_set_dim_name(where.take(), isl_dim_set, unsigned(d), x.c_str());
      index.push_back(var(x));
      r.params.push_back(std::move(x));
    }
    r.body = Expr(Select{from_set(where), load(name_, index), load(array_, index)});
    out.rules.push_back(r);
    return r.name;
  }

  /// Lets reads with such subscripts find the values.
  void read_from(Instruction& insn, const std::set<std::string>& reads,
                 const std::string& rule) const {
    const auto replaced = [&](const Expr& x) {
      const auto* l = x.as<Load>();
      if (!l || l->array != array_ || !reads.contains(to_string(l->index))) return x;
      if (rule.empty()) return load(name_, l->index, x.at());
      return Expr(Call{rule, l->index, {}}, x.at());
    };
    const auto change = [&](const Expr& e) {
      if (!e) return e;
      const Expr whole = expand_rules(k_, e);
      const Expr now = rewrite(whole, replaced);
      return now.same_as(whole) ? e : now;
    };
    insn.rhs = change(insn.rhs);
    for (Expr& p : insn.predicates) p = change(p);
    for (Expr& l : insn.lhs) {
      const auto* element = l.as<Load>();
      if (!element) continue;
      Exprs index;
      for (const Expr& i : element->index) index.push_back(change(i));
      l = load(element->array, std::move(index), l.at());
    }
  }

  const Kernel k_;
  const std::string &id_, &name_;
  std::string array_;
  std::size_t own_ = 0;
};

}  // namespace

Kernel separate_values(const Kernel& k, const std::string& insn_id, const std::string& name) {
  require_insn(k, insn_id);
  return Change(k, insn_id, name).run();
}

extern const Op separate_values_op;
const Op separate_values_op{
    .name = "separate_values",
    .doc =
        R"(Gives the values that one instruction writes to an array a temporary of their own.

Reads that find these values read the temporary. Where some of their elements hold other values, as
those at the borders of a domain, a rule `value_of_<name>` chooses. So the steps of a time loop no
longer overwrite what others read: assignment_to_subst and precompute may then compute several of them
in one pass over memory.

Refuses an instruction that is not a plain assignment to elements of an array, values that nothing
reads, values that are in the array when the kernel ends, an element that is read with one of these
values here and with another one there, and subscripts and conditions that depend on data.)",
    .params = {{.name = "insn_id",
                .kind = Kind::Str,
                .help = "the instruction",
                .required = true,
                .positional = true},
               {.name = "temporary_name",
                .kind = Kind::Str,
                .help = "the new temporary",
                .required = true,
                .positional = true}},
    .example_kernel =
        R"(kernel three(n: int32, a: float64[n], b: inout float64[n], c: inout float64[n])
domain {[i]: 1 <= i < n - 1}
domain {[j]: 1 <= j < n - 1}
domain {[k]: 1 <= k < n - 1}
b[i] = 2*a[i]            {id=first}
c[j] = b[j - 1] + b[j]   {id=second, dep=first}
b[k] = c[k]              {id=third, dep=second}
)",
    .example = R"(knl = lp.separate_values(knl, "first", "doubled")
knl = lp.assignment_to_subst(knl, "doubled"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return separate_values(k, a.str("insn_id"), a.str("temporary_name"));
        },
    .query = {},
};

}  // namespace moonloop
