#include "core/order/shared_storage.h"

#include <algorithm>
#include <optional>

#include "core/model/layout.h"
#include "core/order/order.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "core/order/tree.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

using Groups = std::map<std::string, std::vector<const Temporary*>>;

Groups groups_of(const Kernel& k) {
  Groups out;
  for (const auto& [name, t] : k.temporaries)
    if (!t.base_storage.empty()) out[t.base_storage].push_back(&t);
  std::erase_if(out, [](const auto& g) { return g.second.size() < 2; });
  return out;
}

/// From the first element to the last one; nothing where that is not constant.
std::optional<std::int64_t> constant_elements(const Temporary& t) {
  std::int64_t last = 0;
  const Exprs& shape = *t.shape;
  const Exprs strides = strides_of(shape, t.order, t.strides);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto n = as_int(shape[i]), step = as_int(strides[i]);
    if (!n || !step) return std::nullopt;
    last += (*n - 1) * *step;
  }
  return last + 1;
}

std::int64_t elements_of(const Temporary& t) {
  const auto n = constant_elements(t);
  if (!n)
    refuse("bad-base", t.at, "`{}` names the base `{}`, but its size is not constant", t.name,
           t.base_storage);
  return *n;
}

void check_alike(const Temporary& first, const Temporary& t) {
  if (t.shape->empty())
    refuse("bad-base", t.at, "the scalar `{}` names the base `{}`; only arrays share memory",
           t.name, t.base_storage);
  if (t.initializer)
    refuse("bad-base", t.at, "`{}` has initial values and names the base `{}`", t.name,
           t.base_storage);
  if (!(*first.type == *t.type) || first.space != t.space)
    refuse("bad-base", t.at, "`{}` and `{}` name the base `{}`, but differ in {}", first.name,
           t.name, t.base_storage, first.space == t.space ? "type" : "the memory they lie in");
}

/// Whether values stay where temporaries share memory and everything runs in sequence.
class Lifetimes {
 public:
  explicit Lifetimes(const Kernel& k) : reference_(nest(k)) {
    for (int s = 0; s < order_.size(); ++s)
      for (const Access& a : reference_.accesses[std::size_t(s)])
        all_[a.variable].push_back({s, a});
  }

  /// Refuses that `other` is written while a value of `kept` is still needed.
  void check(const std::string& kept, const std::string& other) {
    if (are_apart(kept, other)) return;
    for (const At& r : all_[kept])
      for (const At& w : all_[kept])
        if (!r.access.write && w.access.write) check(w, r, other);
  }

  /// Whether it is an array of constant size that a group's work-items share, and used.
  bool is_of_group(const Temporary& t) {
    const bool array = t.shape && !t.shape->empty() && t.type;
    if (!array || t.initializer || t.read_only || !t.base_storage.empty()) return false;
    if (t.space != AddressSpace::Local && t.space != AddressSpace::Auto) return false;
    return constant_elements(t) && !all_[t.name].empty() && !reference_.own().per_item(t.name);
  }

  /// Whether the same groups use first one, then the other, each for values of its own. With
  /// `in_loops` also by turns in a loop.
  bool by_turns(const std::string& a, const std::string& b, bool in_loops) {
    const auto next = neighbours(a, b);
    if (!next || !are_apart(a, b) || !are_apart(b, a)) return false;
    const std::size_t common = order_.common_loops(next->first, next->second);
    const auto groups_in = [&](int s, std::size_t to) {
      const std::vector<std::string>& loops = order_.loops(s);
      return std::count_if(loops.begin(), loops.begin() + long(to), [&](const std::string& l) {
        const InameTag* tag = kernel().tag(l);
        return tag && tag->kind == TagKind::Group;
      });
    };
    const auto shared = groups_in(next->first, common);
    for (const int s : {next->first, next->second})
      if (groups_in(s, order_.loops(s).size()) != shared) return false;
    if (shared == 0 && may_have_kernels()) return false;
    return in_loops || shared == static_cast<long>(common);
  }

 private:
  struct At {
    int statement;
    Access access;
  };

