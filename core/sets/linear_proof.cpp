#include "core/sets/linear_proof.h"

#include <algorithm>
#include <numeric>

#include "core/expr/integers.h"

namespace moonloop {
namespace {

struct BeyondWord {};

// Called for each coefficient: inline at any level of optimization.
[[gnu::always_inline]] inline std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) throw BeyondWord{};
  return out;
}
[[gnu::always_inline]] inline std::int64_t add_up(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) throw BeyondWord{};
  return out;
}
[[gnu::always_inline]] inline std::int64_t weighted(std::int64_t x, std::int64_t a, std::int64_t y,
                                                    std::int64_t b) {
  return add_up(multiply(x, a), multiply(y, b));
}

constexpr std::size_t kSlacks = std::size_t{1} << 32;  // the name of the first slack

/// The greatest divisor of all `n`, `common` among them.
std::int64_t divisor_of(const std::int64_t* all, std::size_t n, std::int64_t common) {
  for (std::size_t i = 0; i < n && common != 1; ++i)
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
  variables_.push_back({false, columns_.size()});
  columns_.push_back({variables_.size() - 1, true});
  if (columns_.size() > stride_) {
    const std::size_t wider = stride_ + 8;
    Growing<std::int64_t> cells(lines_.size() * wider, 0);
    for (std::size_t l = 0; l < lines_.size(); ++l)
      std::copy_n(row(l), stride_, cells.data() + l * wider);
    cells_ = std::move(cells);
    stride_ = wider;
  }
  for (std::size_t l = 0; l < lines_.size(); ++l) row(l)[columns_.size() - 1] = 0;
  return variables_.size() - 1;
}

/// Its coefficients become the row after all others, where they stay if the line is added next.
LinearProof::Line LinearProof::begin_line(const LinearForm& f) {
  Line out;
  for (const auto& [v, c] : f.terms)
    if (variables_[v].in_line)
      out.divisor = std::lcm(out.divisor, lines_[variables_[v].at].divisor);
  if (out.divisor > INT32_MAX) throw BeyondWord{};
  cells_.resize(lines_.size() * stride_);
  cells_.resize((lines_.size() + 1) * stride_, 0);
  std::int64_t* const coefficients = row(lines_.size());
  out.constant = multiply(out.divisor, f.constant);
  for (const auto& [v, c] : f.terms) {
    const Place& p = variables_[v];
    if (!p.in_line) {
      coefficients[p.at] = add_up(coefficients[p.at], multiply(out.divisor, c));
      continue;
    }
    const Line& l = lines_[p.at];
    const std::int64_t factor = multiply(out.divisor / l.divisor, c);
    out.constant = add_up(out.constant, multiply(factor, l.constant));
    const std::int64_t* const its = row(p.at);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (its[i] != 0) coefficients[i] = add_up(coefficients[i], multiply(factor, its[i]));
  }
  return out;
}

/// Makes the line that was begun, which is not negative, one whose divisor is 1; false: it is a
/// constant.
bool LinearProof::tighten(Line& line) {
  std::int64_t* const coefficients = row(lines_.size());
  const std::int64_t common = divisor_of(coefficients, columns_.size(), 0);
  if (common == 0) {
    if (line.constant < 0) impossible_ = true;
    return false;
  }
  line.divisor = 1;
  if (common == 1) return true;
  line.constant = floor_div(line.constant, common);
  for (std::size_t i = 0; i < columns_.size(); ++i) coefficients[i] /= common;
  return true;
}

void LinearProof::add_line(Line line) {
  line.is_slack = true;
  line.name = kSlacks + slacks_++;
  lines_.push_back(line);
}

void LinearProof::not_negative(const LinearForm& f) {
  if (impossible_ || lost_) return;
  try {
    Line line = begin_line(f);
    if (tighten(line)) add_line(line);
  } catch (const BeyondWord&) { lost_ = true; }
}

