#include <cmath>
#include <set>

#include "codegen/language.h"
#include "cost/models.h"

/// The model of cores: instructions of the innermost loops, in vectors where a compiler makes them,
/// and lines that caches fetch from one another. Times of loops that follow each other add up;
/// within one, what takes longest counts.
namespace moonloop::cost {
namespace {

constexpr double kUnrolled = 16;        // iterations of a vector loop that compilers write out
constexpr double kLoopStart = 4;        // cycles to enter a loop and to leave it
constexpr double kInFlight = 200;       // instructions that a core has begun and not ended
constexpr double kHandedInOrder = 512;  // bytes that follow each other at least
constexpr double kLatency = 1e-7;       // seconds until a line of main memory comes

bool is_unrolled(const WorkLoop& l) {
  return l.is(TagKind::Unroll) || l.is(TagKind::Ilp) || l.is(TagKind::Vec);
}

/// Statements of one innermost loop that is a loop in the code, with the unrolled ones inside.
struct Body {
  int node = -1;
  std::vector<std::size_t> statements;
};

class Cores {
 public:
  Cores(const Question& q, Totals& totals) : q_(q), p_(q.profile), totals_(totals) {
    for (const WorkStatement& s : q.work.statements) {
      statements_.push_back(s);
      paths_.push_back(trips_of(s, q));
    }
    for (std::size_t s = 0; s < paths_.size(); ++s) interchange(s);
    for (std::size_t s = 0; s < paths_.size(); ++s) shape(s);
  }

  void predict() {
    collect_streams();
    std::vector<std::vector<Traffic>> traffic;
    for (std::size_t i = 0; i + 1 < p_.levels.size(); ++i)
      traffic.push_back(traffic_into(streams_, capacity(i), static_cast<double>(p_.levels[i].line),
                                     {.crowds = true,
                                      .drops_oldest = !p_.levels[i].shared,
                                      .both_ways = !p_.levels[i + 1].shared,
                                      .units = most_threads(),
                                      .split = split_loops(),
                                      .between = new_values(),
                                      .own = !p_.levels[i].shared}));
    for (const Body& b : bodies_) body(b, traffic);
    handovers();
    launches();
  }

 private:
  /// What is known of a statement.
  struct Shape {
    std::size_t real = 0;               // its innermost loop in the code
    std::optional<std::size_t> vector;  // the loop in vectors
    std::optional<std::size_t> spread;  // the loop whose iterations threads share
    double threads = 1, imbalance = 1;
  };

  const WorkStatement& statement(std::size_t s) const { return statements_[s]; }
  bool is_device_target() const { return is_device(q_.work.target); }
  bool threads() const { return features_of(q_.work.target).threads || is_device_target(); }

  // ---- The order of loops

  /// Where the innermost loops are around one statement alone and have constant numbers of
  /// iterations, compilers change places so that the innermost one goes by vectors.
  void interchange(std::size_t s) {
    WorkStatement& w = statements_[s];
    std::vector<Trip>& path = paths_[s];
    std::size_t band = path.size();
    while (band > 0 && may_move(s, band - 1)) --band;
    if (is_device_target() || band + 2 > path.size() || neighbours_at(s, path.size() - 1)) return;
    for (std::size_t l = path.size() - 1; l-- > band;) {
      if (!neighbours_at(s, l)) continue;
      for (std::size_t i = l; i + 1 < path.size(); ++i) {
        std::swap(path[i], path[i + 1]);
        std::swap(w.loops[i], w.loops[i + 1]);
        path[i].reached = path[i].trips * (i == 0 ? 1 : path[i - 1].reached);
      }
      return;
    }
  }
  bool may_move(std::size_t s, std::size_t loop) const {
    const WorkLoop& l = statement(s).loops[loop];
    if (l.tag && !is_work_item(&*l.tag)) return false;
    if (!l.extent || std::abs(*l.extent - paths_[s][loop].trips) > 1e-6) return false;
    for (std::size_t other = 0; other < paths_.size(); ++other)
      for (const Trip& t : paths_[other])
        if (other != s && t.node == paths_[s][loop].node) return false;
    return true;
  }
  /// Whether iterations of the loop access neighbouring elements, or the same, and do not wait for
  /// one another.
  bool neighbours_at(std::size_t s, std::size_t loop) const {
    const WorkStatement& w = statement(s);
    if (w.accumulator && !w.accumulator->count(w.loops[loop].iname)) return false;
    for (const WorkPoint& p : w.points)
      for (const WorkAccess& a : p.accesses) {
        const Stream x = stream_of(a, q_.work.arrays.at(a.array), paths_[s], q_.params, q_.remarks);
        if (x.scattered() || std::abs(x.step(loop)) > 1) return false;
      }
    return true;
  }

