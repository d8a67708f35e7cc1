#include "core/order/order.h"

#include <algorithm>

#include "core/infer/infer.h"
#include "core/model/external.h"
#include "core/model/flat_subscripts.h"
#include "core/model/parametric_digits.h"
#include "core/order/called_effects.h"
#include "core/order/claimed_subscripts.h"
#include "core/order/conflicts.h"
#include "core/order/counterexample.h"
#include "core/sets/budget.h"

namespace moonloop {

namespace {

void number(const std::vector<TreeNode>& nodes, std::vector<int>& sequence) {
  for (const TreeNode& n : nodes) {
    if (n.is_loop())
      number(n.children, sequence);
    else
      sequence.push_back(n.insn);
  }
}

}  // namespace

std::map<std::string, std::set<std::string>> trusted_loops(const Kernel& k) {
  std::map<std::string, std::set<std::string>> out;
  for (const Claim& c : k.claims) {
    if (c.kind != Claim::Kind::Unsafe) continue;
    for (const std::string& n : c.names) {
      std::set<std::string>& inside = out[n];
      if (const auto it = c.inside.find(n); it != c.inside.end())
        inside.insert(it->second.begin(), it->second.end());
    }
  }
  return out;
}

std::set<std::string> trusted_inames(const Kernel& k) {
  std::set<std::string> out;
  for (const auto& [name, inside] : trusted_loops(k)) out.insert(name);
  return out;
}

RunOrder::RunOrder(Nested nested) : nested_(std::move(nested)) {
  trusted_ = trusted_loops(nested_.kernel);
  const std::size_t n = nested_.kernel.instructions.size();
  position_.resize(n);
  by_id_ = NameIndex(n);
  for (std::size_t s = 0; s < n; ++s)
    by_id_.add(nested_.kernel.instructions[s]->id, static_cast<int>(s));
  sequence_.reserve(n);
  number(nested_.tree.roots, sequence_);
  for (std::size_t p = 0; p < sequence_.size(); ++p)
    position_[std::size_t(sequence_[p])] = static_cast<int>(p);
}

std::size_t RunOrder::common_loops(int a, int b) const {
  // One loop per iname and nest: the same names from the outermost on are the same loops.
  const auto &x = loops(a), &y = loops(b);
  if (&x == &y) return x.size();
  std::size_t n = 0;
  while (n < x.size() && n < y.size() && x[n] == y[n]) ++n;
  return n;
}

std::vector<std::string> RunOrder::common_items(int a, int b) const {
  std::vector<std::string> out;
  std::set_intersection(items(a).begin(), items(a).end(), items(b).begin(), items(b).end(),
                        std::back_inserter(out));
  return out;
}

std::vector<std::string> computed_params(const Kernel& k, const Set& s) {
  std::vector<std::string> out = param_names(s);
  std::erase_if(out, [&](const std::string& p) { return !k.find_temporary(p); });
  return out;
}

ApproximateSet without_computed(const Kernel& k, Set s,
                                const std::function<bool(const std::string&)>& stays) {
  std::vector<std::string> computed = computed_params(k, s);
  if (stays) std::erase_if(computed, stays);
  if (computed.empty()) return {std::move(s)};
  return {drop_params(std::move(s), computed), false};
}

ApproximateSet RunOrder::domain(int s) const {
  const auto known = domains_.find(s);
  if (known != domains_.end()) return known->second;
  return domains_.emplace(s, instances_of(kernel(), insn(s), dims(s))).first->second;
}

Map universal_map(const std::vector<std::string>& in, const std::vector<std::string>& out) {
  Space space = isl_space_alloc(isl(), 0, unsigned(in.size()), unsigned(out.size()));
  for (std::size_t i = 0; i < in.size(); ++i)
    space = isl_space_set_dim_name(space.take(), isl_dim_in, unsigned(i), in[i].c_str());
  for (std::size_t i = 0; i < out.size(); ++i)
    space = isl_space_set_dim_name(space.take(), isl_dim_out, unsigned(i), out[i].c_str());
  return isl_map_universe(space.take());
}

Map equate(Map m, std::size_t in, std::size_t out) {
  // Unlike that of maps, isl's function for one part does not ask whether something is left.
  if (count(isl_map_n_basic_map(m.get())) == 1) {
    const BasicMap only = isl_map_simple_hull(m.take());
    return isl_map_from_basic_map(
        isl_basic_map_equate(only.copy(), isl_dim_in, int(in), isl_dim_out, int(out)));
  }
  return isl_map_equate(m.take(), isl_dim_in, int(in), isl_dim_out, int(out));
}
Map order_lt(Map m, std::size_t in, std::size_t out) {
  return isl_map_order_lt(m.take(), isl_dim_in, int(in), isl_dim_out, int(out));
}

Map RunOrder::before(int a, int b, bool (*unordered)(const InameTag*)) const {
  Map equal_so_far = universal_map(dims(a), dims(b));
  Map all = isl_map_empty(isl_map_get_space(equal_so_far.get()));
  const std::size_t shared = common_loops(a, b);
  for (std::size_t i = 0; i < shared; ++i) {
    if (!unordered(kernel().tag(loops(a)[i])) || trusts(loops(a)[i]))
      all = isl_map_union(all.take(), order_lt(equal_so_far, i, i).take());
    equal_so_far = equate(std::move(equal_so_far), i, i);
  }
  if (!trusted_.empty())
    for (const std::string& i : common_items(a, b)) {
      if (!trusts(i) || !unordered(kernel().tag(i))) continue;
      const auto at = [&](int s) {
        return std::size_t(std::find(dims(s).begin(), dims(s).end(), i) - dims(s).begin());
      };
      Map around = universal_map(dims(a), dims(b));
      for (std::size_t n = 0; n < shared; ++n)
        if (!trusts_in(i, loops(a)[n])) around = equate(std::move(around), n, n);
      const Map same = equate(around, at(a), at(b));
      const Map apart = isl_map_subtract(around.take(), same.copy());
      all = isl_map_union(all.take(), apart.copy());
    }
  if (first(a, b)) all = isl_map_union(all.take(), equal_so_far.take());
  return all;
}

// ---- Accesses -----------------------------------------------------------------------------------

struct Variables::Arrays {
  Shared<std::vector<Argument>> args;  // whose names the index holds
  NameIndex names;
};

/// Most kernels that one thread asks about have the same arguments.
std::shared_ptr<const Variables::Arrays> Variables::arrays_of(const Kernel& k) {
  thread_local std::shared_ptr<const Arrays> latest;
  if (latest && latest->args.same_as(k.args)) return latest;
  auto made = std::make_shared<Arrays>();
  made->args = k.args;
  const std::vector<Argument>& all = made->args;
  made->names = NameIndex(all.size());
  for (const Argument& a : all)
    if (a.is_array) made->names.add(a.name, 0);
  return latest = made;
}

bool Variables::is_array(std::string_view name) const { return arrays_->names.contains(name); }

Variables::Variables(const Kernel& k)
    : arrays_(arrays_of(k)), temporaries_(k.temporaries), calls_(called_kernels(k)) {
  if (k.temporaries.empty()) return;
  for (const Domain& d : k.domains) {
    std::vector<Access> computed;
    for (int p = 0; p < count(isl_set_dim(d.set.get(), isl_dim_param)); ++p) {
      const unsigned at = unsigned(p);
      const char* name = isl_set_get_dim_name(d.set.get(), isl_dim_param, at);
      if (is_temporary(name) && yes(isl_set_involves_dims(d.set.get(), isl_dim_param, at, 1)))
        computed.push_back({name, false, {}, d.at});
    }
    if (computed.empty()) continue;
    for (std::string& iname : d.inames()) bounds_.emplace(std::move(iname), computed);
  }
}

const std::vector<Access>& Variables::bounds_of(const std::string& iname) const {
  static const std::vector<Access> none;
  const auto it = bounds_.find(iname);
  return it == bounds_.end() ? none : it->second;
}

bool covers_field(const std::string& field, const std::string& part) {
  return part == field || part.starts_with(field + ".") || field.empty();
}

namespace {

Expr base_of_field(Expr e) {
  while (const Field* f = e.as<Field>()) e = Expr(f->base);
  return e;
}
std::string field_of(const Expr& e) {
  const Field* f = e.as<Field>();
  return f ? field_of(f->base) + "." + f->name : "";
}

/// Conditions of more alternatives than this are left out.
constexpr std::size_t kMostArms = 16;

/// Conditions of reads, null where they are always made: when one of the two is, or both hold.
Expr either(const Expr& a, const Expr& b) {
  if (!a || !b) return {};
  const auto* known = a.as<Nary>();
  Exprs terms = known && known->op == NaryOp::Or ? known->terms : Exprs{a};
  if (std::any_of(terms.begin(), terms.end(), [&](const Expr& t) { return equal(t, b); })) return a;
  if (terms.size() == kMostArms) return {};
  terms.push_back(b);
  return Expr(Nary{NaryOp::Or, std::move(terms)});
}
Expr both(const Expr& a, const Expr& b) {
  if (!a || !b) return a ? a : b;
  return equal(a, b) ? a : Expr(Nary{NaryOp::And, {a, b}});
}
/// Whether a condition may be one of instances alone.
bool may_be_of_instances(const Expr& condition) {
  return !condition.holds<Load>() && !condition.holds<Call>() && !condition.holds<Reduce>();
}

/// A list of accesses, each once.
class AccessCollector {
 public:
  void add(const Access& a) {
    if (!has(a.variable, a.write, a.index, a.field)) all.push_back(a);
  }
  void read(const std::string& variable, const Exprs& index, const Span& at,
            const std::string& field, const Expr& when) {
    if (Access* known = find(variable, false, index, field))
      known->when = either(known->when, when);
    else
      all.push_back({variable, false, index, at, field, when});
  }

