#include "frontends/text/array_statements.h"

#include <algorithm>
#include <map>

#include "core/base/diagnostic.h"
#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/affine.h"
#include "core/model/free_names.h"
#include "core/sets/named_sets.h"
#include "frontends/text/array_values.h"
#include "frontends/text/create.h"

namespace moonloop::text {
namespace {

/// A loop that a statement on arrays has. It is named when all statements are known.
struct Loop {
  Expr from, to;
  std::string base;
  Span at;
};
using Loops = std::map<std::string, Loop>;

/// An access by a statement: a variable, the loops that its subscripts depend on, and these.
struct Access {
  std::string name;
  Exprs index;
  std::vector<std::string> loops;  // of the statement first, then of reductions
  bool writes = false;
};

/// A statement, and the loops around it that it has from its arrays' axes.
struct Made {
  Statement statement;
  std::vector<std::string> loops;
  bool of_arrays = false;
};

Expr less(const Expr& a, CompareOp op, const Expr& b) { return Expr(Compare{op, a, b}); }

/// The points of these loops; of the kernel's own, whatever their bounds are.
Set points(const std::vector<std::string>& names, const Loops& loops) {
  Set out = universe(names);
  for (const std::string& name : names) {
    const auto known = loops.find(name);
    if (known == loops.end()) continue;
    const Loop& l = known->second;
    const Expr inside =
        conjunction({less(l.from, CompareOp::Le, var(name)), less(var(name), CompareOp::Lt, l.to)});
    out = isl_set_intersect(out.take(), to_condition(inside, names)->take());
  }
  return out;
}

/// From the iterations of `loops` to elements; nothing where subscripts are not affine.
std::optional<Map> elements(const Access& a, const Loops& loops) {
  std::optional<Map> m = to_map(a.index, a.loops);
  if (m) *m = isl_map_intersect_domain(m->take(), points(a.loops, loops).take());
  return m;
}

/// Whether some iteration of `first` and an earlier one of `second` access one element, by the
/// order of the outermost `depth` loops of both. True where that cannot be known.
bool meets_earlier(const Access& first, const Access& second, std::size_t depth,
                   const Loops& loops) {
  const auto a = elements(first, loops), b = elements(second, loops);
  if (!a || !b) return true;
  if (first.index.size() != second.index.size()) return true;  // an error, which is found later
  Map pairs = isl_map_apply_range(a->copy(), isl_map_reverse(b->copy()));
  const auto drop = [&](isl_dim_type which) {
    const unsigned all = static_cast<unsigned>(count(isl_map_dim(pairs.get(), which)));
    const unsigned kept = static_cast<unsigned>(depth);
    if (all > kept) pairs = isl_map_project_out(pairs.take(), which, kept, all - kept);
  };
  drop(isl_dim_in), drop(isl_dim_out);
  pairs = isl_map_reset_tuple_id(isl_map_reset_tuple_id(pairs.take(), isl_dim_in), isl_dim_out);
  Map later = isl_map_lex_gt(isl_space_domain(isl_map_get_space(pairs.get())));
  const Map meets = isl_map_intersect(pairs.take(), later.take());
  return !yes(isl_map_is_empty(meets.get()));
}

class Expansion : public ArrayContext {
 public:
  Expansion(KernelText& t, Errors& errors) : t_(t), errors_(errors), collect_(t.rules) {
    for (const Argument& a : t.args)
      if (a.is_array) arrays_.emplace(a.name, a.shape);
    for (const auto& [name, temp] : t.temporaries)
      if (!temp.shape || !temp.shape->empty()) arrays_.emplace(name, temp.shape);
    for (const Rule& r : t.rules) rules_.emplace(r.name, &r);
    for (const DomainText& d : t.domains)
      for (std::string& iname : dim_names(d.set)) inames_.insert(std::move(iname));
    computed_ = inames_;
    for (const Statement& s : t.statements)
      for (const Assignee& a : s.lhs) {
        if (const auto* l = a.e.as<Load>()) arrays_.emplace(l->array, std::nullopt);
        if (const auto* v = a.e.as<Var>()) computed_.insert(v->name);
        if (a.declares) temporaries_.insert(written_name(a.e));
      }
    for (const auto& [name, temp] : t.temporaries) temporaries_.insert(name);
  }

