#include "tests/differential/brute_force.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

#include "core/model/domain.h"
#include "core/model/flat_subscripts.h"
#include "core/order/address_spaces.h"
#include "core/order/order.h"
#include "core/order/reference.h"
#include "core/rewrite/as_text.h"
#include "core/sets/budget.h"
#include "tests/differential/points.h"
#include "tests/differential/random_atomics.h"

namespace moonloop::differential {
namespace {

struct Unknown {};
constexpr std::size_t kMostInstances = 6000;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x632be59bd9b4e019u);
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 29);
}
std::uint64_t mix(std::uint64_t a, const std::string& s) {
  for (const char c : s) a = mix(a, static_cast<unsigned char>(c));
  return a;
}

/// One access of one instance; `subscript` holds values and, of a record, the field's number.
struct Touch {
  const std::string* variable;
  std::vector<std::int64_t> subscript;
  bool write = false, update = false;
  bool in_record = false;
  bool idle = false;  // a read in the arm of a choice that this instance does not take
  const std::string* atomic = nullptr;  // the kind of an atomic update that commutes with its like
};

/// When an instance runs: at each level of the tree the child's number, then the loop's value.
struct Step {
  std::int64_t child = 0, value = 0;
  bool parallel = false, shares = false;
};
struct Instance {
  int statement = 0;
  std::uint64_t key = 0;  // its key in the base
  std::vector<Step> time;
  std::int64_t last_child = 0;
  std::vector<std::int64_t> items;      // work-item inames' values
  std::vector<std::string> item_names;  // and their names
  std::vector<Touch> touches;           // in the order of the text, the write last
  std::string text;
};

// Vector: lanes or threads of one loop, or work-items of one statement; their updates are put
// together.
enum class When { Before, After, Concurrent, Vector, Same };

When compare(const Instance& a, const Instance& b) {
  for (std::size_t i = 0;; ++i) {
    const bool a_ends = i == a.time.size(), b_ends = i == b.time.size();
    const std::int64_t x = a_ends ? a.last_child : a.time[i].child;
    const std::int64_t y = b_ends ? b.last_child : b.time[i].child;
    if (x != y) return x < y ? When::Before : When::After;
    if (a_ends || b_ends) break;
    if (a.time[i].value == b.time[i].value) continue;
    if (a.time[i].parallel) return a.time[i].shares ? When::Vector : When::Concurrent;
    return a.time[i].value < b.time[i].value ? When::Before : When::After;
  }
  return a.items == b.items ? When::Same : When::Vector;
}
bool in_sequence(const Instance& a, const Instance& b) {  // parallel loops and work-items ascending
  for (std::size_t i = 0;; ++i) {
    const bool a_ends = i == a.time.size(), b_ends = i == b.time.size();
    const std::int64_t x = a_ends ? a.last_child : a.time[i].child;
    const std::int64_t y = b_ends ? b.last_child : b.time[i].child;
    if (x != y) return x < y;
    if (a_ends || b_ends) break;
    if (a.time[i].value != b.time[i].value) return a.time[i].value < b.time[i].value;
  }
  return a.items < b.items;
}

/// All instances of a kernel, in sequential order.
class Enumeration {
 public:
  Enumeration(const Kernel& k, const Integers& values)
      : nested_(nest(k)), is_base_(true), sequential_(true), values_(values) {
    for (std::size_t s = 0; s < nested_.kernel.instructions.size(); ++s) add(static_cast<int>(s));
    std::sort(all.begin(), all.end(), in_sequence);
  }

  std::vector<Instance> all;
  const Kernel& kernel() const { return nested_.kernel; }

  bool is_temporary(const std::string& name) const {
    return nested_.kernel.find_temporary(name) != nullptr;
  }
  const TreePath& path(int s) const { return nested_.tree.paths[static_cast<std::size_t>(s)]; }

 private:
  static bool is_item(const InameTag* t) {
    return t && (t->kind == TagKind::Local || t->kind == TagKind::LocalAuto ||
                 t->kind == TagKind::Ilp || t->kind == TagKind::Vec);
  }
  bool is_parallel(const std::string& iname) const {
    const InameTag* t = nested_.kernel.tag(iname);
    return !sequential_ && t &&
           (t->kind == TagKind::Par || t->kind == TagKind::Group || t->kind == TagKind::Simd);
  }

  bool shares_sums(const std::string& iname) const {
    const InameTag* t = nested_.kernel.tag(iname);
    return t && (t->kind == TagKind::Simd || t->kind == TagKind::Par);
  }