  std::vector<Access> all;

 private:
  bool has(const std::string& variable, bool write, const Exprs& index, const std::string& field) {
    return find(variable, write, index, field) != nullptr;
  }
  Access* find(const std::string& variable, bool write, const Exprs& index,
               const std::string& field) {
    constexpr std::size_t kFew = 8;
    const auto same = [&](const Access& x) {
      return x.write == write && x.variable == variable && x.field == field &&
             equal(x.index, index);
    };
    if (all.size() < kFew) {
      const auto it = std::find_if(all.begin(), all.end(), same);
      return it == all.end() ? nullptr : &*it;
    }
    for (; numbered_ < all.size(); ++numbered_) {
      const Access& a = all[numbered_];
      by_hash_[hash_of(a.variable, a.index, a.field)].push_back(numbered_);
    }
    const auto alike = by_hash_.find(hash_of(variable, index, field));
    if (alike == by_hash_.end()) return nullptr;
    for (const std::size_t n : alike->second)
      if (same(all[n])) return &all[n];
    return nullptr;
  }
  static std::size_t hash_of(const std::string& variable, const Exprs& index,
                             const std::string& field) {
    std::size_t h = std::hash<std::string>{}(variable);
    if (!field.empty()) h = 31 * h + std::hash<std::string>{}(field);
    for (const Expr& i : index) h = 31 * h + hash(i);
    return h;
  }
  std::unordered_map<std::size_t, std::vector<std::size_t>> by_hash_;  // of the first `numbered_`
  std::size_t numbered_ = 0;
};

/// What a part of an expression reads: names without subscripts, which need not be variables, and
/// elements. Each once, in the order in which they are met.
struct ReadsOfPart {
  struct Read {
    std::string name;
    Exprs index;
    Span at;
    std::string field;
    bool scalar;
    Expr when;
  };