  void run() {
    std::vector<bool> all;
    for (const Statement& s : t_.statements) {
      errors_.guard([&] { refuse_unknown_functions(s); });
      all.push_back(of_arrays(s));
    }
    count_in_others();
    if (std::find(all.begin(), all.end(), true) == all.end()) {
      for (Statement& s : t_.statements) count_from_end(s);
      return;
    }
    std::vector<std::size_t> begins;  // of what each statement becomes
    for (std::size_t n = 0; n < t_.statements.size(); ++n) {
      Statement& s = t_.statements[n];
      begins.push_back(out_.size());
      if (!all[n] && !of_arrays(s)) {  // of arrays that statements before have made
        count_from_end(s);
        if (!s.lhs.empty()) note_loops(s, other_loops(s));
        out_.push_back({std::move(s), {}, false});
        continue;
      }
      errors_.guard([&] { expand(std::move(s)); });
    }
    begins.push_back(out_.size());
    for (Chain& c : t_.chains) c.first = begins[c.first], c.last = begins[c.last];
    name_loops();
    t_.statements.clear();
    for (Made& m : out_) t_.statements.push_back(std::move(m.statement));
  }

  // ---- What array values ask.

  const Exprs* shape_of(const std::string& name) const override {
    const auto it = arrays_.find(name);
    return it == arrays_.end() || !it->second ? nullptr : &*it->second;
  }
  bool is_array(const std::string& name) const override { return arrays_.contains(name); }
  const Rule* rule(const std::string& name) const override {
    const auto it = rules_.find(name);
    return it == rules_.end() ? nullptr : it->second;
  }
  bool is_external(const std::string& name) const override { return t_.externals.contains(name); }

  std::string add_loop(const std::string& base, const Expr& from, const Expr& to,
                       const Span& at) override {
    std::string name = fmt::format("%{}", next_loop_++);
    loops_.emplace(name, Loop{from, bound(to, at), base, at});
    return name;
  }

  std::string keep(const ArrayValue& value, const Span& at) override {
    const std::string name = fresh(written_name(current_->lhs.front().e) + "_part");
    std::vector<std::string> outer;
    outer.swap(values_.scope());
    store({name, true, {}}, value, like_current(at));
    outer.swap(values_.scope());
    return name;
  }

  bool same_length(const Expr& a, const Expr& b) const override {
    if (equal(a, b)) return true;
    const auto x = to_affine(a, {}), y = to_affine(b, {});
    if (!x || !y) return false;
    // Lengths below 0 count as 0.
    Set differ =
        to_condition(
            conjunction({less(a, CompareOp::Ne, b), Expr(Nary{NaryOp::Or,
                                                              {less(a, CompareOp::Gt, lit(0)),
                                                               less(b, CompareOp::Gt, lit(0))}})}),
            {})
            .value();
    differ = isl_set_params(differ.take());
    if (t_.assumptions) differ = isl_set_intersect_params(differ.take(), t_.assumptions.copy());
    for (const auto& [name, shape] : arrays_)
      for (const Expr& length : shape ? *shape : Exprs())
        if (const auto holds = to_condition(less(length, CompareOp::Ge, lit(0)), {}))
          differ = isl_set_intersect_params(differ.take(), isl_set_params(holds->copy()));
    return yes(isl_set_is_empty(differ.get()));
  }

 private:
  /// A variable that a statement makes an array, or a scalar.
  struct Target {
    std::string name;
    bool declares = false;
    std::optional<Type> type;
  };

  /// Subscripts below 0 in a statement on elements.
  void count_from_end(Statement& s) const {
    if (!t_.from_end) return;
    for (Assignee& a : s.lhs) a.e = values_.counted(a.e, false);
    if (s.rhs) s.rhs = values_.counted(s.rhs, false);
    if (s.written_options)
      for (Expr& p : s.written_options->predicates) p = values_.counted(p, false);
  }
  /// The same in conditions and rules.
  void count_in_others() const {
    if (!t_.from_end) return;
    for (Chain& c : t_.chains)
      for (Expr& e : c.conditions) e = values_.counted(e, false);
    const auto hides = [&](const std::string& parameter) { return is_array(parameter); };
    for (Rule& r : t_.rules)
      if (std::none_of(r.params.begin(), r.params.end(), hides))
        r.body = values_.counted(r.body, false);
  }

