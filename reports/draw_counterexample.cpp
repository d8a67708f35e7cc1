#include "reports/draw_counterexample.h"

#include <algorithm>
#include <optional>

#include "core/model/domain.h"
#include "core/order/order.h"

namespace moonloop {
namespace {

using Values = std::vector<std::int64_t>;
constexpr std::int64_t kWindow = 8;  // points along an axis

struct Axis {
  std::size_t dim;
  std::int64_t from, to;  // values shown
};

std::string text_of(const CounterexampleInstance& x) {
  std::map<std::string, std::int64_t> at;
  for (std::size_t i = 0; i < x.inames.size(); ++i) at[x.inames[i]] = x.at[i];
  return instance_text(x.id, x.inames, at);
}

Set fix(Set s, isl_dim_type type, std::size_t dim, std::int64_t value) {
  return isl_set_fix_val(s.take(), type, unsigned(dim), isl_val_int_from_si(isl(), value));
}

/// The domain at the instances' parameters.
Set fixed(const Counterexample& counterexample) {
  Set s = counterexample.first.domain;
  for (const auto& [name, value] : counterexample.params) {
    const int at = isl_set_find_dim_by_name(s.get(), isl_dim_param, name.c_str());
    if (at >= 0) s = fix(std::move(s), isl_dim_param, std::size_t(at), value);
  }
  const unsigned params = unsigned(count(isl_set_dim(s.get(), isl_dim_param)));
  return isl_set_project_out(s.take(), isl_dim_param, 0, params);
}

bool contains(const Set& s, const Values& at) {
  Point p = isl_point_zero(isl_set_get_space(s.get()));
  for (std::size_t i = 0; i < at.size(); ++i) {
    Val v = isl_val_int_from_si(isl(), at[i]);
    p = isl_point_set_coordinate_val(p.take(), isl_dim_set, int(i), v.take());
  }
  const Set only = isl_set_from_point(p.take());
  return yes(isl_set_is_subset(only.get(), s.get()));
}

/// A window over the values of dimension `dim` with both instances in it; nothing when their
/// distance is too large.
std::optional<Axis> window(const Counterexample& c, const Set& domain, std::size_t dim) {
  const std::int64_t a = c.first.at[dim], b = c.second.at[dim];
  std::int64_t from = std::min(a, b), to = std::max(a, b);
  if (to - from >= kWindow) return std::nullopt;
  const auto any = [&](std::int64_t value) {
    return !yes(isl_set_is_empty(fix(domain, isl_dim_set, dim, value).get()));
  };
  while (to - from + 1 < kWindow) {  // as far as there is something, on both sides
    const bool below = any(from - 1),
               above = to - from + 1 < kWindow - (below ? 1 : 0) && any(to + 1);
    if (!below && !above) break;
    if (below) --from;
    if (above) ++to;
  }
  return Axis{dim, from, to};
}

/// The two dimensions, or the one, that show most: those in which the instances differ, then the
/// innermost. Nothing when they differ in more.
std::vector<std::size_t> shown_dims(const Counterexample& c) {
  std::vector<std::size_t> out;
  const std::size_t n = c.first.at.size();
  for (std::size_t i = 0; i < n; ++i)
    if (c.first.at[i] != c.second.at[i]) out.push_back(i);
  if (out.size() > 2) return {};
  for (std::size_t i = n; i-- > 0 && out.size() < 2;)
    if (std::find(out.begin(), out.end(), i) == out.end()) out.push_back(i);
  std::sort(out.begin(), out.end());
  return out;
}

std::string draw(const Counterexample& c, const std::string& mark_a, const std::string& mark_b) {
  const CounterexampleInstance &a = c.first, &b = c.second;
  if (a.inames != b.inames || a.inames.empty()) return {};
  const Set domain = fixed(c);
  std::vector<Axis> axes;
  for (const std::size_t dim : shown_dims(c)) {
    const auto axis = window(c, domain, dim);
    if (!axis) return {};
    axes.push_back(*axis);
  }
  if (axes.empty()) return {};
  std::vector<std::string> where;  // values that the picture is for
  for (const auto& [name, value] : c.params) where.push_back(fmt::format("{} = {}", name, value));
  for (std::size_t i = 0; i < a.at.size(); ++i)
    if (std::none_of(axes.begin(), axes.end(), [&](const Axis& x) { return x.dim == i; }))
      where.push_back(fmt::format("{} = {}", a.inames[i], a.at[i]));
  std::string out = "  " + (a.id == b.id ? a.id : a.id + " and " + b.id);
  if (!where.empty()) out += fmt::format(" at {}", fmt::join(where, ", "));
  out += "\n";

  const Axis& across = axes.back();
  const Axis* down = axes.size() == 2 ? &axes.front() : nullptr;
  const std::string& across_name = a.inames[across.dim];
  std::size_t margin = across_name.size(), cell = 3;
  if (down) {
    margin = std::max(margin, a.inames[down->dim].size() + 1);
    for (std::int64_t y = down->from; y <= down->to; ++y)
      margin = std::max(margin, fmt::formatted_size("{} {}", a.inames[down->dim], y));
  }
  for (std::int64_t x = across.from; x <= across.to; ++x)
    cell = std::max(cell, fmt::formatted_size("{}", x) + 1);
  margin = std::min<std::size_t>(margin, 24);

  out += fmt::format("    {:>{}}", across_name, margin);
  for (std::int64_t x = across.from; x <= across.to; ++x) out += fmt::format("{:>{}}", x, cell);
  out += "\n";
  for (std::int64_t y = down ? down->from : 0; y <= (down ? down->to : 0); ++y) {
    std::string row =
        fmt::format("    {:>{}}", down ? fmt::format("{} {}", a.inames[down->dim], y) : "", margin);
    for (std::int64_t x = across.from; x <= across.to; ++x) {
      Values at = a.at;
      at[across.dim] = x;
      if (down) at[down->dim] = y;
      const bool is_a = at == a.at, is_b = at == b.at;
      const std::string pad(cell - (is_a && is_b ? 2 : 1), ' ');
      row += pad + (is_a && is_b           ? mark_a + mark_b
                    : is_a                 ? mark_a
                    : is_b                 ? mark_b
                    : contains(domain, at) ? "."
                                           : " ");
    }
    out += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace

std::string draw_counterexample(const Counterexample& counterexample, bool color) {
  const std::string a = color ? "\033[1;31mA\033[0m" : "A";
  const std::string b = color ? "\033[1;33mB\033[0m" : "B";
  const auto line = [](const std::string& mark, const CounterexampleInstance& x) {
    return fmt::format("  {}  {}{}{}\n", mark, text_of(x), x.does.empty() ? "" : " ", x.does);
  };
  const char* wrong = "";
  switch (counterexample.kind) {
    case CounterexampleKind::Order: wrong = "  {} has to run before {}\n"; break;
    case CounterexampleKind::Together: wrong = "  {} and {} must not run at the same time\n"; break;
    case CounterexampleKind::Copies:
      wrong = "  what {} writes to its own copy does not reach {}\n";
      break;
  }
  return draw(counterexample, a, b) + line(a, counterexample.first) +
         line(b, counterexample.second) + fmt::format(fmt::runtime(wrong), a, b);
}

}  // namespace moonloop
