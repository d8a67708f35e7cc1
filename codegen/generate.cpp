#include <algorithm>

#include "codegen/codegen.h"
#include "codegen/language.h"
#include "codegen/plan/loops.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/initial_values.h"
#include "codegen/print/opencl_host.h"
#include "core/infer/infer.h"
#include "core/model/layout.h"
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
    p.logical = a.logical;
    p.entry_of = a.entry_of;
    p.component = a.component;
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

}  // namespace

Program generate(Kernel k, Target target, const GenerateOptions& o) {
  const IslBudget budget(kPhaseOperations, fmt::format("generating code of kernel `{}`", k.name),
                         k.at);
  const std::unique_ptr<Dialect> dialect = make_dialect(target);
  Kernel full = complete(std::move(k));
  check_defined(full);
  if (!full.reference) check_legal(full);  // steps prove themselves; the tags of a text did not yet
  std::vector<Parameter> params = parameters(full);
  full = with_initial_values(merge_shared_storage(full), target);
  const Plan plan = make_plan(std::move(full), target);
  CPrinter printer(plan, *dialect, o.mark_statements);
  Program out;
  out.target = target;
  out.name = printer.name();
  for (const auto& [f, gives] : plan.kernel.externals) out.externals.push_back(f + "_");
  if (is_device(target)) {
    out.source = printer.device_source(make_loops(plan), out.device.emplace(),
                                       o.host_arrays ? &params : nullptr);
    out.header =
        features_of(target).host_function ? printer.host_header() : opencl_header(plan, out);
  } else {
    out.source = printer.source(make_loops(plan));
    out.header = printer.header();
  }
  out.params = std::move(params);
  return out;
}

}  // namespace moonloop
