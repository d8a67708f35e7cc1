#include "core/sets/linear_proof.h"

#include <algorithm>
#include <numeric>

#include "core/expr/integers.h"

namespace moonloop {
namespace {

struct BeyondWord {};

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) throw BeyondWord{};
  return out;
}
std::int64_t add_up(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) throw BeyondWord{};
  return out;
}
std::int64_t weighted(std::int64_t x, std::int64_t a, std::int64_t y, std::int64_t b) {
  return add_up(multiply(x, a), multiply(y, b));
}

constexpr std::size_t kSlacks = std::size_t{1} << 32;  // the name of the first slack

/// The greatest divisor of all, `common` among them.
std::int64_t divisor_of(const std::vector<std::int64_t>& all, std::int64_t common) {
  for (std::size_t i = 0; i < all.size() && common != 1; ++i)
    if (all[i] != 0) common = std::gcd(common, all[i]);
  return common;
}

}  // namespace

std::optional<LinearForm> weighted_sum(std::int64_t x, const LinearForm& a, std::int64_t y,
                                       const LinearForm& b) {
  try {
    LinearForm out;
    out.terms.reserve(a.terms.size() + b.terms.size());
    for (const auto& [v, c] : a.terms) out.terms.emplace_back(v, multiply(x, c));
    for (const auto& [v, c] : b.terms) out.terms.emplace_back(v, multiply(y, c));
    out.constant = weighted(x, a.constant, y, b.constant);
    return out;
  } catch (const BeyondWord&) { return std::nullopt; }
}

LinearProof::LinearProof(std::size_t variables) {
  for (std::size_t i = 0; i < variables; ++i) add_variable();
}

std::size_t LinearProof::add_variable() {
  variables_.push_back({false, free_.size()});
  free_.push_back(true);
  dead_.push_back(false);
  names_of_columns_.push_back(variables_.size() - 1);
  for (Line& l : lines_) l.coefficients.push_back(0);
  return variables_.size() - 1;
}

LinearProof::Line LinearProof::line_of(const LinearForm& f) {
  Line out;
  out.coefficients.assign(free_.size(), 0);
  for (const auto& [v, c] : f.terms)
    if (variables_[v].in_line)
      out.divisor = std::lcm(out.divisor, lines_[variables_[v].at].divisor);
  if (out.divisor > INT32_MAX) throw BeyondWord{};
  out.constant = multiply(out.divisor, f.constant);
  for (const auto& [v, c] : f.terms) {
    const Place& p = variables_[v];
    if (!p.in_line) {
      if (!dead_[p.at])
        out.coefficients[p.at] = add_up(out.coefficients[p.at], multiply(out.divisor, c));
      continue;
    }
    const Line& l = lines_[p.at];
    const std::int64_t factor = multiply(out.divisor / l.divisor, c);
    out.constant = add_up(out.constant, multiply(factor, l.constant));
    for (std::size_t i = 0; i < l.coefficients.size(); ++i)
      if (l.coefficients[i] != 0)
        out.coefficients[i] = add_up(out.coefficients[i], multiply(factor, l.coefficients[i]));
  }
  return out;
}

/// Makes the line, which is not negative, one whose divisor is 1; false: it is a constant.
bool LinearProof::tighten(Line& line) {
  const std::int64_t common = divisor_of(line.coefficients, 0);
  if (common == 0) {
    if (line.constant < 0) impossible_ = true;
    return false;
  }
  line.divisor = 1;
  line.constant = floor_div(line.constant, common);
  if (common != 1)
    for (std::int64_t& c : line.coefficients) c /= common;
  return true;
}

void LinearProof::add_line(Line line) {
  line.is_slack = true;
  lines_.push_back(std::move(line));
  names_of_lines_.push_back(kSlacks + slacks_++);
}

void LinearProof::not_negative(const LinearForm& f) {
  if (impossible_ || lost_) return;
  try {
    Line line = line_of(f);
    if (tighten(line)) add_line(std::move(line));
  } catch (const BeyondWord&) { lost_ = true; }
}

