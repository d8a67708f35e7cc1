#include "cost/streams.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/expr/expr.h"

namespace moonloop::cost {
namespace {

/// The lines are fetched one after the other where the next one is nearer than this, in bytes, and
/// as many follow in their row.
constexpr double kNear = 512;
/// Rows in which the hardware sees at once that lines follow each other.
constexpr double kRows = 32;

class Linearizer {
 public:
  Linearizer(const std::vector<Trip>& path, const Integers& params, Remarks& remarks)
      : path_(path), params_(params), remarks_(remarks) {}

  std::optional<LinearForm> form(const Expr& e) const {
    if (const auto* x = e.as<IntLit>()) return constant(static_cast<double>(x->value));
    if (const auto* x = e.as<Var>()) return variable(x->name);
    if (const auto* x = e.as<Unary>()) {
      if (x->op != UnaryOp::Neg && x->op != UnaryOp::Sub) return {};
      return scaled(form(x->arg), -1);
    }
    if (const auto* x = e.as<Nary>()) return nary(*x);
    if (const auto* x = e.as<Binary>()) return binary(*x, e);
    if (const auto* x = e.as<Cast>()) return form(x->arg);
    return {};
  }

 private:
  LinearForm constant(double v) const { return {v, std::vector<double>(path_.size(), 0.0)}; }
  std::optional<LinearForm> variable(const std::string& name) const {
    LinearForm out = constant(0);
    bool found = false;
    for (std::size_t l = 0; l < path_.size(); ++l)
      if (path_[l].iname == name) {
        out.factors[l] = path_[l].stride;
        found = true;
      }
    if (found) return out;
    const auto p = params_.find(name);
    if (p == params_.end()) return {};
    return constant(static_cast<double>(p->second));
  }
  static std::optional<LinearForm> scaled(std::optional<LinearForm> f, double by) {
    if (!f) return f;
    f->constant *= by;
    for (double& x : f->factors) x *= by;
    return f;
  }
  static bool is_constant(const LinearForm& f) {
    return std::all_of(f.factors.begin(), f.factors.end(), [](double x) { return x == 0; });
  }
  std::optional<LinearForm> nary(const Nary& x) const {
    if (x.op != NaryOp::Add && x.op != NaryOp::Mul) return {};
    LinearForm out = constant(x.op == NaryOp::Mul ? 1 : 0);
    for (const Expr& t : x.terms) {
      const auto f = form(t);
      if (!f) return {};
      if (x.op == NaryOp::Add) {
        out.constant += f->constant;
        for (std::size_t l = 0; l < out.factors.size(); ++l) out.factors[l] += f->factors[l];
      } else if (is_constant(*f)) {
        out = *scaled(out, f->constant);
      } else if (is_constant(out)) {
        out = *scaled(f, out.constant);
      } else {
        return {};
      }
    }
    return out;
  }
  std::optional<LinearForm> binary(const Binary& x, const Expr& e) const {
    const auto a = form(x.left), b = form(x.right);
    if (!a || !b || !is_constant(*b) || b->constant == 0) return {};
    if (x.op != BinaryOp::FloorDiv && x.op != BinaryOp::Mod) return {};
    if (!is_constant(*a))
      remarks_.insert(fmt::format("`{}` is taken as {}", to_string(e),
                                  x.op == BinaryOp::Mod ? "its dividend" : "an exact quotient"));
    return x.op == BinaryOp::Mod ? a : scaled(a, 1 / b->constant);
  }

  const std::vector<Trip>& path_;
  const Integers& params_;
  Remarks& remarks_;
};

double value_of(const Expr& e, const Integers& params, const char* what) {
  return static_cast<double>(evaluate(e, params, what));
}

}  // namespace

std::optional<LinearForm> linear_form(const Expr& e, const std::vector<Trip>& path,
                                      const Integers& params, Remarks& remarks) {
  return Linearizer(path, params, remarks).form(e);
}

bool Stream::scattered() const {
  return std::any_of(axes.begin(), axes.end(), [](const AxisForm& a) { return a.whole; });
}

bool Stream::depends_on(std::size_t loop) const {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const AxisForm& a) { return a.whole || a.factors[loop] != 0; });
}

double Stream::step(std::size_t loop) const {
  double out = 0;
  for (const AxisForm& a : axes) out += a.factors[loop] * a.stride;
  return out;
}

double Stream::run(std::size_t loop) const {
  if (scattered()) return bytes;
  std::vector<std::pair<double, double>> steps;  // bytes from one iteration to the next, iterations
  for (std::size_t l = loop; l < path.size(); ++l)
    if (depends_on(l) && path[l].trips > 1)
      steps.emplace_back(std::abs(step(l)) * bytes, path[l].trips);
  std::sort(steps.begin(), steps.end());
  double out = bytes;
  for (const auto& [apart, trips] : steps) {
    if (apart > out) break;
    out += apart * (trips - 1);
  }
  return out;
}

