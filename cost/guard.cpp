#include "cost/guard.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "codegen/reserved.h"
#include "core/base/diagnostic.h"
#include "core/expr/parse_expr.h"
#include "core/model/affine.h"
#include "core/model/read_set.h"
#include "core/sets/named_sets.h"
#include "cost/choose.h"

namespace moonloop::cost {
namespace {

constexpr double kMostBytes = 16.0 * (1 << 30);
constexpr double kMostSeconds = 60;
constexpr double kOrders = 30;  // of magnitude, binary, of a parameter

// ---- What formulas are made of ------------------------------------------------------------------

class Ingredients {
 public:
  /// `context`: what is known of the parameters; null: nothing.
  explicit Ingredients(const GuardedVersion& v, const Set& context = {})
      : work_(v.work), context_(context) {
    add(lit(1));
    for (const WorkStatement& s : work_.statements) {
      for (const SharedAmount& a : s.reached) add(a);
      for (const WorkPoint& p : s.points) add(p.instances);
    }
    for (const WorkKernel& k : work_.kernels) {
      for (const SharedAmount& a : k.launches) add(a);
      for (const SharedAmount& a : k.barriers) add(a);
    }
    for (const auto& [name, a] : work_.arrays) add(bytes(a));
    for (const std::string& p : parameters()) add(var(p));
  }

  /// Simple ones first.
  const std::vector<Expr>& all() const { return all_; }

  std::set<std::string> parameters() const {
    std::set<std::string> out;
    const auto add = [&](const Expr& e) {
      if (e) for_each_of<Var>(e, [&](const Var& v, const Expr&) { out.insert(v.name); });
    };
    const auto counted = [&](const SharedAmount& a) {
      if (a->count) {
        for (const std::string& p : a->count->parameters()) out.insert(p);
      } else {
        for (const std::string& p : param_names(a->points)) out.insert(p);
      }
    };
    for (const WorkStatement& s : work_.statements) {
      for (const SharedAmount& a : s.reached) counted(a);
      for (const WorkPoint& p : s.points) counted(p.instances);
    }
    for (const WorkKernel& k : work_.kernels) {
      for (const SharedAmount& a : k.launches) counted(a);
      for (const SharedAmount& a : k.barriers) counted(a);
      for (const Expr& e : k.items) add(e);
    }
    for (const auto& [name, a] : work_.arrays) {
      for (const Expr& e : a.shape) add(e);
      for (const Expr& e : a.strides) add(e);
    }
    return out;
  }

  /// Of all arguments; null without any.
  Expr all_bytes() const {
    Exprs out;
    for (const auto& [name, a] : work_.arrays)
      if (a.argument) out.push_back(bytes(a));
    return out.empty() ? Expr() : index_add(out);
  }

 private:
  static Expr bytes(const WorkArray& a) {
    Expr out = lit(a.type.size());
    for (const Expr& e : a.shape) out = index_mul(out, e);
    return out;
  }
  void add(const SharedAmount& a) {
    constexpr std::size_t kLong = 80;  // as text: what it adds to shorter ones is little
    if (!a->count) return;
    const Count exact(a->count->number());
    const Expr e = parse_expression((context_ ? exact.under(context_) : exact).str());
    if (real_text(e).size() <= kLong) add(e);
  }
  void add(const Expr& e) {
    const auto known = [&](const Expr& x) { return equal(x, e); };
    if (std::none_of(all_.begin(), all_.end(), known)) all_.push_back(e);
  }

  const Work& work_;
  Set context_;
  std::vector<Expr> all_;
};

/// The assumptions, and that parameters are positive: for others there is hardly anything to do.
Set positive(const std::vector<std::string>& parameters, const Set& assumptions) {
  Set out = assumptions ? assumptions : Set(isl_set_universe(isl_space_params_alloc(isl(), 0)));
  for (const std::string& p : parameters)
    out = isl_set_intersect(out.take(), read_set("[" + p + "] -> { : " + p + " >= 1 }").take());
  return out;
}

// ---- Fitting ------------------------------------------------------------------------------------

/// A size, its times, and how much it counts.
struct Sample {
  Integers values;
  double host = 0, device = 0;