  void add(int s) {
    const Instruction& insn = *nested_.kernel.instructions[static_cast<std::size_t>(s)];
    std::vector<std::string> dims = path(s).loops();
    std::vector<std::string> items;
    for (const std::string& i : insn.inames)
      if (is_item(nested_.kernel.tag(i))) items.push_back(i);
    dims.insert(dims.end(), items.begin(), items.end());
    Set domain = domain_of(nested_.kernel, dims);
    std::vector<std::int64_t> params;
    for (const std::string& p : param_names(domain)) {
      const auto it = values_.find(p);
      if (it == values_.end()) throw Unknown{};
      params.push_back(it->second);
    }
    Integers at = values_;
    try {
      for_each_point(domain, params, [&](const std::vector<std::int64_t>& point) {
        for (std::size_t d = 0; d < dims.size(); ++d) at[dims[d]] = point[d];
        add_instance(s, insn, items, at);
      });
    } catch (const Error&) { throw Unknown{}; }
  }

  void add_instance(int s, const Instruction& insn, const std::vector<std::string>& items,
                    const Integers& at) {
    for (const Expr& p : insn.predicates)
      if (!evaluate(p, at, "a predicate")) return;
    if (all.size() >= kMostInstances) throw Unknown{};
    Instance out;
    out.statement = s;
    const TreePath& where = path(s);
    const std::vector<std::string>& loops = where.loops();
    for (std::size_t l = 0; l < loops.size(); ++l)
      out.time.push_back(
          {where.index(l), at.at(loops[l]), is_parallel(loops[l]), shares_sums(loops[l])});
    out.last_child = where.last;
    for (const std::string& i : items) out.items.push_back(at.at(i));
    out.item_names = items;

    // Which instance of the base it is: by the names that the base's statement has.
    out.text = insn.reference_id() + "[";
    out.key = mix(7, insn.reference_id());
    std::map<std::string, Expr> names;  // sorted
    for (const std::string& i : loops) names.emplace(i, Expr());
    for (const std::string& i : items) names.emplace(i, Expr());
    if (!is_base_) {  // the base is its own reference
      for (const auto& [name, e] : insn.origin) names[name] = e;
      for (auto it = names.begin(); it != names.end();)
        it = !it->second && !base_dims_->at(insn.reference_id()).count(it->first) ? names.erase(it)
                                                                                  : std::next(it);
      for (auto it = names.begin(); it != names.end();)
        it =
            !base_dims_->at(insn.reference_id()).count(it->first) ? names.erase(it) : std::next(it);
    }
    for (const auto& [name, e] : names) {
      const std::int64_t v = e ? evaluate(e, at, "an origin") : at.at(name);
      out.key = mix(mix(out.key, name), static_cast<std::uint64_t>(v));
      out.text += fmt::format("{}{}={}", out.text.back() == '[' ? "" : ", ", name, v);
    }
    out.text += "]";
    collect(insn, at, out.touches);
    all.push_back(std::move(out));
  }