  void operator()(const std::string& name, const Exprs& index, const Span& at,
                  const std::string& field, bool scalar, const Expr& when) {
    const std::size_t h = std::hash<std::string>{}(name) + index.size();
    const auto [first, last] = by_name.equal_range(h);
    for (auto it = first; it != last; ++it) {
      Read& r = all[it->second];
      if (r.scalar != scalar || r.name != name || r.field != field || !equal(r.index, index))
        continue;
      r.when = either(r.when, when);
      return;
    }
    by_name.emplace(h, all.size());
    all.push_back({name, index, at, field, scalar, when});
  }

  Expr part;  // keeps its address
  std::vector<Read> all;
  std::unordered_multimap<std::size_t, std::size_t> by_name;
};

/// By the part's address. Expressions grow from step to step where values are put in place of
/// variables, and have large parts in common.
std::unordered_map<const void*, ReadsOfPart>& reads_of_parts() {
  constexpr std::size_t kMost = 4'000;
  thread_local std::unordered_map<const void*, ReadsOfPart> all;
  if (all.size() > kMost) all.clear();
  return all;
}

/// Calls `read` as ReadsOfPart is called with what an expression reads, with some more than once.
template <class F>
class ReadWalk {
 public:
  explicit ReadWalk(F& read) : read_(read) {}

