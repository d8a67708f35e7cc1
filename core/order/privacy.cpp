#include <algorithm>

#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/flat_subscripts.h"
#include "core/model/memo.h"
#include "core/order/first_write.h"
#include "core/order/order_reference.h"
#include "core/order/plain_flow.h"
#include "core/order/reads_of.h"
#include "core/sets/budget.h"
#include "core/sets/witness.h"

/// Which iterations of the reference keep a temporary to themselves: those in which each read finds
/// what was written in the same one.
namespace moonloop {
namespace {

/// The instances of a statement, also where data decides whether they run: the temporaries in the
/// bounds of its loops stay parameters, and each condition that isl does not see becomes a
/// parameter that is 1 where it holds. That compares two statements for which these have the same
/// values: no statement changes them between the two.
class DataDependent {
 public:
  /// `same`: inames that have one value in all instances that are compared; the first `loops` of
  /// them are the loops around these.
  DataDependent(const Reference& r, const std::vector<std::string>& same, std::size_t loops)
      : r_(r), same_(same.begin(), same.end()), loops_(loops) {}

  /// Not exact where something was left out: it is not the same at `s` and at `anchor`.
  ApproximateSet instances(int s, int anchor) const {
    ApproximateSet out = in_bounds(s, anchor);
    for (const Expr& p : conditions(s)) {
      const std::optional<Set> holds = condition(p, s, anchor);
      if (holds)
        out.all = isl_set_intersect(out.all.take(), holds->copy());
      else
        out.exact = false;
    }
    return out;
  }

  /// Those of `pairs`, { instances of `s` -> instances of `anchor` that run }, in which `s` runs
  /// too. A condition of `s` that isl does not see holds as well where one of `anchor` is the same
  /// function of the same numbers: `d[i] > 0` for equal `i`.
  ApproximateMap running(Map pairs, int s, int anchor) const {
    ApproximateMap out{std::move(pairs)};
    out.intersect_domain(in_bounds(s, anchor));
    for (const Expr& p : conditions(s)) {
      if (const std::optional<Set> holds = condition(p, s, anchor))
        out.all = isl_map_intersect_domain(out.all.take(), holds->copy());
      else if (const std::optional<Map> with = implied(p, s, anchor))
        out.all = isl_map_intersect(out.all.take(), with->copy());
      else
        out.exact = false;
    }
    return out;
  }

  /// Those of the instances `all` of `s` that do read: in an arm of a choice only where it is
  /// taken.
  Set reading(const Access& read, int s, Set all) const {
    const Instruction& insn = r_.order.insn(s);
    std::set<std::string> elsewhere;
    for (const Expr& p : insn.predicates) collect_reads(p, elsewhere);
    for (const Expr& l : insn.lhs)
      for_each_child(l, [&](const Expr& i) { collect_reads(i, elsewhere); });
    for (const std::string& p : param_names(all)) elsewhere.insert(p);
    if (!insn.rhs || !insn.rhs.holds<Select>() || elsewhere.count(read.variable)) return all;
    Set out = isl_set_empty(isl_set_get_space(all.get()));
    add_reading(insn.rhs, read, s, all, out);
    return out;
  }

  /// Whether the same subscripts mean the same element in both.
  bool same_element(const Access& x, int s, const Access& y, int t) const {
    if (x.index.size() != y.index.size()) return false;
    for (std::size_t i = 0; i < x.index.size(); ++i)
      if (!equal(x.index[i], y.index[i]) || !is_same(x.index[i], s, t)) return false;
    return true;
  }

  /// All that the answers for `s` depend on.
  const CoverKey::Instances& key(int s, int anchor) const {
    const auto [it, fresh] = keys_.try_emplace({s, anchor});
    if (fresh) it->second = find_key(s, anchor);
    return it->second;
  }

 private:
  /// Adds to `out` where `e`, which is evaluated at `when`, reads.
  void add_reading(const Expr& e, const Access& read, int s, const Set& when, Set& out) const {
    if (!has_read(e, read)) return;  // isl need not be asked
    const auto* choice = e.as<Select>();
    const std::optional<Set> holds = choice ? condition(choice->cond, s, s) : std::nullopt;
    if (is_read(e, read)) out = isl_set_union(out.take(), when.copy());
    if (!holds)
      return for_each_child(e, [&](const Expr& x) { add_reading(x, read, s, when, out); });
    add_reading(choice->cond, read, s, when, out);
    if (has_read(choice->yes, read))
      add_reading(choice->yes, read, s, isl_set_intersect(when.copy(), holds->copy()), out);
    if (has_read(choice->no, read))
      add_reading(choice->no, read, s, isl_set_subtract(when.copy(), holds->copy()), out);
  }
  /// All of which hold where `s` runs; none is a conjunction.
  Exprs conditions(int s) const {
    const Expr all = conjunction(r_.order.insn(s).predicates);
    const auto* n = all.as<Nary>();
    return n && n->op == NaryOp::And ? n->terms : Exprs{all};
  }

