#include "codegen/plan/loops.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "codegen/language.h"
#include "codegen/plan/bound_conditions.h"
#include "codegen/plan/bound_copies.h"
#include "codegen/plan/bounds.h"
#include "codegen/plan/counted_values.h"
#include "codegen/plan/domains.h"
#include "codegen/plan/guards.h"
#include "codegen/plan/hardware_conflicts.h"
#include "codegen/plan/isl_expr.h"
#include "codegen/plan/loop_sets.h"
#include "codegen/plan/matrix_units.h"
#include "codegen/plan/piece_values.h"
#include "codegen/plan/slabs.h"
#include "core/expr/evaluate.h"
#include "core/order/order.h"
#include "core/sets/affine_constraints.h"
#include "core/sets/bounded.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

/// Longest loop that `unr` writes out.
constexpr std::int64_t kMaxUnroll = 1 << 16;
/// Statements that loops of `unr` in one another write out at most.
constexpr std::int64_t kMostCopies = 1 << 17;

// ---- The generator ----------------------------------------------------------------------------

class LoopMaker {
 public:
  /// `outline`: see outline_loops().
  LoopMaker(const Plan& plan, bool outline)
      : plan_(plan),
        k_(plan.kernel),
        domains_(plan.kernel),
        pieces_(k_, domains_),
        conditions_(k_, domains_),
        copies_(plan, domains_),
        counted_(plan),
        outline_(outline) {
    if (is_device(plan.target)) hardware_conflicts_.emplace(plan);
    for (const CommonTrips& t : plan.common_trips) starts_.insert(t.starts.begin(), t.starts.end());
  }

  Block run() {
    for (const PlanNode& n : plan_.roots) survey(n, {});
    const Set context = context_of(k_);
    Block out;
    declare(plan_.locals, out);
    append(out, blocks(plan_.roots, context));
    tidy_guards(out, [&](int i) { return writes(insn(i)); });
    end_loops_early(out, k_);
    if (hardware_conflicts_) spread_guards(out, [&](const Expr& e) { return by_group(e); });
    return out;
  }

 private:
  /// What the statements below a node need. Dimensions are the loops around a leaf, or those around
  /// a loop and the loop itself.
  struct Need {
    Set points;                  // exactly
    Set explicit_;               // only what does not follow from bounds of loops further inside
    std::set<std::string> data;  // of the scalars that bounds depend on: those written below
  };
  struct Group {  // of consecutive instructions under the same predicates
    Set points;
    Exprs rest;
    std::vector<int> insns;
  };

  const Instruction& insn(int i) const { return *k_.instructions[static_cast<std::size_t>(i)]; }
  /// Whether the condition is on groups and on what all of them know. PoCL 3.1 hangs on barriers
  /// under such, so that OpenCL has none.
  bool by_group(const Expr& cond) const {
    if (!features_of(plan_.target).waits_under_conditions) return false;
    bool groups = false, others = false;
    walk(cond, [&](const Expr& e) {
      const auto* v = e.as<Var>();
      if (e.as<Load>() || e.as<Reduce>()) others = true;
      if (!v) return true;
      const auto h = plan_.hardware.find(v->name);
      if (h != plan_.hardware.end())
        (h->second.group ? groups : others) = true;
      else if (k_.has_iname(v->name) || k_.find_temporary(v->name))
        others = true;
      return true;
    });
    return groups && !others;
  }
  static void append(Block& to, Block from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }

  // ---- Bottom-up: the points that each node needs.

  const Need& survey(const PlanNode& node, std::vector<std::string> loops) {
    Need out = node.is_leaf() ? survey_leaf(node, loops) : survey_body(node, std::move(loops));
    return needs_[node.id] = std::move(out);
  }

  Need survey_leaf(const PlanNode& node, const std::vector<std::string>& loops) {
    std::vector<Group>& groups = groups_[node.id];
    Need out;
    Union all;
    for (int i : node.insns()) {
      if (!domains_.data().empty())
        for (const std::string& w : writes(insn(i)))
          if (domains_.data().count(w)) out.data.insert(w);
      if (!groups.empty() && equal(insn(groups.back().insns[0]).predicates, insn(i).predicates)) {
        groups.back().insns.push_back(i);
        continue;
      }
      Domains::Predicates p = domains_.predicates(insn(i), loops);
      Set points = pieces_.of(loops);
      if (p.points) points = intersect(points, p.points);
      if (starts_.count(i))
        points = without_params(pieces_.without_unknown(std::move(points), loops), plan_.apart);
      all.add(points);
      groups.push_back({std::move(points), std::move(p.rest), {i}});
    }
    out.points = std::move(all).result();
    out.explicit_ = out.points;
    return out;
  }

