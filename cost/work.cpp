#include "cost/work.h"

#include <algorithm>
#include <cmath>

#include "codegen/language.h"
#include "codegen/lower.h"
#include "core/count/count_set.h"
#include "core/count/evaluations.h"
#include "core/count/op_counts.h"
#include "core/infer/infer.h"
#include "core/model/domain.h"
#include "core/model/kernel.h"
#include "core/model/layout.h"
#include "core/order/check_kernel.h"
#include "core/order/inline_calls.h"
#include "core/order/shared_storage.h"
#include "core/sets/budget.h"

namespace moonloop::cost {
namespace {

/// For one number; products with three levels of tiles take a tenth of it.
constexpr unsigned long kCountOperations = 30'000;

std::optional<Operations> kind_of(const std::string& name) {
  if (name == "add" || name == "bw" || name == "shift" || name == "maxmin") return Operations::Add;
  if (name == "mul") return Operations::Multiply;
  if (name == "div") return Operations::Divide;
  if (name == "pow") return Operations::Power;
  if (name == "func:sqrt") return Operations::Divide;
  if (name == "func:abs" || name == "func:fabs") return Operations::Add;
  return name.starts_with("func:") ? std::optional(Operations::Function) : std::nullopt;
}

/// Of complex numbers as real operations.
void add_operations(WorkPoint& to, const Operation& op) {
  const auto kind = kind_of(op.name);
  if (!kind || op.type.is_record()) return;
  const Scalar s = op.type.scalar;
  const auto times = static_cast<double>(op.times);
  if (s != Scalar::C64 && s != Scalar::C128) {
    to.operations[{s, *kind}] += times;
    return;
  }
  const Scalar real = s == Scalar::C64 ? Scalar::F32 : Scalar::F64;
  const bool multiplies = *kind == Operations::Multiply;
  if (*kind == Operations::Add || multiplies) to.operations[{real, Operations::Add}] += 2 * times;
  if (multiplies) to.operations[{real, Operations::Multiply}] += 4 * times;
  if (*kind != Operations::Add && !multiplies) to.operations[{real, *kind}] += 2 * times;
}

class Analysis {
 public:
  Analysis(const Kernel& k, Target target)
      : plan_(make_plan(merge_shared_storage(inline_all_calls(complete(k))), target)),
        all_(plan_.kernel) {
    out_.name = k.name;
    out_.target = target;
    if (!k.callees.empty())
      out_.remarks.insert("kernels that it calls count as if they stood in their places");
  }

  Work result() {
    arrays();
    std::map<std::string, std::size_t> by_id;
    const auto& insns = plan_.kernel.instructions;
    for (std::size_t i = 0; i < insns.size(); ++i) {
      by_id[insns[i]->id] = out_.statements.size();
      statement(*insns[i], i);
    }
    all_.for_each([&](const Evaluation& e) {
      const auto s = by_id.find(e.insn->id);
      if (s != by_id.end()) evaluation(out_.statements[s->second], e);
    });
    kernels_of(plan_.roots, {}, -1);
    return std::move(out_);
  }

 private:
  // ---- How often

  SharedAmount amount(Set points, const std::vector<std::string>& inames, const std::string& insn,
                      bool exact) {
    std::string key;
    for (const std::string& i : inames) key += i + " ";
    key += str(points);
    SharedAmount& known = amounts_[key];
    if (known && known->exact == exact) return known;
    auto a = std::make_shared<Amount>();
    a->what = fmt::format("the instances of `{}`", insn);
    a->instruction = insn;
    a->exact = exact;
    const std::vector<std::string> temporaries = all_.program_points().temporaries_in(points);
    std::vector<std::string> counted = inames;
    if (!temporaries.empty()) {
      a->because = temporaries.front();
      // A loop with such bounds; those inside that depend on it stay as its box has them.
      std::erase_if(counted, [&](const std::string& i) {
        const bool computed = bounds_depend_on(plan_.kernel, i, temporaries);
        if (computed) a->computed.push_back(i);
        return computed;
      });
      points = drop_params(to_dims(std::move(points), counted), temporaries);
    }
    a->points = to_dims(std::move(points), counted);
    try {
      const IslBudget budget(kCountOperations, "counting " + a->what);
      a->count = Count(count_set(a->points, a->what));
    } catch (const IslQuota&) {  // the box counts
    } catch (const Error& e) {
      if (e.diagnostic().code != "count-too-hard") throw;
    }
    return known = a;
  }

