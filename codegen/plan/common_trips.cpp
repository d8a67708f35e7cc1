#include <algorithm>
#include <limits>
#include <optional>

#include "codegen/language.h"
#include "codegen/plan/bound_conditions.h"
#include "core/order/address_spaces.h"
#include "core/order/order.h"

// Loops around several work-items, or lanes, of which each computes its own bounds: on devices such
// in which they wait for one another, on hosts such that stand around the loops over them.
namespace moonloop {
namespace {

using Names = std::vector<std::string>;

/// Whether the names of `all` have one of `some` among them.
bool any_in(const Names& all, const std::set<std::string>& some) {
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& n) { return some.count(n) > 0; });
}

/// The first value and the end, exclusive, that bounds with some scalars in them give an iname;
/// null where none does.
struct Ends {
  Expr first, end;
};

/// Of the last dimension of `points`, as far as constraints with a parameter of `apart` tell; where
/// it has several parts, of all constraints. Never less than there is.
Ends ends_of(const Set& points, const std::set<std::string>& apart) {
  const Set plain = isl_set_remove_divs(points.copy());
  std::vector<BasicSet> parts = parts_of(plain);
  const std::vector<std::string> dims = dim_names(plain), params = param_names(plain);
  const auto last = static_cast<int>(dims.size()) - 1;
  Exprs firsts, ends;
  bool any_first = false, any_end = false;
  for (const BasicSet& part : parts) {
    Exprs lower, upper;
    for (const Constraint& c : constraints_of(part)) {
      const auto factor = [&](isl_dim_type t, int at) {
        return to_int(Val(isl_constraint_get_coefficient_val(c.get(), t, at)));
      };
      const std::int64_t own = factor(isl_dim_set, last);
      if (own == 0) continue;
      bool needs = false;
      Exprs terms;
      const auto add = [&](isl_dim_type t, int at, const std::string& name) {
        if (const std::int64_t f = factor(t, at); f != 0)
          terms.push_back(index_mul(lit(f), var(name)));
      };
      for (std::size_t p = 0; p < params.size(); ++p) {
        add(isl_dim_param, static_cast<int>(p), params[p]);
        needs = needs ||
                (apart.count(params[p]) > 0 && factor(isl_dim_param, static_cast<int>(p)) != 0);
      }
      for (int d = 0; d < last; ++d) add(isl_dim_set, d, dims[static_cast<std::size_t>(d)]);
      terms.push_back(lit(to_int(Val(isl_constraint_get_constant_val(c.get())))));
      if (!needs && parts.size() == 1) continue;
      const auto quotient = [](const Expr& e, std::int64_t by) {
        return by == 1 ? e : Expr(Binary{BinaryOp::FloorDiv, e, lit(by)});
      };
      const Expr rest = index_add(terms);  // own*iname + rest >= 0, or == 0
      const bool equality = yes(isl_constraint_is_equality(c.get()));
      if (own > 0 || equality) {
        const Expr r = own > 0 ? rest : index_mul(lit(-1), rest);
        lower.push_back(index_mul(lit(-1), quotient(r, std::abs(own))));
        any_first = any_first || needs;
      }
      if (own < 0 || equality) {
        const Expr r = own < 0 ? rest : index_mul(lit(-1), rest);
        upper.push_back(quotient(index_add({r, lit(std::abs(own))}), std::abs(own)));
        any_end = any_end || needs;
      }
    }
    const auto one = [](const char* name, Exprs all) {
      return all.size() == 1 ? all[0] : call(name, std::move(all));
    };
    if (!lower.empty()) firsts.push_back(one("max", std::move(lower)));
    if (!upper.empty()) ends.push_back(one("min", std::move(upper)));
  }
  const auto all = [](const char* name, Exprs of) {
    return of.size() == 1 ? of[0] : call(name, std::move(of));
  };
  Ends out;
  if (any_first) out.first = all("min", std::move(firsts));
  if (any_end) out.end = all("max", std::move(ends));
  return out;
}