  void collect(const Instruction& insn, const Integers& at, std::vector<Touch>& out) const {
    const std::function<void(const Expr&, bool)> read = [&](const Expr& e, bool idle) {
      walk(e, [&](const Expr& x) {
        if (const Expr* numbered = as_indexof(x)) {  // which is not read
          if (const auto* l = numbered->as<Load>())
            for (const Expr& i : l->index) read(i, idle);
          return false;
        }
        if (const auto* choice = x.as<Select>()) {
          const auto taken = moonloop::evaluate(Expr(Select{choice->cond, lit(1), lit(0)}), at);
          read(choice->cond, idle);
          read(choice->yes, idle || (taken && *taken == 0));
          read(choice->no, idle || (taken && *taken != 0));
          return false;
        }
        const std::size_t before = out.size();
        const auto* f = x.as<Field>();
        const Expr& base = f ? f->base : x;
        if (const auto* v = base.as<Var>(); v && is_temporary(v->name)) add_touch(x, at, {}, out);
        const auto* l = base.as<Load>();
        if (l) add_touch(x, at, {}, out);
        if (l)
          for (const Expr& i : l->index) read_subscript(i, at, out);
        for (std::size_t t = before; t < out.size(); ++t) out[t].idle = idle;
        return !l;
      });
    };
    if (insn.rhs) read(insn.rhs, false);
    for (const Expr& p : insn.predicates) read(p, false);
    Touch write{};
    write.write = true;
    write.update = insn.role == ReductionRole::Update;
    for (const Expr& l : insn.lhs) add_touch(l, at, write, out);
    if (insn.atomic != Atomicity::Update) return;
    for (const std::string& tag : insn.tags)
      if (commuting_tag(tag))
        for (const Expr& l : insn.lhs)
          if (insn.lhs.size() == 1 || reads(kernel(), insn).count(written_name(l)))
            for (Touch& t : out)
              if (*t.variable == written_name(l)) t.atomic = &tag;
  }
  void read_subscript(const Expr& e, const Integers& at, std::vector<Touch>& out) const {
    walk(e, [&](const Expr& x) {
      if (const auto* v = x.as<Var>(); v && is_temporary(v->name)) add_touch(x, at, {}, out);
      if (x.as<Load>()) throw Unknown{};
      return true;
    });
  }
  /// One touch for each field of a record that is accessed whole.
  void add_touch(const Expr& place, const Integers& at, Touch touch,
                 std::vector<Touch>& out) const {
    const auto* f = place.as<Field>();
    const Expr& base = f ? f->base : place;
    if (const auto* v = base.as<Var>())
      touch.variable = &v->name;
    else if (const auto* l = base.as<Load>()) {
      touch.variable = &l->array;
      if (flat_.contains(l->array)) {  // the places of all elements
        const auto place = place_in_memory(nested_.kernel, l->array, subscripts_of(*l));
        if (!place) throw Unknown{};
        touch.subscript = subscripts({*place}, at);
      } else {
        touch.subscript = subscripts(l->index, at);
      }
    } else
      throw Unknown{};
    const Record* r = record_of(*touch.variable);
    if (!r) {
      out.push_back(std::move(touch));
      return;
    }
    for (std::size_t n = 0; n < r->fields.size(); ++n) {
      if (f && r->fields[n].name != f->name) continue;
      out.push_back(touch);
      out.back().subscript.push_back(static_cast<std::int64_t>(n));
      out.back().in_record = true;
    }
  }
  const Record* record_of(const std::string& name) const {
    const Kernel& k = nested_.kernel;
    const Argument* a = k.find_arg(name);
    const Temporary* t = k.find_temporary(name);
    const std::optional<Type>* type = a ? &a->type : t ? &t->type : nullptr;
    return type && *type ? (*type)->record.get() : nullptr;
  }
  static std::vector<std::int64_t> subscripts(const Exprs& index, const Integers& at) {
    std::vector<std::int64_t> out;
    for (const Expr& e : index) out.push_back(evaluate(e, at, "a subscript"));
    return out;
  }

 public:
  /// The inames by which the base names the instances of each of its statements.
  using Dims = std::unordered_map<std::string, std::set<std::string>>;
  static Dims dims_of(const Enumeration& base) {
    Dims out;
    const auto& all = base.nested_.kernel.instructions;
    for (std::size_t s = 0; s < all.size(); ++s) {
      std::set<std::string>& d = out[all[s]->id];
      const std::vector<std::string>& loops = base.path(static_cast<int>(s)).loops();
      d.insert(loops.begin(), loops.end());
      for (const std::string& i : all[s]->inames)
        if (is_item(base.nested_.kernel.tag(i))) d.insert(i);
    }
    return out;
  }
  /// The result of steps on the base; `as_text`: in the order in which its text is read.
  Enumeration(const Kernel& k, bool as_text, const Dims& dims, const Integers& values)
      : nested_(as_text ? nest_in_sequence(k) : nest(k)),
        is_base_(false),
        sequential_(as_text),
        values_(values),
        base_dims_(&dims) {
    for (std::size_t s = 0; s < nested_.kernel.instructions.size(); ++s) add(static_cast<int>(s));
    std::sort(all.begin(), all.end(), in_sequence);
  }

 private:
  /// Arrays some of whose elements are addressed by their places in memory.
  static std::set<std::string> used_flat(const Kernel& k) {
    std::set<std::string> out;
    const auto look = [&](const Expr& e) {
      if (e)
        walk(e, [&](const Expr& x) {
          if (const auto* l = x.as<Load>(); l && l->linear) out.insert(l->array);
          return true;
        });
    };
    for (const InsnPtr& i : k.instructions) {
      look(i->rhs);
      for (const Expr& l : i->lhs) look(l);
      for (const Expr& p : i->predicates) look(p);
    }
    return out;
  }

  Nested nested_;
  bool is_base_, sequential_;
  const Integers& values_;
  std::set<std::string> flat_ = used_flat(nested_.kernel);
  const Dims* base_dims_ = nullptr;
};

using Cell = std::pair<std::string, std::vector<std::int64_t>>;
struct Event {
  std::size_t instance;
  bool write, update;
  const std::string* atomic;
};
/// Whether both are atomic updates of a kind that commutes.
bool commute(const Event& x, const Event& y) {
  return x.atomic && y.atomic && *x.atomic == *y.atomic;
}
using History = std::map<Cell, std::vector<Event>>;