  /// Whether code for a device may be several kernels although no loop over groups is around.
  bool may_have_kernels() const {
    const Kernel& k = kernel();
    return std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                       [](const auto& t) { return t.second.kind == TagKind::Group; }) ||
           std::any_of(k.instructions.begin(), k.instructions.end(),
                       [](const InsnPtr& i) { return i->kind == InsnKind::Barrier; });
  }

  /// Where all accesses of one are before all of the other, loops read as one iteration: the
  /// statement of `kept` and that of `other` which are next to one another. They are in all loops
  /// that have both in them.
  std::optional<std::pair<int, int>> neighbours(const std::string& kept, const std::string& other) {
    const auto ends = [&](const std::vector<At>& all) {
      const auto [first, last] =
          std::minmax_element(all.begin(), all.end(), [&](const At& a, const At& b) {
            return order_.position(a.statement) < order_.position(b.statement);
          });
      return std::pair(first->statement, last->statement);
    };
    const auto [first, last] = ends(all_[kept]);
    const auto [other_first, other_last] = ends(all_[other]);
    if (order_.first(other_last, first)) return std::pair(first, other_last);
    if (order_.first(last, other_first)) return std::pair(last, other_first);
    return std::nullopt;
  }

  /// Whether, in each iteration of the loops that have both in them, values of `kept` begin and end
  /// before the first write to `other` or after the last one.
  bool are_apart(const std::string& kept, const std::string& other) {
    if (all_[kept].empty() || all_[other].empty()) return true;
    const auto next = neighbours(kept, other);
    if (!next) return false;
    const std::size_t common = order_.common_loops(next->first, next->second);
    if (common == 0) return true;
    const std::vector<std::string>& loops = order_.loops(next->first);
    try {
      const std::vector<std::string>& own = reference_.private_to(kept);
      return own.size() >= common && std::equal(loops.begin(), loops.begin() + long(common),
                                                own.begin(), own.begin() + long(common));
    } catch (const IslQuota&) { return false; }  // asked element by element
  }

  const Kernel& kernel() const { return order_.kernel(); }
  Map before(int a, int b) const { return order_.before(a, b, is_never_parallel); }

  /// { a -> b : both touch one element, a runs before b }.
  ApproximateMap conflicts(const At& a, const At& b) const {
    ApproximateMap m = conflict_map(kernel(), reference_.variables, a.access,
                                    order_.dims(a.statement), b.access, order_.dims(b.statement));
    m.all = isl_map_intersect(m.all.take(), before(a.statement, b.statement).take());
    m.intersect_domain(order_.domain(a.statement));
    m.intersect_range(order_.domain(b.statement));
    return m;
  }

  /// Instances of one statement in one iteration of its loops, for different work-items too.
  Map together(int s) const {
    Map m = universal_map(order_.dims(s), order_.dims(s));
    for (std::size_t i = 0; i < order_.loops(s).size(); ++i) m = equate(std::move(m), i, i);
    return m;
  }

  void check(const At& w, const At& r, const std::string& other) {
    const std::string &written = w.access.field, &read = r.access.field;
    if (!covers_field(written, read) && !covers_field(read, written)) return;
    const std::string& part = written.size() > read.size() ? written : read;
    Map flow = conflicts(w, r).all;  // r reads what w wrote, unless another write came between
    for (const At& later : all_[w.access.variable]) {
      if (!later.access.write || !covers_field(later.access.field, part)) continue;
      const ApproximateMap over = conflicts(w, later), then = conflicts(later, r);
      if (over.exact && then.exact)
        flow = isl_map_subtract(flow.take(), isl_map_apply_range(over.all.copy(), then.all.copy()));
    }
    if (yes(isl_map_is_empty(flow.get()))) return;
    for (const At& x : all_[other]) {
      if (!x.access.write) continue;
      const int s = x.statement;
      Map after = before(w.statement, s), ahead = before(s, r.statement);
      if (s == w.statement) after = isl_map_union(after.take(), together(s).take());
      if (s == r.statement && !order_.items(s).empty())
        ahead = isl_map_union(ahead.take(), together(s).take());
      Map bad = isl_map_apply_range(isl_map_reverse(after.copy()), flow.copy());  // { x -> r }
      bad = isl_map_intersect(bad.take(), ahead.copy());
      bad = isl_map_intersect_domain(bad.take(), order_.domain(s).all.take());
      if (yes(isl_map_is_empty(bad.get()))) continue;
      const Witness found = witness(bad, order_.dims(s), order_.dims(r.statement));
      const Instruction &writer = order_.insn(s), &reader = order_.insn(r.statement);
      refuse("shares-memory", writer.at,
             "{} writes `{}` over `{}`, with which it shares memory and whose value from `{}` {} "
             "still reads{}",
             instance_text(writer.id, order_.dims(s), found.a), other, w.access.variable,
             order_.insn(w.statement).id,
             instance_text(reader.id, order_.dims(r.statement), found.b),
             parameters_text(found.params));
    }
  }

  Reference reference_;
  const RunOrder& order_ = reference_.order;
  std::map<std::string, std::vector<At>> all_;
};

}  // namespace

