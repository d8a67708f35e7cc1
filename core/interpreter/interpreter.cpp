#include "core/interpreter/interpreter.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "core/infer/infer.h"
#include "core/interpreter/interpreter_bounds.h"
#include "core/interpreter/interpreter_compile.h"
#include "core/interpreter/interpreter_loops.h"
#include "core/interpreter/interpreter_scalars.h"
#include "core/model/domain.h"
#include "core/model/layout.h"
#include "core/order/address_spaces.h"
#include "core/order/check_kernel.h"
#include "core/order/inline_calls.h"
#include "core/order/order.h"
#include "core/order/tree.h"
#include "core/rewrite/webs.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace interp {
namespace {

/// What is running, for messages.
struct Current {
  const Instruction* insn = nullptr;
  const std::vector<std::string>* loops = nullptr;
};

struct Step {
  virtual ~Step() = default;
  virtual void run() = 0;
  /// Makes all that it writes unknown.
  virtual void undecide() = 0;
};
using Steps = std::vector<std::unique_ptr<Step>>;

bool open(const BoundedInt& b) { return b.e > 0; }

/// Values that bounds depend on, each read into a slot.
struct DataBounds {
  std::vector<std::pair<IntPtr, std::int64_t*>> values;
  /// Whether all are decided, according to `accuracy` (or null).
  bool read(const Accuracy* accuracy) const {
    bool decided = true;
    for (const auto& [value, at] : values) {
      *at = value->get();
      if (accuracy && value->varies() && open(value->bounded(*accuracy))) decided = false;
    }
    return decided;
  }
};

struct LoopStep final : Step {
  Range range;
  std::int64_t* slot = nullptr;
  DataBounds data;               // read on entry
  std::unique_ptr<Step> items;   // or null: where work-items' bounds differ
  IntPtr only_while;             // or null: the condition of all statements within
  std::vector<Storage*> copies;  // that there may be more of than before
  Steps body;
  const Accuracy* accuracy = nullptr;  // of a run with bounds
  void run() override {
    decided_ = true;
    if (items) {
      first_ = std::numeric_limits<std::int64_t>::max(), last_ = -first_;
      items->run();
      reach(last_);
      for (std::int64_t x = first_; x <= last_; ++x) {
        *slot = x;
        if (!iteration()) break;
      }
    } else {
      decided_ = data.read(accuracy);
      std::int64_t first = 0, last = 0;
      if (!copies.empty() && range.hull(first, last)) reach(last);
      range.for_each(slot, [this] { return iteration(); });
    }
    if (!decided_) undecide();
  }
  /// Includes the iterations of the present work-item.
  void widen() {
    decided_ = data.read(accuracy) && decided_;
    std::int64_t first = 0, last = 0;
    if (!range.hull(first, last)) return;
    first_ = std::min(first_, first), last_ = std::max(last_, last);
  }
  void undecide() override {
    for (const auto& s : body) s->undecide();
  }