  /// A function that nobody knows cannot be one of arrays.
  void refuse_unknown_functions(const Statement& s) const {
    if (s.kind != InsnKind::Assign || !s.rhs) return;  // a call gives and takes parts of arrays
    const std::function<void(const Expr&)> look = [&](const Expr& e) {
      const auto* c = e.as<Call>();
      if (c && !find_function(c->name) && !rule(c->name) && !is_external(c->name) &&
          !is_array_function(c->name) && !is_known_elsewhere(*c))
        for (const Expr& a : c->args)
          if (has_array_parts(a, *this))
            fail("unknown-function", e.at(), "no function or rule `{}`, of `{}` here{}", c->name,
                 to_string(a), did_you_mean(c->name, function_names()));
      for_each_child(e, look);
    };
    look(s.rhs);
  }
  /// Forms that only calls of external functions have, which are looked at later.
  static bool is_known_elsewhere(const Call& c) {
    return c.name == "address" || c.name == "knows" || c.name == "length" || c.name == "indexof" ||
           c.name.back() == '=';
  }

  bool of_arrays(const Statement& s) const {
    if (s.calls_kernel || s.lhs.size() != 1 || !s.rhs) return false;
    if (s.kind != InsnKind::Call && s.kind != InsnKind::Assign) return false;
    // A function that is defined elsewhere gets arrays, and gives them, as they are.
    if (const auto* c = s.rhs.as<Call>())
      if (!find_function(c->name) && !rule(c->name) &&
          !(is_array_function(c->name) && !is_external(c->name)))
        return false;
    const auto* v = s.lhs.front().e.as<Var>();
    if (has_array_parts(s.rhs, *this, v != nullptr)) return true;
    // A scalar for all of an array: that of which nothing says the shape may be none.
    return has_array_parts(s.lhs.front().e, *this) && (!v || shape_of(v->name));
  }

  void expand(Statement s) {
    s.kind = InsnKind::Assign;
    values_.scope().clear();
    // What it becomes is in the loops that it is in.
    const std::set<std::string> others = other_loops(s);
    note_loops(s, others);
    if (!others.empty()) {
      if (!s.written_options) s.written_options = std::make_unique<Options>();
      s.written_options->inames.clear();
      for (const std::string& n : others) s.written_options->inames.push_back({n, s.at});
    }
    const Statement present = copy(s);
    current_ = &present;
    const Assignee to = s.lhs.front();
    const ArrayValue value = values_.of(s.rhs);
    const auto* variable = to.e.as<Var>();
    const bool defines = variable && !shape_of(variable->name) &&
                         (!is_array(variable->name) || !value.shape.empty());
    if (defines) {
      if (!value.shape.empty() && !to.declares && !is_array(variable->name) &&
          known_scalar(variable->name))
        fail("shape-mismatch", s.at, "`{}` is a scalar, and `{}` has {} ax{}s", variable->name,
             to_string(s.rhs), value.shape.size(), value.shape.size() == 1 ? "i" : "e");
      const Target target{variable->name, to.declares, to.type};
      store(target, value, std::move(s));
      if (!value.shape.empty()) declare(target, value.shape, to.at);
      return;
    }
    const ArrayValue place = values_.of(to.e);
    if (value.shape.size() > place.shape.size())
      fail("shape-mismatch", s.at, "`{}` has {} ax{}s, and `{}` has {}", to_string(s.rhs),
           value.shape.size(), value.shape.size() == 1 ? "i" : "e", to_string(to.e),
           place.shape.size());
    const Exprs all = values_.common_shape({&place, &value}, s.at);
    for (std::size_t a = 0; a < all.size(); ++a)
      if (!same_length(all[a], place.shape[a]))
        fail("shape-mismatch", s.at, "axis {} of `{}` has the length `{}`, and `{}` has `{}`", a,
             to_string(to.e), to_string(place.shape[a]), to_string(s.rhs), to_string(all[a]));
    const ArrayValue spread{place.shape, [value](const Exprs& position) {
                              return ArrayValues::spread(value, position);
                            }};
    store_in_place(written_name(to.e), place, starts(to.e, place.shape.size()), spread, to.type,
                   std::move(s));
  }