  void shape(std::size_t s) {
    const WorkStatement& w = statement(s);
    const std::vector<Trip>& path = paths_[s];
    Shape& out = shapes_.emplace_back();
    for (std::size_t l = 0; l < path.size(); ++l) {
      const WorkLoop& loop = w.loops[l];
      const bool short_vector = loop.is(TagKind::Simd) && l + 1 == path.size() && l > 0 &&
                                path[l].trips <= kUnrolled * lanes(w);
      if (!is_unrolled(loop) && !short_vector) out.real = l;
      if (!out.spread && threads() && loop.tag && is_spread(&*loop.tag)) out.spread = l;
    }
    if (out.spread) {
      const double t = std::max(path[*out.spread].trips, 1.0);
      out.threads = std::clamp(std::min<double>(p_.units, t), 1.0, static_cast<double>(p_.units));
      out.imbalance = std::ceil(t / out.threads) * out.threads / t;
    }
    const int node = path.empty() ? -1 : path[out.real].node;
    auto b = std::find_if(bodies_.begin(), bodies_.end(),
                          [&](const Body& x) { return x.node == node && node >= 0; });
    if (b == bodies_.end()) b = bodies_.insert(bodies_.end(), {node, {}});
    b->statements.push_back(s);
  }

  /// Of the widest type that the statement computes with.
  double lanes(const WorkStatement& w) const {
    int widest = 0;
    for (const WorkPoint& p : w.points) {
      for (const auto& [op, n] : p.operations) widest = std::max(widest, size_of(op.first));
      for (const WorkAccess& a : p.accesses)
        widest = std::max(widest, q_.work.arrays.at(a.array).type.size());
    }
    return std::max(1.0, static_cast<double>(p_.vector_bytes) / std::max(widest, 4));
  }

  // ---- Vectors

  /// The loop of a statement that runs in vectors: one with a tag for it, else the innermost one
  /// where a compiler finds that its iterations go by lanes.
  std::optional<std::size_t> vector_loop(std::size_t s, const Body& b) const {
    const WorkStatement& w = statement(s);
    const std::vector<Trip>& path = paths_[s];
    for (std::size_t l = 0; l < path.size(); ++l) {
      const bool item = w.loops[l].is(TagKind::Local) && w.loops[l].tag->axis == 0 &&
                        !(is_device_target() && has_own_loop(w));
      if (w.loops[l].is(TagKind::Simd) || w.loops[l].is(TagKind::Vec) ||
          (item && (is_device_target() || features_of(q_.work.target).gangs)))
        return l;
    }
    if (path.empty() || shapes_[s].real + 1 != path.size()) return {};
    const std::size_t l = shapes_[s].real;
    for (const std::size_t other : b.statements)
      if (!goes_by_lanes(other, l)) return {};
    return l;
  }

  /// Whether a work-item of a device with cores has a loop: these devices run a group's work-items
  /// in a loop around the kernel's body, and only an innermost loop goes by vectors.
  static bool has_own_loop(const WorkStatement& w) {
    return std::any_of(w.loops.begin(), w.loops.end(), [](const WorkLoop& l) {
      return !is_unrolled(l) && !(l.tag && (is_work_item(&*l.tag) || is_spread(&*l.tag))) &&
             !l.is(TagKind::Group);
    });
  }