 private:
  void reach(std::int64_t last) const {
    for (Storage* s : copies) s->reach(last);
  }
  bool iteration() {
    if (only_while && !only_while->get() &&
        !(accuracy && only_while->varies() && open(only_while->bounded(*accuracy))))
      return false;
    for (const auto& s : body) s->run();
    return true;
  }
  bool decided_ = true;
  std::int64_t first_ = 0, last_ = 0;  // over all work-items
};

/// Tells a loop which of its iterations one work-item runs.
struct WidenStep final : Step {
  LoopStep* loop = nullptr;
  void run() override { loop->widen(); }
  void undecide() override {}
};

/// Statements that a work-item runs only where its own bounds let it.
struct GuardStep final : Step {
  Range range;  // of the innermost loop
  const std::int64_t* slot = nullptr;
  DataBounds data;
  std::unique_ptr<Step> inner;
  const Accuracy* accuracy = nullptr;
  void run() override {
    if (!data.read(accuracy)) return undecide();
    std::int64_t first = 0, last = 0;
    if (range.hull(first, last) && first <= *slot && *slot <= last &&
        (range.exact.empty() || range.holds()))
      inner->run();
  }
  void undecide() override { inner->undecide(); }
};

struct LeafStep final : Step {
  const Instruction* insn = nullptr;
  std::vector<std::string> loops;
  std::vector<IntPtr> predicates;
  std::vector<std::unique_ptr<Store>> stores;
  Current* current = nullptr;
  const Accuracy* accuracy = nullptr;  // of a run with bounds whose predicates vary
  void run() override {
    current->insn = insn;
    current->loops = &loops;
    if (accuracy) return run_bounded();
    for (const IntPtr& p : predicates)
      if (!p->get()) return;
    for (const auto& s : stores) s->prepare();
    for (const auto& s : stores) s->commit();
  }
  void run_bounded() {
    bool taken = true, decided = true;
    for (const IntPtr& p : predicates) {
      BoundedInt b{};
      try {
        b = p->bounded(*accuracy);
      } catch (const OutOfBounds&) {
        if (taken) throw;
        return undecide();  // a predicate before it may keep it from being evaluated, or not
      } catch (const DivisionByZero&) {
        if (taken) throw;
        return undecide();
      }
      if (b.v == 0 && b.e == 0) return;
      taken = taken && b.v != 0;
      decided = decided && b.e == 0;
    }
    try {
      for (const auto& s : stores) s->prepare();
    } catch (const OutOfBounds&) {
      if (taken) throw;
      return undecide();
    } catch (const DivisionByZero&) {
      if (taken) throw;
      return undecide();
    }
    for (const auto& s : stores) decided ? s->commit() : s->commit_open(taken);
  }
  void undecide() override {
    for (const auto& s : stores)
      if (Shadow* shadow = s->shadow())
        std::fill(shadow->bounds.begin(), shadow->bounds.end(), kUndecided);
  }
};

class Run {
 public:
  Run(const Kernel& k, const LoopTree& tree, Bindings& data, Tally* tally, ErrorBounds* bounds)
      : k_(k), tree_(tree), data_(data), compiler_(k, memory_), tally_(tally), bounds_(bounds) {
    if (!bounds) return;
    decided_ = decided_integers(k);
    summed_ = summed_variables(k);
    for (const InsnPtr& i : k.instructions)
      for (const std::string& n : writes(*i)) written_.insert(n);
  }

  void run() {
    bind_scalars();
    check_assumptions();
    for (const Domain& d : k_.domains)
      for (const std::string& i : d.inames()) memory_.iname(i);
    for (const Argument& a : k_.args)
      if (a.is_array) bind_array(a);
    find_team();
    for (const auto& [name, t] : k_.temporaries) allocate(t);
    std::vector<std::string> path;
    Steps steps = build(tree_.roots, path, {});
    try {
      for (const auto& s : steps) s->run();
    } catch (const OutOfBounds& e) {
      fail("out-of-bounds", at(*e.access),
           "`{}` reaches index {} of axis {}, whose extent is {}, at {}", to_string(*e.access),
           e.index, e.axis, e.extent, instance());
    } catch (const DivisionByZero&) {
      fail("division-by-zero", current_.insn ? current_.insn->at : k_.at,
           "an integer is divided by zero at {}", instance());
    }
  }

 private:
  Span at(const Expr& e) const {
    return e.at() ? e.at() : current_.insn ? current_.insn->at : k_.at;
  }

  std::string instance() const {
    if (!current_.insn) return "the loop bounds";
    std::string out;
    for (const std::string& l : *current_.loops)
      out += fmt::format("{}{}={}", out.empty() ? "[" : ", ", l, *memory_.inames.at(l));
    return current_.insn->id + (out.empty() ? "" : out + "]");
  }

  // ---- Arguments.

  void bind_scalars() {
    const auto bind = [&](const std::string& name, const Type& type) {
      const auto it = data_.scalars.find(name);
      if (it == data_.scalars.end())
        fail("missing-argument", k_.at, "`{}` has no value for the argument `{}`", k_.name, name);
      memory_.scalars.emplace(name, it->second);
      memory_.scalar_types.emplace(name, type);
    };
    for (const Argument& a : k_.args)
      if (!a.is_array) bind(a.name, *a.type);
    const auto parameters = [&](const Set& s) {
      for (const std::string& p : param_names(s))
        if (!memory_.scalars.count(p) && !k_.find_temporary(p) && !k_.has_iname(p))
          bind(p, k_.index_type);
    };
    for (const Domain& d : k_.domains) parameters(d.set);
    if (k_.assumptions) parameters(k_.assumptions);
  }