  bool known_scalar(const std::string& name) const {
    const auto is_it = [&](const Argument& a) { return a.name == name; };
    return t_.temporaries.contains(name) || std::any_of(t_.args.begin(), t_.args.end(), is_it) ||
           rule(name);
  }

  /// A variable that the statement makes an array.
  void declare(const Target& target, const Exprs& shape, const Span& at) {
    arrays_[target.name] = shape;
    if (t_.temporaries.contains(target.name)) return;
    if (target.declares) {
      Temporary t;
      t.name = target.name;
      t.type = target.type;
      t.shape = shape;
      t.at = at;
      if (is_of_parameters(shape)) t_.temporaries.emplace(target.name, std::move(t));
      return;
    }
    Argument a;
    a.name = target.name;
    a.is_array = true;
    a.shape = shape;
    a.order = t_.default_order;
    a.at = at;
    if (t_.guess) t_.args.push_back(std::move(a));
  }

  /// Whether a temporary may have the shape from the beginning.
  bool is_of_parameters(const Exprs& shape) const {
    std::set<std::string> names;
    for (const Expr& e : shape) collect_reads(e, names);
    return std::none_of(names.begin(), names.end(), [&](const std::string& n) {
      return computed_.contains(n) || t_.temporaries.contains(n);
    });
  }

  /// Where the loops of an assignee's axes begin: at the subscript itself where it advances by 1.
  Exprs starts(const Expr& assignee, std::size_t axes) {
    Exprs out;
    const auto* l = assignee.as<Load>();
    const Exprs* declared = l ? shape_of(l->array) : nullptr;
    for (std::size_t n = 0; l && n < l->index.size(); ++n) {
      const Expr& index = l->index[n];
      if (const auto* v = index.as<Var>(); v && v->name == "None")
        fail("bad-assignee", index.at(), "`None` adds an axis, and `{}` is assigned to",
             to_string(assignee));
      if (const auto* s = index.as<Slice>()) {
        const auto section =
            values_.section(*s, declared && n < declared->size() ? (*declared)[n] : Expr(),
                            l->array, n, index.at());
        const bool plain = section.step == 1 && to_affine(section.start, {});
        out.push_back(plain ? section.start : lit(0));
      } else {
        out.resize(out.size() + values_.of(index).shape.size(), lit(0));
      }
    }
    out.resize(axes, lit(0));
    return out;
  }

  /// A statement of the place and the options of the present one.
  Statement like_current(const Span& at) const {
    Statement out;
    out.block = current_->block;
    out.at = at;
    if (!current_->written_options) return out;
    out.written_options = std::make_unique<Options>(*current_->written_options);
    out.written_options->id = {};
    out.written_options->atomic = Atomicity::None;
    return out;
  }

  /// `target[...] = value` for a variable that `value` does not read.
  void store(const Target& target, const ArrayValue& value, Statement s) {
    Made made{std::move(s), {}, true};
    const Exprs position = open_loops(value.shape, Exprs(value.shape.size(), lit(0)), made);
    Expr lhs = position.empty() ? var(target.name, made.statement.at)
                                : load(target.name, position, made.statement.at);
    values_.scope() = made.loops;
    made.statement.rhs = value.at(position);
    values_.scope().clear();
    const Span at = made.statement.at;
    made.statement.lhs.clear();
    // `argmin` gives the value that it finds, too.
    if (const auto* r = made.statement.rhs.as<Reduce>(); r && arity(r->op) == 2) {
      const std::string found = fresh(target.name + "_value");
      made.statement.lhs.push_back(
          {position.empty() ? var(found, at) : load(found, position, at), true, {}, at});
    }
    made.statement.lhs.push_back({std::move(lhs), target.declares, target.type, at});
    add(std::move(made));
  }