  /// The values of inames and parameters in the bounds of `s` that are the same at `anchor`.
  ApproximateSet in_bounds(int s, int anchor) const {
    const RunOrder& o = r_.order;
    ApproximateSet out{domain_of(o.kernel(), o.dims(s))};
    std::vector<std::string> changing;
    for (const std::string& p : param_names(out.all))
      if (o.kernel().find_temporary(p) && !is_steady(p, s, anchor)) changing.push_back(p);
    if (!changing.empty()) out = {drop_params(std::move(out.all), changing), false};
    return out;
  }

  /// An expression as a function of numbers that isl knows.
  struct Function {
    Expr body;  // with a `?` for each of
    Exprs arguments;
  };
  Expr body_of(const Expr& e, const std::vector<std::string>& dims, Exprs& arguments) const {
    bool fixed = true;
    walk(e, [&](const Expr& x) {
      if (const Var* v = x.as<Var>(); v && r_.variables.has(v->name)) fixed = false;
      if (x.as<Load>() || x.as<Slice>()) fixed = false;
      return fixed;
    });
    if (!fixed || !to_affine(e, dims))
      return map_children(e, [&](const Expr& x) { return body_of(x, dims, arguments); });
    arguments.push_back(e);
    return var("?");
  }

  /// { instances of `s` -> those of `anchor` } where `p` has the value of a condition of `anchor`;
  /// nothing where none is known to be like it.
  std::optional<Map> implied(const Expr& p, int s, int anchor) const {
    const RunOrder& o = r_.order;
    Function mine;
    mine.body = body_of(p, o.dims(s), mine.arguments);
    if (!is_same(mine.body, s, anchor)) return std::nullopt;
    const std::optional<Map> to = to_map(mine.arguments, o.dims(s));
    std::optional<Map> out;
    for (const Expr& q : conditions(anchor)) {
      Function other;
      other.body = body_of(q, o.dims(anchor), other.arguments);
      if (!to || !equal(mine.body, other.body)) continue;
      const std::optional<Map> from = to_map(other.arguments, o.dims(anchor));
      if (!from) continue;
      Map pairs = isl_map_apply_range(to->copy(), isl_map_reverse(from->copy()));
      out = out ? Map(isl_map_union(out->take(), pairs.take())) : std::move(pairs);
    }
    return out;
  }

  CoverKey::Instances find_key(int s, int anchor) const {
    const RunOrder& o = r_.order;
    const Set d = domain_of(o.kernel(), o.dims(s));
    CoverKey::Instances key{memo().hold(d), keys_of(o.insn(s).predicates), {}, {}};
    const std::vector<std::string> computed = computed_params(o.kernel(), d);
    std::set<std::string> names(computed.begin(), computed.end());
    for (const Expr& p : o.insn(s).predicates) {
      key.affine.push_back(to_condition(o.kernel(), p, o.dims(s)).has_value());
      collect_reads(p, names);
    }
    for (const std::string& n : names)
      if (r_.variables.has(n)) key.reads.emplace_back(n, is_steady(n, s, anchor));
    return key;
  }