  double distance() const { return std::abs(std::log(host / device)); }
  double weight() const { return 1 / (0.03 + distance() * distance()); }
};

/// A formula for one version, of samples.
class Fit {
 public:
  Fit(const std::vector<Sample>& samples, double Sample::*seconds, std::vector<Expr> counts,
      std::vector<Expr> quantities)
      : counts_(std::move(counts)), quantities_(std::move(quantities)) {
    for (const Sample& s : samples) {
      seconds_.push_back(s.*seconds);
      weights_.push_back(s.weight());
    }
    for (std::size_t c = 0; c < counts_.size();) {
      std::vector<double> column;
      for (const Sample& s : samples) {
        const auto v = real_value(counts_[c], s.values);
        if (!v) break;
        column.push_back(*v);
      }
      if (column.size() < samples.size() || is_like_another(column)) {
        counts_.erase(counts_.begin() + static_cast<std::ptrdiff_t>(c));
        continue;
      }
      columns_.push_back(std::move(column));
      ++c;
    }
    for (const Expr& q : quantities_)
      for (const Sample& s : samples)
        quantity_values_[&q - quantities_.data()].push_back(*real_value(q, s.values));
  }

  Formula formula() {
    std::vector<std::size_t> all(seconds_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    Formula out;
    node(out, all, 0);
    return out;
  }

 private:
  using Places = std::vector<std::size_t>;  // of samples
  struct Sum {
    std::vector<double> factors;
    double error = 0;
  };

  bool is_like_another(const std::vector<double>& column) const {
    return std::any_of(columns_.begin(), columns_.end(), [&](const std::vector<double>& other) {
      double low = INFINITY, high = 0;
      for (std::size_t i = 0; i < column.size(); ++i) {
        if (column[i] == 0 && other[i] == 0) continue;
        if (column[i] <= 0 || other[i] <= 0) return false;
        low = std::min(low, column[i] / other[i]);
        high = std::max(high, column[i] / other[i]);
      }
      return high <= 1.02 * low;
    });
  }

  /// The least squares of relative errors, by one factor after the other.
  Sum sum_of(const Places& at) const {
    const std::size_t n = columns_.size();
    std::vector<std::vector<double>> products(n, std::vector<double>(n, 0.0));
    std::vector<double> scale(n, 0.0), wanted(n, 0.0);
    double total = 0;
    for (const std::size_t i : at) {
      total += weights_[i];
      for (std::size_t c = 0; c < n; ++c) {
        const double x = columns_[c][i] / seconds_[i];
        scale[c] += weights_[i] * x * x;
      }
    }
    for (double& s : scale) s = std::sqrt(s);
    for (const std::size_t i : at)
      for (std::size_t c = 0; c < n; ++c) {
        if (scale[c] == 0) continue;
        const double x = columns_[c][i] / seconds_[i] / scale[c];
        wanted[c] += weights_[i] * x;
        for (std::size_t d = 0; d < n; ++d)
          if (scale[d] > 0)
            products[c][d] += weights_[i] * x * columns_[d][i] / seconds_[i] / scale[d];
      }
    Sum out;
    out.factors.assign(n, 0.0);
    constexpr int kRounds = 3000;
    for (int round = 0; round < kRounds; ++round) {
      double changed = 0;
      for (std::size_t c = 0; c < n; ++c) {
        if (scale[c] == 0) continue;
        double residual = wanted[c];
        for (std::size_t d = 0; d < n; ++d) residual -= products[c][d] * out.factors[d];
        const double next = std::max(0.0, out.factors[c] + residual / products[c][c]);
        changed = std::max(changed, std::abs(next - out.factors[c]) * scale[c]);
        out.factors[c] = next;
      }
      if (changed < 1e-9 * std::sqrt(total)) break;
    }
    for (std::size_t c = 0; c < n; ++c)
      if (scale[c] > 0) out.factors[c] /= scale[c];
    for (const std::size_t i : at) {
      double sum = 0;
      for (std::size_t c = 0; c < n; ++c) sum += out.factors[c] * columns_[c][i];
      // The logarithm: what is twice as large is as wrong as what is half as large.
      const double e = std::log(std::max(sum, 1e-300) / seconds_[i]);
      out.error += weights_[i] * std::min(e * e, 1.0);
    }
    return out;
  }

  /// Without terms that are little of the sum everywhere.
  Formula::Node leaf(const Places& at, const Sum& sum) const {
    constexpr double kLittle = 0.02;
    Formula::Node out;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      double most = 0;
      for (const std::size_t i : at)
        most = std::max(most, sum.factors[c] * columns_[c][i] / seconds_[i]);
      if (most > kLittle) out.sum.push_back({rounded(sum.factors[c]), counts_[c]});
    }
    return out;
  }
  /// As it is printed.
  static double rounded(double x) { return std::strtod(fmt::format("{:.4g}", x).c_str(), nullptr); }

