#pragma once
#include <string>
#include <vector>

#include "cost/predict.h"
#include "frontends/text/parse.h"
#include "transforms/registry.h"

/// Kernels from texts, steps, and machines whose numbers are known.
namespace moonloop::test {

inline std::vector<Kernel> kernels(const std::string& text) {
  return parse_kernels(add_source("test.loop", text));
}
inline Kernel kernel(const std::string& text) { return kernels(text).front(); }

inline Kernel split(const Kernel& k, const std::string& iname, std::int64_t by,
                    const std::string& outer = "for", const std::string& inner = "for") {
  return run_op(*find_op("split_iname"), k, {Value{iname}, Value{by}},
                {{"outer_tag", Value{outer}}, {"inner_tag", Value{inner}}});
}
inline Kernel ordered(const Kernel& k, const std::string& loops) {
  return run_op(*find_op("prioritize_loops"), k, {Value{loops}}, {});
}
inline Kernel tagged(const Kernel& k, const std::string& iname, const std::string& tag) {
  return run_op(*find_op("tag_inames"), k, {Value{iname + ":" + tag}}, {});
}
/// Tiles of these sizes, their loops inside in the order given.
inline Kernel tile(Kernel k, const std::vector<std::pair<std::string, std::int64_t>>& sizes) {
  std::string outer, inner;
  for (const auto& [iname, size] : sizes) {
    k = split(k, iname, size);
    outer += iname + "_outer, ";
    inner += (inner.empty() ? "" : ", ") + iname + "_inner";
  }
  return ordered(k, outer + inner);
}

/// Four cores.
inline cost::MachineProfile host_profile() {
  cost::MachineFacts f;
  f.device = "Example";
  f.units = 4;
  f.clock = 3e9;
  f.vector_bytes = 32;
  f.caches = {{1, 32 << 10, 64, false}, {2, 512 << 10, 64, false}, {3, 16 << 20, 64, true}};
  return cost::default_profile(f);
}
inline cost::MachineProfile gpu_profile() {
  cost::MachineFacts f;
  f.device = "Example GPU";
  f.is_gpu = true;
  f.units = 20;
  f.clock = 1.5e9;
  f.caches = {{2, 2 << 20, 32, true}};
  f.memory = std::int64_t{4} << 30;
  f.local_bytes = 48 << 10;
  return cost::default_profile(f);
}

inline cost::Prediction on_host(const Kernel& k, const Integers& params) {
  return cost::predict(k, Target::C, params, host_profile());
}
/// The bound of that name; one of zeros where it is none.
inline cost::Bound bound(const cost::Prediction& p, const std::string& name) {
  for (const cost::Bound& b : p.bounds)
    if (b.name == name) return b;
  return {};
}

}  // namespace moonloop::test