  bool goes_by_lanes(std::size_t s, std::size_t loop) const {
    const WorkStatement& w = statement(s);
    if (paths_[s].size() != loop + 1 || paths_[s][loop].trips < 2 || w.atomic) return false;
    const std::string& iname = w.loops[loop].iname;
    if (w.accumulator && !w.accumulator->count(iname) && !is_integer(w.accumulated)) return false;
    for (const WorkPoint& p : w.points)
      for (const auto& [op, n] : p.operations)
        if (op.second == Operations::Function || op.second == Operations::Power) return false;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const Stream& x = streams_[i];
      if (!uses(i, s)) continue;
      if (x.scattered() || std::abs(x.step(loop)) > 1) return false;
      // It reads what an earlier iteration wrote.
      if (x.read && x.write && x.accesses > 1 && carries(x, loop)) return false;
    }
    return true;
  }

  static bool carries(const Stream& x, std::size_t loop) {
    for (const AxisForm& a : x.axes)
      if (a.factors[loop] != 0) return a.high > a.low;
    return false;
  }

  // ---- Memory

  void collect_streams() {
    for (std::size_t s = 0; s < paths_.size(); ++s)
      for (const WorkPoint& p : statement(s).points)
        for (const WorkAccess& a : p.accesses) {
          const WorkArray& array = q_.work.arrays.at(a.array);
          Stream x = stream_of(a, array, paths_[s], q_.params, q_.remarks);
          x.statement = static_cast<int>(s);
          const std::size_t before = streams_.size();
          add_stream(streams_, x);
          accesses_.push_back(
              {s, streams_.size() > before ? before : position(x), std::move(x), p.conditional});
        }
    for (std::size_t s = 0; s < paths_.size(); ++s)
      for (const Body& b : bodies_)
        if (std::count(b.statements.begin(), b.statements.end(), s))
          shapes_[s].vector = vector_loop(s, b);
  }