  /// Parameters that are known by now become numbers.
  Set fixed(Set s) const {
    for (const std::string& p : param_names(s)) {
      const auto it = memory_.scalars.find(p);
      if (it == memory_.scalars.end()) continue;
      const int n = isl_set_find_dim_by_name(s.get(), isl_dim_param, p.c_str());
      Val v = isl_val_int_from_si(isl(), it->second.i);
      s = isl_set_fix_val(s.take(), isl_dim_param, static_cast<unsigned>(n), v.take());
      s = isl_set_project_out(s.take(), isl_dim_param, static_cast<unsigned>(n), 1);
    }
    return s;
  }

  void check_assumptions() const {
    if (!k_.assumptions) return;
    const Set s = fixed(k_.assumptions);
    if (!yes(isl_set_is_empty(s.get()))) return;
    std::string values;
    for (const std::string& p : param_names(k_.assumptions))
      if (const auto it = memory_.scalars.find(p); it != memory_.scalars.end())
        values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", p, it->second.i);
    fail("assumption-violated", k_.at, "{} contradicts the assumption `{}` of `{}`", values,
         to_string(from_set(k_.assumptions)), k_.name);
  }

  std::vector<std::int64_t> evaluate(const Exprs& shape) {
    std::vector<std::int64_t> out;
    for (const Expr& e : shape) out.push_back(std::max<std::int64_t>(0, compiler_.index(e)->get()));
    return out;
  }

  /// Number of bytes; fails when 64 bits do not hold it.
  std::int64_t bytes(const std::string& name, const std::vector<std::int64_t>& shape, const Type& t,
                     const Span& at) const {
    std::int64_t n = t.size();
    for (const std::int64_t e : shape)
      if (e == 0) return 0;
    for (const std::int64_t e : shape)
      if (__builtin_mul_overflow(n, e, &n))
        fail("size-overflow", at ? at : k_.at,
             "`{}` of shape ({}) has more bytes than 64 bits can count", name,
             fmt::join(shape, ", "));
    return n;
  }

  void bind_array(const Argument& a) {
    const Span& where = a.at ? a.at : k_.at;
    const auto it = data_.arrays.find(a.name);
    if (it == data_.arrays.end())
      fail("missing-argument", where, "`{}` has no data for the array `{}`", k_.name, a.name);
    const ArrayView& v = it->second;
    if (!(v.type == *a.type))
      fail("argument-mismatch", where, "the data for `{}` is {}, not {}", a.name, v.type.str(),
           a.type->str());
    const std::vector<std::int64_t> shape = evaluate(*a.shape);
    if (v.shape != shape || v.strides.size() != shape.size())
      fail("argument-mismatch", where, "the data for `{}` has shape ({}), not ({})", a.name,
           fmt::join(v.shape, ", "), fmt::join(shape, ", "));
    if (bytes(a.name, shape, v.type, where) > 0 && !v.data)
      fail("missing-argument", where, "`{}` has no data for the array `{}`", k_.name, a.name);
    Storage s;
    s.type = v.type;
    s.shape = v.shape;
    s.strides = v.strides;
    s.data = static_cast<char*>(v.data);
    if (has_bounds(a.name, s.type) && s.data) {
      std::int64_t low = 0, high = 0;  // places of elements, counted from the first
      for (std::size_t d = 0; d < shape.size(); ++d)
        (s.strides[d] < 0 ? low : high) += std::max<std::int64_t>(0, shape[d] - 1) * s.strides[d];
      const std::int64_t size = s.type.size();
      s.shadow =
          &(bounds_->arrays[a.name] = make_shadow(s.type, s.data + low * size,
                                                  static_cast<std::size_t>((high - low + 1) * size),
                                                  bounds_->accuracy, summed_.count(a.name) != 0));
    }
    memory_.arrays.emplace(a.name, std::move(s));
  }

