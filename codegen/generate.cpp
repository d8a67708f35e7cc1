#include <set>

#include "codegen/codegen.h"
#include "codegen/language.h"
#include "codegen/lower.h"
#include "codegen/plan/loops.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/opencl_host.h"
#include "core/sets/budget.h"

namespace moonloop {

std::string text_of(const std::vector<Pieces>& all) {
  std::string out, functions;
  std::set<std::string> done;
  const auto add = [&](const std::vector<std::string>& pieces) {
    for (const std::string& p : pieces)
      if (done.insert(p).second) out += p;
  };
  for (const Pieces& x : all) add(x.headers);
  if (!out.empty()) out += "\n";
  for (const Pieces& x : all) {
    add(x.definitions);
    functions += (functions.empty() ? "" : "\n") + x.functions;
  }
  return out + functions;
}

/// Of isl, for a small kernel: finding the values of loops in pieces may take a quarter of them.
constexpr unsigned long kGenerateOperations = 2 * kPhaseOperations;
/// Besides those: what is proved grows with the number of instructions.
constexpr unsigned long kOperationsOfInstruction = 20'000;

Program generate(Kernel k, Target target, const GenerateOptions& o) {
  const IslBudget budget(kGenerateOperations + kOperationsOfInstruction * k.instructions.size(),
                         fmt::format("generating code of kernel `{}`", k.name), k.at);
  if (o.check_claims && language_of(target) != Language::C)
    fail("unsupported", k.at, "target `{}` has no checks of claims; `c` and `openmp` have",
         to_string(target));
  const std::unique_ptr<Dialect> dialect = make_dialect(target);
  auto [params, plan] = lower(std::move(k), target);
  CPrinter printer(plan, *dialect, o);
  Program out;
  out.target = target;
  out.name = printer.name();
  for (const auto& [f, gives] : plan.kernel.externals) out.externals.push_back(f + "_");
  if (is_device(target)) {
    out.pieces = printer.device_source(make_loops(plan), out.device.emplace(),
                                       o.host_arrays ? &params : nullptr, o.resident);
    out.source = text_of({out.pieces});
    out.header =
        features_of(target).host_function ? printer.host_header() : opencl_header(plan, out);
  } else {
    out.pieces = printer.source(make_loops(plan));
    out.source = text_of({out.pieces});
    out.header = printer.header();
  }
  out.params = std::move(params);
  return out;
}

}  // namespace moonloop