double Stream::lines(std::size_t loop, double line) const {
  double points = 1, span = 1, all = 1, unit = 1;
  for (std::size_t l = loop; l < path.size(); ++l)
    if (depends_on(l)) points *= path[l].trips;
  points *= accesses;
  if (scattered()) {
    double elements = 1;
    for (const AxisForm& a : axes) elements *= a.extent;
    return std::max(1.0, std::min(points, elements * bytes / line));
  }
  for (const AxisForm& a : axes) {
    double reach = a.high - a.low, places = accesses > 1 ? reach + 1 : 1;
    for (std::size_t l = loop; l < path.size(); ++l) {
      if (a.factors[l] == 0) continue;
      reach += std::abs(a.factors[l]) * (path[l].trips - 1);
      places *= path[l].trips;
    }
    reach = std::min(reach, std::max(a.extent - 1, 0.0));
    places = std::min(places, reach + 1);
    span += reach * std::abs(a.stride);
    all *= places;
    if (std::abs(a.stride) * bytes < line && a.stride != 0) {  // neighbours are in one line
      const double per_line = line / (std::abs(a.stride) * bytes);
      unit *= std::max(places / std::max(1.0, std::min(places, (reach + 1) / per_line)), 1.0);
    }
  }
  // Not more than the lines from the first to the last.
  return std::max(1.0, std::min(std::min(points, all) / unit, span * bytes / line));
}

Stream stream_of(const WorkAccess& access, const WorkArray& array, const std::vector<Trip>& path,
                 const Integers& params, Remarks& remarks) {
  Stream s;
  s.array = access.array;
  s.bytes = array.type.size();
  s.read = !access.write;
  s.write = access.write;
  s.path = path;
  double elements = 1;
  for (const Expr& e : array.shape) elements *= value_of(e, params, "an extent");
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    AxisForm a;
    a.extent = access.flat ? elements : value_of(array.shape[d], params, "an extent");
    a.stride = access.flat ? 1 : value_of(array.strides[d], params, "a stride");
    const auto f = linear_form(access.index[d], path, params, remarks);
    if (f) {
      a.factors = f->factors;
      a.low = a.high = f->constant;
    } else {
      a.factors.assign(path.size(), 0.0);
      a.whole = true;
      remarks.insert(fmt::format("`{}` in a subscript of `{}` is not affine: it may be any place",
                                 to_string(access.index[d]), access.array));
    }
    s.axes.push_back(std::move(a));
  }
  s.instances = path.empty() ? 1 : path.back().reached;
  return s;
}

void add_stream(std::vector<Stream>& streams, Stream more) {
  const auto in_same_loops = [&](const Stream& s) {
    return s.path.size() == more.path.size() &&
           std::equal(s.path.begin(), s.path.end(), more.path.begin(),
                      [](const Trip& a, const Trip& b) {
                        return a.node == b.node && a.stride == b.stride;
                      });
  };
  const auto alike = [&](const Stream& s) {
    if (s.array != more.array || s.scattered() || more.scattered() || !in_same_loops(s))
      return false;
    for (std::size_t d = 0; d < s.axes.size(); ++d)
      if (s.axes[d].factors != more.axes[d].factors) return false;
    return true;
  };
  const auto at = std::find_if(streams.begin(), streams.end(), alike);
  if (at == streams.end()) {
    streams.push_back(std::move(more));
    return;
  }
  bool same = true;
  for (std::size_t d = 0; d < at->axes.size(); ++d) {
    AxisForm& a = at->axes[d];
    same = same && more.axes[d].low >= a.low && more.axes[d].high <= a.high;
    a.low = std::min(a.low, more.axes[d].low);
    a.high = std::max(a.high, more.axes[d].high);
  }
  if (!same) ++at->accesses;
  at->read = at->read || more.read;
  at->write = at->write || more.write;
}

double Stream::crowding(std::size_t loop, double line) const {
  constexpr std::int64_t kPage = 4096;  // the part of an address that tells the set of any cache
  std::int64_t apart = kPage;
  double run = 0, rows = 1;
  for (std::size_t l = loop; l < path.size(); ++l) {
    const double bytes_apart = std::abs(step(l)) * bytes;
    if (path[l].trips <= 1 || bytes_apart == 0) continue;
    if (bytes_apart < line) {
      run += bytes_apart * (path[l].trips - 1);
    } else {
      apart = std::gcd(apart, static_cast<std::int64_t>(bytes_apart));
      rows *= path[l].trips;
    }
  }
  if (scattered() || rows == 1) return 1;
  return std::max(1.0, static_cast<double>(apart) / line / (run / line + 1));
}

