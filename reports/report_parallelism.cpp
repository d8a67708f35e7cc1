#include <nlohmann/json.hpp>

#include "core/order/order.h"
#include "core/order/parallelism.h"
#include "reports/report.h"

/// Which loops are parallel, as text and as JSON.
namespace moonloop {
namespace {

using JsonTree = nlohmann::ordered_json;

std::string instance_of(const CounterexampleInstance& i) {
  std::map<std::string, std::int64_t> at;
  for (std::size_t n = 0; n < i.inames.size(); ++n) at.emplace(i.inames[n], i.at[n]);
  return instance_text(i.id, i.inames, at);
}

std::string reduction_text(const LoopReduction& r) {
  return r.declared() ? fmt::format("`{}` updates the {}", r.statement, r.op)
                      : fmt::format("`{}` accumulates the {} `{}`", r.statement, r.op, r.variable);
}

/// `flow a: w[i=1] writes a[1], w[i=2] reads a[1] (n=3)`.
std::string obstacle_text(const LoopParallelism& l) {
  std::string out = l.kind ? fmt::format("{} {}: ", to_string(*l.kind), l.variable) : "";
  if (!l.instances) return out + l.why->text;
  const auto& [first, second, params, kind] = *l.instances;
  out += instance_of(first) + (first.does.empty() ? "" : " " + first.does);
  return out + fmt::format(", {} {}{}", instance_of(second), second.does, parameters_text(params));
}

std::string loop_text(const LoopParallelism& l) {
  std::string out = to_string(l.status);
  const char* between = ": ";
  const auto add = [&](const std::string& more) { out += std::exchange(between, "; ") + more; };
  if (l.status == LoopStatus::Reduction) {
    for (const LoopReduction& r : l.reductions) add(reduction_text(r));
    if (!l.par) add(fmt::format("recognize_reduction(\"{}\") comes first", l.iname));
    return out;
  }
  if (!l.why) return out;
  add(obstacle_text(l));
  return out + (l.why->hint.empty() ? "" : "; " + l.why->hint);
}

JsonTree end_of(const std::optional<std::int64_t>& n) { return n ? JsonTree(*n) : JsonTree(); }
JsonTree kind_of_loop(const std::optional<DepKind>& k) {
  return k ? JsonTree(to_string(*k)) : JsonTree();
}

JsonTree instance_json(const CounterexampleInstance& i) {
  JsonTree at = JsonTree::object();
  for (std::size_t n = 0; n < i.inames.size(); ++n) at[i.inames[n]] = i.at[n];
  return {{"statement", i.id}, {"at", std::move(at)}, {"does", i.does}};
}

JsonTree loop_json(const LoopParallelism& l) {
  JsonTree reductions = JsonTree::array();
  for (const LoopReduction& r : l.reductions)
    reductions.push_back({{"statement", r.statement},
                          {"op", r.op},
                          {"variable", r.declared() ? JsonTree() : JsonTree(r.variable)},
                          {"declared", r.declared()}});
  JsonTree out{{"iname", l.iname},
               {"tag", l.tag},
               {"around", l.around},
               {"statements", l.statements},
               {"status", to_string(l.status)},
               {"par", l.par},
               {"reductions", std::move(reductions)}};
  if (!l.why) return out;
  out["code"] = l.why->code;
  out["why"] = l.why->text;
  out["hint"] = l.why->hint;
  if (!l.instances) return out;
  out["kind"] = kind_of_loop(l.kind);
  out["variable"] = l.variable;
  out["instances"] = {instance_json(l.instances->first), instance_json(l.instances->second)};
  out["params"] = l.instances->params;
  return out;
}

JsonTree dependence_json(const CarriedDependence& d) {
  JsonTree distance = JsonTree::array();
  for (std::size_t i = 0; i < d.loops.size(); ++i)
    distance.push_back({{"iname", d.loops[i]},
                        {"min", end_of(d.distance[i].least)},
                        {"max", end_of(d.distance[i].most)}});
  return {{"source", d.from},
          {"target", d.to},
          {"kind", kind_of_loop(d.kind)},
          {"variable", d.variable},
          {"carried_by", d.loops[d.level]},
          {"vector", d.vector()},
          {"exact", d.exact},
          {"distance", std::move(distance)}};
}

}  // namespace

std::string report_parallelism(const Kernel& k) {
  const Parallelism p = parallelism(k);
  const auto indent = [](const LoopParallelism& l) { return 2 * (l.around.size() + 1); };
  std::size_t width = 0;
  for (const LoopParallelism& l : p.loops) width = std::max(width, indent(l) + l.iname.size());
  std::string out = "loops\n";
  for (const LoopParallelism& l : p.loops)
    out += fmt::format("{:<{}}  {}{}\n", std::string(indent(l), ' ') + l.iname, width,
                       l.tag.empty() ? "" : "[" + l.tag + "] ", loop_text(l));
  if (p.loops.empty()) out += "  none\n";
  out += "carried dependences\n";
  for (const CarriedDependence& d : p.dependences)
    out += fmt::format("  {}: {} -> {} {}{}\n",
                       d.kind ? fmt::format("{} {}", to_string(*d.kind), d.variable) : "explicit",
                       d.from, d.to, d.vector(), d.exact ? "" : " (over-approximated)");
  if (p.dependences.empty()) out += "  none\n";
  out += "permutable bands\n";
  for (const PermutableBand& b : p.bands)
    out += fmt::format("  {}{}\n", fmt::join(b.loops, ", "), b.perfect ? "" : " (imperfect)");
  if (p.bands.empty()) out += "  none\n";
  return out;
}

std::string parallelism_as_json(const Kernel& k) {
  const Parallelism p = parallelism(k);
  JsonTree loops = JsonTree::array(), dependences = loops, bands = loops;
  for (const LoopParallelism& l : p.loops) loops.push_back(loop_json(l));
  for (const CarriedDependence& d : p.dependences) dependences.push_back(dependence_json(d));
  for (const PermutableBand& b : p.bands)
    bands.push_back({{"loops", b.loops}, {"perfect", b.perfect}});
  const JsonTree all{{"kernel", p.kernel},
                     {"loops", std::move(loops)},
                     {"dependences", std::move(dependences)},
                     {"bands", std::move(bands)}};
  return all.dump(2, ' ', false, JsonTree::error_handler_t::replace) + "\n";
}

}  // namespace moonloop