void LinearProof::zero(const LinearForm& f) {
  if (impossible_ || lost_) return;
  try {
    Line line = line_of(f);
    const std::int64_t common = divisor_of(line.coefficients, 0);
    if (common == 0 ? line.constant != 0 : line.constant % common != 0) impossible_ = true;
    if (common == 0 || impossible_) return;
    line.divisor = 1;
    line.constant /= common;
    std::optional<std::size_t> column;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      std::int64_t& c = line.coefficients[i];
      c /= common;
      if (c == 0 || !free_[i]) continue;
      if (!column || std::abs(c) < std::abs(line.coefficients[*column])) column = i;
    }
    if (column) {
      // Its slack, which is always 0, changes places with a variable of any sign.
      add_line(std::move(line));
      pivot(lines_.size() - 1, *column);
      dead_[*column] = true;
      for (Line& l : lines_) l.coefficients[*column] = 0;
      return;
    }
    Line negative = line;
    negative.constant = multiply(-1, negative.constant);
    for (std::int64_t& c : negative.coefficients) c = multiply(-1, c);
    add_line(std::move(line));
    add_line(std::move(negative));
  } catch (const BeyondWord&) { lost_ = true; }
}

/// The variable of the line, of which the column is a part, becomes a column in its place.
void LinearProof::pivot(std::size_t line, std::size_t column) {
  Line& own = lines_[line];
  // a*column = divisor*variable - constant - others; with a > 0 the new line has divisor a.
  const std::int64_t a = own.coefficients[column], sign = a > 0 ? -1 : 1;
  own.coefficients[column] = multiply(-1, own.divisor);
  for (std::int64_t& c : own.coefficients) c = multiply(sign, c);
  own.constant = multiply(sign, own.constant);
  own.divisor = a > 0 ? a : multiply(-1, a);
  const std::int64_t common = divisor_of(own.coefficients, std::gcd(own.divisor, own.constant));
  if (common > 1) {
    own.divisor /= common, own.constant /= common;
    for (std::int64_t& c : own.coefficients) c /= common;
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    Line& l = lines_[i];
    const std::int64_t factor = l.coefficients[column];
    if (i == line || factor == 0) continue;
    // l.divisor*x = constant + others + factor*column
    l.coefficients[column] = 0;
    const std::int64_t shared = std::gcd(own.divisor, factor);
    const std::int64_t x = own.divisor / shared, y = factor / shared;
    l.divisor = multiply(l.divisor, x);
    l.constant = weighted(x, l.constant, y, own.constant);
    for (std::size_t j = 0; j < l.coefficients.size(); ++j) {
      const std::int64_t more = own.coefficients[j];
      std::int64_t& c = l.coefficients[j];
      if (x == 1 ? more != 0 : (c != 0 || more != 0)) c = weighted(x, c, y, more);
    }
    const std::int64_t both = divisor_of(l.coefficients, std::gcd(l.divisor, l.constant));
    if (both > 1) {
      l.divisor /= both, l.constant /= both;
      for (std::int64_t& c : l.coefficients) c /= both;
    }
  }
  std::swap(names_of_lines_[line], names_of_columns_[column]);
  const bool was_free = free_[column];
  free_[column] = !own.is_slack;
  own.is_slack = !was_free;
  for (const bool in_line : {true, false}) {
    const std::size_t name = in_line ? names_of_lines_[line] : names_of_columns_[column];
    if (name < variables_.size()) variables_[name] = {in_line, in_line ? line : column};
  }
}

/// The line of a slack that is negative; of several, that with the least number.
std::optional<std::size_t> LinearProof::violated() const {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (lines_[i].is_slack && lines_[i].constant < 0 &&
        (!out || names_of_lines_[i] < names_of_lines_[*out]))
      out = i;
  return out;
}

bool LinearProof::impossible() {
  if (impossible_) return true;
  if (lost_) return false;
  try {
    std::size_t left = 4 * lines_.size() + 20;  // Bland's rule ends, but not always soon
    while (const auto line = violated()) {
      if (left-- == 0) {
        lost_ = true;
        return false;
      }
      std::optional<std::size_t> column;
      const std::vector<std::int64_t>& all = lines_[*line].coefficients;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] == 0) continue;
        if (free_[i]) {
          column = i;
          break;
        }
        if (all[i] > 0 && (!column || names_of_columns_[i] < names_of_columns_[*column]))
          column = i;
      }
      if (!column) {
        impossible_ = true;
        return true;
      }
      pivot(*line, *column);
    }
  } catch (const BeyondWord&) { lost_ = true; }
  return false;
}