  /// How many nodes there are; a part whose reads are known counts as one.
  std::size_t operator()(const Expr& e) {
    if (!e) return 0;
    const bool may_be_known = e.as<Nary>() != nullptr;
    if (may_be_known)
      if (const auto it = parts_.find(e.identity()); it != parts_.end()) {
        for (const ReadsOfPart::Read& r : it->second.all)
          read_(r.name, r.index, r.at, r.field, r.scalar, both(when_, r.when));
        return 1;
      }
    std::size_t nodes = 1;
    const auto below = [&](const Expr& c) { nodes += (*this)(c); };
    if (const Expr* element = as_indexof(e)) {  // its position, not its value
      for_each_child(*element, below);
      return nodes;
    }
    if (const Select* s = e.as<Select>(); s && may_be_of_instances(s->cond)) {
      below(s->cond);
      const Expr around = when_;
      when_ = both(around, s->cond);
      below(s->yes);
      when_ = both(around, Expr(Unary{UnaryOp::Not, s->cond}));
      below(s->no);
      when_ = around;
      return nodes;
    }
    const Expr base = e.as<Field>() ? base_of_field(e) : Expr();
    const bool names_field = base.as<Var>() || base.as<Load>();
    if (names_field)
      node(base, field_of(e));
    else if (!base)
      node(e, "");
    for_each_child(names_field ? base : e, below);
    constexpr std::size_t kMany = 64;
    if (!may_be_known || nodes < kMany) return nodes;
    ReadsOfPart known;
    known.part = e;
    for_each_child(e, [&](const Expr& c) { ReadWalk<ReadsOfPart>{known}(c); });
    known.by_name.clear();
    parts_.emplace(e.identity(), std::move(known));
    return 1;
  }

 private:
  void node(const Expr& x, const std::string& field) {
    static const Exprs none;
    if (const Var* v = x.as<Var>())
      read_(v->name, none, x.at(), field, true, when_);
    else if (const Load* l = x.as<Load>())
      read_(l->array, l->linear ? subscripts_of(*l) : l->index, x.at(), field, false, when_);
  }