/// What touches each cell. With `whole`, what a proof may count: whole records, not their fields,
/// and also reads in arms of choices that are not taken.
History history(const Enumeration& e, bool temporaries, bool whole = false) {
  History out;
  for (std::size_t i = 0; i < e.all.size(); ++i)
    for (const Touch& t : e.all[i].touches) {
      if (e.is_temporary(*t.variable) != temporaries || (t.idle && !whole)) continue;
      Cell cell{*t.variable, t.subscript};
      if (whole && t.in_record) cell.second.pop_back();
      out[cell].push_back({i, t.write, t.update, t.atomic});
    }
  return out;
}

std::string pair_text(const Cell& c, const Instance& x, const Instance& y, const char* how) {
  return fmt::format("{}[{}]: {} {} {}", c.first, fmt::join(c.second, ", "), x.text, how, y.text);
}

/// The places of the instances of the base in another enumeration, by key.
using Where = std::unordered_map<std::uint64_t, std::size_t>;

/// Pairs of conflicting accesses that `after` runs the wrong way round, or at once.
std::string reversed_pair(const History& base_cells, const Enumeration& base,
                          const Enumeration& after, const Where& where) {
  for (const auto& [cell, events] : base_cells)
    for (std::size_t i = 0; i < events.size(); ++i)
      for (std::size_t j = i + 1; j < events.size(); ++j) {
        const Event &x = events[i], &y = events[j];
        if ((!x.write && !y.write) || x.instance == y.instance) continue;
        if (commute(x, y)) continue;
        const Instance& p = base.all[x.instance];
        const Instance& q = base.all[y.instance];
        const When w = compare(after.all[where.at(p.key)], after.all[where.at(q.key)]);
        if (w == When::Before || (w != When::Concurrent && x.update && y.update)) continue;
        return pair_text(cell, p, q,
                         w == When::After ? "now runs after" : "runs at the same time as");
      }
  return {};
}

/// How many levels of the tree all accesses of each temporary share, and whether work-items have
/// copies of it.
struct Copies {
  std::map<std::string, std::size_t> levels;
  std::set<std::string> shared;  // by all of the team, as the base shows
  std::optional<OwnCopies> own;  // by their declaration and their writes
  /// By temporary: the work-item inames of its accesses; for an accumulator those that all have,
  /// because the team combines the others' parts.
  std::map<std::string, std::vector<std::string>> items;

  /// Parallel loops, as the numbers of the children on the way to them, each iteration of which
  /// writes the elements of a temporary that it reads itself, and none that others read.
  std::set<std::pair<std::string, std::vector<std::int64_t>>> apart_in;
  static std::vector<std::int64_t> way(const Instance& i, std::size_t level) {
    std::vector<std::int64_t> out;
    for (std::size_t l = 0; l <= level; ++l) out.push_back(i.time[l].child);
    return out;
  }
  /// Whether each iteration of the parallel loop at `level` around the instance has its own.
  bool by_iteration(const std::string& name, const Instance& i, std::size_t level) const {
    return level < levels.at(name) || (!apart_in.empty() && apart_in.count({name, way(i, level)}));
  }

  using Copy = std::vector<std::optional<std::int64_t>>;
  /// Which work-items' copies an instance accesses: those of all values of an iname that it lacks.
  Copy copy_of(const std::string& name, const Instance& i) const {
    Copy out;
    if (shared.count(name)) return out;
    for (const std::string& item : items.at(name)) {
      if (own && !own->has(name, item)) continue;
      out.emplace_back();
      for (std::size_t n = 0; n < i.items.size(); ++n)
        if (i.item_names[n] == item) out.back() = i.items[n];
    }
    return out;
  }
  /// Whether two instances access different copies.
  bool apart(const std::string& name, const Instance& i, const Instance& j) const {
    const Copy x = copy_of(name, i), y = copy_of(name, j);
    for (std::size_t n = 0; n < x.size(); ++n)
      if (x[n] && y[n] && *x[n] != *y[n]) return true;
    return false;
  }
};