  /// Loops over a shape; the positions of their iterations.
  Exprs open_loops(const Exprs& shape, const Exprs& from, Made& made) {
    Exprs position;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      if (as_int(shape[a]) == 1) {
        position.push_back(lit(0));
        continue;
      }
      made.loops.push_back(add_loop(fmt::format("i{}", a), from[a],
                                    simplified(index_add({from[a], shape[a]})), made.statement.at));
      position.push_back(simplified(index_sub(var(made.loops.back()), from[a])));
    }
    return position;
  }

  void store_in_place(const std::string& array, const ArrayValue& place, const Exprs& from,
                      const ArrayValue& value, const std::optional<Type>& type, Statement s) {
    const Assignee to = s.lhs.front();
    Made made{std::move(s), {}, true};
    const Exprs position = open_loops(place.shape, from, made);
    values_.scope() = made.loops;
    made.statement.rhs = value.at(position);
    values_.scope().clear();
    made.statement.lhs.clear();
    made.statement.lhs.push_back({place.at(position), to.declares, type, to.at});
    if (runs_in_order(made, array)) return add(std::move(made));
    // All values first.
    const std::string values = fresh(array + "_new");
    const Statement& store = made.statement;
    Made first{like_current(store.at), std::move(made.loops), true};
    first.statement.lhs.push_back(
        {position.empty() ? var(values) : load(values, position), true, type_of(array), store.at});
    first.statement.rhs = store.rhs;
    Made second{std::move(made.statement), {}, true};
    const Exprs again = open_loops(place.shape, from, second);
    second.statement.lhs.front().e = place.at(again);
    second.statement.rhs = load(values, again, second.statement.at);
    add(std::move(first));
    add(std::move(second));
  }

  /// Whether no iteration reads what an earlier one has stored; loops are turned round for that
  /// where it helps.
  bool runs_in_order(Made& made, const std::string& array) const {
    const Statement& s = made.statement;
    const std::vector<Access> all = accesses(made);
    const Access* store = nullptr;
    std::vector<const Access*> reads;
    for (const Access& a : all) {
      if (a.writes)
        store = &a;
      else if (a.name == array)
        reads.push_back(&a);
    }
    const auto same = [&](const Access* r) { return equal(r->index, store->index); };
    const bool affine = to_map(store->index, store->loops).has_value();
    if (reads.empty() || (affine && std::all_of(reads.begin(), reads.end(), same))) return true;
    for (std::size_t turned = 0;
         turned < (std::size_t{1} << std::min<std::size_t>(made.loops.size(), kMostTurned));
         ++turned) {
      std::map<std::string, Expr> by;
      for (std::size_t a = 0; a < made.loops.size(); ++a)
        if (turned >> a & 1) {
          const Loop& l = loops_.at(made.loops[a]);
          by.emplace(made.loops[a],
                     simplified(index_sub(index_add({l.from, l.to, lit(-1)}), var(made.loops[a]))));
        }
      const auto change = [&](Access a) {
        for (Expr& e : a.index) e = substitute(e, by);
        return a;
      };
      const Access changed = change(*store);
      if (std::any_of(reads.begin(), reads.end(), [&](const Access* r) {
            return meets_later(changed, change(*r), made.loops.size());
          }))
        continue;
      if (!by.empty()) {
        made.statement.rhs = with_subscripts(substitute(s.rhs, by));
        made.statement.lhs.front().e = with_subscripts(substitute(s.lhs.front().e, by));
      }
      return true;
    }
    return false;
  }

  /// Whether an iteration reads what an earlier one stores.
  bool meets_later(const Access& store, const Access& read, std::size_t depth) const {
    return meets_earlier(read, store, depth, loops_);
  }

  static Expr with_subscripts(const Expr& e) {
    return rewrite(e, [](const Expr& x) {
      const auto* l = x.as<Load>();
      if (!l) return x;
      Load out = *l;
      for (Expr& i : out.index) i = simplified(i);
      return Expr(std::move(out), x.at());
    });
  }

  // ---- Loops that statements share.

