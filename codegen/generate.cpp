#include <algorithm>
#include <map>
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
  std::vector<std::string> definitions;
  for (const Pieces& x : all)
    for (const std::string& p : x.definitions) {
      const auto same = std::find_if(definitions.begin(), definitions.end(), [&](std::string& d) {
        const auto both = joined_declarations(d, p);
        if (both) d = *both;
        return both.has_value();
      });
      if (same == definitions.end()) definitions.push_back(p);
    }
  add(definitions);
  // A kernel that others call and that is there for itself comes once, before them.
  const auto body = [](const std::string& text) { return text.substr(text.find('{')); };
  std::map<std::string, std::string> bodies;
  for (const Pieces& x : all)
    for (const Pieces::Called& c : x.called) {
      const auto [known, fresh] = bodies.emplace(c.name, body(c.text));
      if (known->second != body(c.text))
        fail("name-taken", {}, "two kernels call different functions `{}`", c.name);
      if (!fresh) continue;
      const auto own =
          std::find_if(all.begin(), all.end(), [&](const Pieces& y) { return y.name == c.name; });
      out += (own == all.end() ? c.text : own->functions) + "\n";
    }
  for (const Pieces& x : all) {
    if (const auto known = bodies.find(x.name); known != bodies.end()) {
      if (body(x.functions).starts_with(known->second)) continue;
      fail("name-taken", {}, "`{}` calls a function `{}` that is not the kernel `{}` as it is here",
           all.front().name, x.name, x.name);
    }
    functions += (functions.empty() ? "" : "\n") + x.functions;
  }
  return out + functions;
}

namespace {

std::map<std::string, Program> generate_callees(const Kernel& k, Target target, GenerateOptions o) {
  std::map<std::string, Program> out;
  o.mark_statements = false;
  o.called = true;
  for (const auto& [name, called] : k.callees) {
    const Kernel& meaning = *called->meaning;
    Program p = generate(called->code ? *called->code : meaning, target, o);
    if (!std::equal(p.params.begin(), p.params.end(), meaning.args.begin(), meaning.args.end(),
                    [](const Parameter& x, const Argument& a) {
                      return x.name == a.name && x.is_array == a.is_array;
                    }))
      fail("unsupported", meaning.at, "the steps of `{}`, which `{}` calls, change its arguments",
           name, k.name);
    out.emplace(name, std::move(p));
  }
  return out;
}

/// Adds the functions that a program calls, and what they need.
void add_callees(const std::map<std::string, Program>& callees, Program& p) {
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& more) {
    for (const std::string& x : more)
      if (std::find(to.begin(), to.end(), x) == to.end()) to.push_back(x);
  };
  Pieces& own = p.pieces;
  for (const auto& [name, callee] : callees) {
    add(own.headers, callee.pieces.headers);
    add(own.definitions, callee.pieces.definitions);
    add(p.externals, callee.externals);
    std::vector<Pieces::Called> all = callee.pieces.called;
    all.push_back({callee.name, callee.pieces.functions});
    for (Pieces::Called& c : all)
      if (std::none_of(own.called.begin(), own.called.end(), [&](const Pieces::Called& x) {
            return x.name == c.name && x.text == c.text;
          }))
        own.called.push_back(std::move(c));
  }
  std::sort(own.headers.begin(), own.headers.end());
}

}  // namespace

/// Of isl, for a small kernel: finding the values of loops in pieces may take a quarter of them.
constexpr unsigned long kGenerateOperations = 2 * kPhaseOperations;
/// Besides those: what is proved grows with the number of instructions.
constexpr unsigned long kOperationsOfInstruction = 20'000;
/// What an outline may take of the first: else bounds and guards may take more than is left.
constexpr unsigned long kShareOfOutline = 8;

namespace {

IslBudget budget_for(const Kernel& k) {
  return IslBudget(kGenerateOperations + kOperationsOfInstruction * k.instructions.size(),
                   fmt::format("generating code of kernel `{}`", k.name), k.at);
}

/// Whether the statements of the plan can be printed in their loops. True is certain.
bool prints_outline(Plan& plan) {
  plan.outline = true;
  try {
    const std::unique_ptr<Dialect> dialect = make_dialect(plan.target);
    CPrinter printer(plan, *dialect);
    DeviceProgram device;
    if (is_device(plan.target))
      printer.device_source(outline_loops(plan), device);
    else
      printer.source(outline_loops(plan));
    return true;
  } catch (const Error&) { return false; }  // loops that never run may be what is in the way
}

}  // namespace

bool has_code(const Kernel& k, Target target) {
  try {
    if (k.callees.empty()) {
      const IslBudget budget = budget_for(k);
      Lowered made = lower(k, target);
      if (prints_outline(made.plan) && budget.used() < kGenerateOperations / kShareOfOutline)
        return true;
    }
    generate(k, target);
    return true;
  } catch (const Error&) { return false; }
}

Program generate(Kernel k, Target target, const GenerateOptions& o) {
  const IslBudget budget = budget_for(k);
  if (o.check_claims && language_of(target) != Language::C)
    fail("unsupported", k.at, "target `{}` has no checks of claims; `c` and `openmp` have",
         to_string(target));
  const std::unique_ptr<Dialect> dialect = make_dialect(target);
  std::map<std::string, Program> callees;
  if (language_of(target) == Language::C) callees = generate_callees(k, target, o);
  auto [params, plan] = lower(std::move(k), target);
  plan.callees = callees;
  plan.called_by_threads = o.called_by_threads;
  CPrinter printer(plan, *dialect, o);
  Program out;
  out.target = target;
  out.name = printer.name();
  for (const auto& [f, gives] : plan.kernel.externals)
    if (!plan.kernel.callees.count(f)) out.externals.push_back(f + "_");
  if (is_device(target)) {
    out.pieces = printer.device_source(make_loops(plan), out.device.emplace(),
                                       o.host_arrays ? &params : nullptr, o);
    out.source = text_of({out.pieces});
    if (features_of(target).host_function) {
      out.header = printer.host_header();
    } else {
      out.header = opencl_header(plan, out);
      out.launcher = opencl_launcher(plan, out, o.host_arrays ? &params : nullptr);
    }
  } else {
    Block loops = make_loops(plan);
    out.pieces = printer.source(std::move(loops));
    out.loops_of_team = printer.has_loops_of_team();
    out.pieces.name = out.name;
    add_callees(callees, out);
    out.source = text_of({out.pieces});
    out.header = printer.header();
  }
  out.params = std::move(params);
  return out;
}

}  // namespace moonloop