Copies copies(const Enumeration& e) {
  Copies out;
  std::map<std::string, const Instance*> first;
  std::set<std::string> updated;
  for (const Instance& i : e.all)
    for (const Touch& t : i.touches) {
      if (!e.is_temporary(*t.variable)) continue;
      const auto [it, is_new] = first.try_emplace(*t.variable, &i);
      std::vector<std::string>& items = out.items[*t.variable];
      for (const std::string& n : i.item_names)
        if (std::find(items.begin(), items.end(), n) == items.end()) items.push_back(n);
      if (t.update) updated.insert(*t.variable);
      std::size_t& levels = out.levels.try_emplace(*t.variable, i.time.size()).first->second;
      std::size_t shared = 0;
      const Instance& f = *it->second;
      while (shared < std::min({levels, i.time.size(), f.time.size()}) &&
             f.time[shared].child == i.time[shared].child)
        ++shared;
      levels = shared;
    }
  for (auto& [name, levels] : out.levels)
    if (e.kernel().find_temporary(name)->space == AddressSpace::Global) levels = 0;
  for (const Instance& i : e.all)
    for (const Touch& t : i.touches)
      if (updated.count(*t.variable))
        std::erase_if(out.items[*t.variable], [&](const std::string& n) {
          return std::find(i.item_names.begin(), i.item_names.end(), n) == i.item_names.end();
        });
  return out;
}

/// Whether the order of the updates of a reduction counts.
bool in_order(const Instruction& insn) {
  return insn.role == ReductionRole::Update && within_segments(insn.reduce_op);
}

/// How the team shares the reductions of a kernel.
class Parts {
 public:
  explicit Parts(const Kernel& k) : k_(k) {
    for (const InsnPtr& i : k.instructions)
      if (i->role == ReductionRole::Init)
        for (const Expr& l : i->lhs) starts_[written_name(l)] = i.get();
  }
  const Instruction& insn(const Instance& i) const {
    return *k_.instructions[static_cast<std::size_t>(i.statement)];
  }
  /// The accumulator of a team's member that the instance starts or updates.
  Cell accumulator(const Instance& i) const {
    const std::string& name = written_name(insn(i).lhs[0]);
    Cell out{name, {}};
    for (std::size_t n = 0; n < i.items.size(); ++n)
      if (starts_.at(name)->inames.count(i.item_names[n])) out.second.push_back(i.items[n]);
    return out;
  }
  /// The work-item whose part an update is in; nothing where a single axis does not determine it.
  std::optional<std::int64_t> item(const Instance& i) const {
    const Instruction& init = *starts_.at(written_name(insn(i).lhs[0]));
    std::optional<std::int64_t> out;
    for (std::size_t n = 0; n < i.items.size(); ++n) {
      if (init.inames.count(i.item_names[n])) continue;
      const InameTag* tag = k_.tag(i.item_names[n]);
      if (out || (tag->kind != TagKind::Local && tag->kind != TagKind::LocalAuto)) return {};
      out = i.items[n];
    }
    return out;
  }
  /// Whether the order of updates `p` and `q` of one accumulator is the following: each work-item
  /// takes its terms one after the other, and then their parts are combined in the order of the
  /// iname.
  bool before(const Instance& p, const Instance& q) const {
    const auto x = item(p), y = item(q);
    return x && y && *x != *y ? *x < *y : compare(p, q) == When::Before;
  }

 private:
  const Kernel& k_;
  std::map<std::string, const Instruction*> starts_;  // by accumulator
};

/// Two updates of one segmented reduction that `after` takes in the wrong order, or in none.
std::string misplaced_term(const Enumeration& base, const Enumeration& after, const Where& where) {
  const Parts was(base.kernel()), is(after.kernel());
  std::string found;
  const auto check = [&](std::vector<const Instance*>& terms) {
    std::stable_sort(terms.begin(), terms.end(), [&](const Instance* p, const Instance* q) {
      const auto x = was.item(*p), y = was.item(*q);
      return x && y && *x < *y;
    });
    for (std::size_t n = 1; n < terms.size() && found.empty(); ++n)
      if (!is.before(after.all[where.at(terms[n - 1]->key)], after.all[where.at(terms[n]->key)]))
        found = terms[n - 1]->text + " and " + terms[n]->text + " are terms in no order";
    terms.clear();
  };
  std::map<Cell, std::vector<const Instance*>> runs;  // since each accumulator was started
  for (const Instance& i : base.all) {
    const Instruction& insn = was.insn(i);
    if (insn.role == ReductionRole::Init) check(runs[was.accumulator(i)]);
    if (in_order(insn)) runs[was.accumulator(i)].push_back(&i);
  }
  for (auto& [cell, terms] : runs) check(terms);
  return found;
}