  std::size_t node(Formula& out, const Places& at, int depth) {
    constexpr int kDepth = 4;
    constexpr std::size_t kFew = 16;
    constexpr double kBetter = 0.75;  // of the error, if cases are worth it
    const std::size_t own = out.nodes.size();
    out.nodes.emplace_back();
    const Sum sum = sum_of(at);
    double best = kBetter * sum.error, limit = 0;
    std::size_t which = 0;
    if (depth < kDepth && sum.error > 1e-3 * static_cast<double>(at.size()))
      for (std::size_t q = 0; q < quantities_.size(); ++q)
        for (const double x : limits(quantity_values_.at(static_cast<std::ptrdiff_t>(q)), at)) {
          const auto [low, high] = cut(at, q, x);
          if (low.size() < kFew || high.size() < kFew) continue;
          const double error = sum_of(low).error + sum_of(high).error;
          if (error < best) best = error, which = q, limit = x;
        }
    if (limit == 0) {
      out.nodes[own] = leaf(at, sum);
      return own;
    }
    const auto [low, high] = cut(at, which, limit);
    Formula::Node cases;
    cases.quantity = quantities_[which];
    cases.limit = limit;
    cases.within = node(out, low, depth + 1);
    cases.beyond = node(out, high, depth + 1);
    out.nodes[own] = cases;
    return own;
  }
  std::pair<Places, Places> cut(const Places& at, std::size_t quantity, double limit) const {
    std::pair<Places, Places> out;
    for (const std::size_t i : at)
      (quantity_values_.at(static_cast<std::ptrdiff_t>(quantity))[i] <= limit ? out.first
                                                                              : out.second)
          .push_back(i);
    return out;
  }
  static std::vector<double> limits(const std::vector<double>& values, const Places& at) {
    constexpr std::size_t kLimits = 12;
    std::vector<double> sorted, out;
    for (const std::size_t i : at) sorted.push_back(values[i]);
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 1; i < kLimits; ++i) {
      const double x = rounded(sorted[i * sorted.size() / kLimits]);
      if (out.empty() || out.back() != x) out.push_back(x);
    }
    return out;
  }

  std::vector<Expr> counts_, quantities_;
  std::map<std::ptrdiff_t, std::vector<double>> quantity_values_;
  std::vector<double> seconds_, weights_;
  std::vector<std::vector<double>> columns_;
};

// ---- Sizes --------------------------------------------------------------------------------------

class GuardSampler {
 public:
  GuardSampler(const GuardedVersion& host, const GuardedVersion& device, const Set& assumptions,
               const PredictOptions& options)
      : host_(host), device_(device), options_(options) {
    std::set<std::string> names = Ingredients(host).parameters();
    names.merge(Ingredients(device).parameters());
    parameters_.assign(names.begin(), names.end());
    bytes_ = {Ingredients(host).all_bytes(), Ingredients(device).all_bytes()};
    if (assumptions) allowed_ = from_set(assumptions);
  }

