#include "codegen/plan/matrix_units.h"

#include <algorithm>

#include "codegen/plan/alignment.h"
#include "core/infer/infer.h"
#include "core/model/lookup.h"
#include "core/order/order.h"

namespace moonloop {
namespace {

bool mentions(const Expr& e, const std::string& name) {
  std::set<std::string> names;
  collect_vars(e, names);
  return names.count(name) > 0;
}

/// Whether `fast` and `slow` occur in subscripts only, each of which moves `times` as far by a step
/// of `slow` as by one of `fast`, and the stride of `fast` is nonzero.
bool moves_as(const Expr& e, const std::string& fast, const std::string& slow, std::int64_t times) {
  bool moves = false, right = true;
  walk(e, [&](const Expr& x) {
    if (const auto* v = x.as<Var>()) right &= v->name != fast && v->name != slow;
    const auto* l = x.as<Load>();
    if (!l) return true;
    for (const Expr& i : l->index) {
      const auto a = step_along(i, fast), b = step_along(i, slow);
      right &= a && b && *b == times * *a;
      moves |= a && *a != 0;
    }
    return false;
  });
  return moves && right;
}

class Finder {
 public:
  explicit Finder(Plan& plan) : plan_(plan), k_(plan.kernel) {}

  void visit(std::vector<PlanNode>& nodes, int launch) {
    for (PlanNode& n : nodes) {
      const InameTag* tag = k_.tag(n.iname());
      if (tag && tag->kind == TagKind::MatrixUnit)
        take(n, launch);
      else
        visit(n.children, n.kernel() ? n.kernel()->launch : launch);
    }
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse_step(const std::string& why, const Args&... args) const {
    const InameTag& tag = *k_.tag(step_.depth);
    fail("no-matrix-unit", tag.at ? tag.at : k_.at, "iname `{}` is tagged `{}`, but {}",
         step_.depth, tag_text(tag), fmt::format(fmt::runtime(why), args...));
  }

  /// `node` becomes its lanes, with the loop and then those of the product's rows and columns
  /// inside.
  void take(PlanNode& node, int launch) {
    step_ = MatrixStep();
    step_.depth = node.iname();
    std::vector<std::string> lanes;
    const PlanNode* inner = &node;
    for (;;) {
      if (inner->children.size() != 1) refuse_step("there is more than one statement in its loop");
      inner = &inner->children[0];
      if (!inner->is_loop()) break;
      if (!is_lane(k_.tag(inner->iname())))
        refuse_step("the loop `{}` is inside of it", inner->iname());
      lanes.push_back(inner->iname());
    }
    if (!inner->is_statements() || inner->insns().size() != 1)
      refuse_step("there is more than one statement in its loop");
    step_.insn = inner->insns()[0];
    fit(launch, lanes);
    PlanNode out = *inner;
    const auto around = [&](const std::string& iname) {
      std::vector<PlanNode> body;
      body.push_back(std::move(out));
      out = PlanNode::over(iname, std::move(body));
    };
    around(step_.pair);
    if (!step_.half.empty()) around(step_.half);
    around(step_.depth);
    out.loop()->matrix = static_cast<int>(plan_.matrix_steps.size());
    for (auto i = lanes.rbegin(); i != lanes.rend(); ++i)
      if (*i != step_.pair && *i != step_.half) around(*i);
    plan_.matrix_steps.push_back(step_);
    node = std::move(out);
  }

  void fit(int launch, const std::vector<std::string>& lanes) {
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(step_.insn)];
    Expr term = added(insn);
    if (const auto* c = term.as<Cast>(); c && c->type == type_of(k_, c->arg, c->type))
      term = c->arg;
    if (!insn.predicates.empty())
      refuse_step("`{}` has the condition `{}`, which work-items may answer each in its way",
                  insn.id, to_string(conjunction(insn.predicates)));
    find_items(insn, launch);
    split_factors(insn, term);
    const std::vector<const MatrixShape*> shapes = shapes_for(insn, term);
    for (const std::string& lane : lanes) {
      if (!has_own(insn, lane))
        refuse_step("the iterations of `{}` add to the same element in `{}`", lane, insn.id);
      if (!is_pair(lane)) continue;
      if (!mentions(step_.left, lane) && moves_as(step_.right, lane, step_.column, 2))
        step_.pair = lane;
      else if (!mentions(step_.right, lane) && moves_as(step_.left, step_.row, lane, 8))
        step_.half = lane;
    }
    if (step_.pair.empty())
      refuse_step(
          "`{}` has no `ilp` or `vec` loop over the two columns that each work-item along `l.0` "
          "takes: `2*{} + column`",
          insn.id, step_.column);
    for (const MatrixShape* s : shapes)
      if (s->rows == (step_.half.empty() ? 8 : 16)) step_.shape = s;
    if (!step_.shape)
      refuse_step(
          "`{}` has no `ilp` or `vec` loop over the two rows that each work-item along `l.1` takes "
          "of 16: `8*half + {}`",
          insn.id, step_.row);
  }