  std::optional<Set> condition(const Expr& p, int s, int anchor) const {
    const std::vector<std::string>& dims = r_.order.dims(s);
    if (auto known = to_condition(r_.order.kernel(), p, dims)) return known;
    const auto inner = [&](const Expr& e) { return condition(e, s, anchor); };
    if (const auto* n = p.as<Unary>(); n && n->op == UnaryOp::Not) {
      auto holds = inner(n->arg);
      if (!holds) return std::nullopt;
      return Set(isl_set_complement(holds->take()));
    }
    if (const auto* n = p.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or)) {
      std::optional<Set> all;
      for (const Expr& t : n->terms) {
        auto one = inner(t);
        if (!one) return std::nullopt;
        if (!all)
          all = std::move(one);
        else if (n->op == NaryOp::And)
          all = Set(isl_set_intersect(all->take(), one->take()));
        else
          all = Set(isl_set_union(all->take(), one->take()));
      }
      return all;
    }
    if (const auto* c = p.as<Compare>(); c && c->op == CompareOp::Ne) {
      auto holds = inner(Expr(Compare{CompareOp::Eq, c->left, c->right}, p.at()));
      if (!holds) return std::nullopt;
      return Set(isl_set_complement(holds->take()));  // for NaNs as well
    }
    if (!is_same(p, s, anchor)) return std::nullopt;
    Set all = universe(dims);
    const unsigned at = static_cast<unsigned>(isl_set_dim(all.get(), isl_dim_param));
    all = isl_set_add_dims(all.take(), isl_dim_param, 1);
    all = isl_set_set_dim_name(all.take(), isl_dim_param, at, name_of(p).c_str());
    return Set(isl_set_fix_si(all.take(), isl_dim_param, at, 1));
  }

  /// The parameter that stands for a condition of the inames `same_`. Conditions that are the same
  /// function of the same numbers have one: `d[n] > 0` and `d[8] > 0` where `n` is 8.
  const std::string& name_of(const Expr& p) const {
    const auto [it, fresh] = names_.try_emplace(to_string(p), "if " + to_string(p));
    if (!fresh) return it->second;
    const std::vector<std::string> dims(same_.begin(), same_.end());
    Function f;
    f.body = body_of(p, dims, f.arguments);
    std::optional<Map> values = to_map(f.arguments, dims);
    if (!values) return it->second;
    values = isl_map_intersect_params(values->take(), context_of(r_.order.kernel()).take());
    for (const Condition& c : conditions_)
      if (equal(c.body, f.body) && yes(isl_map_is_equal(c.arguments.get(), values->get())))
        return it->second = c.name;
    conditions_.push_back({std::move(f.body), std::move(*values), it->second});
    return it->second;
  }

  /// Whether `e` has one value at the instances of `s` and of `anchor`.
  bool is_same(const Expr& e, int s, int anchor) const {
    const Kernel& k = r_.order.kernel();
    bool same = true;
    walk(e, [&](const Expr& x) {
      if (x.as<Reduce>() || x.as<Slice>() || x.as<SubArray>()) same = false;
      if (const auto* c = x.as<Call>())
        same = same && !k.externals.count(c->name) && !k.find_rule(c->name);
      if (const auto* v = x.as<Var>())
        same = same &&
               (k.has_iname(v->name) ? same_.count(v->name) > 0 : is_steady(v->name, s, anchor));
      if (const auto* l = x.as<Load>()) same = same && is_steady(l->array, s, anchor);
      return same;
    });
    return same;
  }

  /// No statement writes `name` between instances of the two in one iteration of the loops: writers
  /// are outside of these, or directly in them before or after both.
  bool is_steady(const std::string& name, int s, int anchor) const {
    const auto it = r_.by_variable().find(name);
    if (it == r_.by_variable().end()) return true;
    const RunOrder& o = r_.order;
    const int from = std::min(o.position(s), o.position(anchor)),
              to = std::max(o.position(s), o.position(anchor));
    return std::all_of(it->second.begin(), it->second.end(), [&](const AccessAt& a) {
      if (!r_.at(a).write) return true;
      const std::size_t with_s = o.common_loops(a.insn, s),
                        with_anchor = o.common_loops(a.insn, anchor);
      if (with_s < loops_) return true;
      const int at = o.position(a.insn);
      return with_s == loops_ && with_anchor == loops_ && (at < from || at > to);
    });
  }

  const Reference& r_;
  std::set<std::string> same_;
  std::size_t loops_;
  mutable std::map<std::pair<int, int>, CoverKey::Instances> keys_;
  /// A condition as a function of { same_ -> arguments }.
  struct Condition {
    Expr body;
    Map arguments;
    std::string name;
  };
  mutable std::vector<Condition> conditions_;
  mutable std::map<std::string, std::string> names_;  // of conditions, by text
};

/// Unknown integers, such as elements of an array that subscripts are computed from. Equal
/// expressions share one of them.
class Unknowns {
 public:
  Unknowns(const std::vector<std::string>& dims, const Variables& variables)
      : dims_(dims), variables_(variables) {}

