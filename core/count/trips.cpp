#include "core/count/trips.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/model/memo.h"
#include "core/order/order_reference.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// By iname, the loops outside of it; without inames that are no loops.
using Around = std::map<std::string, std::set<std::string>>;
Around loops_around(const Kernel& k) {
  Around out;
  const std::shared_ptr<const Reference> own = ordered(k);
  for (int s = 0; s < own->order.size(); ++s) {
    std::set<std::string> outside;
    for (const std::string& i : own->order.loops(s)) {
      out.emplace(i, outside);
      outside.insert(i);
    }
  }
  return out;
}

/// Loops that may bound `iname`, or that it may bound: those of its domain, and of domains that
/// these depend on.
std::set<std::string> related(const Kernel& k, const std::string& iname) {
  std::set<std::string> out;
  std::vector<std::string> open{iname};
  while (!open.empty()) {
    const Domain& home = *k.home_of(open.back());
    open.pop_back();
    for (const auto& names : {home.inames(), home.params()})
      for (const std::string& name : names)
        if (k.has_iname(name) && out.insert(name).second) open.push_back(name);
  }
  out.erase(iname);
  return out;
}

/// By the loops that statements in the loop have, if each statement is in a loop that the loop
/// bounds: then some of its values may be idle.
std::set<std::set<std::string>> nests_in(const Kernel& k, const std::string& iname) {
  std::set<std::set<std::string>> out;
  for (const InsnPtr& insn : k.instructions) {
    if (!insn->inames.contains(iname)) continue;
    const bool bounded =
        std::any_of(insn->inames.begin(), insn->inames.end(), [&](const std::string& i) {
          const std::vector<std::string> params = k.home_of(i)->params();
          return std::find(params.begin(), params.end(), iname) != params.end();
        });
    if (!bounded) return {};
    out.emplace(insn->inames.begin(), insn->inames.end());
  }
  return out;
}

/// Some loops, and the last of them, in the iterations of those of the others that bound it.
struct Loops {
  std::vector<std::string> all, dims;
  Set points;  // of all
};

Loops loops_of(const Kernel& k, const std::string& iname, const Around& around,
               const std::map<std::string, std::int64_t>& params) {
  std::vector<std::string> all, dims;
  const auto known = around.find(iname);
  const auto is_around = [&](const std::string& i) {
    return known == around.end() || known->second.contains(i);
  };
  std::set<std::string> bounding = related(k, iname);
  const std::set<std::set<std::string>> nests = nests_in(k, iname);
  for (const std::set<std::string>& nest : nests)
    for (const std::string& i : nest)
      if (i != iname && is_around(i)) bounding.insert(i);
  for (const std::string& i : bounding) {
    all.push_back(i);
    if (is_around(i)) dims.push_back(i);
  }
  all.push_back(iname);
  dims.push_back(iname);
  Set points = to_dims(domain_of(k, all), all);
  if (!nests.empty()) {
    std::optional<Set> runs;
    for (const std::set<std::string>& nest : nests) {
      std::set<std::string> names = nest;
      names.insert(dims.begin(), dims.end());
      Set some = to_dims(domain_of(k, {names.begin(), names.end()}), dims);
      runs = runs ? Set(isl_set_union(runs->take(), some.take())) : some;
    }
    points = isl_set_intersect(points.take(), to_dims(*runs, all).take());
  }
  for (const auto& [name, value] : params) {
    const int at = isl_set_find_dim_by_name(points.get(), isl_dim_param, name.c_str());
    if (at >= 0)
      points = isl_set_fix_val(points.take(), isl_dim_param, unsigned(at),
                               isl_val_int_from_si(isl(), value));
  }
  return {std::move(all), std::move(dims), std::move(points)};
}

/// The values of the last one, in the iterations of those that count.
Set points_of(const Loops& loops) {
  // Loops that are not around, such as copies in one domain: what remains of them is exact where
  // their bounds have no factors, and else more.
  Set points = loops.points;
  for (std::size_t d = 0; d < loops.all.size(); ++d)
    if (std::find(loops.dims.begin(), loops.dims.end(), loops.all[d]) == loops.dims.end())
      points = isl_set_eliminate(points.take(), isl_dim_set, unsigned(d), 1);
  return to_dims(points, loops.dims);
}

/// Equal for loops that differ in names only.
std::string nameless_text_of(const Loops& loops) {
  Set out = loops.points;
  for (int d = count(isl_set_dim(out.get(), isl_dim_set)) - 1; d >= 0; --d)
    out = isl_set_set_dim_name(out.take(), isl_dim_set, unsigned(d),
                               ("d" + std::to_string(d)).c_str());
  std::string text = "of";
  for (std::size_t d = 0; d < loops.all.size(); ++d)
    if (std::find(loops.dims.begin(), loops.dims.end(), loops.all[d]) != loops.dims.end())
      text += " " + std::to_string(d);
  return text + str(out);
}

/// How many values the last dimension of `points` has at most, from its first to its last one.
std::optional<std::int64_t> most_values(Set points) {
  const int dims = count(isl_set_dim(points.get(), isl_dim_set));
  // { value -> another one of the same iteration }
  Map values = isl_map_from_range(points.take());
  values = isl_map_move_dims(values.take(), isl_dim_in, 0, isl_dim_out, 0, unsigned(dims) - 1);
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
                                               const std::map<std::string, std::int64_t>& params,
                                               const std::vector<std::string>& inames) {
  std::map<std::string, std::int64_t> out;
  const Around around = loops_around(k);
  auto& known = memo().trips;
  std::set<std::string> open;  // that the budget did not answer
  QuestionBudget budget(kQuestionOperations, kProofOperations);
  for (const std::string& iname : inames) {
    const Loops loops = loops_of(k, iname, around, params);
    const std::string text = nameless_text_of(loops);
    auto it = known.find(text);
    if (it == known.end() && !open.contains(text)) {
      budget.ask([&] { it = known.emplace(text, most_values(points_of(loops))).first; });
      if (it == known.end()) open.insert(text);
    }
    if (it != known.end() && it->second) out[iname] = *it->second;
  }
  return out;
}

std::map<std::string, std::int64_t> most_trips(const Kernel& k,
                                               const std::map<std::string, std::int64_t>& params) {
  return most_trips(k, params, k.inames());
}

}  // namespace moonloop