  /// Those of the factors' types with the loop's depth.
  std::vector<const MatrixShape*> shapes_for(const Instruction& insn, const Expr& term) {
    const bool rounds = tag_text(*k_.tag(step_.depth)) == "mma.tf32";
    const Type sum = k_.find_temporary(written_name(insn.lhs[0]))->type.value_or(Type());
    const Type product = type_of(k_, term, sum);
    if (!(sum == Type(Scalar::F64)) && !rounds)
      for (Expr* e : {&step_.left, &step_.right}) *e = before_casts(*e, sum);
    const Type left = type_of(k_, step_.left, sum), right = type_of(k_, step_.right, sum);
    std::vector<const MatrixShape*> of_types, out;
    for (const MatrixShape& s : matrix_shapes())
      if (takes(s, left, right, sum, rounds)) of_types.push_back(&s);
    const bool singles = left == Type(Scalar::F32) && right == left && sum == left;
    if (of_types.empty() && rounds)
      refuse_step("`{}` adds products of {} and {} to {}; this unit takes float32", insn.id,
                  left.str(), right.str(), sum.str());
    if (of_types.empty())
      refuse_step("`{}` adds products of {} and {} to {}; the unit takes {}{}", insn.id, left.str(),
                  right.str(), sum.str(), matrix_types(),
                  singles ? "; `mma.tf32` takes float32 and rounds the factors to 11 bits" : "");
    if (!(product == sum) && !(sum == Type(Scalar::F64)))
      refuse_step("`{}` multiplies in {}, not in {}; convert a factor by `cast({}, …)`", insn.id,
                  product.str(), sum.str(), sum.str());
    std::string lengths;
    for (const MatrixShape* s : of_types) {
      const std::string length = "0 to " + std::to_string(s->depth - 1);
      if (lengths.find(length) == std::string::npos)
        lengths += (lengths.empty() ? "" : " or ") + length;
      if (takes_first(step_.depth, s->depth)) out.push_back(s);
    }
    if (out.empty()) refuse_step("its values are not {}", lengths);
    return out;
  }

  /// What is converted to the sum's type as a factor, which loses nothing of the types that units
  /// take.
  static Expr before_casts(const Expr& e, const Type& sum) {
    const auto* c = e.as<Cast>();
    return c && c->type == sum ? before_casts(c->arg, sum) : e;
  }