bool shares_storage(const Kernel& k) {
  std::set<std::string_view> bases;
  return std::any_of(k.temporaries.begin(), k.temporaries.end(), [&](const auto& t) {
    return !t.second.base_storage.empty() && !bases.insert(t.second.base_storage).second;
  });
}

std::vector<std::vector<std::string>> used_by_turns(const Kernel& k, bool in_loops) {
  Lifetimes lifetimes(k);
  std::vector<const Temporary*> all;
  for (const auto& [name, t] : k.temporaries)
    if (lifetimes.is_of_group(t)) all.push_back(&t);
  std::stable_sort(all.begin(), all.end(), [](const Temporary* a, const Temporary* b) {
    return *constant_elements(*a) > *constant_elements(*b);
  });
  std::vector<std::vector<const Temporary*>> groups;
  for (const Temporary* t : all) {
    const auto fits = [&](const std::vector<const Temporary*>& group) {
      return std::all_of(group.begin(), group.end(), [&](const Temporary* o) {
        return *o->type == *t->type && o->space == t->space &&
               lifetimes.by_turns(o->name, t->name, in_loops);
      });
    };
    const auto at = std::find_if(groups.begin(), groups.end(), fits);
    if (at == groups.end())
      groups.push_back({t});
    else
      at->push_back(t);
  }
  std::vector<std::vector<std::string>> out;
  for (const auto& group : groups) {
    if (group.size() < 2) continue;
    out.emplace_back();
    for (const Temporary* t : group) out.back().push_back(t->name);
  }
  return out;
}

Kernel merge_shared_storage(const Kernel& k) {
  const Groups groups = groups_of(k);
  if (groups.empty()) return k;
  std::map<std::string, const Temporary*> shared;  // by name
  for (const auto& [base, all] : groups)
    for (const Temporary* t : all) {
      check_alike(*all.front(), *t);
      shared.emplace(t->name, t);
    }
  Lifetimes lifetimes(k);
  for (const auto& [base, all] : groups)
    for (const Temporary* a : all)
      for (const Temporary* b : all)
        if (a != b) lifetimes.check(a->name, b->name);

  Kernel out = map_expressions(*WithoutRules(k), [&](const Instruction& insn, const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      if (v && shared.count(v->name))
        refuse("unsupported", x.at() ? x.at() : insn.at,
               "instruction `{}` uses `{}`, which shares memory, as a whole", insn.id, v->name);
      const auto* l = x.as<Load>();
      const auto t = shared.find(l ? l->array : "");
      if (t == shared.end()) return x;
      if (l->linear) return load(t->second->base_storage, l->index, x.at());
      const Exprs strides = strides_of(*t->second->shape, t->second->order, t->second->strides);
      Expr at = lit(0);
      for (std::size_t i = 0; i < l->index.size(); ++i)
        at = index_add({at, index_mul(strides[i], l->index[i])});
      return load(t->second->base_storage, {at}, x.at());
    });
  });
  for (const auto& [base, all] : groups) {
    Temporary one = *all.front();
    std::int64_t most = 0;
    for (const Temporary* t : all) {
      most = std::max(most, elements_of(*t));
      out.temporaries.erase(t->name);
    }
    one.name = base;
    one.base_storage.clear();
    one.order = Order::C;
    one.strides.reset();
    one.shape = Exprs{lit(most)};
    out.temporaries.emplace(base, std::move(one));
  }
  out = rebase(std::move(out));
  check_legal(out);
  return out;
}

}  // namespace moonloop