  F& read_;
  Expr when_;  // this part is evaluated
  std::unordered_map<const void*, ReadsOfPart>& parts_ = reads_of_parts();
};

template <class IsVariable>
void add_reads(const Expr& e, const IsVariable& is_variable, AccessCollector& out) {
  auto read = [&](const std::string& name, const Exprs& index, const Span& at,
                  const std::string& field, bool scalar, const Expr& when) {
    if (!scalar || is_variable(name)) out.read(name, index, at, field, when);
  };
  ReadWalk<decltype(read)>{read}(e);
}

/// What a call of a kernel accesses, where `insn` is one, but for the variables on its left that
/// are no arrays.
template <class IsVariable>
bool add_call(const Instruction& insn, const Variables& names, const IsVariable& is_variable,
              AccessCollector& out, std::vector<Access>& written) {
  auto accesses = names.calls() ? call_accesses(insn, *names.calls()) : std::nullopt;
  if (!accesses) return false;
  const Call& c = *insn.rhs.as<Call>();
  const CalledKernel& called = *names.calls()->all.at(c.name);
  const Kernel& callee = *called.meaning;
  for (std::size_t n = 0; n < c.args.size(); ++n) {
    if (const Exprs* a = as_address(c.args[n])) {
      for (std::size_t i = 1; i < a->size(); ++i) add_reads((*a)[i], is_variable, out);
    } else if (!callee.args[n].is_array || !sets_first(called, callee.args[n].name)) {
      add_reads(c.args[n], is_variable, out);
    }
  }
  for (Access& a : *accesses) {
    if (a.write)
      written.push_back(std::move(a));
    else
      out.add(std::move(a));
  }
  return true;
}

/// `is_variable`: whether a name without subscripts is one of memory.
template <class IsVariable>
std::vector<Access> collect_accesses(const Instruction& insn, const Variables& names,
                                     const IsVariable& is_variable) {
  AccessCollector out;
  if (names.any_bounds()) {
    const auto add_bounds = [&](const std::string& iname) {
      for (const Access& a : names.bounds_of(iname)) out.add(a);
    };
    for (const std::string& iname : insn.inames) add_bounds(iname);
    const auto in_reductions = [&](const Expr& e) {
      if (!e) return;
      for (const std::string& iname : reduction_inames(e)) add_bounds(iname);
    };
    in_reductions(insn.rhs);
    for (const Expr& l : insn.lhs) in_reductions(l);
    for (const Expr& p : insn.predicates) in_reductions(p);
  }
  std::vector<Access> written;
  const bool calls = add_call(insn, names, is_variable, out, written);
  if (!calls) add_reads(insn.rhs, is_variable, out);
  for (const Expr& p : insn.predicates) add_reads(p, is_variable, out);
  for (const Expr& l : insn.lhs) {
    if (calls && is_passed_to(*insn.rhs.as<Call>(), written_name(l)) && l.as<Var>()) continue;
    const Expr base = base_of_field(l);
    Access w{written_name(l), true, {}, l.at(), field_of(l)};
    if (const Load* x = base.as<Load>()) {
      w.index = subscripts_of(*x);
      for (const Expr& i : x->index) add_reads(i, is_variable, out);
    }
    if (insn.role == ReductionRole::Update) {
      Access r = w;
      r.write = false;
      out.add(r);
    }
    written.push_back(std::move(w));
  }
  for (Access& w : written) out.add(std::move(w));
  return std::move(out.all);
}

}  // namespace

/// The accesses of an instruction in kernels where no bounds are computed, and all that they follow
/// from: its expressions, and which of the names without subscripts are variables.
struct KnownAccesses {
  Exprs lhs, predicates;
  Expr rhs;
  ReductionRole role;
  std::vector<std::pair<std::string, bool>> scalars;
  AccessList all;

  bool hold(const Instruction& insn, const Variables& variables) const {
    return insn.role == role && insn.rhs.same_as(rhs) && same_nodes(insn.lhs, lhs) &&
           same_nodes(insn.predicates, predicates) &&
           std::all_of(scalars.begin(), scalars.end(),
                       [&](const auto& s) { return variables.has(s.first) == s.second; });
  }
};

AccessList::AccessList(std::vector<Access> accesses) {
  if (accesses.empty()) return;
  auto data = std::make_shared<Data>();
  data->all = std::move(accesses);
  const std::vector<Access>& all = data->all;
  data->hashes.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    data->hashes.push_back(NameIndex::hash_of(all[i].variable));
    (all[i].write ? data->writes : data->reads).push_back(i);
  }
  for (std::vector<std::size_t>* list : {&data->reads, &data->writes}) {
    std::stable_sort(list->begin(), list->end(), [&](std::size_t a, std::size_t b) {
      return all[a].variable < all[b].variable;
    });
    list->erase(std::unique(list->begin(), list->end(),
                            [&](std::size_t a, std::size_t b) {
                              return all[a].variable == all[b].variable;
                            }),
                list->end());
  }
  all_ = std::move(data);
}