  Need survey_body(const PlanNode& node, std::vector<std::string> loops) {
    std::set<std::string> unknown = copies_.unreadable(loops);
    const std::vector<std::string> around = loops;
    if (node.is_loop()) loops.push_back(node.iname());
    Need out;
    Union points, explicits;
    const bool waits_only = std::all_of(node.children.begin(), node.children.end(),
                                        [](const PlanNode& c) { return c.barrier() != nullptr; });
    for (const PlanNode& c : node.children) {
      if (c.barrier() && !waits_only) continue;
      if (c.barrier() || c.reduction()) {
        if (!c.barrier() && !is_lane(k_.tag(node.iname()))) continue;
        const Set& all = pieces_.of(loops);
        points.add(all), explicits.add(all);
        continue;
      }
      const Need& inner = survey(c, loops);
      out.data.insert(inner.data.begin(), inner.data.end());
      points.add(c.is_loop() ? without_last(inner.points) : inner.points);
      explicits.add(c.is_loop() ? without_last(drop_on_last(inner.explicit_)) : inner.explicit_);
    }
    for (const std::string& t : domains_.data_of(node.iname()))  // none for a kernel
      if (out.data.count(t))
        fail("cannot-nest", k_.at, "the loop `{}` writes `{}`, which its bounds need", node.iname(),
             t);
    unknown.insert(out.data.begin(), out.data.end());
    if (waits_in(node)) unknown.insert(plan_.apart.begin(), plan_.apart.end());
    const auto known = [&](Union& all) {
      return without_params(pieces_.without_unknown(std::move(all).result(), around), unknown);
    };
    out.points = known(points);
    out.explicit_ = known(explicits);
    if (node.common_trips()) run_in_common(node, loops, out);
    if (node.is_loop()) loops_[node.id] = std::move(loops);
    return out;
  }

  /// The bounds that work-items have in common take the place of those that each has.
  void run_in_common(const PlanNode& node, const std::vector<std::string>& loops,
                     Need& need) const {
    const CommonTrips& trips = plan_.common_trips[static_cast<std::size_t>(*node.common_trips())];
    const auto bound = [&](const std::string& name, CompareOp op) {
      if (name.empty()) return;
      const Set within = *to_condition(Expr(Compare{op, var(node.iname()), var(name)}), loops);
      need.points = intersect(need.points, within);
      need.explicit_ = intersect(need.explicit_, within);
      need.data.insert(name);
    };
    bound(trips.first, CompareOp::Ge);
    bound(trips.end, CompareOp::Lt);
  }

  // ---- Top-down: the program.

  Block blocks(const std::vector<PlanNode>& nodes, const Set& context) {
    if (slabs_.empty()) return whole_blocks(nodes, context);
    Block out;
    for (std::size_t i = 0; i < nodes.size();) {
      std::size_t end = i;
      while (end < nodes.size() && !waits_in(nodes[end])) ++end;
      if (end > i)
        append(out, in_slabs({nodes.begin() + long(i), nodes.begin() + long(end)}, context));
      i = end;
      if (i < nodes.size()) append(out, whole_blocks({nodes[i++]}, context));
    }
    return out;
  }

  /// What does not wait, once for each slab that a group may have.
  Block in_slabs(const std::vector<PlanNode>& nodes, const Set& context) {
    const std::vector<Set> parts = std::exchange(slabs_, {});
    Block out;
    for (const Set& part : parts) {
      const std::optional<Expr> guard = guard_of(part, context);
      if (!guard) continue;
      Block body = whole_blocks(nodes, intersect(context, part));
      if (body.empty()) continue;
      if (guard->as<BoolLit>())
        append(out, std::move(body));
      else
        out.push_back(Stmt{If{*guard, std::move(body)}});
    }
    slabs_ = parts;
    return out;
  }

