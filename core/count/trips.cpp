#include "core/count/trips.h"

#include <optional>
#include <set>
#include <vector>

#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

std::optional<std::int64_t> most_trips_of(const Kernel& k, const std::string& iname,
                                          const std::map<std::string, std::int64_t>& params) {
  const std::set<std::string> bounding = inames_bounding(k, {iname});
  std::vector<std::string> dims(bounding.begin(), bounding.end());
  dims.push_back(iname);
  Set points = domain_of(k, dims);
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
  QuestionBudget budget(kQuestionOperations, kProofOperations);
  for (const std::string& iname : k.inames()) {
    std::optional<std::int64_t> most;
    if (budget.ask([&] { most = most_trips_of(k, iname, params); }) && most) out[iname] = *most;
  }
  return out;
}

}  // namespace moonloop
