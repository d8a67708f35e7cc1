#include "core/sets/named_sets.h"

#include <algorithm>
#include <numeric>

#include "core/base/diagnostic.h"
#include "core/sets/linear_proof.h"

namespace moonloop {
namespace {

int find_dim(const Set& s, isl_dim_type type, const std::string& name) {
  return isl_set_find_dim_by_name(s.get(), type, name.c_str());
}
int dims(const Set& s, isl_dim_type type) { return count(isl_set_dim(s.get(), type)); }

std::vector<std::string> names_of(const Set& s, isl_dim_type type) {
  std::vector<std::string> out;
  const int n = dims(s, type);
  out.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    const char* name = isl_set_get_dim_name(s.get(), type, static_cast<unsigned>(i));
    if (!name) throw InternalError("a dimension without a name in " + str(s));
    out.emplace_back(name);
  }
  return out;
}

Set move(Set s, isl_dim_type to, int to_pos, isl_dim_type from, int from_pos) {
  return isl_set_move_dims(s.take(), to, static_cast<unsigned>(to_pos), from,
                           static_cast<unsigned>(from_pos), 1);
}

/// Without the bounds of dimensions that go where these are numbers and nothing else depends on
/// them: what is left of the others is the same, and isl need not look for it. Only of one part
/// without quotients.
Set without_own_bounds(Set s, const std::vector<bool>& goes) {
  const std::optional<LinearRows> rows = linear_rows(s);
  if (!rows || rows->quotients > 0) return s;
  struct Range {
    std::int64_t low = INT64_MIN, high = INT64_MAX;
    bool own = true;
  };
  std::vector<Range> ranges(rows->dims);
  const auto see = [&](const LinearForm& f, bool is_zero) {
    if (f.terms.size() == 1 && f.terms[0].first < rows->dims) {
      const auto& [d, a] = f.terms[0];
      Range& r = ranges[d];
      if (a > 0 || is_zero)
        r.low = std::max(r.low, -floor_div(a > 0 ? f.constant : -f.constant, std::abs(a)));
      if (a < 0 || is_zero)
        r.high = std::min(r.high, floor_div(a < 0 ? f.constant : -f.constant, std::abs(a)));
    } else {
      for (const auto& [v, a] : f.terms)
        if (v < rows->dims) ranges[v].own = false;
    }
  };
  for (const LinearForm& f : rows->zero) see(f, true);
  for (const LinearForm& f : rows->not_negative) see(f, false);
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    const Range& r = ranges[d];
    const bool bounded = r.low != INT64_MIN || r.high != INT64_MAX;
    if (r.own && bounded && r.low <= r.high && goes[d])
      s = isl_set_drop_constraints_involving_dims(s.take(), isl_dim_set, static_cast<unsigned>(d),
                                                  1);
  }
  return s;
}

}  // namespace

std::vector<std::string> dim_names(const Set& s) {
  return yes(isl_set_is_params(s.get())) ? std::vector<std::string>{} : names_of(s, isl_dim_set);
}
std::vector<std::string> param_names(const Set& s) { return names_of(s, isl_dim_param); }