void LinearProof::zero(const LinearForm& f) {
  if (impossible_ || lost_) return;
  try {
    Line line = begin_line(f);
    std::int64_t* const coefficients = row(lines_.size());
    const std::int64_t common = divisor_of(coefficients, columns_.size(), 0);
    if (common == 0 ? line.constant != 0 : line.constant % common != 0) impossible_ = true;
    if (common == 0 || impossible_) return;
    line.divisor = 1;
    line.constant /= common;
    std::optional<std::size_t> column;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      std::int64_t& c = coefficients[i];
      if (c == 0) continue;
      if (common != 1) c /= common;
      if (columns_[i].free && (!column || std::abs(c) < std::abs(coefficients[*column])))
        column = i;
    }
    if (column) {
      // Its slack, which is always 0, changes places with a variable of any sign.
      add_line(line);
      pivot(lines_.size() - 1, *column);
      drop_column(*column);
      return;
    }
    Line negative = line;
    negative.constant = multiply(-1, negative.constant);
    add_line(line);
    cells_.resize((lines_.size() + 1) * stride_);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      row(lines_.size())[i] = multiply(-1, row(lines_.size() - 1)[i]);
    add_line(negative);
  } catch (const BeyondWord&) { lost_ = true; }
}

/// The variable of the line, of which the column is a part, becomes a column in its place.
void LinearProof::pivot(std::size_t line, std::size_t column) {
  Line& own = lines_[line];
  std::int64_t* const ours = row(line);
  const std::size_t n = columns_.size();
  // a*column = divisor*variable - constant - others; with a > 0 the new line has divisor a.
  const std::int64_t a = ours[column], sign = a > 0 ? -1 : 1;
  ours[column] = multiply(-1, own.divisor);
  for (std::size_t i = 0; i < n; ++i) ours[i] = multiply(sign, ours[i]);
  own.constant = multiply(sign, own.constant);
  own.divisor = a > 0 ? a : multiply(-1, a);
  if (own.divisor != 1) {
    const std::int64_t common = divisor_of(ours, n, std::gcd(own.divisor, own.constant));
    if (common > 1) {
      own.divisor /= common, own.constant /= common;
      for (std::size_t i = 0; i < n; ++i) ours[i] /= common;
    }
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    std::int64_t* const its = row(i);
    const std::int64_t factor = its[column];
    if (i == line || factor == 0) continue;
    Line& l = lines_[i];
    // l.divisor*x = constant + others + factor*column
    its[column] = 0;
    const std::int64_t shared = own.divisor == 1 ? 1 : std::gcd(own.divisor, factor);
    const std::int64_t x = own.divisor / shared, y = factor / shared;
    l.constant = weighted(x, l.constant, y, own.constant);
    if (x == 1) {
      for (std::size_t j = 0; j < n; ++j)
        if (ours[j] != 0) its[j] = add_up(its[j], multiply(y, ours[j]));
    } else {
      l.divisor = multiply(l.divisor, x);
      for (std::size_t j = 0; j < n; ++j) its[j] = weighted(x, its[j], y, ours[j]);
    }
    if (l.divisor == 1) continue;
    const std::int64_t both = divisor_of(its, n, std::gcd(l.divisor, l.constant));
    if (both > 1) {
      l.divisor /= both, l.constant /= both;
      for (std::size_t j = 0; j < n; ++j) its[j] /= both;
    }
  }
  std::swap(own.name, columns_[column].name);
  const bool was_free = columns_[column].free;
  columns_[column].free = !own.is_slack;
  own.is_slack = !was_free;
  if (own.name < variables_.size()) variables_[own.name] = {true, line};
  if (columns_[column].name < variables_.size())
    variables_[columns_[column].name] = {false, column};
}

/// What the column stands for, a slack, is always 0.
void LinearProof::drop_column(std::size_t column) {
  for (std::size_t i = 0; i < lines_.size(); ++i)
    std::copy(row(i) + column + 1, row(i) + columns_.size(), row(i) + column);
  columns_.erase(columns_.begin() + std::ptrdiff_t(column));
  for (std::size_t i = column; i < columns_.size(); ++i)
    if (columns_[i].name < variables_.size()) variables_[columns_[i].name].at = i;
}

/// The line of a slack that is negative; of several, that with the least number.
std::optional<std::size_t> LinearProof::violated() const {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (lines_[i].is_slack && lines_[i].constant < 0 &&
        (!out || lines_[i].name < lines_[*out].name))
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
      const std::int64_t* const all = row(*line);
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (all[i] == 0) continue;
        if (columns_[i].free) {
          column = i;
          break;
        }
        if (all[i] > 0 && (!column || columns_[i].name < columns_[*column].name)) column = i;
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
    if (l.divisor == 1 || l.constant % l.divisor == 0 || l.name >= kSlacks) continue;
    const std::size_t variable = l.name;  // not an integer: at least, or at most
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