  /// `e` where sums, products with constants, quotients and remainders by constants stay, and all
  /// else that is not affine is unknown. Arithmetic wraps round: sums and products stay where they
  /// are small, being made of remainders.
  Expr abstracted(const Expr& e) {
    if (is_affine(e)) return e;
    if (const auto* b = e.as<Binary>(); b && divides(*b))
      return Expr(Binary{b->op, abstracted(b->left), b->right});
    if (const auto* n = e.as<Nary>(); n && is_small(e)) {
      Exprs terms;
      for (const Expr& t : n->terms) terms.push_back(abstracted(t));
      return Expr(Nary{n->op, std::move(terms)});
    }
    const auto [it, fresh] = names_.try_emplace(to_string(e), "");
    if (fresh) it->second = fmt::format("unknown{}", names_.size());
    return var(it->second);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [text, name] : names_) out.push_back(name);
    return out;
  }

 private:
  bool is_affine(const Expr& e) const {
    bool fixed = true;
    walk(e, [&](const Expr& x) {
      if (const Var* v = x.as<Var>(); v && variables_.has(v->name)) fixed = false;
      if (x.as<Load>() || x.as<Slice>()) fixed = false;
      return fixed;
    });
    return fixed && to_affine(e, dims_);
  }
  static bool divides(const Binary& b) {
    const auto by = as_int(b.right);
    return (b.op == BinaryOp::Mod || b.op == BinaryOp::FloorDiv) && by && *by > 0;
  }
  /// No greater than a few remainders.
  bool is_small(const Expr& e) const {
    if (const auto* b = e.as<Binary>())
      return divides(*b) && (b->op == BinaryOp::Mod || is_small(b->left));
    const auto* n = e.as<Nary>();
    if (!n) return as_int(e).has_value();
    if (n->op == NaryOp::Add)
      return std::all_of(n->terms.begin(), n->terms.end(),
                         [&](const Expr& t) { return is_small(t) || is_affine(t); });
    const auto constant = [](const Expr& t) { return as_int(t).has_value(); };
    return n->op == NaryOp::Mul && n->terms.size() == 2 &&
           std::any_of(n->terms.begin(), n->terms.end(), constant) &&
           std::all_of(n->terms.begin(), n->terms.end(),
                       [&](const Expr& t) { return is_small(t); });
  }

  const std::vector<std::string>& dims_;
  const Variables& variables_;
  std::map<std::string, std::string> names_;  // by text
};

/// Finds the iterations that keep a temporary, or the accesses `all` to it, to themselves. These
/// follow each other: no other access to it is between two of them in one iteration of the loops
/// around all.
class Privacy {
 public:
  Privacy(const Reference& r, const std::vector<AccessAt>& all, unsigned long operations)
      : r_(r), all_(all), operations_(operations) {
    const std::string& name = r.at(all[0]).variable;
    const Temporary& t = *r.order.kernel().find_temporary(name);
    loops_ = r.order.loops(all[0].insn);
    items_ = r.order.items(all[0].insn);
    std::erase_if(items_, [&](const std::string& i) { return !r.own().has(name, i); });
    for (const AccessAt& a : all) {
      loops_.resize(std::min(loops_.size(), r.order.common_loops(all[0].insn, a.insn)));
      std::erase_if(items_, [&](const std::string& i) {
        const auto& has = r.order.items(a.insn);
        return !std::binary_search(has.begin(), has.end(), i);
      });
    }
    if (t.space == AddressSpace::Global || t.initializer) loops_.clear(), divisible_ = false;
    if (t.initializer) items_.clear();
    find_numbered();
    const auto elsewhere = [&](const AccessAt& a) {
      return stands_for_elsewhere(r.order.kernel(), r.order.insn(a.insn), name);
    };
    if (!r.order.kernel().externals.empty() && std::any_of(all.begin(), all.end(), elsewhere))
      loops_.clear(), items_.clear(), divisible_ = false;  // there is only one of it
  }

  /// All accesses of the temporary: there are no others to get values from.
  Web whole() {
    if (loops_.empty() && items_.empty()) return Web{{}, {}, parts()};
    const std::vector<std::string> common = loops_;
    if (std::optional<Web> web = find(0)) return std::move(*web);
    loops_ = common;  // what is not seen of all of them may be of each part
    std::vector<Web> inner = parts();
    if (inner.empty()) return Web();
    return with_statements(Web{{}, both(), std::move(inner)});
  }

  /// Nothing where a read may find what another iteration of the outermost `fewest` loops wrote, or
  /// what other accesses wrote.
  std::optional<Web> find(std::size_t fewest) {
    const std::size_t common = loops_.size();
    if (!keeps(fewest)) return std::nullopt;
    Web out{{}, both(), {}};
    if (loops_.size() == common) out.inner = parts();
    return with_statements(std::move(out));
  }