  /// Whether values of an array may be inexact.
  bool has_bounds(const std::string& name, const Type& t) const {
    if (!bounds_ || !written_.count(name)) return false;
    return t.is_record() || !holds_int(t) || decided_.count(name);
  }

  // ---- Temporaries.

  /// In a team every statement runs for all members before the next does. So a private temporary
  /// needs a copy for each value of the team's inames around all its uses.
  void find_team() {
    for (const auto& [name, t] : k_.iname_tags)
      if (in_team(&t)) team_.insert(name);
    if (team_.empty()) return;
    std::map<std::string, bool> seen;
    const auto keep = [&](const std::string& name, const Instruction& insn) {
      std::set<std::string>& own = copies_[name];
      if (seen.emplace(name, true).second) own = team_;
      std::erase_if(own, [&](const std::string& i) { return !insn.inames.count(i); });
    };
    const Variables variables(k_);
    for (const InsnPtr& i : k_.instructions) {
      for_each_name_read(k_, variables, *i, [&](const std::string& n) { keep(n, *i); });
      for (const std::string& n : writes(*i)) keep(n, *i);
    }
    const OwnCopies own(k_);
    for (auto& [name, inames] : copies_)
      std::erase_if(inames, [&, n = &name](const std::string& i) { return !own.has(*n, i); });
    std::erase_if(copies_, [](const auto& c) { return c.second.empty(); });
  }