  void statement(const Instruction& insn, std::size_t index) {
    WorkStatement s;
    s.id = insn.id;
    s.atomic = insn.atomic != Atomicity::None;
    std::vector<std::string> inames;
    for (std::size_t l = 0; l < plan_.loops_of[index].size(); ++l) {
      const std::string& iname = plan_.loops_of[index][l];
      if (iname.empty()) continue;  // a kernel of a device
      const InameTag* tag = plan_.kernel.tag(iname);
      s.loops.push_back(
          {plan_.nodes_of[index][l], iname, tag ? std::optional(*tag) : std::nullopt, 1});
      inames.push_back(iname);
    }
    const Set domain = domain_of(plan_.kernel, inames);
    for (std::size_t l = 0; l < inames.size(); ++l) {
      const Val stride = isl_set_get_stride(domain.get(), static_cast<int>(l));
      s.loops[l].stride = std::max(1.0, isl_val_get_d(stride.get()));
      const Set values = to_dims(domain, {inames[l]});
      const Val low = isl_set_dim_min_val(values.copy(), 0),
                high = isl_set_dim_max_val(values.copy(), 0);
      if (yes(isl_val_is_int(low.get())) && yes(isl_val_is_int(high.get())))
        s.loops[l].extent =
            1 + std::floor(static_cast<double>(to_int(high) - to_int(low)) / s.loops[l].stride);
    }
    std::vector<std::string> outer;
    for (const std::string& i : inames) {
      outer.push_back(i);
      s.reached.push_back(amount(to_dims(domain, outer), outer, insn.id, true));
    }
    accumulation(s, insn);
    out_.statements.push_back(std::move(s));
  }

  /// Its target is among what it reads.
  void accumulation(WorkStatement& s, const Instruction& insn) const {
    if (insn.lhs.empty()) return;
    const Expr& target = insn.lhs[0];
    bool found = insn.role == ReductionRole::Update;
    if (!found && insn.rhs) {
      walk(insn.rhs, [&](const Expr& e) {
        found = found || equal(e, target);
        return !found;
      });
    }
    if (!found) return;
    std::set<std::string> used, inames;
    collect_vars(target, used);
    for (const std::string& n : used)
      if (plan_.kernel.has_iname(n)) inames.insert(n);
    // Copies of its own.
    const std::string& name = written_name(target);
    if (const auto c = plan_.lane_copies.find(name); c != plan_.lane_copies.end())
      inames.insert(c->second.begin(), c->second.end());
    if (const auto x = plan_.expansions.find(name); x != plan_.expansions.end())
      for (const WorkLoop& l : s.loops)
        if (l.tag && std::count(x->second.axes.begin(), x->second.axes.end(),
                                copy_axis(plan_.kernel, l.iname)))
          inames.insert(l.iname);
    s.accumulator = inames;
    if (const auto t = all_.typer().type(target); t && !t->type.is_record())
      s.accumulated = t->type.scalar;
  }

  // ---- What is done