class Placer {
 public:
  explicit Placer(Plan& plan)
      : plan_(plan),
        k_(plan.kernel),
        domains_(plan.kernel),
        conditions_(k_, domains_),
        own_(plan.kernel),
        device_(is_device(plan.target)) {}

  void run() {
    if (domains_.data().empty()) return;
    for (const std::string& t : domains_.data())
      if (each_has_its_own(t)) plan_.apart.insert(t);
    if (device_)
      for (const PlanNode& n : plan_.roots) find_conditional(n);
    if (!plan_.apart.empty()) place(plan_.roots, {}, false);
  }

 private:
  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }
  bool is_item(const std::string& iname) const { return is_work_item(k_.tag(iname)); }
  /// One after the other for all work-items together: no loop over some of them, or what hardware
  /// counts.
  bool is_common(const PlanNode& n) const {
    return n.is_loop() && !is_item(n.iname()) && !plan_.hardware.count(n.iname());
  }
  /// Whether work-items cannot run the node one after the other.
  bool together(const PlanNode& n) const { return device_ ? waits_in(n) : holds_items(n); }
  bool holds_items(const PlanNode& n) const {
    return std::any_of(n.children.begin(), n.children.end(),
                       [&](const PlanNode& c) { return is_item(c.iname()) || holds_items(c); });
  }
  /// Whether several work-items, or lanes of a device's, compute a value of their own. Lanes of a
  /// host's one after the other run all that their values bound.
  bool each_has_its_own(const std::string& t) const {
    if (device_ ? !plan_.lies_in(t, AddressSpace::Private) : !own_.per_item(t)) return false;
    return (device_ && plan_.lane_copies.count(t) > 0) ||
           std::any_of(k_.instructions.begin(), k_.instructions.end(), [&](const InsnPtr& i) {
             return writes(*i).count(t) > 0 &&
                    std::any_of(i->inames.begin(), i->inames.end(),
                                [&](const std::string& n) { return is_item(n); });
           });
  }
  /// Bounds that have no value where some condition does not hold.
  void find_conditional(const PlanNode& n) {
    if (is_common(n) && waits_in(n) && !conditions_.of(n).empty())
      for (std::string& t : domains_.data_of(n.iname())) plan_.apart.insert(std::move(t));
    for (const PlanNode& c : n.children) find_conditional(c);
  }

  /// Trips that loops of one sequence may share, as long as nothing writes what they come from.
  struct Known {
    std::string text;  // of all that it takes to put them together
    std::set<std::string> reads;
    int trips;
  };

  void place(std::vector<PlanNode>& nodes, const Names& around, bool repeats) {
    std::vector<PlanNode> out;
    std::vector<Known> known;
    for (PlanNode& n : nodes) {
      if (n.is_leaf() || (!device_ && is_item(n.iname())) || (n.is_loop() && !together(n))) {
        forget_written(n, known);
        out.push_back(std::move(n));
        continue;
      }
      if (is_common(n) && any_in(domains_.data_of(n.iname()), plan_.apart))
        agree(n, around, repeats, known, out);
      Names inside = around;
      if (n.is_loop()) inside.push_back(n.iname());
      forget_written(n, known);
      place(n.children, inside, n.is_loop() && (repeats || is_common(n)));
      out.push_back(std::move(n));
    }
    nodes = std::move(out);
  }

  void forget_written(const PlanNode& n, std::vector<Known>& known) const {
    if (known.empty()) return;
    std::set<std::string> written;
    written_in(n, written);
    std::erase_if(known, [&](const Known& k) {
      return std::any_of(k.reads.begin(), k.reads.end(),
                         [&](const std::string& name) { return written.count(name) > 0; });
    });
  }
  void written_in(const PlanNode& n, std::set<std::string>& out) const {
    for (int i : n.insns()) out.merge(writes(insn(i)));
    if (const PlanReduction* r = n.reduction())
      out.merge(writes(insn(plan_.reductions[static_cast<std::size_t>(r->reduction)].update)));
    for (const PlanNode& c : n.children) written_in(c, out);
  }

  /// What some work-items put together.
  struct Part {
    Names items;
    std::set<std::string> inames;  // and of the loops around
    Exprs predicates;              // where their bounds have values
    Ends ends;
  };

  /// Before the loop `n`, work-items put together from where to where it runs.
  void agree(PlanNode& n, const Names& around, bool repeats, std::vector<Known>& known,
             std::vector<PlanNode>& out) {
    std::vector<Part> all;
    Known own{{}, {}, static_cast<int>(plan_.common_trips.size())};
    for (Names& items : items_of(n, around)) {
      Names dims = around;
      dims.insert(dims.end(), items.begin(), items.end());
      Part part;
      part.inames.insert(dims.begin(), dims.end());
      dims.push_back(n.iname());
      part.ends = ends_of(domains_.of(dims), plan_.apart);
      part.predicates = conditions_.of(n, part.inames);
      for (const Expr& p : part.predicates) collect_reads(p, own.reads);
      own.text +=
          fmt::format("; {} if {}", fmt::join(items, " "), to_string(conjunction(part.predicates)));
      for (const Expr& e : {part.ends.first, part.ends.end}) {
        own.text += ": " + (e ? to_string(e) : "");
        if (e) collect_reads(e, own.reads);
      }
      part.items = std::move(items);
      all.push_back(std::move(part));
    }
    for (const Known& k : known)
      if (k.text == own.text) {
        n.loop()->common_trips = k.trips;
        return;
      }
    n.loop()->common_trips = own.trips;
    put_together(n, all, around, repeats, out);
    known.push_back(std::move(own));
  }

  void put_together(const PlanNode& n, const std::vector<Part>& all, const Names& around,
                    bool repeats, std::vector<PlanNode>& out) {
    CommonTrips trips;
    std::vector<PlanNode> parts;
    for (const Part& part : all) {
      std::vector<int> updates;
      const auto put = [&](std::string& name, const Expr& value, bool first) {
        if (!value) return;
        if (name.empty()) name = shared_scalar(n.iname() + (first ? "_first" : "_end"));
        Instruction update;
        update.id = name + "_update";
        if (device_) update.atomic = Atomicity::Update;
        update.lhs = {var(name)};
        update.rhs = call(first ? "min" : "max", {var(name), value});
        update.predicates = part.predicates;
        update.inames = part.inames;
        updates.push_back(add(std::move(update)));
      };
      put(trips.first, part.ends.first, true);
      put(trips.end, part.ends.end, false);
      if (updates.empty()) continue;
      PlanNode put_together = PlanNode::of(std::move(updates));
      for (const std::string& iname : part.items) {
        if (!is_item(iname)) continue;  // place_lanes
        std::vector<PlanNode> body;
        body.push_back(std::move(put_together));
        put_together = PlanNode::over(iname, std::move(body));
      }
      parts.push_back(std::move(put_together));
    }
    std::vector<int> start;
    const auto reset = [&](const std::string& name, bool first) {
      if (name.empty()) return;
      Instruction init;
      init.id = name + "_init";
      init.lhs = {var(name)};
      init.rhs = lit(first ? none() : -none());
      init.inames.insert(around.begin(), around.end());
      start.push_back(add(std::move(init)));
      trips.starts.push_back(start.back());
    };
    reset(trips.first, true);
    reset(trips.end, false);
    if (!parts.empty()) {  // else its bounds need others of its domain alone
      const std::string names = trips.first.empty() ? trips.end
                                : trips.end.empty() ? trips.first
                                                    : trips.first + " and " + trips.end;
      Barrier* const waited = out.empty() ? nullptr : out.back().barrier();
      if (waited) waited->local = true;
      if (repeats && !waited)
        wait(fmt::format("the loop over {} ends before {} start again", n.iname(), names), out);
      out.push_back(PlanNode::of(std::move(start)));
      wait(fmt::format("work-items put together {}", names), out);
      std::move(parts.begin(), parts.end(), std::back_inserter(out));
      wait(fmt::format("the loop over {} needs {}", n.iname(), names), out);
    }
    plan_.common_trips.push_back(std::move(trips));
  }

  /// More than any first value, and its negative less than any end.
  std::int64_t none() const {
    return k_.index_type == Scalar::I64 ? std::numeric_limits<std::int64_t>::max()
                                        : std::numeric_limits<std::int32_t>::max();
  }

  /// On hosts, the end of a loop over work-items is all it takes.
  void wait(std::string why, std::vector<PlanNode>& out) const {
    if (!device_) return;
    out.push_back({Barrier{true, false, std::move(why)}});
  }

  std::string shared_scalar(const std::string& base) {
    Temporary t;
    t.name = k_.fresh_name(base);
    t.type = Type(k_.index_type);
    t.shape = Exprs{};
    t.space = AddressSpace::Local;
    t.at = k_.at;
    if (device_) plan_.spaces.emplace(t.name, AddressSpace::Local);
    std::string name = t.name;
    k_.temporaries.emplace(name, std::move(t));
    return name;
  }
  int add(Instruction i) {
    i.id = k_.fresh_id(i.id);
    i.at = k_.at;
    k_.instructions.push_back(std::make_shared<const Instruction>(std::move(i)));
    return static_cast<int>(k_.instructions.size()) - 1;
  }

  /// The inames that number, in statements of the loop, the work-items and lanes which have bounds
  /// of their own, of the loop or one of `loops` around it, axis 0 first: each set of them that
  /// holds no other one, since more of them only bound it further.
  std::vector<Names> items_of(const PlanNode& n, Names loops) const {
    loops.push_back(n.iname());
    std::set<std::string> bounds, axes;
    for (const std::string& iname : loops)
      for (std::string& t : domains_.data_of(iname))
        if (plan_.apart.count(t)) bounds.insert(std::move(t));
    for (const InsnPtr& i : k_.instructions)
      if (const std::set<std::string> written = writes(*i);
          std::any_of(bounds.begin(), bounds.end(),
                      [&](const std::string& t) { return written.count(t) > 0; }))
        for (const std::string& name : i->inames)
          if (is_item(name)) axes.insert(copy_axis(k_, name));
    for (const std::string& t : bounds)
      if (const auto lanes = plan_.lane_copies.find(t); lanes != plan_.lane_copies.end())
        axes.insert(lanes->second.begin(), lanes->second.end());
    std::set<Names> all;
    collect(n, axes, all);
    std::vector<Names> out;
    for (const Names& own : all) {
      const bool least = std::none_of(all.begin(), all.end(), [&](const Names& other) {
        return other.size() < own.size() &&
               std::all_of(other.begin(), other.end(), [&](const std::string& name) {
                 return std::find(own.begin(), own.end(), name) != own.end();
               });
      });
      if (least) out.push_back(own);
    }
    return out;
  }
  void collect(const PlanNode& n, const std::set<std::string>& axes, std::set<Names>& out) const {
    for (int i : n.insns()) {
      if (insn(i).kind == InsnKind::Barrier || insn(i).kind == InsnKind::Nop) continue;
      Names own;
      for (const std::string& axis : axes)
        for (const std::string& name : insn(i).inames)
          if ((is_item(name) || is_lane(k_.tag(name))) && copy_axis(k_, name) == axis)
            own.push_back(name);
      out.insert(std::move(own));
    }
    for (const PlanNode& c : n.children) collect(c, axes, out);
  }

  Plan& plan_;
  Kernel& k_;
  Domains domains_;
  BoundConditions conditions_;
  OwnCopies own_;
  bool device_;
};

}  // namespace

bool waits_in(const PlanNode& node) {
  return node.barrier() || node.reduction() ||
         std::any_of(node.children.begin(), node.children.end(), waits_in);
}

void place_common_trips(Plan& plan) { Placer(plan).run(); }

}  // namespace moonloop