  void allocate(const Temporary& t) {
    const Span& where = t.at ? t.at : k_.at;
    Storage s;
    s.type = *t.type;
    s.shape = evaluate(*t.shape);
    std::int64_t elements = bytes(t.name, s.shape, s.type, where) / s.type.size();
    s.strides = evaluate(strides_of(*t.shape, t.order, t.strides));
    if (t.strides) elements = span_of(*t.shape, *t.strides).value();
    if (const auto c = copies_.find(t.name); c != copies_.end()) {
      for (const std::string& iname : c->second) add_copies(iname, elements, s, where);
      put_growing_last(t.name, elements, s, where);
    }
    std::int64_t size = 0;
    if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(s.type.size()), &size))
      fail("size-overflow", where, "`{}` needs more bytes than 64 bits can count", t.name);
    try {
      // A NaN: a read of an unwritten element shows.
      const bool real =
          !s.type.is_record() && !is_integer(s.type.scalar) && s.type.scalar != Scalar::Bool;
      s.unset = static_cast<char>(real ? 0xFF : 0xCD);
      s.own.assign(static_cast<std::size_t>(size), s.unset);
    } catch (const std::exception&) {
      fail("size-overflow", where, "there is no memory for the {} bytes of `{}`", size, t.name);
    }
    s.data = s.own.data();
    Storage& kept = memory_.arrays.emplace(t.name, std::move(s)).first->second;
    if (t.initializer) initialize(t, kept);
    if (!has_bounds(t.name, kept.type)) return;
    shadows_.push_back(std::make_unique<Shadow>(make_shadow(
        kept.type, kept.data, kept.own.size(), bounds_->accuracy, summed_.count(t.name) != 0)));
    kept.shadow = shadows_.back().get();
  }

  void add_copies(const std::string& iname, std::int64_t& elements, Storage& s, const Span& where) {
    Set points = fixed(domain_of(k_, {iname}));
    points = drop_params(points, param_names(points));
    const Val low = isl_set_dim_min_val(points.copy(), 0),
              high = isl_set_dim_max_val(points.copy(), 0);
    if (yes(isl_set_is_empty(points.get()))) return;
    const bool grows = !yes(isl_val_is_int(high.get()));
    if (!yes(isl_val_is_int(low.get())))
      fail("unbounded-iname", where, "the work-item iname `{}` has no lower bound", iname);
    const std::int64_t first = to_int(low), extent = grows ? 1 : to_int(high) - first + 1;
    s.copies.push_back({iname, first, extent, elements, grows});
    if (__builtin_mul_overflow(elements, extent, &elements))
      fail("size-overflow", where, "the work-items' copies of a temporary exceed 64 bits");
  }

  /// The axis of an iname whose last value is data becomes the outermost one, which can grow.
  void put_growing_last(const std::string& name, std::int64_t elements, Storage& s,
                        const Span& where) const {
    const auto grows = std::find_if(s.copies.begin(), s.copies.end(),
                                    [](const Storage::Copies& c) { return c.grows; });
    if (grows == s.copies.end()) return;
    Storage::Copies last = std::move(*grows);
    s.copies.erase(grows);
    for (const Storage::Copies& c : s.copies)
      if (c.grows)
        fail(
            "unbounded-iname", where,
            "the work-item inames `{}` and `{}` have no bounds before the run: `{}` has a copy for "
            "each pair of their values",
            last.iname, c.iname, name);
    last.stride = elements;  // its extent is 1 so far
    s.copies.push_back(std::move(last));
  }

  void initialize(const Temporary& t, const Storage& s) {
    // Literals in C order.
    std::vector<std::int64_t> index(s.shape.size(), 0);
    for (const Expr& e : *t.initializer) {
      Access a;
      a.data = &s.data;
      for (std::size_t d = 0; d < index.size(); ++d)
        a.offset += index[d] * s.strides[d] * s.type.size();
      const auto put = store(std::move(a), s.type, compiler_.value_as(e, s.type));
      put->prepare();
      put->commit();
      for (std::size_t d = index.size(); d-- > 0;) {
        if (++index[d] < s.shape[d]) break;
        index[d] = 0;
      }
    }
  }

  // ---- The tree.

  Steps build(const std::vector<TreeNode>& nodes, std::vector<std::string>& path,
              const Set& known) {
    Steps out;
    for (const TreeNode& n : nodes) {
      if (!n.is_loop()) {
        if (auto s = leaf(n.insn, path, known)) out.push_back(std::move(s));
        continue;
      }
      Set points;
      auto loop = make_loop(n.iname, path, known, points);
      add_items(*loop, path, points);
      loop->body = build(n.children, path, points);
      path.pop_back();
      if (const Expr asked = asked_by_all(n, path)) loop->only_while = compiler_.condition(asked);
      if (!loop->body.empty()) out.push_back(std::move(loop));
    }
    return out;
  }

  /// The condition on scalars and outer loops that all statements in a loop have; null for none.
  /// Where it does not hold no statement runs, so that it never holds again.
  Expr asked_by_all(const TreeNode& loop, const std::vector<std::string>& around) const {
    const TreeNode* first = &loop;
    while (first->is_loop() && !first->children.empty()) first = &first->children[0];
    if (first->is_loop()) return Expr();
    Exprs out;
    for (const Expr& e : conditions_of(first->insn))
      if (stays(e, around) && asks(loop, e)) out.push_back(e);
    return out.empty() ? Expr() : conjunction(out);
  }
  bool stays(const Expr& e, const std::vector<std::string>& around) const {
    bool found = true;
    walk(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      const bool inner = v && k_.has_iname(v->name) &&
                         std::find(around.begin(), around.end(), v->name) == around.end();
      found = found && !inner && !x.as<Load>() && !x.as<Reduce>() && !(v && copies_.count(v->name));
      return found;
    });
    return found;
  }
  bool asks(const TreeNode& n, const Expr& condition) const {
    if (n.is_loop())
      return std::all_of(n.children.begin(), n.children.end(),
                         [&](const TreeNode& c) { return asks(c, condition); });
    const Exprs all = conditions_of(n.insn);
    return std::any_of(all.begin(), all.end(), [&](const Expr& e) { return equal(e, condition); });
  }
  Exprs conditions_of(int index) const {
    Exprs out;
    for (const Expr& p : k_.instructions[static_cast<std::size_t>(index)]->predicates) {
      const auto* all = p.as<Nary>();
      if (all && all->op == NaryOp::And)
        out.insert(out.end(), all->terms.begin(), all->terms.end());
      else
        out.push_back(p);
    }
    return out;
  }

  /// The loop over `iname` inside `path`; `iname` is added to `path`.
  std::unique_ptr<LoopStep> make_loop(const std::string& iname, std::vector<std::string>& path,
                                      const Set& known, Set& points) {
    path.push_back(iname);
    points = fixed(domain_of(k_, path));
    auto loop = std::make_unique<LoopStep>();
    if (bounds_) loop->accuracy = &bounds_->accuracy;
    loop->slot = memory_.iname(iname);
    if (team_.count(iname))
      for (auto& [name, s] : memory_.arrays)
        if (!s.copies.empty() && s.copies.back().grows && s.copies.back().iname == iname)
          loop->copies.push_back(&s);
    if (team_.count(iname))  // a work-item's own bounds are known when it is
      points = drop_params(points, differing(points, {path.begin(), path.end() - 1}));
    for (const std::string& p : param_names(points))
      if (k_.find_temporary(p)) read_bound(p, loop->data);
    loop->range = range(points, known);
    return loop;
  }
  Range range(const Set& points, const Set& known) {
    return make_range(points, known, [&](const std::string& n) -> const std::int64_t* {
      const auto it = memory_.inames.find(k_.find_temporary(n) ? data_slot(n) : n);
      return it == memory_.inames.end() ? nullptr : it->second.get();
    });
  }
  void read_bound(const std::string& temporary, DataBounds& out) {
    out.values.emplace_back(convert(compiler_.value(var(temporary)), Scalar::I64).i,
                            memory_.iname(data_slot(temporary)));
  }
  /// Temporaries in the bounds of `points` that have copies for work-items that `path` lacks.
  std::vector<std::string> differing(const Set& points,
                                     const std::vector<std::string>& path) const {
    std::vector<std::string> out;
    for (const std::string& p : param_names(points))
      if (!lacking(p, path).empty()) out.push_back(p);
    return out;
  }
  std::vector<std::string> lacking(const std::string& temporary,
                                   const std::vector<std::string>& path) const {
    std::vector<std::string> out;
    if (const auto c = copies_.find(temporary); c != copies_.end())
      for (const std::string& i : c->second)
        if (std::find(path.begin(), path.end(), i) == path.end()) out.push_back(i);
    return out;
  }

  /// Where the bounds of `loop`, the last of `path`, differ between work-items, it runs over the
  /// values of all of them, and each statement checks for its own.
  void add_items(LoopStep& loop, std::vector<std::string> path, const Set& points) {
    std::vector<std::string> items;
    for (const std::string& p : differing(points, path))
      for (std::string& i : lacking(p, path))
        if (std::find(items.begin(), items.end(), i) == items.end()) items.push_back(std::move(i));
    if (items.empty()) return;
    auto last = std::make_unique<WidenStep>();
    last->loop = &loop;
    std::unique_ptr<Step> step = std::move(last);
    path.pop_back();
    std::vector<std::unique_ptr<LoopStep>> loops;
    for (const std::string& i : items) {
      Set values;
      loops.push_back(make_loop(i, path, {}, values));
    }
    for (auto l = loops.rbegin(); l != loops.rend(); ++l) {
      (*l)->body.push_back(std::move(step));
      step = std::move(*l);
    }
    loop.items = std::move(step);
  }
  /// `step`, a statement that runs in `path` and as the work-items `items`, under its own bounds
  /// where loops run for others too.
  std::unique_ptr<Step> guarded(std::unique_ptr<Step> step, const std::vector<std::string>& around,
                                const std::vector<std::string>& path) {
    const Set points = fixed(domain_of(k_, path));
    const std::vector<std::string> differ = differing(points, around);
    if (differ.empty()) return step;
    auto out = std::make_unique<GuardStep>();
    for (const std::string& p : differ) {
      if (!lacking(p, path).empty())
        throw InternalError("interpreter: a bound of each work-item's own, used by all");
      read_bound(p, out->data);
    }
    out->range = range(points, {});
    out->slot = memory_.iname(path.back());
    if (bounds_) out->accuracy = &bounds_->accuracy;
    out->inner = std::move(step);
    return out;
  }
  /// Where bounds are another work-item's own, that one comes first.
  std::vector<std::string>::const_iterator next_item(const std::vector<std::string>& rest,
                                                     const std::vector<std::string>& path) const {
    if (copies_.empty()) return rest.begin();
    const auto known = std::find_if(rest.begin(), rest.end(), [&](const std::string& i) {
      std::vector<std::string> with = path;
      with.push_back(i);
      return differing(domain_of(k_, with), with).empty();
    });
    return known == rest.end() ? rest.begin() : known;
  }
  static std::string data_slot(const std::string& temporary) { return "bound of " + temporary; }

  std::unique_ptr<Step> leaf(int index, std::vector<std::string> path, Set known) {
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(index)];
    if (insn.kind == InsnKind::Barrier || insn.kind == InsnKind::Nop) return nullptr;
    std::vector<std::unique_ptr<LoopStep>> loops;
    const std::vector<std::string> around = path;
    std::vector<std::string> rest;
    for (const std::string& i : insn.inames)
      if (std::find(path.begin(), path.end(), i) == path.end()) rest.push_back(i);
    while (!rest.empty()) {
      const auto next = next_item(rest, path);
      Set points;
      loops.push_back(make_loop(*next, path, known, points));
      known = points;
      rest.erase(next);
    }
    auto s = std::make_unique<LeafStep>();
    s->insn = &insn;
    s->loops = path;
    s->current = &current_;
    // Predicates that a reduction repeats from its statement are not counted.
    if (insn.role == ReductionRole::None) compiler_.tell(tally_);
    for (const Expr& p : insn.predicates) s->predicates.push_back(compiler_.condition(p));
    compiler_.tell(tally_);
    const bool varies = std::any_of(s->predicates.begin(), s->predicates.end(),
                                    [](const IntPtr& p) { return p->varies(); });
    if (bounds_ && varies) s->accuracy = &bounds_->accuracy;
    s->stores = compiler_.statement(insn);
    compiler_.tell(nullptr);
    std::unique_ptr<Step> out = guarded(std::move(s), around, path);
    for (auto l = loops.rbegin(); l != loops.rend(); ++l) {
      (*l)->body.push_back(std::move(out));
      out = std::move(*l);
    }
    return out;
  }

  const Kernel& k_;
  const LoopTree& tree_;
  Bindings& data_;
  Memory memory_;
  Compiler compiler_;
  Tally* tally_;         // of statements alone; or null
  ErrorBounds* bounds_;  // or null
  std::set<std::string> decided_, summed_, written_;
  std::vector<std::unique_ptr<Shadow>> shadows_;  // of temporaries
  Current current_;
  std::set<std::string> team_;  // work-item inames that are not loops of the tree
  std::map<std::string, std::set<std::string>> copies_;  // by temporary
};