namespace {
const std::vector<std::size_t> no_accesses;
}
const std::vector<std::size_t>& AccessList::reads() const {
  return all_ ? all_->reads : no_accesses;
}
const std::vector<std::size_t>& AccessList::writes() const {
  return all_ ? all_->writes : no_accesses;
}

AccessList statement_accesses(const Instruction& insn, const Variables& variables) {
  const bool calls = variables.calls() && insn.kind == InsnKind::Call;
  if (const auto& known = insn.accesses.get();
      known && !variables.any_bounds() && !calls && known->hold(insn, variables))
    return known->all;
  KnownAccesses now{insn.lhs, insn.predicates, insn.rhs, insn.role, {}, {}};
  const auto is_variable = [&](const std::string& name) {
    if (insn.inames.contains(name)) return false;  // in every kernel that has the instruction
    const auto it = std::find_if(now.scalars.begin(), now.scalars.end(),
                                 [&](const auto& s) { return s.first == name; });
    if (it != now.scalars.end()) return it->second;
    return now.scalars.emplace_back(name, variables.has(name)).second;
  };
  now.all = AccessList(collect_accesses(insn, variables, is_variable));
  AccessList out = now.all;
  if (!variables.any_bounds() && !calls)
    insn.accesses.set(std::make_shared<const KnownAccesses>(std::move(now)));
  return out;
}

std::vector<Access> accesses_of(const Instruction& insn, const Kernel& k) {
  const AccessList all = statement_accesses(insn, Variables(k));
  return {all.begin(), all.end()};
}

void for_each_name_read(const Kernel& k, const Variables& variables, const Instruction& insn,
                        const std::function<void(const std::string&)>& visit) {
  for_each_read(k, insn, visit);
  if (!variables.any_bounds()) return;
  for (const std::string& iname : all_inames(k, insn))
    for (const Access& a : variables.bounds_of(iname)) visit(a.variable);
}

bool is_fixed(const Expr& e, const Variables& variables) {
  bool fixed = true;
  walk(e, [&](const Expr& x) {
    if (const Var* v = x.as<Var>(); v && variables.has(v->name)) fixed = false;
    if (x.as<Load>() || x.as<Slice>()) fixed = false;
    return fixed;
  });
  return fixed;
}

ElementMap element_map(const Kernel&, const Access& a, const std::vector<std::string>& dims,
                       const Variables& variables) {
  ElementMap out;
  Exprs affine;
  for (std::size_t i = 0; i < a.index.size(); ++i) {
    if (!is_fixed(a.index[i], variables) || !to_affine(a.index[i], dims)) continue;
    affine.push_back(a.index[i]);
    out.axes.push_back(int(i));
  }
  out.map = *to_map(affine, dims);
  return out;
}

