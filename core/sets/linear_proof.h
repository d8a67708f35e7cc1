#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/sets/isl.h"

/// A quick way to see that constraints on integers have no solution, for questions that mostly have
/// such answers; whatever it does not see is for isl.
namespace moonloop {

/// A sum of coefficients times numbered variables, and a constant.
struct LinearForm {
  std::vector<std::pair<std::size_t, std::int64_t>> terms;  // a variable may occur several times
  std::int64_t constant = 0;
};
/// x*a + y*b; nothing beyond 64 bits.
std::optional<LinearForm> weighted_sum(std::int64_t x, const LinearForm& a, std::int64_t y,
                                       const LinearForm& b);

/// Constraints on integers. A copy goes its own way: it keeps what is known of them so far.
///
/// The simplex method over the rationals, with rows of integers: each inequality has a variable of
/// its own that is not negative, its slack. Columns are variables that are taken to be 0: slacks,
/// and others of any sign; the rest are sums of these. Since all variables are integers, a row over
/// them is divided by what its coefficients have in common and its constant rounded down, which no
/// solution is lost by, and an equality whose constant that does not divide has none.
///
/// Cost: a pivot is linear in the rows times the variables; mostly there are fewer pivots than
/// inequalities.
class LinearProof {
 public:
  explicit LinearProof(std::size_t variables = 0);

  std::size_t add_variable();
  void zero(const LinearForm& f);
  void not_negative(const LinearForm& f);

  /// Whether no integers meet the constraints. True is certain; false says nothing.
  bool impossible();
  /// Whether some do: those of the corner that the simplex method ends at, or of one near it; or
  /// none, where no corner is left between integers. Certain, or nothing.
  std::optional<bool> any();
  /// True is certain.
  bool possible() { return any() == true; }
  /// Integers that meet the constraints, one for each variable: the corner that the simplex method
  /// ends at, if it has integers.
  std::optional<std::vector<std::int64_t>> point();

 private:
  /// `divisor * the variable == constant + coefficients * columns`.
  struct Line {
    std::int64_t divisor = 1, constant = 0;
    std::size_t name = 0;  // the number of its variable or slack
    bool is_slack = false;
  };
  struct Column {
    std::size_t name = 0;
    bool free = false;  // of any sign
  };
  struct Place {
    bool in_line = false;
    std::size_t at = 0;
  };

  std::int64_t* row(std::size_t line) { return cells_.data() + line * stride_; }
  const std::int64_t* row(std::size_t line) const { return cells_.data() + line * stride_; }
  Line begin_line(const LinearForm& f);
  bool tighten(Line& line);
  void add_line(Line line);
  void pivot(std::size_t line, std::size_t column);
  void drop_column(std::size_t column);
  std::optional<std::size_t> violated() const;
  std::optional<bool> any(int& corners);

  /// A copy has room for what a question adds.
  template <class T>
  struct Growing : std::vector<T> {
    using std::vector<T>::vector;
    Growing() = default;
    Growing(const Growing& o) : std::vector<T>() {
      this->reserve(o.size() + o.size() / 4 + 4);
      this->insert(this->end(), o.begin(), o.end());
    }
    Growing(Growing&&) noexcept = default;
    Growing& operator=(const Growing&) = default;
    Growing& operator=(Growing&&) noexcept = default;
    ~Growing() = default;
  };

  // A copy takes four blocks of memory, however many lines there are.
  Growing<Line> lines_;
  Growing<std::int64_t> cells_;  // coefficients by line, and of one that is being made
  std::vector<Column> columns_;
  std::vector<Place> variables_;  // those of the constraints
  std::size_t stride_ = 0;        // cells of a line, of which the columns are the first ones
  std::size_t slacks_ = 0;
  bool impossible_ = false, lost_ = false;  // lost: numbers or pivots beyond what is tried
};

/// The constraints of a set as forms over its dimensions, then its parameters, then its quotients.
struct LinearRows {
  std::size_t dims = 0, quotients = 0;
  std::vector<std::string> params;
  std::vector<LinearForm> zero, not_negative;
};
/// Nothing for a set of several parts or with numbers beyond 62 bits.
std::optional<LinearRows> linear_rows(const Set& s);
/// The same for one part.
std::optional<LinearRows> linear_rows(const BasicSet& b);

/// One loop of two instances: how much later the second is along it.
struct LoopLag {
  LinearForm later;
  bool in_order = true;  // false: its iterations run at the same time
};
/// Whether every pair of instances that meets `pairs` runs in order: along the loops `now`, and in
/// the same iteration of all of them if `first_now`. Only pairs count that run in order along the
/// loops `was`, and in the same iteration of these if `first_was`. Certain, for the pairs that meet
/// the constraints, or nothing.
std::optional<bool> keeps_order(LinearProof pairs, const std::vector<LinearForm>& was,
                                bool first_was, const std::vector<LoopLag>& now, bool first_now);
/// The same where loops of `was` may have iterations that run at the same time: pairs that differ
/// in one of these first do not count.
std::optional<bool> keeps_order(LinearProof pairs, const std::vector<LoopLag>& was, bool first_was,
                                const std::vector<LoopLag>& now, bool first_now);
/// Whether every pair that meets `pairs` and differs in some of `was` runs one after the other, in
/// either order: it differs in a loop of `now`, and the first such loop is in order. `together`: so
/// do pairs in the same iteration of all loops. Certain, or nothing.
std::optional<bool> keeps_apart(const LinearProof& pairs, const std::vector<LinearForm>& was,
                                const std::vector<LoopLag>& now, bool together);

}  // namespace moonloop