  std::size_t position(const Stream& x) const {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i].array != x.array || streams_[i].path.size() != x.path.size()) continue;
      bool same = !x.scattered() && !streams_[i].scattered();
      for (std::size_t l = 0; l < x.path.size(); ++l)
        same = same && streams_[i].path[l].node == x.path[l].node;
      for (std::size_t d = 0; d < x.axes.size(); ++d)
        same = same && streams_[i].axes[d].factors == x.axes[d].factors;
      if (same) return i;
    }
    throw InternalError("cost: a stream without its like");
  }
  bool uses(std::size_t stream, std::size_t s) const {
    return std::any_of(accesses_.begin(), accesses_.end(),
                       [&](const Access& a) { return a.stream == stream && a.statement == s; });
  }

  /// Of arguments that have new values from run to run: these are copied from elsewhere.
  double new_values() const {
    double out = 0;
    for (const auto& [name, a] : q_.work.arrays)
      if (a.argument && a.comes && a.written) out += bytes_of(a, q_.params);
    return out;
  }
  double most_threads() const {
    double most = 1;
    for (const Shape& s : shapes_) most = std::max(most, s.threads);
    return most;
  }
  /// The loops that run on one thread at a time: those that threads share, those inside, and those
  /// around statements that threads do not share.
  std::set<int> split_loops() const {
    std::set<int> out, around;
    for (std::size_t s = 0; s < paths_.size(); ++s)
      for (std::size_t l = 0; l < paths_[s].size(); ++l)
        (shapes_[s].spread && l < *shapes_[s].spread ? around : out).insert(paths_[s][l].node);
    for (const int node : around) out.erase(node);
    return out;
  }
  /// Of the caches of all threads together.
  double capacity(std::size_t level) const {
    const cost::MemoryLevel& l = p_.levels[level];
    return static_cast<double>(l.bytes) * (l.shared ? 1 : most_threads());
  }

  void body(const Body& b, const std::vector<std::vector<Traffic>>& traffic) {
    Needs needs;
    double threads = 1, imbalance = 1;
    for (const std::size_t s : b.statements) {
      threads = std::max(threads, shapes_[s].threads);
      imbalance = std::max(imbalance, shapes_[s].imbalance);
    }
    const double cores = threads * of_alone(threads);
    instructions(b, needs, threads, cores);
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      const cost::MemoryLevel& from = p_.levels[i + 1];
      for (std::size_t n = 0; n < streams_.size(); ++n) {
        const Traffic& t = traffic[i][n];
        if (t.bytes == 0 || !std::count(b.statements.begin(), b.statements.end(),
                                        static_cast<std::size_t>(streams_[n].statement)))
          continue;
        double one = t.in_order ? from.one : from.scattered;
        if (i + 2 == p_.levels.size())
          one = std::min(one, t.burst * static_cast<double>(p_.levels[i].line) / kLatency);
        const double rate =
            from.shared ? std::min(threads * one, std::max(from.all, one)) : cores * one;
        needs.add(from.name, t.bytes / rate, t.bytes, "B");
      }
    }
    const double seconds = totals_.overlapped(needs);
    if (imbalance > 1) totals_.alone("starvation", seconds * (imbalance - 1));
  }

  // ---- Instructions

  struct Access {
    std::size_t statement, stream;
    Stream own;
    bool conditional;
  };

  /// Of full vectors: fewer than iterations by the number of lanes.
  double in_vectors(std::size_t s, double n, double lanes) const {
    const auto v = shapes_[s].vector;
    if (!v) return n;
    const double t = std::max(paths_[s][*v].trips, 1.0);
    const double full = std::floor(t / lanes);
    const double rest = t - full * lanes;
    // What is left over: half as many as lanes where the number differs from time to time.
    return n * (full + std::min(rest, lanes / 2)) / t;
  }

  /// What the slowest of so many units does, as a part of what one does alone: the system places
  /// threads on any units, so that the more there are, the likelier two of them share a core.
  double of_alone(double threads) const {
    if (p_.together >= 1 || p_.units < 2) return 1;
    const double pairs = threads * (threads - 1) / 2;
    const double apart = std::pow(1 - 1.0 / (p_.units - 1), pairs);
    return apart + p_.together * (1 - apart);
  }

  void instructions(const Body& b, Needs& needs, double threads, double cores) {
    double all = 0, first_level = 0, arithmetic = 0, operations = 0, chain = 0, held = 0,
           spilled = 0, cycles = 0;
    for (const std::size_t s : b.statements) {
      const WorkStatement& w = statement(s);
      const std::vector<Trip>& path = paths_[s];
      const double width = lanes(w);
      for (const WorkPoint& p : w.points) {
        const double n = q_.at(p.instances);
        if (p.conditional) all += in_vectors(s, n, width);
        std::map<Scalar, std::pair<double, double>> sums;  // additions, multiplications
        double others = 0;
        for (const auto& [op, times] : p.operations) {
          const auto& [type, kind] = op;
          const double rate = p_.rate(type) / 2;  // vector instructions, by lanes
          const double own = std::max(1.0, p_.vector_bytes / static_cast<double>(size_of(type)));
          operations += n * times;
          if (kind == Operations::Add)
            sums[type].first += times;
          else if (kind == Operations::Multiply)
            sums[type].second += times;
          else {
            const double weight = kind == Operations::Divide     ? p_.operations.division
                                  : kind == Operations::Function ? p_.operations.function
                                                                 : p_.operations.power;
            const double count = in_vectors(s, n * times, width);
            others += count * weight * own / rate;
            all += count * weight;
          }
        }
        arithmetic += others;
        for (const auto& [type, sum] : sums) {
          // A multiplication and an addition are one instruction.
          const double each =
              is_integer(type) ? sum.first + sum.second : std::max(sum.first, sum.second);
          const double own = std::max(1.0, p_.vector_bytes / static_cast<double>(size_of(type)));
          const double count = in_vectors(s, n * each, width);
          double one = own / (p_.rate(type) / (is_integer(type) ? 1 : 2));
          if (is_device_target() && !shapes_[s].vector) one = std::min(one, p_.latency / p_.clock);
          arithmetic += count * one;
          all += count;
        }
      }
      if (!path.empty()) {
        const Trip& loop = path[shapes_[s].real];
        const bool vector = shapes_[s].vector == shapes_[s].real;
        if (s == b.statements.front())
          all += 2 * (vector ? in_vectors(s, loop.reached, width) : loop.reached);
        chain = std::max(chain, chain_of(s));
        cycles += starts_of(s);
      }
    }
    for (const std::size_t s : b.statements) first_level += sums_in_memory(s);
    for (const Access& a : accesses_of(b)) {
      double once = 0;
      const double n = executions(a, held, once);
      first_level += n;
      spilled += once;
    }
    if (held > p_.registers) first_level += spilled * (1 - p_.registers / held);
    all += first_level;
    needs.add("arithmetic", arithmetic / cores, operations, "op");
    needs.add("issue", (all / p_.issue + cycles) / p_.clock / cores, all);
    needs.add(p_.levels[0].name, first_level * p_.vector_bytes / p_.levels[0].one / cores,
              first_level, "");
    needs.add("latency", chain * p_.latency / p_.clock / threads);
  }

  /// Loads and stores of the sums of lanes inside the innermost loop, which are in memory where
  /// there are more of them than registers.
  double sums_in_memory(std::size_t s) const {
    const WorkStatement& w = statement(s);
    const std::vector<Trip>& path = paths_[s];
    const auto v = shapes_[s].vector;
    if (is_device_target() || !w.accumulator || !v || *v <= shapes_[s].real) return 0;
    double sums = 1;
    for (std::size_t l = shapes_[s].real + 1; l < path.size(); ++l)
      if (w.accumulator->count(path[l].iname))
        sums *= w.loops[l].extent.value_or(path[l].trips);  // there is room for all
    if (sums <= lanes(w) * p_.registers) return 0;
    return 2 * in_vectors(s, path.back().reached, lanes(w));
  }

  std::vector<Access> accesses_of(const Body& b) const {
    std::vector<Access> out;
    for (const Access& a : accesses_) {
      if (!std::count(b.statements.begin(), b.statements.end(), a.statement)) continue;
      // What another access of the body loads is loaded once.
      const bool known = std::any_of(out.begin(), out.end(), [&](const Access& x) {
        if (x.stream != a.stream || x.own.write != a.own.write || x.own.scattered()) return false;
        for (std::size_t d = 0; d < a.own.axes.size(); ++d)
          if (x.own.axes[d].low != a.own.axes[d].low) return false;
        return true;
      });
      if (!known) out.push_back(a);
    }
    return out;
  }

  /// How many instructions access memory. What the innermost loop does not change stays in
  /// registers while it runs: `held` grows by these. Some do not where there are too many: `once`
  /// is what they take if none does.
  double executions(const Access& a, double& held, double& once) const {
    const std::vector<Trip>& path = a.own.path;
    const Shape& shape = shapes_[a.statement];
    const double width = lanes(statement(a.statement));
    if (path.empty()) return 1;
    if (a.own.scattered()) return path.back().reached;
    double n = path[shape.real].reached, registers = 1;
    const bool varies = a.own.depends_on(shape.real);
    if (!varies) n = shape.real == 0 ? 1 : path[shape.real - 1].reached;
    for (std::size_t l = shape.real + 1; l < path.size(); ++l)
      if (a.own.depends_on(l)) {
        n *= path[l].trips;
        registers *= path[l].trips;
      }
    const auto v = shape.vector;
    const bool by_lanes = v && a.own.depends_on(*v) && std::abs(a.own.step(*v)) <= 1;
    if (by_lanes && *v > shape.real) {  // compilers leave vectors in memory
      n = in_vectors(a.statement, path.back().reached, width);
      return n;
    }
    if (by_lanes) n = in_vectors(a.statement, n, width);
    if (!varies) {
      if (!a.own.write || !streams_[a.stream].read) held += registers;
      once += path[shape.real].reached * registers;
    }
    return n;
  }

  /// Additions that wait for one another, if the statement accumulates: in order, one at a time.
  double chain_of(std::size_t s) const {
    const WorkStatement& w = statement(s);
    const std::vector<Trip>& path = paths_[s];
    const Shape& shape = shapes_[s];
    if (!w.accumulator || w.accumulator->count(path[shape.real].iname)) return 0;
    double n = path[shape.real].reached, per_iteration = 1;
    if (shape.vector == shape.real) n = in_vectors(s, n, lanes(w));
    for (std::size_t l = shape.real + 1; l < path.size(); ++l)
      if (!w.accumulator->count(path[l].iname) && shape.vector != l) per_iteration *= path[l].trips;
    // Short loops: the next sums begin before this one ends.
    const double length = std::max(path[shape.real].trips * 4 * per_iteration, 1.0);
    return n * per_iteration / std::max(1.0, kInFlight / length);
  }

  /// Cycles to enter the loops around a statement, those that no other one counted.
  double starts_of(std::size_t s) {
    double out = 0;
    for (std::size_t l = 0; l <= shapes_[s].real && l < paths_[s].size(); ++l)
      if (entered_.insert(paths_[s][l].node).second)
        out += kLoopStart * (l == 0 ? 1 : paths_[s][l - 1].reached);
    return out;
  }

  // ---- Starts of threads and of kernels

  /// An argument that comes with values and is written has new ones from run to run, which one
  /// thread wrote. The other threads fetch their part from the caches of that thread's core, as far
  /// as these hold it: one core answers.
  void handovers() {
    if (p_.levels.size() < 2) return;
    struct Part {
      double bytes = 0, rate = 0;
    };
    std::map<std::string, Part> parts;
    double own = 0;
    for (const cost::MemoryLevel& l : p_.levels)
      if (!l.shared) own = std::max(own, static_cast<double>(l.bytes));
    for (const Stream& x : streams_) {
      const WorkArray& a = q_.work.arrays.at(x.array);
      const Shape& shape = shapes_[static_cast<std::size_t>(x.statement)];
      if (!a.argument || !a.comes || !a.written || !shape.spread || shape.threads <= 1) continue;
      Stream of_thread = x;
      Trip& shared = of_thread.path[*shape.spread];
      shared.trips = std::max(shared.trips / shape.threads, 1.0);
      const double bytes = std::min(x.lines(0, p_.levels[0].line) * p_.levels[0].line, own) *
                           (1 - 1 / shape.threads);
      const double rate =
          of_thread.run(*shape.spread) < kHandedInOrder ? p_.handover_apart : p_.handover;
      Part& part = parts[x.array];
      if (bytes / rate > (part.rate > 0 ? part.bytes / part.rate : 0)) part = {bytes, rate};
    }
    double bytes = 0, seconds = 0;
    for (const auto& [name, part] : parts) {
      bytes += part.bytes;
      seconds += part.bytes / part.rate;
    }
    if (bytes > own) seconds *= own / bytes;
    totals_.alone("handover", seconds, std::min(bytes, own));
  }

  /// One iteration, whatever the sizes are, has no loop.
  static bool has_team(const WorkLoop& l) { return !l.extent || *l.extent > 1; }

  void launches() {
    double starts = 0;
    std::set<int> teams;
    if (is_device_target()) {
      for (const WorkKernel& k : q_.work.kernels)
        starts += k.launches.empty() ? 1 : q_.at(k.launches.front());
    } else if (threads()) {
      for (std::size_t s = 0; s < paths_.size(); ++s)
        if (const auto l = shapes_[s].spread;
            l && has_team(statement(s).loops[*l]) && teams.insert(paths_[s][*l].node).second)
          starts += *l == 0 ? 1 : paths_[s][*l - 1].reached;
    }
    totals_.alone("launches", starts * p_.launch + (is_device_target() ? p_.start : 0), starts);
  }

  const Question& q_;
  const MachineProfile& p_;
  Totals& totals_;
  std::vector<WorkStatement> statements_;  // with loops in the order of the code
  std::vector<std::vector<Trip>> paths_;
  std::vector<Shape> shapes_;
  std::vector<Body> bodies_;
  std::vector<Stream> streams_;
  std::vector<Access> accesses_;
  std::set<int> entered_;
};

}  // namespace

void predict_on_cores(const Question& q, Totals& totals) { Cores(q, totals).predict(); }

}  // namespace moonloop::cost