Nested with_own_webs(Nested nested) {
  std::set<std::string> names, optional;
  for (const auto& [name, runs] : used_in_and_outside_parallel(nested.kernel, false)) {
    names.insert(name);
    const bool in_order =
        std::all_of(runs.begin(), runs.end(), [](TagRun r) { return is_spread(r); });
    if (in_order) optional.insert(name);
  }
  return separate_webs(std::move(nested), names, optional);
}

}  // namespace
}  // namespace interp

void interpret(const Kernel& k, Bindings& data, Tally* tally) {
  const IslBudget budget(kPhaseOperations, fmt::format("interpreting kernel `{}`", k.name), k.at);
  const Nested nested = interp::with_own_webs(nest_in_sequence(inline_all_calls(complete(k))));
  interp::Run(nested.kernel, nested.tree, data, tally, nullptr).run();
}

void interpret(const Kernel& k, Bindings& data, ErrorBounds& out) {
  const Nested nested = interp::with_own_webs(nest_in_sequence(inline_all_calls(complete(k))));
  out.arrays.clear();
  interp::Run(nested.kernel, nested.tree, data, nullptr, &out).run();
}

double ErrorBounds::of(const std::string& array, const void* p) const {
  const auto it = arrays.find(array);
  return it == arrays.end() ? 0 : it->second.bounds[it->second.place(static_cast<const char*>(p))];
}

}  // namespace moonloop