  const std::vector<std::string>& parameters() const { return parameters_; }

  /// The times there; nothing for sizes that are not asked about.
  std::optional<Sample> sample(const Integers& values) const {
    if (allowed_ && real_value(allowed_, values) == 0) return {};
    for (const Expr& b : bytes_)
      if (b && real_value(b, values).value_or(0) > kMostBytes) return {};
    Sample out{values, 0, 0};
    out.host = predict(host_.work, values, host_.profile, options_).seconds;
    out.device = predict(device_.work, values, device_.profile, options_).seconds;
    if (!(out.host > 0) || !(out.device > 0)) return {};
    if (std::min(out.host, out.device) > kMostSeconds) return {};
    return out;
  }

  std::vector<Sample> samples(std::size_t number, unsigned seed) const {
    std::vector<Sample> out;
    std::set<Integers> known;
    const auto add = [&](const std::vector<double>& logs) {
      const Integers values = values_of(logs);
      if (!known.insert(values).second) return;
      if (auto s = sample(values)) out.push_back(std::move(*s));
    };
    const std::size_t d = parameters_.size();
    for (double l = 0.05 * (seed % 7); l < kOrders; l += 0.25) add(std::vector<double>(d, l));
    if (d < 2) return out;
    for (std::size_t i = 0; i < 8 * number && out.size() < number; ++i) {
      std::vector<double> logs;
      for (std::size_t p = 0; p < d; ++p)
        logs.push_back(kOrders * halton(i + 1 + 1000UL * seed, p));
      add(logs);
    }
    return out;
  }

  /// Sizes on both sides of places where the choice changes.
  void add_changes(std::vector<Sample>& samples) const {
    constexpr std::size_t kChanges = 48;
    constexpr int kSteps = 6;
    const std::size_t n = samples.size();
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t stride : {std::size_t{1}, std::size_t{7}, std::size_t{31}})
      for (std::size_t i = 0; i + stride < n && pairs.size() < kChanges; ++i)
        if (prefers(samples[i]) != prefers(samples[i + stride])) pairs.emplace(i, i + stride);
    for (const auto& [a, b] : pairs) {
      Sample low = samples[a], high = samples[b];
      for (int step = 0; step < kSteps; ++step) {
        const auto middle = sample(between(low.values, high.values));
        if (!middle) break;
        (prefers(*middle) == prefers(low) ? low : high) = *middle;
        if (step > 0) samples.push_back(*middle);
      }
    }
  }

 private:
  static bool prefers(const Sample& s) { return s.device < s.host; }

  Integers values_of(const std::vector<double>& logs) const {
    Integers out;
    for (std::size_t p = 0; p < logs.size(); ++p)
      out[parameters_[p]] = static_cast<std::int64_t>(std::llround(std::exp2(logs[p])));
    return out;
  }
  Integers between(const Integers& a, const Integers& b) const {
    std::vector<double> logs;
    for (const std::string& p : parameters_)
      logs.push_back(
          (std::log2(static_cast<double>(a.at(p))) + std::log2(static_cast<double>(b.at(p)))) / 2);
    return values_of(logs);
  }
  /// Numbers that fill [0, 1) evenly. (J. H. Halton, Numerische Mathematik 2, 1960.)
  static double halton(std::size_t i, std::size_t dimension) {
    constexpr std::size_t kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    const std::size_t base = kPrimes[dimension % std::size(kPrimes)];
    double out = 0, part = 1;
    for (; i > 0; i /= base) {
      part /= static_cast<double>(base);
      out += part * static_cast<double>(i % base);
    }
    return out;
  }

  const GuardedVersion &host_, &device_;
  const PredictOptions& options_;
  std::vector<std::string> parameters_;
  std::vector<Expr> bytes_;
  Expr allowed_;
};