namespace {

bool claimed(const Kernel& k, Claim::Kind kind, const std::string& name) {
  return std::any_of(k.claims.begin(), k.claims.end(), [&](const Claim& c) {
    return c.kind == kind && std::find(c.names.begin(), c.names.end(), name) != c.names.end();
  });
}

Map same_values(const Exprs& a, const std::vector<std::string>& a_dims, const Exprs& b,
                const std::vector<std::string>& b_dims) {
  const Map x = *to_map(a, a_dims), y = *to_map(b, b_dims);
  return isl_map_apply_range(x.copy(), isl_map_reverse(y.copy()));
}

/// Axes that hold the quotient and the remainder of one expression, as split_array_axis leaves
/// them, become an axis with that expression, where it stands for the same in both lists.
void join_digits(Exprs& xs, Exprs& ys) {
  const auto digit = [](const Expr& e, BinaryOp op) -> const Binary* {
    const auto* b = e.as<Binary>();
    const auto by = b && b->op == op ? as_int(b->right) : std::nullopt;
    return by && *by > 0 ? b : nullptr;
  };
  const auto parts = [&](const Exprs& of, std::size_t q, std::size_t r) -> const Binary* {
    const Binary *a = digit(of[q], BinaryOp::FloorDiv), *b = digit(of[r], BinaryOp::Mod);
    return a && b && equal(a->left, b->left) && equal(a->right, b->right) ? a : nullptr;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t q = 0; q < xs.size() && !again; ++q)
      for (std::size_t r = 0; r < xs.size() && !again; ++r) {
        const Binary *x = parts(xs, q, r), *y = x ? parts(ys, q, r) : nullptr;
        if (!y || !equal(x->right, y->right)) continue;
        const Expr a = x->left, b = y->left;
        xs[q] = a, ys[q] = b;
        xs.erase(xs.begin() + static_cast<std::ptrdiff_t>(r));
        ys.erase(ys.begin() + static_cast<std::ptrdiff_t>(r));
        again = true;
      }
  }
}

}  // namespace

ApproximateMap conflict_map(const Kernel& k, const Kernel& claims, const Variables& variables,
                            const Access& a, const std::vector<std::string>& a_dims,
                            const Access& b, const std::vector<std::string>& b_dims) {
  ApproximateMap out{universal_map(a_dims, b_dims)};
  Exprs xs, ys, a_index = a.index, b_index = b.index;
  if (flat_of(a.index) || flat_of(b.index)) {
    const auto x = place_in_memory(k, a.variable, a.index),
               y = place_in_memory(k, b.variable, b.index);
    a_index = x ? Exprs{*x} : Exprs(), b_index = y ? Exprs{*y} : Exprs{};
    if (!x || !y) out.exact = false;
  }
  if (a_index.size() != b_index.size()) {
    out.exact = false;
    return out;
  }
  join_digits(a_index, b_index);
  for (std::size_t i = 0; i < a_index.size(); ++i) {
    Expr x = a_index[i], y = b_index[i];
    // map[e] and map[f] with different values for different e: equal only where e and f are.
    const Load *lx = x.as<Load>(), *ly = y.as<Load>();
    if (lx && ly && lx->array == ly->array && lx->index.size() == 1 && ly->index.size() == 1 &&
        claimed(claims, Claim::Kind::Injective, lx->array))
      x = lx->index[0], y = ly->index[0];
    const bool fixed = is_fixed(x, variables) && is_fixed(y, variables);
    if (fixed && to_affine(x, a_dims) && to_affine(y, b_dims)) {
      xs.push_back(x);
      ys.push_back(y);
      continue;
    }
    if (const auto digits = fixed ? common_digits(k, x, a_dims, y, b_dims) : std::nullopt) {
      xs.insert(xs.end(), digits->first.begin(), digits->first.end());
      ys.insert(ys.end(), digits->second.begin(), digits->second.end());
      continue;
    }
    const auto same = claimed(claims, Claim::Kind::Disjoint, a.variable)
                          ? claimed_equal(k, variables, x, a_dims, y, b_dims)
                          : std::nullopt;
    if (!same) {
      out.exact = false;
      continue;
    }
    if (same->never) {
      out.all = isl_map_empty(isl_map_get_space(out.all.get()));
      return out;
    }
    xs.insert(xs.end(), same->x.begin(), same->x.end());
    ys.insert(ys.end(), same->y.begin(), same->y.end());
  }
  if (!xs.empty())
    out.all = isl_map_intersect(out.all.take(), same_values(xs, a_dims, ys, b_dims).take());
  return out;
}

std::optional<Set> where_made(const Kernel& k, const Access& a,
                              const std::vector<std::string>& dims) {
  if (!a.when) return std::nullopt;
  try {
    const IslBudget budget(kQuestionOperations);
    std::optional<Set> points = to_condition(k, a.when, dims);
    if (!points || std::size_t(count(isl_set_n_basic_set(points->get()))) > kMostArms)
      return std::nullopt;
    for (const std::string& p : param_names(*points))
      if (k.has_iname(p)) return std::nullopt;  // of a reduction: some iteration would do
    return points;
  } catch (const IslQuota&) { return std::nullopt; }
}