/// The copies of one element: the values written to them, the latest last.
class Element {
 public:
  struct Held {
    std::uint64_t value = 0;
    std::string kind;  // of the update that wrote it; empty: a store
  };
  /// The value that all copies of `c` hold; nothing where they differ or hold nothing.
  std::optional<Held> held(const Copies::Copy& c) const {
    for (auto w = written_.rbegin(); w != written_.rend(); ++w) {
      if (covers(w->first, c)) return w->second;
      if (meet(w->first, c)) return std::nullopt;
    }
    return std::nullopt;
  }
  void set(const Copies::Copy& c, Held now) {
    std::erase_if(written_, [&](const auto& w) { return covers(c, w.first); });
    written_.emplace_back(c, std::move(now));
  }

 private:
  static bool covers(const Copies::Copy& a, const Copies::Copy& b) {
    for (std::size_t n = 0; n < a.size(); ++n)
      if (a[n] && a[n] != b[n]) return false;
    return true;
  }
  static bool meet(const Copies::Copy& a, const Copies::Copy& b) {
    for (std::size_t n = 0; n < a.size(); ++n)
      if (a[n] && b[n] && *a[n] != *b[n]) return false;
    return true;
  }
  std::vector<std::pair<Copies::Copy, Held>> written_;
};

/// The values that each instance reads from temporaries, in sequential execution with values that
/// stand for the instances that made them.
struct Reads {
  std::unordered_map<std::uint64_t, std::uint64_t> values;
  std::set<std::string> undefined;  // temporaries that are read where nothing wrote them
};
/// `idle`: also by reads in arms of choices that are not taken.
Reads values_read(const Enumeration& e, const Copies& private_in, bool idle = false) {
  std::map<Cell, Element> memory;
  Reads out;
  for (const Instance& i : e.all) {
    std::uint64_t seen = 1;
    for (const Touch& t : i.touches) {
      if (t.idle && !idle) continue;
      if (t.atomic && !t.write) continue;  // its order among similar ones does not matter
      if (!e.is_temporary(*t.variable)) continue;
      Cell cell{*t.variable, t.subscript};
      for (std::size_t l = 0; l < i.time.size(); ++l)
        if (i.time[l].parallel && private_in.by_iteration(*t.variable, i, l)) {
          cell.second.push_back(i.time[l].child);
          cell.second.push_back(i.time[l].value);
        }
      const Copies::Copy copy = private_in.copy_of(*t.variable, i);
      Element& at = memory[cell];
      std::optional<Element::Held> held = at.held(copy);
      if (!held && (!t.write || t.update || t.atomic)) out.undefined.insert(*t.variable);
      // Updates of one kind commute; one of another kind closes their sum.
      const std::string kind = t.atomic ? *t.atomic : "";
      if (held && t.write && t.atomic && kind != held->kind) held->value = mix(held->value, kind);
      const std::uint64_t before = held ? held->value : 0;
      if (!t.write)
        seen = mix(seen, before);
      else if (t.update || t.atomic)
        at.set(copy, {before + mix(i.key, seen), kind});
      else
        at.set(copy, {mix(i.key, seen), kind});
    }
    out.values[i.key] = seen;
  }
  return out;
}

/// Which instances read values of temporaries from which others, in sequence.
struct Flow {
  std::string variable;
  const Instance *from, *to;
};
std::vector<Flow> flows(const Enumeration& e) {
  std::map<Cell, const Instance*> latest;
  std::vector<Flow> out;
  for (const Instance& i : e.all)
    for (const Touch& t : i.touches) {
      if (t.idle || !e.is_temporary(*t.variable)) continue;
      const auto it = latest.find({*t.variable, t.subscript});
      if (it != latest.end() && (!t.write || t.update || t.atomic))
        out.push_back({*t.variable, it->second, &i});
      if (t.write) latest[{*t.variable, t.subscript}] = &i;
    }
  return out;
}

/// The parallel loops each iteration of which keeps its own writes to a temporary.
void find_apart(const Enumeration& after, Copies& out) {
  std::set<std::pair<std::string, std::vector<std::int64_t>>> crossed;
  for (const Instance& i : after.all)
    for (const Touch& t : i.touches)
      if (after.is_temporary(*t.variable) &&
          after.kernel().find_temporary(*t.variable)->space != AddressSpace::Global)
        for (std::size_t l = 0; l < i.time.size(); ++l)
          if (i.time[l].parallel) out.apart_in.emplace(*t.variable, Copies::way(i, l));
  for (const Flow& f : flows(after)) {
    const Instance &p = *f.from, &q = *f.to;
    bool same = true;  // all iterations so far
    for (std::size_t l = 0; l < std::max(p.time.size(), q.time.size()); ++l) {
      same = same && l < p.time.size() && l < q.time.size() && p.time[l].child == q.time[l].child &&
             p.time[l].value == q.time[l].value;
      for (const Instance* i : {&p, &q})
        if (!same && l < i->time.size() && i->time[l].parallel)
          crossed.emplace(f.variable, Copies::way(*i, l));
    }
  }
  for (const auto& c : crossed) out.apart_in.erase(c);
}