  Block whole_blocks(const std::vector<PlanNode>& nodes, const Set& context) {
    Block out;
    for (const PlanNode& n : nodes) {
      if (const PlanReduction* r = n.reduction()) {
        out.push_back(Stmt{GroupCombine{r->reduction, {}}});
      } else if (const Barrier* b = n.barrier()) {
        out.push_back(Stmt{Sync{b->local, b->global, b->in_flight}});
      } else if (const PlanKernel* k = n.kernel()) {
        launch_ = k->launch;
        Block body = inside(n, context);
        if (!body.empty()) out.push_back(Stmt{Launch{k->launch, std::move(body)}});
      } else {
        const bool exactly = std::exchange(exactly_, outline_ && (in_matrix_ || has_matrix(n)));
        Block made = !n.is_loop()                      ? leaf(n, context)
                     : plan_.hardware.count(n.iname()) ? hardware(n, context)
                                                       : data_loop(n, context);
        exactly_ = exactly;
        copies_.put_in(made, n);
        append(out, std::move(made));
      }
    }
    return out;
  }

  static bool has_matrix(const PlanNode& node) {
    return (node.loop() && node.loop()->matrix) ||
           std::any_of(node.children.begin(), node.children.end(), has_matrix);
  }
  /// What is not around a matrix product has no guards and no bounds in an outline.
  bool outlines() const { return outline_ && !exactly_; }
  /// An iteration of the loop: in an outline, for all of them.
  static Block one_of(const std::string& iname, Block body) {
    if (body.empty()) return {};
    Loop loop;
    loop.iname = iname;
    loop.lower = lit(0);
    loop.upper = lit(1);
    loop.body = std::move(body);
    return only(Stmt{std::move(loop)});
  }

  Block leaf(const PlanNode& node, const Set& context) {
    Block out;
    for (const Group& g : groups_.at(node.id)) {
      const std::optional<Expr> guard = guard_of(all_to_params(g.points), context);
      if (!guard) continue;
      for (int i : g.insns) {
        if (insn(i).kind == InsnKind::Barrier || insn(i).kind == InsnKind::Nop) continue;
        written_ += copies_around_;
        Exprs conditions{*guard};
        for (Expr& c : in_first_alone(i)) conditions.push_back(std::move(c));
        for (const Expr& p : g.rest) conditions.push_back(own_copies(p, i));
        const Expr cond = conjunction(conditions);
        const bool always = cond.as<BoolLit>() && cond.as<BoolLit>()->value;
        Stmt run{Run{i, {}, {}}};
        out.push_back(always ? std::move(run) : Stmt{If{cond, only(std::move(run))}});
      }
    }
    return out;
  }

  /// That this is the first work-item or group along the axes of the kernel that the instruction
  /// does not use, where it writes memory that these share.
  Exprs in_first_alone(int i) const {
    Exprs out;
    if (!hardware_conflicts_) return out;
    const LaunchPlan& launch = plan_.launches[static_cast<std::size_t>(launch_)];
    for (const bool group : {true, false})
      for (int axis = 0; axis < 3; ++axis) {
        const bool one = group ? !launch.number(true, axis) : !launch.has_items(axis);
        if (one || !hardware_conflicts_->runs_in_first_alone(i, {group, axis})) continue;
        const Expr id = call(group ? kGroupId : kLocalId, {lit(axis)});
        out.push_back(Expr(Compare{CompareOp::Eq, id, lit(0)}));
      }
    return out;
  }

  /// What the hardware counts: no loop, but a guard where it counts further than needed. With slabs
  /// one block for each part; where groups wait and a barrier cannot be under their conditions, the
  /// slabs are apart in what is between the barriers.
  Block hardware(const PlanNode& node, const Set& context) {
    const Set range = iterations(node);
    const Set values = counted_.values(launch_, node.iname());
    const Set counted = intersect(context, values);
    const std::vector<Set> parts = slabs_of(k_, node.iname(), range, context);
    if (parts.size() > 1 && !features_of(plan_.target).waits_under_conditions && waits_in(node)) {
      const std::vector<Set> around = std::exchange(slabs_, {});
      for (const Set& part : parts) {
        const Set points = all_to_params(part);
        if (around.empty()) slabs_.push_back(points);
        for (const Set& outer : around) slabs_.push_back(intersect(outer, points));
      }
      Block out = inside(node, counted);
      slabs_ = around;
      return out;
    }
    Block out;
    for (const Set& part : parts) {
      const Set points = all_to_params(part);
      const bool alone = parts.size() == 1 && !waits_in(node);
      bool open = false;
      const std::optional<Expr> guard = alone && !outlines() && has_unknown_quotients(points)
                                            ? guards_.brief(points, counted, open)
                                            : guard_of(points, counted);
      if (!guard) continue;
      // The numbers of work-items of several statements together are no news for those of one.
      Set within = intersect(context, points);
      if (!yes(isl_set_is_subset(within.get(), values.get()))) within = intersect(counted, points);
      // What takes many cases to ask here, the statements ask in one, each for itself.
      const bool inside_asks = open || (alone && is_long(*guard));
      Block body = inside(node, inside_asks ? counted : within);
      if (body.empty()) continue;
      if (guard->as<BoolLit>() || inside_asks)
        append(out, std::move(body));
      else
        out.push_back(Stmt{If{*guard, std::move(body)}});
    }
    return out;
  }