ApproximateMap meetings(const Kernel& k, const Kernel& claims, const Variables& variables,
                        const Access& a, const std::vector<std::string>& a_dims, const Access& b,
                        const std::vector<std::string>& b_dims) {
  ApproximateMap out = conflict_map(k, claims, variables, a, a_dims, b, b_dims);
  if (auto points = where_made(k, a, a_dims))
    out.all = isl_map_intersect_domain(out.all.take(), points->take());
  if (auto points = where_made(k, b, b_dims))
    out.all = isl_map_intersect_range(out.all.take(), points->take());
  return out;
}

// ---- Concrete instances -----------------------------------------------------------------------

std::optional<std::int64_t> evaluate(const Expr& e, const std::map<std::string, std::int64_t>& at) {
  const std::vector<std::string> none;
  Expr closed = substitute(e, [&] {
    std::map<std::string, Expr> values;
    for (const auto& [name, v] : at) values.emplace(name, lit(v));
    return values;
  }());
  const std::optional<PwAff> a = to_affine(closed, none);
  if (!a || count(isl_pw_aff_dim(a->get(), isl_dim_param)) > 0) return std::nullopt;
  Point origin = isl_point_zero(isl_pw_aff_get_domain_space(a->get()));
  Val v = isl_pw_aff_eval(a->copy(), origin.take());
  if (!yes(isl_val_is_int(v.get()))) return std::nullopt;
  return to_int(v);
}

std::string instance_text(const std::string& id, const std::vector<std::string>& dims,
                          const std::map<std::string, std::int64_t>& at) {
  if (dims.empty()) return id;
  std::string out;
  for (const std::string& d : dims) {
    const auto it = at.find(d);
    if (!out.empty()) out += ", ";
    out += d + "=" + (it == at.end() ? "?" : std::to_string(it->second));
  }
  return id + "[" + out + "]";
}

std::string element_text(const Access& a, const std::map<std::string, std::int64_t>& at) {
  if (a.index.empty() || WithoutReasons::apply()) return a.variable;
  const Expr* flat = flat_of(a.index);
  std::string out;
  for (const Expr& i : flat ? Exprs{*flat} : a.index) {
    const std::optional<std::int64_t> v = evaluate(i, at);
    if (!out.empty()) out += ", ";
    out += v ? std::to_string(*v) : i.as<Slice>() ? ":" : to_string(i);
  }
  return a.variable + (flat ? "[[" + out + "]]" : "[" + out + "]");
}

Witness witness(const Map& m, const std::vector<std::string>& da,
                const std::vector<std::string>& db) {
  if (WithoutReasons::apply()) {
    Witness zeros;
    for (const std::string& d : da) zeros.a[d] = 0;
    for (const std::string& d : db) zeros.b[d] = 0;
    return zeros;
  }
  Set s = isl_set_flatten(isl_map_wrap(m.copy()));
  std::vector<std::string> names = da;
  for (const std::string& d : db) names.push_back(d + "'");
  for (std::size_t i = 0; i < names.size(); ++i)
    s = isl_set_set_dim_name(s.take(), isl_dim_set, unsigned(i), names[i].c_str());
  const Sample found = *sample(s);
  Witness w{found.params, {}, {}};
  for (const std::string& d : da) w.a[d] = found.dims.at(d);
  for (const std::string& d : db) w.b[d] = found.dims.at(d + "'");
  return w;
}

std::string parameters_text(const std::map<std::string, std::int64_t>& params) {
  std::string out;
  for (const auto& [name, v] : params)
    out += (out.empty() ? " (" : ", ") + fmt::format("{}={}", name, v);
  return out.empty() ? out : out + ")";
}

}  // namespace moonloop