/// Two accesses of one cell of a temporary, one of them a write, in two iterations of a parallel
/// loop that has no copies of it.
std::string shared_race(const Enumeration& e, const Copies& c) {
  for (const auto& [cell, events] : history(e, true))
    for (std::size_t i = 0; i < events.size(); ++i)
      for (std::size_t j = i + 1; j < events.size(); ++j) {
        const Instance &p = e.all[events[i].instance], &q = e.all[events[j].instance];
        if (!events[i].write && !events[j].write) continue;
        if (commute(events[i], events[j])) continue;
        const When w = compare(p, q);
        if (w != When::Concurrent && (w != When::Vector || (events[i].update && events[j].update)))
          continue;
        bool has_copies = c.apart(cell.first, p, q);
        for (std::size_t l = 0; l < std::min(p.time.size(), q.time.size()); ++l) {
          if (p.time[l].child != q.time[l].child) break;
          if (p.time[l].parallel && p.time[l].value != q.time[l].value &&
              c.by_iteration(cell.first, p, l))
            has_copies = true;
        }
        if (!has_copies) return pair_text(cell, p, q, "runs at the same time as");
      }
  return {};
}

/// The differences of `k` from the base where only its text is read: teams and groups are loops
/// there, which nest as the text says. No text can express that all of a team run one statement
/// before the next, unless its loops cannot nest.
std::string changed_as_text(const Enumeration& base, const Copies& base_copies, const Reads& wanted,
                            const History& base_cells, const Kernel& k,
                            const Enumeration::Dims& dims, const Integers& values) {
  if (std::none_of(k.iname_tags.begin(), k.iname_tags.end(), [](const auto& t) {
        return in_team(&t.second) || t.second.kind == TagKind::Group;
      }))
    return {};
  const Enumeration text(as_text(k), true, dims, values);
  Where where;
  for (std::size_t i = 0; i < text.all.size(); ++i) where.emplace(text.all[i].key, i);
  if (std::string why = reversed_pair(base_cells, base, text, where); !why.empty()) return why;
  if (std::string why = misplaced_term(base, text, where); !why.empty()) return why;
  Copies c = copies(text);
  c.own.emplace(text.kernel());
  c.shared = base_copies.shared;
  const Reads found = values_read(text, c);
  for (const Instance& i : base.all)
    if (found.values.at(i.key) != wanted.values.at(i.key))
      return i.text + " reads another value of a temporary";
  return {};
}

}  // namespace

/// Nothing where the two are in one iteration of all loops that they share.
static std::optional<Conflict> conflict(const Enumeration& e, const std::string& variable,
                                        const Event& x, const Event& y) {
  const Instance &a = e.all[x.instance], &b = e.all[y.instance];
  const std::vector<std::string>&f = e.path(a.statement).loops(), &g = e.path(b.statement).loops();
  Conflict out;
  for (std::size_t l = 0; l < std::min(f.size(), g.size()) && f[l] == g[l]; ++l) {
    out.loops.push_back(f[l]);
    out.distance.push_back(b.time[l].value - a.time[l].value);
  }
  const auto differs =
      std::find_if(out.distance.begin(), out.distance.end(), [](std::int64_t d) { return d != 0; });
  if (differs == out.distance.end()) return std::nullopt;
  out.level = static_cast<std::size_t>(differs - out.distance.begin());
  const auto id = [&](const Instance& i) {
    return e.kernel().instructions[static_cast<std::size_t>(i.statement)]->id;
  };
  out.from = id(a), out.to = id(b);
  out.kind = !x.write ? DepKind::Anti : y.write ? DepKind::Output : DepKind::Flow;
  out.variable = variable;
  return out;
}

std::optional<std::vector<Conflict>> conflicts(const Kernel& k, const Integers& values) {
  try {
    const IslBudget budget(20'000'000, "enumerating instances");
    const Enumeration e(k, values);
    std::vector<Conflict> out;
    std::set<std::string> seen;
    for (const auto& [cell, events] : history(e, false))
      for (std::size_t i = 0; i < events.size(); ++i)
        for (std::size_t j = i + 1; j < events.size(); ++j) {
          const Event &x = events[i], &y = events[j];
          if ((!x.write && !y.write) || commute(x, y)) continue;
          auto c = conflict(e, cell.first, x, y);
          if (!c || !seen.insert(fmt::format("{} {} {} {} {}", c->from, c->to, int(c->kind),
                                             c->variable, fmt::join(c->distance, " ")))
                         .second)
            continue;
          out.push_back(std::move(*c));
        }
    return out;
  } catch (const Unknown&) { return std::nullopt; } catch (const IslQuota&) {
    return std::nullopt;
  }
}

