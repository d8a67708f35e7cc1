#include "core/rewrite/loop_values.h"

#include <algorithm>

#include "core/order/order_reference.h"
#include "core/sets/affine_extreme.h"
#include "core/sets/named_sets.h"

namespace moonloop {

std::optional<LoopValues> loop_values(const Kernel& k, const std::string& iname) {
  const std::shared_ptr<const Reference> own = ordered(k);
  const RunOrder& order = own->order;
  std::optional<LoopValues> out;
  std::vector<std::string> names;
  for (int s = 0; s < order.size(); ++s) {
    const std::vector<std::string>& dims = order.dims(s);
    if (std::find(dims.begin(), dims.end(), iname) == dims.end()) continue;
    const std::vector<std::string>& loops = order.loops(s);
    if (!out) {
      names.assign(loops.begin(), std::find(loops.begin(), loops.end(), iname));
      out = LoopValues{names, {}};
      names.push_back(iname);
      out->points = isl_set_empty(isl_set_get_space(universe(names).get()));
    }
    out->points = isl_set_union(out->points.take(), to_dims(order.domain(s).all, names).take());
  }
  return out;
}

std::optional<Aff> first_value(const Kernel& k, const std::string& iname) {
  const std::optional<LoopValues> values = loop_values(k, iname);
  if (!values) return std::nullopt;
  return affine_extreme(dims_to_params(values->points, values->around), false);
}

}  // namespace moonloop
