#include "core/count/trips.h"

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/order_reference.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// By iname, the loops outside of it; without inames that are no loops.
using Around = std::map<std::string, std::set<std::string>>;
Around loops_around(const Kernel& k) {
  Around out;
  const std::shared_ptr<const RunOrder> order = order_of(k);
  for (int s = 0; s < order->size(); ++s) {
    std::set<std::string> outside;
    for (const std::string& i : order->loops(s)) {
      out.emplace(i, outside);
      outside.insert(i);
    }
  }
  return out;
}

std::optional<std::int64_t> most_trips_of(const Kernel& k, const std::string& iname,
                                          const Around& around,
                                          const std::map<std::string, std::int64_t>& params) {
  std::vector<std::string> all, dims;
  const auto known = around.find(iname);
  for (const std::string& i : inames_bounding(k, {iname})) {
    all.push_back(i);
    if (known == around.end() || known->second.contains(i)) dims.push_back(i);
  }
  all.push_back(iname);
  dims.push_back(iname);
  Set points = to_dims(domain_of(k, all), dims);
  for (const auto& [name, value] : params) {
    const int at = isl_set_find_dim_by_name(points.get(), isl_dim_param, name.c_str());
    if (at >= 0)
      points = isl_set_fix_val(points.take(), isl_dim_param, unsigned(at),
                               isl_val_int_from_si(isl(), value));
  }
  // { value -> another one of the same iteration }
  Map values = isl_map_from_range(points.take());
  values =
      isl_map_move_dims(values.take(), isl_dim_in, 0, isl_dim_out, 0, unsigned(dims.size()) - 1);
  values = isl_map_reset_tuple_id(values.take(), isl_dim_out);
  values = isl_map_reset_tuple_id(values.take(), isl_dim_in);
  Map pairs = isl_map_reverse(values.copy());
  pairs = isl_map_apply_range(pairs.take(), values.take());
  pairs = isl_map_project_out(pairs.take(), isl_dim_param, 0,
                              unsigned(count(isl_map_dim(pairs.get(), isl_dim_param))));
  const Set apart = isl_map_deltas(pairs.take());
  if (yes(isl_set_is_empty(apart.get()))) return 0;
  const Val most = isl_set_dim_max_val(apart.copy(), 0);
  if (!yes(isl_val_is_int(most.get()))) return {};
  return to_int(most) + 1;
}

}  // namespace

std::map<std::string, std::int64_t> most_trips(const Kernel& k,
                                               const std::map<std::string, std::int64_t>& params) {
  std::map<std::string, std::int64_t> out;
  const Around around = loops_around(k);
  QuestionBudget budget(kQuestionOperations, kProofOperations);
  for (const std::string& iname : k.inames()) {
    std::optional<std::int64_t> most;
    if (budget.ask([&] { most = most_trips_of(k, iname, around, params); }) && most)
      out[iname] = *most;
  }
  return out;
}

}  // namespace moonloop