std::optional<bool> LinearProof::any() {
  int corners = 16;
  return any(corners);
}

std::optional<bool> LinearProof::any(int& corners) {
  if (impossible()) return false;
  if (lost_ || corners-- <= 0) return std::nullopt;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Line& l = lines_[i];
    if (l.constant % l.divisor == 0 || names_of_lines_[i] >= kSlacks) continue;
    const std::size_t variable = names_of_lines_[i];  // not an integer: at least, or at most
    const std::int64_t below = floor_div(l.constant, l.divisor);
    LinearProof more = *this, less = *this;
    more.not_negative({{{variable, 1}}, -below - 1});
    less.not_negative({{{variable, -1}}, below});
    const std::optional<bool> above = more.any(corners);
    if (above == true) return true;
    const std::optional<bool> beneath = less.any(corners);
    if (beneath == true) return true;
    return above && beneath ? std::optional(false) : std::nullopt;
  }
  return true;
}

std::optional<std::vector<std::int64_t>> LinearProof::point() {
  if (impossible() || lost_) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Place& p : variables_) {
    const Line* l = p.in_line ? &lines_[p.at] : nullptr;
    if (l && l->constant % l->divisor != 0) return std::nullopt;
    out.push_back(l ? l->constant / l->divisor : 0);
  }
  return out;
}

// ---- Rows of a set
// --------------------------------------------------------------------------------

std::optional<LinearRows> linear_rows(const Set& s) {
  const std::vector<BasicSet> parts = parts_of(s);
  if (parts.size() > 1) return std::nullopt;
  if (parts.empty()) {  // isl has seen that there are no points
    LinearRows none;
    none.dims = std::size_t(count(isl_set_dim(s.get(), isl_dim_set)));
    none.not_negative.push_back({{}, -1});
    return none;
  }
  return linear_rows(parts[0]);
}

std::optional<LinearRows> linear_rows(const BasicSet& b) {
  LinearRows out;
  out.dims = std::size_t(count(isl_basic_set_dim(b.get(), isl_dim_set)));
  out.quotients = std::size_t(count(isl_basic_set_dim(b.get(), isl_dim_div)));
  const int params = count(isl_basic_set_dim(b.get(), isl_dim_param));
  for (int p = 0; p < params; ++p)
    out.params.emplace_back(isl_basic_set_get_dim_name(b.get(), isl_dim_param, unsigned(p)));
  const auto read = [&](isl_mat* taken, std::vector<LinearForm>& to) {
    const Owner<isl_mat, isl_mat_copy, isl_mat_free> m(taken);
    const int rows = count(isl_mat_rows(m.get())), columns = count(isl_mat_cols(m.get()));
    for (int r = 0; r < rows; ++r) {
      LinearForm f;
      for (int c = 0; c < columns; ++c) {
        const Val v = isl_mat_get_element_val(m.get(), r, c);
        if (yes(isl_val_is_zero(v.get()))) continue;
        constexpr std::int64_t kLarge = INT64_MAX / 2;
        if (isl_val_cmp_si(v.get(), kLarge) > 0 || isl_val_cmp_si(v.get(), -kLarge) < 0)
          return false;
        const std::int64_t n = isl_val_get_num_si(v.get());
        if (c + 1 == columns)
          f.constant = n;
        else
          f.terms.emplace_back(std::size_t(c), n);
      }
      to.push_back(std::move(f));
    }
    return true;
  };
  if (!read(isl_basic_set_equalities_matrix(b.get(), isl_dim_set, isl_dim_param, isl_dim_div,
                                            isl_dim_cst),
            out.zero) ||
      !read(isl_basic_set_inequalities_matrix(b.get(), isl_dim_set, isl_dim_param, isl_dim_div,
                                              isl_dim_cst),
            out.not_negative))
    return std::nullopt;
  return out;
}

// ---- Orders
// ---------------------------------------------------------------------------------------