namespace {

/// In which order the loops from `loop` on go through a stream's lines.
void set_order(const Stream& s, std::size_t loop, double line, Traffic& out) {
  if (s.scattered()) {
    out.in_order = false;
    return;
  }
  constexpr double kIterations = 128;  // that a core has begun and not ended
  double rows = 1, run = 0;            // bytes that follow each other in a row
  double again = 1;                    // how often a loop around the rows finds their lines
  for (std::size_t l = s.path.size(); l-- > loop;) {
    if (!s.depends_on(l) || s.path[l].trips <= 1) continue;
    const double apart = std::abs(s.step(l)) * s.bytes;
    if (apart < kNear) {
      if (rows > 1 && apart < line)
        again = std::max(again, std::min(s.path[l].trips, line / apart));
      run = std::max(run, apart * s.path[l].trips);
    } else if (run == 0) {
      rows *= s.path[l].trips;
    } else {
      break;  // the rows end here
    }
  }
  out.in_order = run > 0 && rows <= kRows && (rows == 1 || run >= kNear);
  if (!out.in_order && again > 1) out.burst = std::max(rows, kIterations / again);
}

/// In how many units' caches a line of the stream is.
double copies(const Stream& s, const CacheHabits& habits) {
  for (std::size_t l = 0; l < s.path.size(); ++l)
    if (habits.split.count(s.path[l].node)) return s.depends_on(l) ? 1 : habits.units;
  return 1;
}

std::vector<Traffic> traffic_at(const std::vector<Stream>& streams, double capacity, double line,
                                const CacheHabits& habits) {
  // Footprints of one run of each loop's body; node -1 is all of it.
  std::map<int, double> footprint;
  std::map<std::tuple<int, std::string, double>, bool> counted;  // an array in several streams
  const auto limit = [&](int node) {
    return habits.split.count(node) ? capacity / habits.units : capacity;
  };
  const auto add = [&](int node, const Stream& s, std::size_t loop) {
    const double bytes = s.lines(loop, line) * line * (habits.crowds ? s.crowding(loop, line) : 1) *
                         (habits.own && !habits.split.count(node) ? copies(s, habits) : 1);
    if (counted.emplace(std::tuple(node, s.array, std::round(bytes)), true).second)
      footprint[node] += bytes;
  };
  for (const Stream& s : streams) {
    add(-1, s, 0);
    for (std::size_t l = 0; l < s.path.size(); ++l) add(s.path[l].node, s, l + 1);
  }
  std::map<std::tuple<int, std::string, double>, std::size_t> fetched;
  std::vector<Traffic> out(streams.size());
  if (footprint[-1] + habits.between <= limit(-1)) return out;  // it stays from run to run
  for (std::size_t n = 0; n < streams.size(); ++n) {
    const Stream& s = streams[n];
    std::size_t loop = 0;
    while (loop + 1 < s.path.size() && footprint[s.path[loop].node] > limit(s.path[loop].node))
      ++loop;
    const double times = loop == 0 || s.path.empty() ? 1 : s.path[loop - 1].reached;
    const double lines = s.lines(loop, line);
    const int node = s.path.empty() ? -1 : s.path[loop].node;
    const auto [it, is_new] = fetched.try_emplace({node, s.array, std::round(lines)}, n);
    const double once = times * lines * line;
    if (!is_new) {  // what another stream fetches; a store is written back once
      Traffic& first = out[it->second];
      if (s.write && !streams[it->second].write && !habits.both_ways) first.bytes += once;
      continue;
    }
    out[n].bytes = once * (s.write && !habits.both_ways ? 2 : 1);
    set_order(s, loop, line, out[n]);
  }
  return out;
}

}  // namespace

std::vector<Traffic> traffic_into(const std::vector<Stream>& streams, double capacity, double line,
                                  const CacheHabits& habits) {
  const int steps = habits.drops_oldest ? 1 : 4;
  std::vector<Traffic> out(streams.size());
  for (int step = 0; step < steps; ++step) {
    const double now = capacity * (1 + static_cast<double>(step) / steps);
    const std::vector<Traffic> part = traffic_at(streams, now, line, habits);
    for (std::size_t n = 0; n < out.size(); ++n) {
      out[n].bytes += part[n].bytes / steps;
      out[n].in_order = out[n].in_order && part[n].in_order;
      out[n].burst = std::min(out[n].burst, part[n].burst);
    }
  }
  return out;
}

}  // namespace moonloop::cost