 private:
  /// Accesses to one element are in equal iterations of inames that each of them has as the
  /// subscript of an axis, as those of a team whose members share the array have their numbers.
  void find_numbered() {
    const auto& shape = temporary().shape;
    if (!shape) return;
    const auto is_number = [&](const AccessAt& a, std::size_t axis, const std::string& iname) {
      const Exprs& index = r_.at(a).index;
      const auto* v = index.size() == shape->size() ? index[axis].as<Var>() : nullptr;
      return v && v->name == iname;
    };
    for (const std::string& i : r_.order.items(all_[0].insn)) {
      if (std::find(items_.begin(), items_.end(), i) != items_.end()) continue;
      for (std::size_t axis = 0; axis < shape->size(); ++axis)
        if (std::all_of(all_.begin(), all_.end(),
                        [&](const AccessAt& a) { return is_number(a, axis, i); })) {
          numbered_.push_back(i);
          break;
        }
    }
  }

  Web with_statements(Web web) const {
    for (const AccessAt& a : all_) web.statements.push_back(a.insn);
    std::sort(web.statements.begin(), web.statements.end());
    web.statements.erase(std::unique(web.statements.begin(), web.statements.end()),
                         web.statements.end());
    return web;
  }

  /// Leaves those of the loops, at least `fewest`, whose iterations keep the accesses to
  /// themselves; false: there are none.
  bool keeps(std::size_t fewest) {
    if (begins_with_write()) return true;
    for (;; loops_.pop_back()) {
      if (covered()) return true;
      if (loops_.size() <= fewest) return false;
    }
  }

  /// Accesses that follow each other: in one deeper loop, or between two such with the same
  /// work-items and lanes around them.
  std::vector<std::vector<AccessAt>> groups() const {
    std::vector<std::vector<AccessAt>> out;
    const auto is_deeper = [&](const AccessAt& a) {
      return r_.order.loops(a.insn).size() > loops_.size();
    };
    const auto together = [&](const AccessAt& a, const AccessAt& b) {
      if (is_deeper(a) != is_deeper(b)) return false;
      return is_deeper(a) ? r_.order.common_loops(a.insn, b.insn) > loops_.size()
                          : r_.order.items(a.insn) == r_.order.items(b.insn);
    };
    for (const AccessAt& a : all_) {
      if (out.empty() || !together(out.back().back(), a)) out.emplace_back();
      out.back().push_back(a);
    }
    return out;
  }
  bool begins_with_read(const std::vector<AccessAt>& group) const {
    for (const AccessAt& a : group) {
      if (a.insn != group[0].insn) break;
      if (!r_.at(a).write) return true;
    }
    return false;
  }

  /// The webs that follow each other in one iteration of the common loops, each of one group or
  /// more: a read of an earlier value belongs to the group before. None where there is one.
  std::vector<Web> parts() const {
    if (!divisible_) return {};
    using Group = std::vector<AccessAt>;
    const auto join = [](Group first, const Group& then) {
      first.insert(first.end(), then.begin(), then.end());
      return first;
    };
    std::vector<Group> told;  // only by the first statements
    for (Group& g : groups()) {
      if (told.empty() || !begins_with_read(g))
        told.push_back(std::move(g));
      else
        told.back() = join(std::move(told.back()), g);
    }
    if (told.size() == 1 || begins_with_read(told[0])) return {};
    std::vector<Group> done;
    std::vector<Web> out;
    for (Group& g : told) {
      Group whole = std::move(g);
      std::optional<Web> web;
      while (!(web = Privacy(r_, whole, operations_).find(loops_.size()))) {
        if (done.empty()) return {};
        whole = join(std::move(done.back()), whole);
        done.pop_back(), out.pop_back();
        if (whole.size() == all_.size()) return {};
      }
      done.push_back(std::move(whole)), out.push_back(std::move(*web));
    }
    return out;
  }

  std::vector<std::string> both() const {
    std::vector<std::string> out = loops_;
    out.insert(out.end(), items_.begin(), items_.end());
    return out;
  }