  /// All that a statement accesses, also through rules.
  std::vector<Access> accesses(const Made& m) const {
    std::vector<Access> out;
    std::vector<std::string> loops = m.loops;
    const std::function<void(const Expr&, bool)> look = [&](const Expr& e, bool writes) {
      if (const auto* r = e.as<Reduce>()) {
        const std::size_t before = loops.size();
        loops.insert(loops.end(), r->inames.begin(), r->inames.end());
        for (const Expr& a : r->args) look(a, false);
        loops.resize(before);
        return;
      }
      if (const auto* l = e.as<Load>())
        out.push_back({l->array, l->index, loops, writes});
      else if (const auto* v = e.as<Var>();
               v && std::find(loops.begin(), loops.end(), v->name) == loops.end())
        out.push_back({v->name, {}, loops, writes});
      const bool field = e.as<Field>() != nullptr;
      for_each_child(e, [&](const Expr& c) { look(c, writes && field); });
    };
    for (const Assignee& a : m.statement.lhs) look(a.e, true);
    look(without_rules(m.statement.rhs), false);
    for (const Expr& p : m.statement.options().predicates) look(without_rules(p), false);
    return out;
  }

  Expr without_rules(const Expr& e) const {
    return rewrite(e, [&](const Expr& x) {
      const auto* c = x.as<Call>();
      const auto* v = x.as<Var>();
      const Rule* r = c ? rule(c->name) : v ? rule(v->name) : nullptr;
      if (!r || r->params.size() != (c ? c->args.size() : 0)) return x;
      return without_rules(apply_rule(*r, c ? c->args : Exprs()));
    });
  }

  /// Adds a statement, in the loops of those before it as far as that changes no value.
  void add(Made m) {
    // Shared loops would change the order of loops that no block names.
    const bool alone = !m.statement.options().inames.empty();
    const bool goes_on = !alone && !group_.members.empty() && group_.end == out_.size() &&
                         out_.back().statement.block == m.statement.block;
    std::size_t depth = 0;
    std::vector<Access> all;
    if (goes_on) {
      const std::vector<std::string>& there = out_.back().loops;
      while (depth < m.loops.size() && depth < there.size() &&
             same_range(m.loops[depth], there[depth]))
        ++depth;
      for (; depth > 0; --depth) {
        Made joined = in_loops(m, there, depth);
        all = accesses(joined);
        if (!may_join(joined, all)) continue;
        m = std::move(joined);
        break;
      }
    }
    if (depth == 0) {
      group_ = {};
      all = accesses(m);
    }
    if (!m.loops.empty() && !alone) {
      const std::size_t number = group_.members.size();
      group_.members.push_back(m.loops);
      for (Access& a : all) group_.accesses[a.name].emplace_back(number, std::move(a));
      group_.end = out_.size() + 1;
    }
    out_.push_back(std::move(m));
  }

  /// The loops that a statement is in without a block around it that names them: those of its
  /// inames, and of temporaries that it reads and that are computed in them.
  std::set<std::string> other_loops(const Statement& s) {
    Names names;
    for (const Assignee& a : s.lhs) collect_.add(a.e, names);
    if (s.rhs) collect_.add(s.rhs, names);
    for (const Expr& p : s.options().predicates) collect_.add(p, names);
    std::set<std::string> out;
    for (const std::string& n : names.vars)
      if (inames_.contains(n)) out.insert(n);
    for (const auto* all : {&names.vars, &names.arrays})
      for (const std::string& n : *all)
        if (const auto made = loops_of_.find(n); made != loops_of_.end())
          out.insert(made->second.begin(), made->second.end());
    for (const Word& w : s.options().inames) out.insert(w.text);
    for (int b = s.block; b >= 0;) {
      const Block& block = t_.blocks[static_cast<std::size_t>(b)];
      for (const auto* all : {&block.inames, &block.options.inames})
        for (const Word& w : *all) out.erase(w.text);
      b = block.parent;
    }
    return out;
  }

  /// Notes the temporaries that a statement in these loops computes for whoever reads them.
  void note_loops(const Statement& s, const std::set<std::string>& loops) {
    for (const Assignee& a : s.lhs) {
      const std::string& name = written_name(a.e);
      if (!temporaries_.contains(name)) continue;
      std::set<std::string> own = loops;
      Names subscripts;
      collect_.add(a.e, subscripts);
      for (const std::string& n : subscripts.vars) own.erase(n);
      const auto [it, first] = loops_of_.emplace(name, own);
      if (!first) std::erase_if(it->second, [&](const auto& n) { return !own.contains(n); });
    }
  }

