#include "codegen/lower.h"

#include <algorithm>
#include <optional>

#include "codegen/initial_values.h"
#include "codegen/language.h"
#include "codegen/plan/atomics.h"
#include "codegen/plan/invariant_reductions.h"
#include "codegen/plan/matrix_units.h"
#include "codegen/plan/own_axes.h"
#include "codegen/plan/own_webs.h"
#include "core/infer/infer.h"
#include "core/model/layout.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "core/order/shared_storage.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

std::vector<Parameter> parameters(const Kernel& k) {
  const std::vector<Intent> way = intents(k);
  std::vector<Parameter> out;
  for (std::size_t i = 0; i < k.args.size(); ++i) {
    const Argument& a = k.args[i];
    Parameter p;
    p.name = a.name;
    p.type = a.type.value_or(Type(k.index_type));
    p.is_array = a.is_array;
    p.fortran = a.fortran;
    p.at = a.at;
    p.intent = way[i];
    if (a.is_array) {
      p.shape = a.shape.value_or(Exprs{});
      p.strides = strides_of(p.shape, a.order, a.strides);
      p.offset = a.offset;
    }
    out.push_back(std::move(p));
  }
  return out;
}

/// The data that passes hand on to each other.
struct State {
  Target target;
  Nested nested;  // its tree is there from `nest` on
  std::vector<Parameter> params;
  Plan plan;

  Kernel& kernel() { return nested.kernel; }
};

/// The result of a pass.
enum class Form { Kernel, Tree, Plan };

struct Pass {
  const char* name;
  Form form;
  bool TargetFeatures::*only;  // null: all targets have it
  void (*run)(State&);
};

/// Legality is proved before memory is shared: the pass that shares it proves itself.
void complete_and_prove(State& s) {
  s.kernel() = complete(std::move(s.kernel()));
  check_defined(s.kernel());
  if (!s.kernel().reference) check_legal(s.kernel());  // steps prove themselves; tags of a text not
  s.params = parameters(s.kernel());
}

/// Types of accumulators that earlier passes made.
void type_accumulators(State& s) {
  const auto& all = s.kernel().temporaries;
  if (std::any_of(all.begin(), all.end(), [](const auto& t) { return !t.second.type; }))
    s.kernel() = infer_types(std::move(s.kernel()));
}

void begin_plan(State& s) {
  s.plan.kernel = without_stand_ins_for_elsewhere(std::move(s.kernel()));
  s.plan.target = s.target;
  s.plan.roots = plan_nodes(s.nested.tree);
}

constexpr const char* kFirstOfPlan = "nest";

const std::vector<Pass>& passes() {
  using F = TargetFeatures;
  static const std::vector<Pass> kPasses{
      {"complete", Form::Kernel, nullptr, complete_and_prove},
      {"shared-storage", Form::Kernel, nullptr,
       [](State& s) { s.kernel() = merge_shared_storage(s.kernel()); }},
      {"initial-values", Form::Kernel, nullptr,
       [](State& s) { s.kernel() = with_initial_values(std::move(s.kernel()), s.target); }},
      {kFirstOfPlan, Form::Tree, nullptr,
       [](State& s) { s.nested = nest_for(std::move(s.kernel()), s.target); }},
      {"own-axes", Form::Tree, nullptr,
       [](State& s) { s.nested = drop_own_axes(std::move(s.nested)); }},
      {"webs", Form::Tree, nullptr,
       [](State& s) { s.nested = separate_webs(std::move(s.nested), s.target); }},
      {"invariant-reductions", Form::Tree, nullptr,
       [](State& s) { s.nested = hoist_invariant_reductions(std::move(s.nested)); }},
      {"accumulators", Form::Tree, nullptr, type_accumulators},
      {"plan", Form::Plan, nullptr, begin_plan},
      {"lane-copies", Form::Plan, nullptr, [](State& s) { find_lane_copies(s.plan); }},
      {"launches", Form::Plan, &F::device,
       [](State& s) {
         const std::vector<PlanNode> roots = std::move(s.plan.roots);
         place_launches(s.plan, s.nested.tree, roots);
       }},
      {"group-reductions", Form::Plan, &F::device,
       [](State& s) { place_group_reductions(s.plan); }},
      {"work-items", Form::Plan, nullptr,
       [](State& s) { s.plan.roots = place_work_items(s.plan.kernel, std::move(s.plan.roots)); }},
      {"barriers", Form::Plan, &F::device, [](State& s) { place_barriers(s.plan); }},
      {"copies-ahead", Form::Plan, &F::copies_ahead, [](State& s) { place_copies_ahead(s.plan); }},
      {"common-trips", Form::Plan, nullptr, [](State& s) { place_common_trips(s.plan); }},
      {"lanes", Form::Plan, nullptr, [](State& s) { place_lanes(s.plan); }},
      {"matrix-units", Form::Plan, &F::matrix_units, [](State& s) { place_matrix_units(s.plan); }},
      {"numbers", Form::Plan, nullptr, [](State& s) { number_nodes(s.plan); }},
      {"storage", Form::Plan, nullptr, [](State& s) { place_temporaries(s.plan, s.nested.tree); }},
      {"locks", Form::Plan, &F::device, [](State& s) { find_locks(s.plan); }},
  };
  return kPasses;
}

bool has(Target target, const Pass& p) { return !p.only || features_of(target).*p.only; }

std::string text_of(const State& s, Form form) {
  switch (form) {
    case Form::Kernel: return print_kernel(s.nested.kernel);
    case Form::Tree: return print_tree(s.nested.kernel, s.nested.tree);
    case Form::Plan: return print_plan(s.plan);
  }
  return "";
}

/// Runs the passes from `first` on.
void run_from(const std::string& first, State& s, const SeePass& see) {
  bool begun = false;
  for (const Pass& p : passes()) {
    begun = begun || p.name == first;
    if (!begun || !has(s.target, p)) continue;
    p.run(s);
    if (see) see(p.name, [&] { return text_of(s, p.form); });
  }
}

}  // namespace

Lowered lower(Kernel k, Target target, const SeePass& see) {
  State s{target, {std::move(k), {}}, {}, {}};
  s.plan.reasons = static_cast<bool>(see);
  run_from(passes().front().name, s, see);
  return {std::move(s.params), std::move(s.plan)};
}

Plan make_plan(Kernel k, Target target, bool reasons) {
  State s{target, {std::move(k), {}}, {}, {}};
  s.plan.reasons = reasons;
  run_from(kFirstOfPlan, s, {});
  return std::move(s.plan);
}

std::vector<std::string> pass_names() {
  std::vector<std::string> out;
  for (const Pass& p : passes()) out.emplace_back(p.name);
  return out;
}

std::string show_pass(Kernel k, Target target, const std::string& name) {
  const Span at = k.at;
  const IslBudget budget(kPhaseOperations,
                         fmt::format("the passes of code generation for kernel `{}`", k.name), at);
  std::optional<std::string> out;
  lower(std::move(k), target,
        [&](const std::string& pass, const std::function<std::string()>& text) {
          if (pass == name) out = text();
        });
  if (out) return *out;
  std::vector<std::string> names;
  for (const Pass& p : passes())
    if (has(target, p)) names.emplace_back(p.name);
  fail("no-pass", at, "code generation for target `{}` has no pass `{}`; it has {}",
       to_string(target), name, quoted_list(names));
}

}  // namespace moonloop