  /// A predicate with the work-item's copies of expanded temporaries, which the instruction uses.
  Expr own_copies(const Expr& e, int insn) const {
    if (plan_.expansions.empty()) return e;
    return rewrite(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      const auto* l = x.as<Load>();
      const auto it = plan_.expansions.find(v ? v->name : l ? l->array : "");
      if (it == plan_.expansions.end()) return x;
      Exprs index = it->second.index.at(insn);
      if (l) index.insert(index.end(), l->index.begin(), l->index.end());
      return load(it->first, std::move(index), x.at());
    });
  }

  /// As Guards::of(). An outline has no guards but around matrix products, which need all
  /// work-items of a warp.
  std::optional<Expr> guard_of(const Set& points, const Set& context) {
    if (outlines()) return Expr(BoolLit{true});
    return guards_.of(points, context);
  }

  /// The iterations to run, a convex set { [iname] } over outer inames as parameters. What it holds
  /// beyond the points that are needed is guarded further inside.
  const Set& iterations(const PlanNode& node) {
    const auto [known, fresh] = iterations_.try_emplace(node.id);
    return fresh ? known->second = iterations_for(needs_.at(node.id)) : known->second;
  }
  static Set iterations_for(const Need& need) {
    const Set around = hull(need.points);
    const bool same = yes(isl_set_plain_is_equal(need.points.get(), need.explicit_.get()));
    Set s = intersect(keep_on_last(around), drop_on_last(same ? around : hull(need.explicit_)));
    std::vector<std::string> outer = dim_names(s);
    outer.pop_back();
    s = dims_to_params(std::move(s), outer);
    if (is_bounded(s, 0)) return s;
    // Parts with bounds that have nothing in common, such as from data and of the size.
    return coalesce(dims_to_params(need.points, outer).take());
  }

  Block loop(const PlanNode& node, const Set& context) {
    Set range = iterations(node);
    const Set within = intersect(context, all_to_params(range));
    if (!outlines() && is_empty(within)) return {};
    const InameTag* tag = k_.tag(node.iname());
    const bool copies = tag && tag->kind == TagKind::Ilp && tag->text != "ilp.seq";
    const bool in_order = tag && (tag->kind == TagKind::Unroll || tag->kind == TagKind::MatrixUnit);
    const bool unrolls = in_order && !launches(node);
    if (node.loop()->matrix) return matrix_step(node, range, context);
    if (unrolls || copies) return unrolled(node, range, context);
    if (tag && tag->kind == TagKind::Vec && hardware_conflicts_)
      return side_by_side(node, range, context);
    if (tag && tag->kind == TagKind::Vec) range = all_or_none(range, context);
    Block out;
    const std::vector<Set> parts = slabs_of(k_, node.iname(), range, context);
    if (parts.size() == 1 || is_shared(node)) return rolled(node, range, context, within, parts);
    for (const Set& part : parts)
      append(out, rolled(node, part, context, intersect(context, all_to_params(part)), {}));
    return out;
  }

  /// Whether threads share all of its iterations, and of no loop in it.
  bool is_shared(const PlanNode& node) const {
    return is_spread(k_.tag(node.iname())) &&
           std::none_of(node.children.begin(), node.children.end(), [&](const PlanNode& c) {
             return c.is_loop() && is_spread(k_.tag(c.iname()));
           });
  }

  /// What is in a loop whose iterations each choose their slab.
  Block in_parts(const PlanNode& node, const Set& within, const std::vector<Set>& parts) {
    if (parts.size() < 2) return inside(node, within);
    Block out;
    for (const Set& part : parts) {
      const Set points = intersect(within, all_to_params(part));
      const std::optional<Expr> guard = guard_of(points, within);
      if (!guard) continue;
      if (Block body = inside(node, points); !body.empty())
        out.push_back(Stmt{If{*guard, std::move(body)}});
    }
    return out;
  }

  /// A loop whose bounds are data runs only where they are computed, which the host does
  /// everywhere: at the points that its statements have of the loops around it, which may run
  /// further, and under the conditions that all of these share with those that write the bounds.
  /// Work-items all run it where they wait in it or have it in common (common_trips.cpp).
  Block data_loop(const PlanNode& node, const Set& context) {
    const std::vector<std::string> data = domains_.data_of(node.iname());
    if (data.empty() || waits_in(node) || node.common_trips()) return loop(node, context);
    const Set all = without_params(needs_.at(node.id).points, {data.begin(), data.end()});
    const Set points = launches(node) ? context : all_to_params(without_last(all));
    const std::optional<Expr> guard = guard_of(points, context);
    if (!guard) return {};
    Block out = loop(node, intersect(context, points));
    if (out.empty()) return {};
    Exprs common = conditions_.of(node);
    for (Expr& p : common) p = own_copies(p, first_of(node));
    if (!guard->as<BoolLit>()) common.insert(common.begin(), *guard);
    return common.empty() ? std::move(out) : only(Stmt{If{conjunction(common), std::move(out)}});
  }
  static int first_of(const PlanNode& node) {
    return node.insns().empty() ? first_of(node.children.front()) : node.insns().front();
  }
  /// Whether the host runs it: there is nothing to gain by copies of launches.
  static bool launches(const PlanNode& node) {
    return node.kernel() || std::any_of(node.children.begin(), node.children.end(),
                                        [](const PlanNode& c) { return launches(c); });
  }

  /// Where the loop runs more iterations than the pieces of a loop have, these are left out first:
  /// what is in it can then rely on the values of that loop.
  Block inside(const PlanNode& node, Set context) {
    const std::vector<std::string>& loops = loops_[node.id];
    Exprs guards;
    for (const PieceValues::Value* v : pieces_.completed_by(loops)) {
      if (!outlines() && !waits_in(node) && !v->from_data &&
          !yes(isl_set_is_subset(context.get(), v->pieces.get())) &&
          yes(isl_set_is_subset(all_to_params(points_inside(node)).get(), v->pieces.get()))) {
        const std::optional<Expr> guard = guard_of(v->pieces, context);
        if (!guard) return {};
        if (!guard->as<BoolLit>()) guards.push_back(*guard);
        context = intersect(context, v->pieces);
      }
      context = v->known_in(context);
    }
    Block out;
    declare(node.locals, out);
    Block body = blocks(node.children, context);
    if (body.empty()) return {};
    append(out, std::move(body));
    if (!guards.empty()) out = only(Stmt{If{conjunction(guards), std::move(out)}});
    pieces_.put_in(out, loops);
    return out;
  }

  /// Of all statements of a loop, over it and those around it.
  Set points_inside(const PlanNode& node) {
    Union all;
    for (const PlanNode& c : node.children) {
      if (c.barrier() || c.reduction()) return pieces_.of(loops_[node.id]);
      const Set& points = needs_.at(c.id).points;
      all.add(c.is_loop() ? without_last(points) : points);
    }
    return std::move(all).result();
  }

  static void declare(const std::vector<std::string>& temporaries, Block& out) {
    for (const std::string& t : temporaries) out.push_back(Stmt{Declare{t}});
  }

  /// `within`: the context inside of the loop; `parts`: the slabs that are not loops of their own.
  Block rolled(const PlanNode& node, const Set& range, const Set& context, const Set& within,
               const std::vector<Set>& parts) {
    if (outlines()) return one_of(node.iname(), in_parts(node, within, parts));
    if (std::optional<PlainLoop> plain = plain_loop(range, context, node.iname())) {
      plain->loop.body = in_parts(node, within, parts);
      if (plain->loop.body.empty()) return {};
      Block out = only(Stmt{std::move(plain->loop)});
      if (!plain->condition) return out;
      return only(Stmt{If{std::move(*plain->condition), std::move(out)}});
    }
    AstBuild build = build_within(context, isl_set_get_space(range.get()));
    build = isl_ast_build_set_iterators(build.take(), iterators_of(node.iname()));
    // isl simplifies the conditions that it finds only where it knows what integers exist in them.
    Set domain = isl_set_set_tuple_name(isl_set_compute_divs(range.copy()), "S");
    Map schedule = isl_set_identity(domain.take());
    schedule = isl_map_reset_tuple_id(schedule.take(), isl_dim_out);
    AstNode ast =
        isl_ast_build_node_from_schedule_map(build.get(), isl_union_map_from_map(schedule.take()));
    std::optional<Block> body;
    Block out = from_isl(ast, node.iname(), k_.index_type, [&] {
      if (!body) body = in_parts(node, within, parts);
      return *body;
    });
    if (body && body->empty()) return {};
    if (!node.locals.empty() && !out.empty() && !std::holds_alternative<Loop>(out[0].op) &&
        !std::holds_alternative<If>(out[0].op))
      return only(Stmt{Scope{{}, {}, std::move(out)}});  // one iteration, without a loop
    return out;
  }

  // ---- Unrolling
  ConstantSpan copies_of(const PlanNode& node, const Set& range, const Set& context) {
    std::optional<ConstantSpan> span = constant_span(range, context);
    const InameTag& tag = *k_.tag(node.iname());
    const Span& at = tag.at ? tag.at : k_.at;
    if (!span)
      fail("unroll-bound", at,
           "iname `{}` is tagged `{}`, but its number of iterations has no constant bound",
           node.iname(), tag.text);
    if (span->length > kMaxUnroll)
      fail("unroll-bound", at, "iname `{}` is tagged `{}`, but it has {} iterations", node.iname(),
           tag.text, span->length);
    return std::move(*span);
  }

  /// A `vec` loop: one statement for all iterations where they all run, else each by itself.
  Block side_by_side(const PlanNode& node, const Set& range, const Set& context) {
    const ConstantSpan span = copies_of(node, range, context);
    if (outlines()) return side_by_side_or_not(node, range, context, span.length);
    Set full;  // where every iteration runs
    for (std::int64_t i = 0; i < span.length; ++i) {
      const Aff here = isl_aff_add_constant_si(span.lower.copy(), static_cast<int>(i));
      const Set point =
          isl_set_from_basic_set(isl_aff_eq_basic_set(iterator(range).take(), here.copy()));
      const Set runs = isl_set_params(isl_set_intersect(range.copy(), point.copy()));
      full = full ? intersect(full, runs) : runs;
    }
    full = coalesce(full.take());
    const std::optional<Expr> guard = guard_of(full, context);
    if (!guard) return unrolled(node, range, context);
    const Set within = intersect(intersect(context, full), all_to_params(range));
    Block body = inside(node, within);
    const bool one = body.size() == 1 && std::holds_alternative<Run>(body[0].op);
    if (!one) return unrolled(node, range, context);
    Loop loop;
    loop.iname = node.iname();
    loop.lower = value_of(span.lower, intersect(context, full));
    loop.upper = index_add({loop.lower, lit(span.length)});
    loop.lanes = span.length;
    loop.body = std::move(body);
    return whole_or_rest(only(Stmt{std::move(loop)}), *guard, full, node, range, context);
  }

  /// The outline of a `vec` loop: as one statement, if it is one, and as copies.
  Block side_by_side_or_not(const PlanNode& node, const Set& range, const Set& context,
                            std::int64_t length) {
    Block out = unrolled(node, range, context);
    Block body = inside(node, intersect(context, all_to_params(range)));
    if (body.size() != 1 || !std::holds_alternative<Run>(body[0].op)) return out;
    Loop loop;
    loop.iname = node.iname();
    loop.lower = lit(0);
    loop.upper = lit(length);
    loop.lanes = length;
    loop.body = std::move(body);
    out.push_back(Stmt{std::move(loop)});
    return out;
  }

  /// The loops of a matrix product as one statement where all their iterations run, else each by
  /// itself.
  Block matrix_step(const PlanNode& node, const Set& range, const Set& context) {
    const MatrixStep& m = plan_.matrix_steps[static_cast<std::size_t>(*node.loop()->matrix)];
    std::vector<std::pair<std::string, int>> extents{{m.depth, m.shape->depth}};
    if (!m.half.empty()) extents.emplace_back(m.half, 2);
    extents.emplace_back(m.pair, 2);
    Set runs = all_to_params(range), box = context;
    const PlanNode* inner = &node;
    for (const auto& [iname, extent] : extents) {
      if (inner != &node) runs = intersect(runs, all_to_params(iterations(*inner)));
      inner = &inner->children[0];
      box = between(std::move(box), iname, extent);
    }
    Set full = context;
    if (!shows(box, runs) && !yes(isl_set_is_subset(box.get(), runs.get()))) {
      Set lacks = isl_set_subtract(box.copy(), runs.copy());  // some work-item of the warp
      std::vector<std::string> all{m.row, m.column};
      for (const auto& [iname, extent] : extents) all.push_back(iname);
      for (const std::string& iname : all) {
        const unsigned at = param_of(lacks, iname);
        lacks = isl_set_project_out(lacks.take(), isl_dim_param, at, 1);
      }
      full = coalesce(isl_set_subtract(full.take(), lacks.take()));
    }
    const std::optional<Expr> guard = guard_of(full, context);
    if (!guard) return unrolled(node, range, context);
    const bool in_matrix = std::exchange(in_matrix_, true);
    Block body = blocks({*inner}, intersect(intersect(box, full), runs));
    in_matrix_ = in_matrix;
    const bool one = body.size() == 1 && std::holds_alternative<Run>(body[0].op);
    if (!one) return unrolled(node, range, context);
    for (auto e = extents.rbegin(); e != extents.rend(); ++e) {
      Loop loop;
      loop.iname = e->first;
      loop.lower = lit(0);
      loop.upper = lit(e->second);
      loop.lanes = e->second;
      loop.body = std::move(body);
      body.clear();
      body.push_back(Stmt{std::move(loop)});
    }
    std::get<Loop>(body[0].op).matrix = *node.loop()->matrix;
    return whole_or_rest(std::move(body), *guard, full, node, range, context);
  }

  /// `whole`, which runs all iterations of `node` at once, under its guard, and else these one by
  /// one; `full`: where the guard holds.
  Block whole_or_rest(Block whole, const Expr& guard, const Set& full, const PlanNode& node,
                      const Set& range, const Set& context) {
    if (guard.as<BoolLit>()) return whole;
    Block out = only(Stmt{If{guard, std::move(whole)}});
    if (outline_) {
      append(out, unrolled(node, range, context));
      return out;
    }
    const Set all = isl_set_subtract(context.copy(), full.copy()), runs = all_to_params(range);
    const Set elsewhere = parts_that_meet(all, runs);
    if (yes(isl_set_plain_is_empty(elsewhere.get()))) return out;
    Block rest = unrolled(node, range, elsewhere);
    if (!rest.empty()) out.push_back(Stmt{If{Expr(Unary{UnaryOp::Not, guard}), std::move(rest)}});
    return out;
  }

  /// How a loop is written out.
  struct Copies {
    struct Copy {
      Expr guard, value;
      Set within;  // the context inside of it
    };
    std::string iname;
    Set range, context;
    ConstantSpan span;
    Set in_common;  // where all iterations run, of which nothing else is known; or null
    std::optional<std::vector<Copy>> each;  // of those that may run, once it is asked for
  };

  /// Statements with a loop of the same lanes follow one another: it is looked at once for them.
  std::shared_ptr<Copies> copies_in(const PlanNode& node, const Set& range, const Set& context) {
    if (last_ && last_->iname == node.iname() && last_->context.get() == context.get() &&
        yes(isl_set_plain_is_equal(last_->range.get(), range.get())))
      return last_;
    ConstantSpan span = copies_of(node, range, context);
    Set in_common = common_context(range, context, span);
    last_ = std::make_shared<Copies>(
        Copies{node.iname(), range, context, std::move(span), std::move(in_common), {}});
    return last_;
  }

  const std::vector<Copies::Copy>& each_of(Copies& all) {
    if (all.each) return *all.each;
    std::vector<Copies::Copy> out;
    const Set runs = all_to_params(all.range);
    // That some iteration of this loop runs is no news for one of them.
    const Set plain = isl_set_remove_unknown_divs(runs.copy());
    const bool is_plain = yes(isl_set_plain_is_equal(plain.get(), runs.get()));
    const Set context =
        is_plain ? Set(isl_set_remove_unknown_divs(all.context.copy())) : all.context;
    for (std::int64_t i = 0; i < all.span.length; ++i) {
      Aff here = isl_aff_add_constant_si(all.span.lower.copy(), static_cast<int>(i));
      const Set point =
          isl_set_from_basic_set(isl_aff_eq_basic_set(iterator(all.range).take(), here.copy()));
      Set within = intersect(context, all_to_params(point));
      std::optional<Expr> guard = guard_of(runs, within);
      if (!guard) continue;
      Expr value = value_of(std::move(here), all.context);
      if (!guard->as<BoolLit>()) within = intersect(within, runs);
      out.push_back({std::move(*guard), std::move(value), std::move(within)});
    }
    all.each = std::move(out);
    return *all.each;
  }

  /// What all iterations do, where it is one for all but for the value of the iname: they all run,
  /// and no bound, condition or value below says the iname. Nothing else is known of an iteration
  /// than that value, so that none of them by itself would give another code.
  std::optional<Block> common_body(const PlanNode& node, const Copies& all) {
    if (!all.in_common) return std::nullopt;
    Block body = inside(node, all.in_common);
    if (says(body, node.iname())) return std::nullopt;
    return body;
  }

  /// Refuses more statements than a compiler takes.
  void require_few(const PlanNode& node, std::int64_t statements) const {
    if (statements <= kMostCopies) return;
    const InameTag& tag = *k_.tag(node.iname());
    fail("unroll-bound", tag.at ? tag.at : k_.at,
         "iname `{}` is tagged `{}`, and writes out more than {} statements with the loops in it",
         node.iname(), tag.text, kMostCopies);
  }

  /// All copies as one. Around a matrix product they have to run all, without guards.
  Block outline_of_copies(const PlanNode& node, const Set& range, const Set& context) {
    const ConstantSpan span = copies_of(node, range, context);
    const bool guarded = exactly_ && !common_context(range, context, span);
    const std::int64_t around = copies_around_, before = written_;
    copies_around_ = checked_mul(around, span.length, "the number of copies");
    Block out = one_of(node.iname(), inside(node, intersect(context, all_to_params(range))));
    copies_around_ = around;
    require_few(node, written_ - before);
    if (!guarded || out.empty()) return out;
    const Expr some = Expr(Compare{CompareOp::Eq, call(kLocalId, {lit(0)}), lit(0)});
    return only(Stmt{If{some, std::move(out)}});
  }

  Block unrolled(const PlanNode& node, const Set& range, const Set& context) {
    if (outline_) return outline_of_copies(node, range, context);
    const std::shared_ptr<Copies> all = copies_in(node, range, context);
    Block out;
    if (const std::optional<Block> common = common_body(node, *all)) {
      require_few(node, all->span.length * statements_in(*common));
      const std::int64_t first = to_int(isl_aff_get_constant_val(all->span.lower.get()));
      for (std::int64_t i = 0; i < all->span.length && !common->empty(); ++i) {
        Block body = *common;
        if (declares(body)) body = only(Stmt{Scope{{}, {}, std::move(body)}});
        substitute(body, node.iname(), lit(first + i), k_.index_type);
        append(out, std::move(body));
      }
      return out;
    }
    std::int64_t written = 0;
    for (const Copies::Copy& c : each_of(*all)) {
      Block body = inside(node, c.within);
      if (body.empty()) continue;
      if (!c.guard.as<BoolLit>()) {
        body = only(Stmt{If{c.guard, std::move(body)}});
      } else if (declares(body)) {
        body = only(Stmt{Scope{{}, {}, std::move(body)}});
      }
      written += statements_in(body);
      require_few(node, written);
      substitute(body, node.iname(), c.value, k_.index_type);
      append(out, std::move(body));
    }
    return out;
  }

  const Plan& plan_;
  const Kernel& k_;
  Domains domains_;
  PieceValues pieces_;
  BoundConditions conditions_;
  BoundCopies copies_;
  std::set<int> starts_;                                 // of `Plan::common_trips`
  std::optional<HardwareConflicts> hardware_conflicts_;  // on a device
  int launch_ = -1;                                      // the kernel at hand
  Guards guards_;
  std::shared_ptr<Copies> last_;  // of the last loop written out
  /// Where groups wait: the points of the slabs of which each group has one; none: no slabs.
  std::vector<Set> slabs_;
  CountedValues counted_;
  bool outline_, exactly_ = false, in_matrix_ = false;
  std::int64_t copies_around_ = 1, written_ = 0;             // of statements, in an outline
  std::unordered_map<int, std::vector<std::string>> loops_;  // by loop: those around it, and itself
  std::unordered_map<int, Need> needs_;
  std::unordered_map<int, Set> iterations_;
  std::unordered_map<int, std::vector<Group>> groups_;
};

}  // namespace

Block make_loops(const Plan& plan) {
  Block out = LoopMaker(plan, false).run();
  keep_whole_warps(out, plan);
  return out;
}

Block outline_loops(const Plan& plan) {
  Block out = LoopMaker(plan, true).run();
  keep_whole_warps(out, plan);
  return out;
}

}  // namespace moonloop