  /// Each of these iterations in which anything happens writes the scalar first.
  bool begins_with_write() const {
    const RunOrder& o = r_.order;
    const int first = all_[0].insn;
    if (o.loops(first).size() != loops_.size() || o.items(first) != items_) return false;
    std::vector<int> uses;  // each once, or more often
    for (const AccessAt& a : all_) uses.push_back(a.insn);
    return moonloop::begins_with_write(o.kernel(), temporary(), r_.variables, uses, [&] {
      const std::span<const int> all = o.by_position();
      auto end = std::size_t(o.position(uses.back())) + 1;  // of the last one's loops
      while (end < all.size() && o.common_loops(uses.back(), all[end]) > loops_.size()) ++end;
      return all.first(end).subspan(std::size_t(o.position(first)));
    });
  }

  bool covered() const {
    std::vector<std::string> same = both();
    same.insert(same.end(), numbered_.begin(), numbered_.end());
    const DataDependent data(r_, same, loops_.size());
    for (const AccessAt& read : all_)
      if (!r_.at(read).write) {
        CoverKey key = cover_key(data, read);
        const auto known = memo().covered.find(key);
        bool covered = known != memo().covered.end() && known->second;
        if (known == memo().covered.end() || memo().compares) {
          const IslBudget budget(operations_);
          const bool now = is_covered(data, read);
          ensure(known == memo().covered.end() || known->second == now,
                 "what is remembered of private temporaries holds");
          covered = now;
          memo().covered.emplace(std::move(key), covered);
        }
        if (!covered) return false;
      }
    return true;
  }

  CoverKey cover_key(const DataDependent& data, const AccessAt& read) const {
    const RunOrder& o = r_.order;
    const bool flat = std::any_of(all_.begin(), all_.end(), [&](const AccessAt& a) {
      return flat_of(r_.at(a).index) != nullptr;
    });
    const auto access = [&](const AccessAt& a) {
      const Access& x = r_.at(a);
      std::set<std::string> names;
      for (const Expr& e : x.index) collect_reads(e, names);
      CoverKey::Access out{.instances = data.key(a.insn, read.insn),
                           .index = keys_of(x.index),
                           .read = {},
                           .field = x.field,
                           .in_memory = {},
                           .same_element = data.same_element(x, a.insn, r_.at(read), read.insn),
                           .common = o.common_loops(a.insn, read.insn),
                           .first = o.first(a.insn, read.insn)};
      for (const std::string& n : names)
        if (r_.variables.has(n)) out.read.push_back(n);
      if (flat)
        if (const auto place = place_in_memory(o.kernel(), x.variable, x.index))
          out.in_memory = ExprKey{*place};
      return out;
    };
    CoverKey key;
    key.loops = loops_;
    key.items = items_;
    key.items.insert(key.items.end(), numbered_.begin(), numbered_.end());
    key.read = access(read);
    if (const Expr& rhs = o.insn(read.insn).rhs; rhs && rhs.holds<Select>())
      key.chosen = ExprKey{rhs};
    for (const AccessAt& a : all_)
      if (r_.at(a).write) key.writes.push_back(access(a));
    if (const auto& shape = temporary().shape) key.shape = keys_of(*shape);
    key.parts = fields(read);
    return key;
  }

  /// The parts of a read's value that have to be written, one by one: each field of a record.
  std::vector<std::string> fields(const AccessAt& read) const {
    const std::string& own = r_.at(read).field;
    const bool by_fields = std::any_of(all_.begin(), all_.end(), [&](const AccessAt& a) {
      return r_.at(a).write && r_.at(a).field.size() > own.size();
    });
    if (!by_fields || !temporary().type) return {own};
    Type type = *temporary().type;
    for (std::size_t at = 0; at < own.size();) {
      const std::size_t end = std::min(own.find('.', at + 1), own.size());
      const Record::Field* f =
          type.is_record() ? type.record->find(own.substr(at + 1, end - at - 1)) : nullptr;
      if (!f) return {own};
      type = Type(f->type);
      at = end;
    }
    std::vector<std::string> out;
    add_leaves(type, own, out);
    return out;
  }
  static void add_leaves(const Type& type, const std::string& path, std::vector<std::string>& out) {
    if (!type.is_record()) {
      out.push_back(path);
      return;
    }
    for (const Record::Field& f : type.record->fields) add_leaves(f.type, path + "." + f.name, out);
  }