  /// What the statement adds to an accumulator of the work-item.
  Expr added(const Instruction& insn) const {
    const bool one = insn.lhs.size() == 1 && insn.atomic == Atomicity::None && insn.rhs;
    const std::string name = one ? written_name(insn.lhs[0]) : "";
    if (!one || !plan_.lies_in(name, AddressSpace::Private) || mentions(insn.lhs[0], step_.depth))
      refuse_step("`{}` is not a sum into a temporary that each work-item has to itself", insn.id);
    if (insn.role == ReductionRole::Update && insn.reduce_op == ReduceOp::Sum) return insn.rhs;
    const auto* sum = insn.rhs.as<Nary>();
    if (insn.role == ReductionRole::None && sum && sum->op == NaryOp::Add && sum->terms.size() == 2)
      for (const std::size_t i : {0, 1})
        if (equal(sum->terms[i], insn.lhs[0]) && !mentions_array(sum->terms[1 - i], name))
          return sum->terms[1 - i];
    refuse_step("`{}` is not a sum of products", insn.id);
  }

  static bool mentions_array(const Expr& e, const std::string& name) {
    bool found = false;
    walk(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      const auto* l = x.as<Load>();
      found |= (v && v->name == name) || (l && l->array == name);
      return !found;
    });
    return found;
  }

  /// The work-items of a warp are 4 along `l.0` by 8 along `l.1`.
  void find_items(const Instruction& insn, int launch) {
    const LaunchPlan& plan = plan_.launches[static_cast<std::size_t>(launch)];
    const auto along = [&](int axis) {
      return plan.number(false, axis) ? plan.number(false, axis) : lit(1);
    };
    if (as_int(along(0)) != 4 || as_int(along(1)) != 8)
      refuse_step("the group has {} by {} work-items along `l.0` and `l.1`; a warp is 4 by 8",
                  to_string(along(0)), to_string(along(1)));
    for (const std::string& n : insn.inames) {
      const auto h = plan_.hardware.find(n);
      if (h == plan_.hardware.end() || h->second.group || h->second.axis > 1) continue;
      if (as_int(h->second.first) != 0) refuse_step("`{}` does not begin at zero", n);
      (h->second.axis == 0 ? step_.column : step_.row) = n;
    }
    if (step_.row.empty() || step_.column.empty())
      refuse_step("`{}` is not spread over `l.0` and `l.1`", insn.id);
  }

  /// One factor has the rows of work-items along `l.1`, the other the columns of those along `l.0`.
  void split_factors(const Instruction& insn, const Expr& term) {
    const auto* product = term.as<Nary>();
    Exprs left, right;
    if (product && product->op == NaryOp::Mul)
      for (const Expr& f : product->terms) (mentions(f, step_.column) ? right : left).push_back(f);
    if (left.empty() || right.empty()) refuse_step("`{}` is not a sum of products", insn.id);
    const auto times = [](Exprs factors) {
      return factors.size() == 1 ? factors[0] : Expr(Nary{NaryOp::Mul, std::move(factors)});
    };
    step_.left = times(std::move(left));
    step_.right = times(std::move(right));
    if (mentions(step_.right, step_.row))
      refuse_step("the factor `{}` depends on work-items along both `l.0` and `l.1`",
                  to_string(step_.right));
    for (const Expr& e : {step_.left, step_.right})
      walk(e, [&](const Expr& x) {
        const auto* l = x.as<Load>();
        const auto* v = x.as<Var>();
        const std::string name = l ? l->array : v ? v->name : "";
        if (k_.find_temporary(name) && plan_.lies_in(name, AddressSpace::Private))
          refuse_step("each work-item has its own `{}`, which the others of the warp need", name);
        return true;
      });
  }

  /// Whether an iname takes no other values than 0 and 1.
  bool is_pair(const std::string& iname) const { return takes_first(iname, 2); }
  bool takes_first(const std::string& iname, int extent) const {
    const Set values = domain_of(k_, {iname});
    const Val least = isl_set_dim_min_val(values.copy(), 0);
    const Val most = isl_set_dim_max_val(values.copy(), 0);
    return yes(isl_val_is_zero(least.get())) && yes(isl_val_is_int(most.get())) &&
           to_int(most) == extent - 1;
  }

  bool has_own(const Instruction& insn, const std::string& lane) const {
    const auto copies = plan_.lane_copies.find(written_name(insn.lhs[0]));
    if (copies != plan_.lane_copies.end() &&
        std::find(copies->second.begin(), copies->second.end(), lane) != copies->second.end())
      return true;
    return mentions(insn.lhs[0], lane);
  }