namespace {

LinearForm less_one(LinearForm f, std::int64_t sign) {
  for (auto& [v, c] : f.terms) c *= sign;
  f.constant = sign * f.constant - 1;
  return f;
}

/// Adds which of the loops go on in no pair, and which go back in none: for integers that says more
/// than their constraints do for rationals, so about sums of loops as well, such as waves of tiles.
void add_directions(LinearProof& pairs, const std::vector<LoopLag>& loops) {
  for (const LoopLag& l : loops)
    for (const std::int64_t sign : {-1, 1}) {
      LinearProof beyond = pairs;
      beyond.not_negative(less_one(l.later, sign));
      if (!beyond.impossible()) continue;
      LinearForm within = less_one(l.later, -sign);
      ++within.constant;
      pairs.not_negative(within);
    }
}

/// Whether none meets the constraints, where that is certain.
std::optional<bool> is_empty(LinearProof& pairs) {
  const std::optional<bool> some = pairs.any();
  return some ? std::optional(!*some) : std::nullopt;
}

/// Whether all that meets `pairs` is in order along the loops.
std::optional<bool> plainly_in_order(LinearProof pairs, const std::vector<LoopLag>& loops,
                                     bool first) {
  if (pairs.impossible()) return true;
  for (const LoopLag& l : loops) {
    LinearProof earlier = pairs;
    earlier.not_negative(less_one(l.later, -1));
    if (const auto none = is_empty(earlier); !none || !*none) return none;
    if (!l.in_order) {
      LinearProof at_once = pairs;
      at_once.not_negative(less_one(l.later, 1));
      if (const auto none = is_empty(at_once); !none || !*none) return none;
    }
    pairs.zero(l.later);
    if (pairs.impossible()) return true;
  }
  return first ? std::optional(true) : is_empty(pairs);
}

std::optional<bool> runs_in_order(LinearProof pairs, const std::vector<LoopLag>& loops,
                                  bool first) {
  if (const auto known = plainly_in_order(pairs, loops, first)) return known;
  if (loops.empty()) return std::nullopt;
  add_directions(pairs, loops);
  return plainly_in_order(std::move(pairs), loops, first);
}

}  // namespace

std::optional<bool> keeps_order(LinearProof pairs, const std::vector<LinearForm>& was,
                                bool first_was, const std::vector<LoopLag>& now, bool first_now) {
  std::vector<LoopLag> loops;
  for (const LinearForm& later : was) loops.push_back({later});
  return keeps_order(std::move(pairs), loops, first_was, now, first_now);
}

std::optional<bool> keeps_order(LinearProof pairs, const std::vector<LoopLag>& was, bool first_was,
                                const std::vector<LoopLag>& now, bool first_now) {
  for (const LoopLag& loop : was) {
    if (pairs.impossible()) return true;
    if (loop.in_order) {
      LinearProof here = pairs;
      here.not_negative(less_one(loop.later, 1));
      if (const auto kept = runs_in_order(std::move(here), now, first_now); !kept || !*kept)
        return kept;
    }
    pairs.zero(loop.later);
  }
  if (!first_was || pairs.impossible()) return true;
  return runs_in_order(std::move(pairs), now, first_now);
}

std::optional<bool> keeps_apart(const LinearProof& pairs, const std::vector<LinearForm>& was,
                                const std::vector<LoopLag>& now, bool together) {
  const auto apart = [&](LinearProof here) -> std::optional<bool> {
    for (const LoopLag& l : now) {
      if (here.impossible()) return true;
      for (const std::int64_t sign : {-1, 1}) {
        if (l.in_order) break;
        LinearProof at_once = here;
        at_once.not_negative(less_one(l.later, sign));
        if (const auto none = is_empty(at_once); !none || !*none) return none;
      }
      here.zero(l.later);
    }
    return together ? std::optional(true) : is_empty(here);
  };
  for (const LinearForm& later : was)
    for (const std::int64_t sign : {-1, 1}) {
      LinearProof differ = pairs;
      differ.not_negative(less_one(later, sign));
      if (const auto kept = apart(std::move(differ)); !kept || !*kept) return kept;
    }
  return true;
}

}  // namespace moonloop