  bool is_covered(const DataDependent& data, const AccessAt& read) const {
    const std::vector<std::string> all = fields(read);
    return std::all_of(all.begin(), all.end(),
                       [&](const std::string& f) { return is_covered(data, read, f); });
  }
  bool is_covered(const DataDependent& data, const AccessAt& read, const std::string& field) const {
    const std::optional<bool> plain = is_plainly_covered(read, field);
    if (plain && !memo().compares) return *plain;
    const bool covered = is_covered_by_sets(data, read, field);
    ensure(!plain || *plain == covered, "linear constraints show what private temporaries hold");
    return covered;
  }
  bool is_covered_by_sets(const DataDependent& data, const AccessAt& read,
                          const std::string& field) const {
    const RunOrder& o = r_.order;
    Set left = data.instances(read.insn, read.insn).all;
    left = data.reading(r_.at(read), read.insn, std::move(left));
    std::vector<Map> found;  // { writes -> reads that find what they wrote }
    for (const AccessAt& w : nearest_writes(read, field)) {
      ApproximateMap m{universal_map(o.dims(w.insn), o.dims(read.insn))};
      if (!data.same_element(r_.at(w), w.insn, r_.at(read), read.insn))
        m = conflict_map(o.kernel(), r_.variables, r_.at(w), o.dims(w.insn), r_.at(read),
                         o.dims(read.insn));
      if (!m.exact) continue;
      m = data.running(isl_map_intersect(m.all.take(), ahead(w, read).take()), w.insn, read.insn);
      if (!m.exact) continue;
      left = without_reached(left, m.all);
      if (yes(isl_set_plain_is_empty(left.get()))) return true;
      found.push_back(std::move(m.all));
    }
    for (Map& m : found) {
      left = isl_set_subtract(left.take(), isl_map_range(m.take()));
      if (yes(isl_set_is_empty(left.get()))) return true;
    }
    return yes(isl_set_is_empty(left.get())) || is_filled(data, read, field);
  }

  /// Whether linear constraints show that reads find what their iteration wrote, or one does not.
  std::optional<bool> is_plainly_covered(const AccessAt& read, const std::string& field) const {
    std::vector<std::string> same = both();
    same.insert(same.end(), numbered_.begin(), numbered_.end());
    const Expr& value = r_.order.insn(read.insn).rhs;
    bool all = !value || !value.holds<Select>();  // so that it reads wherever it runs
    std::vector<std::vector<LinearRows>> flows;
    constexpr std::size_t kFew = 8;  // that are all looked at for each read
    const std::vector<AccessAt> writes = nearest_writes(read, field);
    if (writes.size() > kFew) return std::nullopt;
    for (const AccessAt& w : writes) {
      auto pairs =
          plain_flow(r_.order, r_.variables, w.insn, r_.at(w), read.insn, r_.at(read), same);
      all = all && pairs;
      if (pairs) flows.push_back(std::move(*pairs));
    }
    if (all && plainly_misses(r_.order, read.insn, flows)) return false;
    Set left = r_.order.domain(read.insn).all;
    for (const std::vector<LinearRows>& pairs : flows) {
      left = without_reached(left, pairs);
      if (yes(isl_set_plain_is_empty(left.get()))) return true;
    }
    return std::nullopt;
  }

  /// The writes of the field, those before the read first, from the last of them on: it is likely
  /// to be the one that is found, and what is subtracted before it splits sets in vain.
  std::vector<AccessAt> nearest_writes(const AccessAt& read, const std::string& field) const {
    std::vector<AccessAt> out;
    for (const AccessAt& w : all_)
      if (r_.at(w).write && covers_field(r_.at(w).field, field)) out.push_back(w);
    const auto distance = [&](const AccessAt& w) {
      const int before = r_.order.position(read.insn) - r_.order.position(w.insn);
      return before > 0 ? std::pair(0, before) : std::pair(1, -before);
    };
    std::stable_sort(out.begin(), out.end(), [&](const AccessAt& x, const AccessAt& y) {
      return distance(x) < distance(y);
    });
    return out;
  }

  /// { writes -> the reads after them in the same iteration }.
  Map ahead(const AccessAt& w, const AccessAt& read) const {
    const RunOrder& o = r_.order;
    Map m = o.before(w.insn, read.insn, is_never_parallel);
    for (std::size_t i = 0; i < loops_.size(); ++i) m = equate(std::move(m), i, i);
    std::vector<std::string> same = items_;
    same.insert(same.end(), numbered_.begin(), numbered_.end());
    for (const std::string& i : same) {
      const auto at = [&](int s) {
        const auto& d = o.dims(s);
        return std::size_t(std::find(d.begin(), d.end(), i) - d.begin());
      };
      m = equate(std::move(m), at(w.insn), at(read.insn));
    }
    return m;
  }