  bool same_range(const std::string& a, const std::string& b) const {
    const Loop &x = loops_.at(a), &y = loops_.at(b);
    return equal(x.from, y.from) && equal(x.to, y.to);
  }

  static Made in_loops(const Made& m, const std::vector<std::string>& loops, std::size_t depth) {
    Made out{copy(m.statement), m.loops, true};
    std::map<std::string, std::string> names;
    for (std::size_t n = 0; n < depth; ++n) {
      names.emplace(m.loops[n], loops[n]);
      out.loops[n] = loops[n];
    }
    rename_all(out.statement, names);
    return out;
  }

  static Statement copy(const Statement& s) {
    Statement out;
    out.kind = s.kind;
    out.lhs = s.lhs;
    out.rhs = s.rhs;
    out.block = s.block;
    out.at = s.at;
    if (s.written_options) out.written_options = std::make_unique<Options>(*s.written_options);
    return out;
  }

  static void rename_all(Statement& s, const std::map<std::string, std::string>& names) {
    for (Assignee& a : s.lhs) a.e = rename(a.e, names);
    s.rhs = rename(s.rhs, names);
  }

  /// Whether `m` may run in each iteration of the loops that it has in common with those of the
  /// group, instead of after all of them.
  bool may_join(const Made& m, const std::vector<Access>& all) const {
    const auto common = [&](const std::vector<std::string>& loops) {
      std::size_t n = 0;
      while (n < loops.size() && n < m.loops.size() && loops[n] == m.loops[n]) ++n;
      return n;
    };
    for (const Access& y : all) {
      const auto before = group_.accesses.find(y.name);
      if (before == group_.accesses.end()) continue;
      for (const auto& [number, x] : before->second) {
        if (!x.writes && !y.writes) continue;
        const std::size_t depth = common(group_.members[number]);
        if (same_elements(x, y, depth)) continue;
        if (meets_earlier(x, y, depth, loops_)) return false;
      }
    }
    return true;
  }

  /// Whether the accesses meet in the same iteration only, as their text shows: both have the same
  /// subscripts, and each of the loops is alone in one of these.
  static bool same_elements(const Access& x, const Access& y, std::size_t depth) {
    if (!equal(x.index, y.index)) return false;
    std::set<std::string> alone;
    for (const Expr& e : x.index) {
      if (e.holds<Load>() || e.holds<Binary>() || e.holds<Call>() || e.holds<Select>()) continue;
      std::set<std::string> names, loops;
      collect_vars(e, names);
      for (const std::string& n : names)
        if (std::find(x.loops.begin(), x.loops.end(), n) != x.loops.end()) loops.insert(n);
      if (loops.size() == 1) alone.insert(*loops.begin());
    }
    return std::all_of(x.loops.begin(), x.loops.begin() + static_cast<std::ptrdiff_t>(depth),
                       [&](const std::string& l) { return alone.contains(l); });
  }

  // ---- Names and types.

  std::optional<Type> type_of(const std::string& array) const {
    for (const Argument& a : t_.args)
      if (a.name == array) return a.type;
    if (const auto it = t_.temporaries.find(array); it != t_.temporaries.end())
      return it->second.type;
    return std::nullopt;
  }

  /// A length that isl can read: others are computed into a variable.
  Expr bound(const Expr& e, const Span& at) {
    if (to_affine(e, {})) return e;
    Target target{fresh("length"), true, Type(t_.index_type)};
    computed_.insert(target.name);
    Made made{like_current(at), {}, true};
    made.statement.lhs.push_back({var(target.name, at), true, target.type, at});
    made.statement.rhs = e;
    add(std::move(made));
    return var(target.name, at);
  }

