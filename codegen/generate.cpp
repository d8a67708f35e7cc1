#include "codegen/codegen.h"
#include "codegen/language.h"
#include "codegen/lower.h"
#include "codegen/plan/loops.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/opencl_host.h"
#include "core/sets/budget.h"

namespace moonloop {

Program generate(Kernel k, Target target, const GenerateOptions& o) {
  const IslBudget budget(kPhaseOperations, fmt::format("generating code of kernel `{}`", k.name),
                         k.at);
  const std::unique_ptr<Dialect> dialect = make_dialect(target);
  auto [params, plan] = lower(std::move(k), target);
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