/// The results of the base at some parameters; they do not change with the compared kernels.
struct BruteForce::Base {
  Base(const Kernel& k, const Integers& values)
      : at(values), all(k, at), dims(Enumeration::dims_of(all)), copied(copies(all)) {
    for (const bool temporaries : {false, true}) {
      fields[temporaries] = history(all, temporaries);
      records[temporaries] = history(all, temporaries, true);
    }
    // Work-items have copies of a temporary, unless the base shows that they share it.
    copied.own.emplace(all.kernel());
    copied.shared = values_read(all, copied).undefined;
    reads = values_read(all, copied);
  }
  const Integers at;
  const Enumeration all;
  const Enumeration::Dims dims;
  Copies copied;
  Reads reads;
  History fields[2], records[2];  // of arrays, of temporaries
};

BruteForce::BruteForce(const Kernel& base) : kernel_(base) {}
BruteForce::~BruteForce() = default;

const BruteForce::Base& BruteForce::base_at(const Integers& values) {
  for (const auto& b : bases_)
    if (b->at == values) return *b;
  bases_.push_back(std::make_unique<Base>(kernel_, values));
  return *bases_.back();
}

Verdict BruteForce::compare(const Kernel& after_kernel, const Integers& values) {
  using Kind = Verdict::Kind;
  constexpr unsigned long kOperations = 20'000'000;
  try {
    const IslBudget budget(kOperations, "enumerating instances");
    const Base& run = base_at(values);
    const Enumeration& base = run.all;
    const Enumeration after(after_kernel, false, run.dims, run.at);

    // Barriers may run more often: waiting more does not change the computation.
    const auto computes = [](const Enumeration& e, const Instance& i) {
      return e.kernel().instructions[std::size_t(i.statement)]->kind != InsnKind::Barrier;
    };
    const auto computing = [&](const Enumeration& e) {
      return std::count_if(e.all.begin(), e.all.end(),
                           [&](const Instance& i) { return computes(e, i); });
    };
    Where where;
    for (std::size_t i = 0; i < after.all.size(); ++i)
      if (!where.emplace(after.all[i].key, i).second && computes(after, after.all[i]))
        return {Kind::Illegal, after.all[i].text + " runs twice"};
    for (const Instance& i : base.all)
      if (!where.count(i.key)) return {Kind::Illegal, i.text + " is lost"};
    if (computing(base) != computing(after)) return {Kind::Illegal, "there are new instances"};

    if (std::string why = reversed_pair(run.fields[false], base, after, where); !why.empty())
      return {Kind::Illegal, std::move(why)};

    if (std::string why = misplaced_term(base, after, where); !why.empty())
      return {Kind::Illegal, std::move(why)};

    Copies c = copies(after);
    c.own.emplace(after.kernel());
    c.shared = run.copied.shared;
    if (!run.reads.undefined.empty()) throw Unknown{};
    find_apart(after, c);
    if (std::string why = shared_race(after, c); !why.empty())
      return {Kind::Illegal, std::move(why)};
    const Reads found = values_read(after, c);
    for (const Instance& i : base.all)
      if (found.values.at(i.key) != run.reads.values.at(i.key))
        return {Kind::Illegal, i.text + " reads another value of a temporary"};
    if (std::string why = changed_as_text(base, run.copied, run.reads, run.fields[false],
                                          after_kernel, run.dims, run.at);
        !why.empty())
      return {Kind::Illegal, "its text says another order: " + why};
    for (const bool temporaries : {false, true})
      if (std::string why = reversed_pair(run.records[temporaries], base, after, where);
          !why.empty())
        return {Kind::Conservative, std::move(why)};
    // An access of an arm counts for the proof wherever the choice is.
    const Reads was = values_read(base, run.copied, true), is = values_read(after, c, true);
    for (const Instance& i : base.all)
      if (is.values.at(i.key) != was.values.at(i.key))
        return {Kind::Conservative, i.text + " has another value in an arm that it does not take"};
    return {Kind::Legal, {}};
  } catch (const Unknown&) { return {Kind::Unknown, "not enumerable"}; } catch (const IslQuota&) {
    return {Kind::Unknown, "takes too many operations"};
  }
}

}  // namespace moonloop::differential