  void evaluation(WorkStatement& s, const Evaluation& e) {
    WorkPoint& p = point(s, e);
    if (const auto op = operation_of(all_.typer(), e); op && !e.aside) add_operations(p, *op);
    const Expr& base = innermost(e.expr);
    const auto* load = base.as<Load>();
    if (!load || !out_.arrays.count(load->array)) return;
    WorkArray& a = out_.arrays.at(load->array);
    const auto access = [&](bool write) {
      (write ? a.written : a.read) = true;
      const bool known =
          std::any_of(p.accesses.begin(), p.accesses.end(), [&](const WorkAccess& x) {
            return x.array == load->array && x.write == write && equal(x.index, load->index);
          });
      if (!known) p.accesses.push_back({load->array, load->index, load->linear, write});
    };
    if (e.kind != Evaluation::Write) access(false);
    if (e.kind != Evaluation::Value) access(true);
  }

  WorkPoint& point(WorkStatement& s, const Evaluation& e) {
    const auto [it, is_new] = points_.try_emplace({s.id, e.point}, s.points.size());
    if (is_new) {
      WorkPoint p;
      ProgramPoints& points = all_.program_points();
      p.instances = amount(all_.points(e), points.inames(e.point), s.id, points.exact(e.point));
      p.conditional = !points.conditions(e.point).empty();
      s.points.push_back(std::move(p));
    }
    return s.points[it->second];
  }

  void arrays() {
    const Kernel& k = plan_.kernel;
    const std::vector<Intent> intent = intents(k);
    for (std::size_t i = 0; i < k.args.size(); ++i) {
      const Argument& a = k.args[i];
      if (!a.is_array) continue;
      WorkArray& to = out_.arrays[a.name];
      to = {*a.type, *a.shape, strides_of(*a.shape, a.order, a.strides), Place::Memory, true};
      to.comes = intent[i] != Intent::Out;
    }
    const bool device = is_device(out_.target);
    for (const auto& [name, t] : k.temporaries) {
      if (!t.shape || t.shape->empty() || !t.type) continue;
      const Place place = plan_.lies_in(name, AddressSpace::Local)               ? Place::Local
                          : plan_.lies_in(name, AddressSpace::Private)           ? Place::Private
                          : !device || plan_.lies_in(name, AddressSpace::Global) ? Place::Memory
                                                                                 : Place::Private;
      out_.arrays[name] = {*t.type, *t.shape, strides_of(*t.shape, t.order, t.strides), place};
    }
  }

  // ---- Kernels of a device

  void kernels_of(const std::vector<PlanNode>& nodes, const std::vector<std::string>& loops,
                  int kernel) {
    for (const PlanNode& n : nodes) {
      int inside = kernel;
      if (const PlanKernel* x = n.kernel()) {
        inside = static_cast<int>(out_.kernels.size());
        const LaunchPlan& launch = plan_.launches[static_cast<std::size_t>(x->launch)];
        WorkKernel& w = out_.kernels.emplace_back();
        w.items = launch.items;
        if (!loops.empty())
          w.launches.push_back(
              amount(domain_of(plan_.kernel, loops), loops, "a kernel's launches", true));
      }
      for (const int i : n.insns())
        out_.statements[static_cast<std::size_t>(i)].kernel = std::max(inside, 0);
      if ((n.barrier() || n.reduction()) && inside >= 0 && !loops.empty()) {
        std::vector<std::string> groups = loops;
        std::erase_if(groups,
                      [&](const std::string& i) { return is_work_item(plan_.kernel.tag(i)); });
        out_.kernels[static_cast<std::size_t>(inside)].barriers.push_back(
            amount(to_dims(domain_of(plan_.kernel, loops), groups), groups, "a barrier", true));
      }
      std::vector<std::string> around = loops;
      if (n.is_loop()) around.push_back(n.iname());
      kernels_of(n.children, around, inside);
    }
  }

  Plan plan_;
  Evaluations all_;
  Work out_;
  std::map<std::string, SharedAmount> amounts_;
  std::map<std::pair<std::string, int>, std::size_t> points_;
};

}  // namespace

Work work_of(const Kernel& k, Target target) { return Analysis(k, target).result(); }

}  // namespace moonloop::cost