  /// { instance -> element that an access may touch }, as far as subscripts that are not affine
  /// say.
  Map reached(const AccessAt& a, const std::vector<std::string>& elements) const {
    const Access& access = r_.at(a);
    const auto& dims = r_.order.dims(a.insn);
    if (access.index.size() != elements.size()) return universal_map(dims, elements);
    Unknowns unknowns(dims, r_.variables);
    Exprs index;
    for (const Expr& e : access.index) index.push_back(unknowns.abstracted(e));
    std::vector<std::string> from = dims;
    for (std::string& u : unknowns.names()) from.push_back(std::move(u));
    std::optional<Map> places = to_map(index, from);
    if (!places) return universal_map(dims, elements);
    return isl_map_project_out(places->take(), isl_dim_in, static_cast<unsigned>(dims.size()),
                               static_cast<unsigned>(from.size() - dims.size()));
  }

  const Temporary& temporary() const {
    return *r_.order.kernel().find_temporary(r_.at(all_[0]).variable);
  }

  /// Whether all elements that a read may find, where its subscripts are not affine each one of the
  /// array, were written before it in the same iteration.
  bool is_filled(const DataDependent& data, const AccessAt& read, const std::string& field) const {
    const RunOrder& o = r_.order;
    const auto& shape = temporary().shape;
    if (!shape || shape->empty()) return false;
    std::vector<std::string> elements;
    Exprs numbers, inside;
    for (std::size_t d = 0; d < shape->size(); ++d) {
      elements.push_back("element" + std::to_string(d));
      numbers.push_back(var(elements.back()));
      inside.push_back(Expr(Compare{CompareOp::Le, lit(0), numbers.back()}));
      inside.push_back(Expr(Compare{CompareOp::Lt, numbers.back(), (*shape)[d]}));
    }
    const std::optional<Set> all = to_condition(conjunction(inside), elements);
    if (!all) return false;
    const auto elements_of = [&](const AccessAt& a) -> ApproximateMap {  // { instance -> element }
      const Access& access = r_.at(a);
      const auto& dims = o.dims(a.insn);
      if (access.index.size() != shape->size())
        return {universal_map(dims, elements), false};  // a flat index
      const ElementMap known = element_map(o.kernel(), access, dims, r_.variables);
      Exprs axes;
      for (const int d : known.axes) axes.push_back(numbers[std::size_t(d)]);
      const Map places = *to_map(axes, elements);
      return {isl_map_apply_range(known.map.copy(), isl_map_reverse(places.copy())),
              known.axes.size() == shape->size()};
    };
    auto [left, exact] = elements_of(read);
    if (exact) return false;  // is_covered() has decided
    left = isl_map_intersect(left.take(), reached(read, elements).take());
    left = isl_map_intersect_range(left.take(), all->copy());
    left = isl_map_intersect_domain(left.take(), data.instances(read.insn, read.insn).all.take());
    for (const AccessAt& w : nearest_writes(read, field)) {
      const ApproximateMap written = elements_of(w);
      if (!written.exact) continue;
      const ApproximateMap before = data.running(ahead(w, read), w.insn, read.insn);
      if (!before.exact) continue;
      const Map filled =
          isl_map_apply_range(isl_map_reverse(before.all.copy()), written.all.copy());
      left = isl_map_subtract(left.take(), filled.copy());
      if (yes(isl_map_is_empty(left.get()))) return true;
    }
    return yes(isl_map_is_empty(left.get()));
  }

  const Reference& r_;
  const std::vector<AccessAt>& all_;
  unsigned long operations_;
  std::vector<std::string> loops_, items_;
  std::vector<std::string> numbered_;  // inames of the team, see find_numbered()
  bool divisible_ = true;
};

}  // namespace

const Web& Web::around(int a, int b) const {
  const auto has = [](const Web& w, int s) {
    return std::binary_search(w.statements.begin(), w.statements.end(), s);
  };
  for (const Web& w : inner)
    if (has(w, a)) return has(w, b) ? w.around(a, b) : *this;
  return *this;
}

const Web& Reference::web(const std::string& name, unsigned long operations) const {
  const auto known = webs_.find(name);
  if (known != webs_.end()) return known->second;
  const auto it = by_variable().find(name);
  Web found;
  if (it != by_variable().end() && variables.is_temporary(name))
    found = Privacy(*this, it->second, operations).whole();
  return webs_.emplace(name, std::move(found)).first->second;
}

}  // namespace moonloop