Set universe(const std::vector<std::string>& names) {
  Space space = isl_space_set_alloc(isl(), 0, static_cast<unsigned>(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i)
    space = isl_space_set_dim_name(space.take(), isl_dim_set, static_cast<unsigned>(i),
                                   names[i].c_str());
  return isl_set_universe(space.take());
}

Set to_dims(Set s, const std::vector<std::string>& names) {
  if (yes(isl_set_is_params(s.get()))) s = isl_set_from_params(s.take());
  if (names_of(s, isl_dim_set) == names) return s;
  const auto wanted = [&](int i) {
    const std::string name = isl_set_get_dim_name(s.get(), isl_dim_set, static_cast<unsigned>(i));
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<bool> goes;
  for (int i = 0; i < dims(s, isl_dim_set); ++i) goes.push_back(!wanted(i));
  if (std::find(goes.begin(), goes.end(), true) != goes.end())
    s = without_own_bounds(std::move(s), goes);
  // All that go at once: isl simplifies what is left each time. Those that stay wait aside.
  int runs = 0;
  for (int i = 0; i < dims(s, isl_dim_set); ++i) runs += !wanted(i) && (i == 0 || wanted(i - 1));
  for (int i = dims(s, isl_dim_set) - 1; runs > 1 && i >= 0; --i)
    if (wanted(i)) s = move(std::move(s), isl_dim_param, dims(s, isl_dim_param), isl_dim_set, i);
  for (int end = dims(s, isl_dim_set); end > 0;) {  // one run
    int begin = end;
    while (begin > 0 && !wanted(begin - 1)) --begin;
    if (begin < end)
      s = isl_set_project_out(s.take(), isl_dim_set, static_cast<unsigned>(begin),
                              static_cast<unsigned>(end - begin));
    end = begin - 1;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int at = static_cast<int>(i);
    int p = find_dim(s, isl_dim_param, names[i]);
    if (const int d = find_dim(s, isl_dim_set, names[i]); p < 0 && d >= 0) {
      if (d == at) continue;
      // isl moves dimensions only between types, so one in the wrong place goes via the parameters.
      p = dims(s, isl_dim_param);
      s = move(std::move(s), isl_dim_param, p, isl_dim_set, d);
    }
    if (p >= 0) {
      s = move(std::move(s), isl_dim_set, at, isl_dim_param, p);
    } else {
      std::size_t end = i + 1;  // all that are missing here at once
      while (end < names.size() && find_dim(s, isl_dim_param, names[end]) < 0 &&
             find_dim(s, isl_dim_set, names[end]) < 0)
        ++end;
      s = isl_set_insert_dims(s.take(), isl_dim_set, static_cast<unsigned>(at),
                              static_cast<unsigned>(end - i));
      for (; i < end; ++i)
        s = isl_set_set_dim_name(s.take(), isl_dim_set, static_cast<unsigned>(i), names[i].c_str());
      --i;
    }
  }
  return s;
}

Set dims_to_params(Set s, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const int d = find_dim(s, isl_dim_set, name);
    if (d < 0) continue;
    if (const int p = find_dim(s, isl_dim_param, name); p >= 0) {
      s = isl_set_equate(s.take(), isl_dim_set, d, isl_dim_param, p);
      s = isl_set_project_out(s.take(), isl_dim_set, static_cast<unsigned>(d), 1);
    } else {
      const int end = dims(s, isl_dim_param);
      s = move(std::move(s), isl_dim_param, end, isl_dim_set, d);
    }
  }
  return s;
}

Set all_to_params(Set s) {
  if (yes(isl_set_is_params(s.get()))) return s;
  const std::vector<std::string> names = names_of(s, isl_dim_set);
  s = dims_to_params(std::move(s), names);
  return isl_set_params(s.take());
}

Set drop_params(Set s, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (const int p = find_dim(s, isl_dim_param, name); p >= 0)
      s = isl_set_project_out(s.take(), isl_dim_param, static_cast<unsigned>(p), 1);
  return s;
}

Set rename_dims(Set s, const std::map<std::string, std::string>& names) {
  for (const isl_dim_type type : {isl_dim_set, isl_dim_param}) {
    if (type == isl_dim_set && yes(isl_set_is_params(s.get()))) continue;
    const std::vector<std::string> old = names_of(s, type);
    for (std::size_t i = 0; i < old.size(); ++i)
      if (const auto it = names.find(old[i]); it != names.end())
        s = isl_set_set_dim_name(s.take(), type, static_cast<unsigned>(i), it->second.c_str());
  }
  return s;
}

Set join_by_name(Set a, Set b) {
  std::vector<std::string> names = dim_names(a);
  for (std::string& n : dim_names(b))
    if (std::find(names.begin(), names.end(), n) == names.end()) names.push_back(std::move(n));
  return intersect(to_dims(std::move(a), names), to_dims(std::move(b), names));
}

// ---- Samples.

namespace {

/// The least value of dimension `i` of a set that is not empty; when there is none, the one nearest
/// to zero.
Val small_value(const Set& s, int i) {
  LocalSpace space = isl_local_space_from_space(isl_set_get_space(s.get()));
  Aff x = isl_aff_var_on_domain(space.take(), isl_dim_set, static_cast<unsigned>(i));
  Val least = isl_set_min_val(s.get(), x.get());
  if (yes(isl_val_is_int(least.get()))) return least;
  const auto at = static_cast<unsigned>(i);
  // Parts that become empty have no optimum, which would be the union's.
  Set positive = isl_set_detect_equalities(isl_set_lower_bound_si(s.copy(), isl_dim_set, at, 0));
  least = isl_set_min_val(positive.get(), x.get());
  if (yes(isl_val_is_int(least.get()))) return least;
  Set negative = isl_set_detect_equalities(isl_set_upper_bound_si(s.copy(), isl_dim_set, at, 0));
  Val most = isl_set_max_val(negative.get(), x.get());
  if (yes(isl_val_is_int(most.get()))) return most;
  const Point any = isl_set_sample_point(s.copy());
  return isl_point_get_coordinate_val(any.get(), isl_dim_set, i);
}

}  // namespace

std::optional<Sample> sample(const Set& set) {
  if (yes(isl_set_is_empty(set.get()))) return std::nullopt;
  const std::vector<std::string> params = param_names(set), names = dim_names(set);
  std::vector<std::string> all = params;
  all.insert(all.end(), names.begin(), names.end());
  Set s = to_dims(set, all);
  Sample out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Drops the parts without integers: isl's minimum may be one of theirs.
    s = isl_set_detect_equalities(s.take());
    Val v = small_value(s, static_cast<int>(i));
    (i < params.size() ? out.params : out.dims)[all[i]] = to_int(v);
    s = isl_set_fix_val(s.take(), isl_dim_set, static_cast<unsigned>(i), v.take());
  }
  return out;
}

}  // namespace moonloop