  std::string fresh(const std::string& base) {
    if (taken_.empty()) collect_names();
    std::string name = base;
    for (int n = 0; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", base, n);
    return name;
  }

  void collect_names() {
    taken_.insert(t_.name);
    for (const Argument& a : t_.args) {
      taken_.insert(a.name);
      for (const Expr& e : a.shape ? *a.shape : Exprs()) collect_reads(e, taken_);
    }
    for (const auto& [name, temp] : t_.temporaries) taken_.insert(name);
    for (const Rule& r : t_.rules) {
      taken_.insert(r.name);
      taken_.insert(r.params.begin(), r.params.end());
      add_names(r.body);
    }
    for (const DomainText& d : t_.domains)
      for (const auto& all : {dim_names(d.set), param_names(d.set)})
        taken_.insert(all.begin(), all.end());
    for (const Chain& c : t_.chains)
      for (const Expr& e : c.conditions) add_names(e);
    const auto statement = [&](const Statement& s) {
      for (const Assignee& a : s.lhs) add_names(a.e);
      if (s.rhs) add_names(s.rhs);
      for (const Expr& p : s.options().predicates) add_names(p);
    };
    for (const Statement& s : t_.statements) statement(s);
    for (const Made& m : out_) statement(m.statement);
  }
  void add_names(const Expr& e) {
    walk(e, [&](const Expr& x) {
      if (const auto* v = x.as<Var>()) taken_.insert(v->name);
      if (const auto* l = x.as<Load>()) taken_.insert(l->array);
      if (const auto* c = x.as<Call>()) taken_.insert(c->name);
      if (const auto* r = x.as<Reduce>()) taken_.insert(r->inames.begin(), r->inames.end());
      return true;
    });
  }

  /// Names loops in the order of the statements, and adds their domains.
  void name_loops() {
    std::map<std::string, std::string> names;
    for (Made& m : out_) {
      if (!m.of_arrays) continue;
      std::vector<std::string> all = m.loops;
      for (std::string& i : reduction_inames(m.statement.rhs)) all.push_back(std::move(i));
      for (const std::string& i : all) {
        if (!loops_.contains(i) || names.contains(i)) continue;
        const Loop& l = loops_.at(i);
        const std::string& name = names[i] = fresh(l.base);
        const Expr inside = conjunction(
            {less(l.from, CompareOp::Le, var(name)), less(var(name), CompareOp::Lt, l.to)});
        t_.domains.push_back({to_condition(inside, {name}).value(), {name, l.at}});
      }
      rename_all(m.statement, names);
      if (!m.loops.empty() && said_exactly(m.statement))
        for (const std::string& i : m.loops) {
          if (!m.statement.written_options)
            m.statement.written_options = std::make_unique<Options>();
          m.statement.written_options->inames.push_back({names[i], m.statement.at});
        }
    }
  }

  /// Whether its options, or those of a block around it, say which loops it is in.
  bool said_exactly(const Statement& s) const {
    if (s.options().inames_exact) return true;
    for (int b = s.block; b >= 0;) {
      const Block& block = t_.blocks[static_cast<std::size_t>(b)];
      if (block.options.inames_exact) return true;
      b = block.parent;
    }
    return false;
  }

  static constexpr std::size_t kMostTurned = 3;  // loops that may run backwards

  KernelText& t_;
  Errors& errors_;
  NameCollector collect_;
  ArrayValues values_{*this};
  std::map<std::string, std::optional<Exprs>> arrays_;  // by name: the shape, if it is known
  std::map<std::string, const Rule*> rules_;
  std::set<std::string> inames_;    // of the kernel's own loops
  std::set<std::string> computed_;  // these, and scalars that statements write
  std::set<std::string> temporaries_;
  std::map<std::string, std::set<std::string>> loops_of_;  // of temporaries, as infer_inames has it
  Loops loops_;
  int next_loop_ = 0;
  std::vector<Made> out_;
  struct Group {          // statements that follow one another in one outermost loop
    std::size_t end = 0;  // behind the last one
    std::vector<std::vector<std::string>> members;                                // their loops
    std::map<std::string, std::vector<std::pair<std::size_t, Access>>> accesses;  // by variable
  } group_;
  const Statement* current_ = nullptr;
  std::set<std::string> taken_;
};

}  // namespace

void expand_array_statements(KernelText& k, Errors& errors) {
  try {
    check_rules(k.rules);
  } catch (const Error&) {
    return;  // which creation reports
  }
  Expansion(k, errors).run();
}

}  // namespace moonloop::text