  Plan& plan_;
  const Kernel& k_;
  MatrixStep step_;
};

/// Walks the program with the names that all work-items of a warp have one value of.
class Warps {
 public:
  explicit Warps(const Plan& plan) : plan_(plan), kept_(plan.matrix_steps.size(), false) {
    for (const Argument& a : plan.kernel.args)
      if (!a.is_array) alike_.insert(a.name);
    for (const auto& [iname, h] : plan.hardware)
      if (h.group || h.axis > 1) alike_.insert(iname);
  }

  void visit(Block& block, bool together) {
    Block out;
    for (Stmt& s : block) {
      if (auto* x = std::get_if<Loop>(&s.op); x && x->matrix) {
        if (!together) {
          write_out(*x, {}, out);
          continue;
        }
        kept_[static_cast<std::size_t>(*x->matrix)] = true;
      } else if (x) {
        inside(x->body, x->iname, together && same({x->lower, x->upper}));
      } else if (auto* i = std::get_if<If>(&s.op)) {
        visit(i->body, together && same({i->cond}));
      } else if (auto* c = std::get_if<Scope>(&s.op)) {
        if (c->iname.empty()) {
          visit(c->body, together);
        } else {
          const bool known = same({c->value});
          if (known) alike_.insert(c->iname);
          visit(c->body, together);
          if (known) alike_.erase(c->iname);
        }
      } else if (auto* l = std::get_if<Launch>(&s.op)) {
        visit(l->body, true);
      }
      out.push_back(std::move(s));
    }
    block = std::move(out);
  }

  void finish() const {
    for (std::size_t n = 0; n < kept_.size(); ++n)
      if (!kept_[n]) {
        const std::string& depth = plan_.matrix_steps[n].depth;
        const InameTag& tag = *plan_.kernel.tag(depth);
        fail("no-matrix-unit", tag.at ? tag.at : plan_.kernel.at,
             "iname `{}` is tagged `{}`, but nowhere do all work-items of a warp run all of "
             "its {} iterations for both columns{}",
             depth, tag_text(tag), plan_.matrix_steps[n].shape->depth,
             plan_.matrix_steps[n].half.empty() ? "" : " and both halves of the rows");
      }
  }

 private:
  void inside(Block& body, const std::string& iname, bool together) {
    if (together) alike_.insert(iname);
    visit(body, together);
    if (together) alike_.erase(iname);
  }

  bool same(const Exprs& values) const {
    bool out = true;
    for (const Expr& e : values)
      walk(e, [&](const Expr& x) {
        if (x.as<Load>() || x.as<Field>()) out = false;
        if (const auto* v = x.as<Var>()) out &= alike_.count(v->name) > 0;
        if (const auto* c = x.as<Call>(); c && c->name == kLocalId) out = false;
        return out;
      });
    return out;
  }

  static void write_out(const Loop& x, std::map<std::string, Expr> values, Block& out) {
    for (std::int64_t i = 0; i < x.lanes; ++i) {
      values[x.iname] = lit(i);
      if (const auto* inner = std::get_if<Loop>(&x.body.at(0).op)) {
        write_out(*inner, values, out);
        continue;
      }
      Run run = std::get<Run>(x.body[0].op);
      for (const auto& [iname, value] : values) run.values[iname] = value;
      out.push_back(Stmt{std::move(run)});
    }
  }

  const Plan& plan_;
  std::set<std::string> alike_;
  std::vector<bool> kept_;
};

}  // namespace

void place_matrix_units(Plan& plan) { Finder(plan).visit(plan.roots, -1); }

void keep_whole_warps(Block& program, const Plan& plan) {
  if (plan.matrix_steps.empty()) return;
  Warps warps(plan);
  warps.visit(program, true);
  warps.finish();
}

}  // namespace moonloop