/// Of one parameter, or none.
void find_changes(const GuardSampler& sampler, const std::vector<Sample>& samples, Guard& out) {
  out.device_first = samples.front().device < samples.front().host;
  if (out.parameters.empty()) return;
  const std::string& p = out.parameters.front();
  std::int64_t first = samples.front().values.at(p), last = first;
  for (const Sample& s : samples) {
    first = std::min(first, s.values.at(p));
    last = std::max(last, s.values.at(p));
  }
  const auto choice = [&](std::int64_t n) {
    const auto s = sampler.sample({{p, n}});
    return std::size_t{s && s->device < s->host};
  };
  out.device_first = choice(first) == 1;
  for (const Crossover& c : crossovers(first, last, choice)) out.changes.push_back(c.value);
}

void fit(const GuardedVersion& host, const GuardedVersion& device, const Set& assumptions,
         const std::vector<Sample>& samples, Guard& out) {
  const Set context = positive(out.parameters, assumptions);
  const Ingredients here(host, context), there(device, context);
  std::vector<Expr> quantities;
  for (const std::string& p : out.parameters) quantities.push_back(var(p));
  if (const Expr bytes = here.all_bytes(); bytes && real_value(bytes, samples.front().values))
    quantities.push_back(bytes);
  out.host = Fit(samples, &Sample::host, here.all(), quantities).formula();
  out.device = Fit(samples, &Sample::device, there.all(), quantities).formula();
}

}  // namespace

std::vector<Integers> guard_sizes(const GuardedVersion& host, const GuardedVersion& device,
                                  const Set& assumptions, const PredictOptions& options,
                                  std::size_t number, unsigned seed) {
  std::vector<Integers> out;
  for (const Sample& s : GuardSampler(host, device, assumptions, options).samples(number, seed))
    out.push_back(s.values);
  return out;
}

bool Guard::prefers_device(const Integers& values) const {
  if (parameters.size() > 1) return device.at(values) < host.at(values);
  bool out = device_first;
  for (const std::int64_t c : changes)
    if (values.at(parameters.front()) >= c) out = !out;
  return out;
}

std::string Guard::c_condition() const {
  if (parameters.size() > 1) return "";
  if (changes.empty()) return device_first ? "true" : "false";
  const std::string p = unreserved(Surroundings::Cuda, NameUse::Local, parameters.front());
  std::string out;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const bool to_device = (i % 2 == 0) != device_first;
    if (i == 0 && !to_device) out = fmt::format("{} < {}", p, changes[i]);
    if (!to_device) continue;
    const bool ends = i + 1 < changes.size();
    out += (out.empty() ? "" : " || ") +
           (ends ? fmt::format("({0} >= {1} && {0} < {2})", p, changes[i], changes[i + 1])
                 : fmt::format("{} >= {}", p, changes[i]));
  }
  return out;
}

Guard fit_guard(const GuardedVersion& host, const GuardedVersion& device, const Set& assumptions,
                const PredictOptions& options) {
  constexpr std::size_t kSizes = 500;
  const GuardSampler sampler(host, device, assumptions, options);
  std::vector<Sample> samples = sampler.samples(kSizes, 0);
  if (samples.empty())
    fail("no-sizes", {},
         "`{}` has no sizes by which its versions could be compared: no parameters up to 2**{} "
         "with arrays of at most 16 GiB are within its assumptions",
         host.work.name, static_cast<int>(kOrders));
  sampler.add_changes(samples);
  Guard out;
  out.parameters = sampler.parameters();
  if (out.parameters.size() < 2)
    find_changes(sampler, samples, out);
  else
    fit(host, device, assumptions, samples, out);
  out.sizes = static_cast<int>(samples.size());
  for (const Sample& s : samples) {
    const bool chosen = out.prefers_device(s.values);
    if (chosen == (s.device < s.host)) continue;
    ++out.differ;
    out.worst = std::max(out.worst, chosen ? s.device / s.host : s.host / s.device);
  }
  return out;
}

}  // namespace moonloop::cost
