#include <cmath>
#include <set>

#include "cost/models.h"

/// The model of GPUs: instructions of warps, sectors of memory that a warp's work-items touch at
/// once, and lines that the groups which run together fetch. Kernels run one after the other; in
/// one, what takes longest counts, more where there are too few warps to keep the units busy.
namespace moonloop::cost {
namespace {

constexpr double kWarp = 32;
constexpr double kItemsOfUnit = 2048;  // that a unit has in flight at most
constexpr double kGroupsOfUnit = 32;
constexpr double kBankBytes = 4;
constexpr double kFarCycles = 300;  // until a line comes from beyond the unit
constexpr double kFarInFlight = 4;  // lines that a warp waits for at once
constexpr double kBanks = 32;
constexpr double kNearLine = 128;  // of a unit's own cache

class Gpu {
 public:
  Gpu(const Question& q, Totals& totals) : q_(q), p_(q.profile), totals_(totals) {}

  void predict() {
    for (std::size_t k = 0; k < q_.work.kernels.size(); ++k) kernel(k);
    totals_.alone("launches", p_.start);
  }

 private:
  /// A statement of the present kernel.
  struct Share {
    const WorkStatement* work = nullptr;
    std::vector<Trip> path;
    double warps = 0;      // times warps run it, all of them together
    double instances = 0;  // of work-items
    std::size_t inner =
        0;  // its innermost loop that the hardware does not count; path.size(): none
    bool unrolled(std::size_t l) const {
      const WorkLoop& x = work->loops[l];
      return x.is(TagKind::Unroll) || x.is(TagKind::Ilp) || x.is(TagKind::Vec);
    }
  };

  /// Numbers of the present kernel.
  struct Grid {
    double launches = 1, groups = 1, items = 1;  // groups in one launch, work-items of a group
    std::array<double, 3> axes{1, 1, 1};         // of work-items
    double warps_of_group = 1;
    double issued = 0, waited = 0;  // instructions of warps; those that wait for the one before
    double far = 0;                 // lines that warps ask the cache of all units for
    double resident = 1;            // groups of a unit at the same time
    double together = 1;            // groups of all units at the same time
  };

  static bool is_group(const WorkLoop& l) { return l.is(TagKind::Group); }
  static bool is_item(const WorkLoop& l) { return l.tag && is_work_item(&*l.tag); }

  void kernel(std::size_t number) {
    const WorkKernel& w = q_.work.kernels[number];
    Grid g;
    if (!w.launches.empty()) g.launches = q_.at(w.launches.front());
    for (std::size_t d = 0; d < 3; ++d)
      if (w.items[d])
        g.axes[d] = static_cast<double>(std::max<std::int64_t>(
            evaluate(w.items[d], q_.params, "the work-items of a group"), 1));
    g.items = g.axes[0] * g.axes[1] * g.axes[2];
    g.warps_of_group = std::ceil(g.items / kWarp);
    std::vector<Share> shares;
    for (const WorkStatement& s : q_.work.statements)
      if (s.kernel == static_cast<int>(number)) shares.push_back(share(s, g));
    g.groups = std::max(g.groups / std::max(g.launches, 1.0), 1.0);
    g.resident =
        std::clamp(std::floor(kItemsOfUnit / std::max(g.items, kWarp)), 1.0, kGroupsOfUnit);
    const double local = local_bytes(shares);
    if (local > 0) g.resident = std::clamp(std::floor(p_.levels[0].bytes / local), 1.0, g.resident);
    g.together = std::min(g.groups, g.resident * p_.units);

    Needs needs;
    std::vector<Access> accesses;
    for (const Share& s : shares) {
      double issued = instructions(s, needs);
      for (Access& a : accesses_of(s)) {
        issued += a.warps / vector_of(a);
        accesses.push_back(std::move(a));
      }
      g.issued += issued;
      g.waited += issued / independent(s);
    }
    needs.add("issue", g.issued / (p_.issue * p_.clock * p_.units), g.issued);
    memory(accesses, g, needs);
    const double seconds = totals_.overlapped(needs);
    starvation(g, seconds);
    divergence(shares);
    double barriers = 0;
    for (const SharedAmount& b : w.barriers) barriers += q_.at(b);
    totals_.alone("barriers", barriers * p_.barrier / (g.resident * p_.units), barriers);
    totals_.alone("launches", g.launches * p_.launch, g.launches);
  }

  Share share(const WorkStatement& s, Grid& g) const {
    Share out;
    out.work = &s;
    out.path = trips_of(s, q_);
    out.inner = out.path.size();
    double groups = g.launches, one = 1;
    bool spread = false;
    for (std::size_t l = 0; l < out.path.size(); ++l) {
      if (is_group(s.loops[l])) groups *= out.path[l].trips;
      if (is_item(s.loops[l])) {
        one *= out.path[l].trips;
        spread = true;
      } else if (!is_group(s.loops[l]) && !out.unrolled(l)) {
        out.inner = l;
      }
    }
    g.groups = std::max(g.groups, groups);
    out.instances = out.path.empty() ? 1 : out.path.back().reached;
    // Without a loop over work-items each of them runs it, or the first one.
    const double runs = spread ? out.instances / std::max(one, 1e-9) : out.instances;
    out.warps = runs * std::ceil(std::max(one, 1.0) / kWarp);
    return out;
  }

  double local_bytes(const std::vector<Share>& shares) const {
    std::set<std::string> names;
    for (const Share& s : shares)
      for (const WorkPoint& p : s.work->points)
        for (const WorkAccess& a : p.accesses)
          if (q_.work.arrays.at(a.array).place == Place::Local) names.insert(a.array);
    double out = 0;
    for (const std::string& n : names) out += bytes_of(q_.work.arrays.at(n), q_.params);
    return out;
  }

  // ---- Instructions

  /// \return how many warps' instructions compute and count
  double instructions(const Share& s, Needs& needs) const {
    double issued = 0;
    for (const WorkPoint& p : s.work->points) {
      const double share = s.instances > 0 ? std::min(q_.at(p.instances) / s.instances, 1.0) : 0;
      const double warps = s.warps * share;
      std::map<Scalar, std::pair<double, double>> sums;
      for (const auto& [op, times] : p.operations) {
        const auto& [type, kind] = op;
        double& to = kind == Operations::Multiply ? sums[type].second : sums[type].first;
        const double weight = kind == Operations::Divide     ? p_.operations.division
                              : kind == Operations::Function ? p_.operations.function
                              : kind == Operations::Power    ? p_.operations.power
                                                             : 1;
        to += times * weight;
      }
      double seconds = 0, operations = 0;
      for (const auto& [type, sum] : sums) {
        const double each =
            is_integer(type) ? sum.first + sum.second : 2 * std::max(sum.first, sum.second);
        seconds += warps * kWarp * each / (p_.rate(type) * p_.units);
        operations += sum.first + sum.second;
        issued += warps * (is_integer(type) ? each : each / 2);
      }
      needs.add("arithmetic", seconds, warps * kWarp * operations, "op");
      if (p.conditional) issued += warps;
    }
    if (s.inner < s.path.size()) issued += 2 * s.warps / trips_inside(s);
    return issued;
  }

  /// Instructions that do not wait for each other: those of unrolled loops, but of a sum's only
  /// where the loops go over different sums.
  static double independent(const Share& s) {
    double out = 1;
    for (std::size_t l = 0; l < s.path.size(); ++l)
      if (s.unrolled(l) && (!s.work->accumulator || s.work->accumulator->count(s.path[l].iname)))
        out *= std::max(s.path[l].trips, 1.0);
    return out;
  }

  /// Of unrolled loops in the innermost one.
  static double trips_inside(const Share& s) {
    double out = 1;
    for (std::size_t l = s.inner + 1; l < s.path.size(); ++l)
      if (s.unrolled(l)) out *= std::max(s.path[l].trips, 1.0);
    return out;
  }

  // ---- Memory

  struct Access {
    const Share* share;
    Stream stream;
    double warps = 0;  // times that warps access memory
    Place place = Place::Memory;
  };

  std::vector<Access> accesses_of(const Share& s) const {
    std::vector<Access> out;
    for (const WorkPoint& p : s.work->points)
      for (const WorkAccess& a : p.accesses) {
        const WorkArray& array = q_.work.arrays.at(a.array);
        if (array.place == Place::Private) continue;  // registers
        Access x{&s, stream_of(a, array, s.path, q_.params, q_.remarks), s.warps, array.place};
        x.warps *= s.instances > 0 ? std::min(q_.at(p.instances) / s.instances, 1.0) : 0;
        // What loops of a work-item do not change stays in a register.
        for (std::size_t l = s.path.size(); l-- > 0;) {
          if (is_item(s.work->loops[l]) || is_group(s.work->loops[l])) continue;
          if (x.stream.depends_on(l)) {
            if (l == s.inner) break;
            continue;
          }
          // A local tile has other values when the loop around its use goes on.
          if (l == s.inner && array.place == Place::Local) break;
          if (l == s.inner || s.unrolled(l)) x.warps /= std::max(s.path[l].trips, 1.0);
          if (l == s.inner) break;
        }
        out.push_back(std::move(x));
      }
    return out;
  }

  /// Elements between neighbours along an axis of work-items.
  static double step(const Access& a, int axis) {
    for (std::size_t l = 0; l < a.share->path.size(); ++l) {
      const WorkLoop& loop = a.share->work->loops[l];
      if (loop.is(TagKind::Local) && loop.tag->axis == axis) return a.stream.step(l);
    }
    return 0;
  }

  /// Calls `visit` with the byte that each work-item of a warp accesses, the first one's being 0.
  template <class F>
  static void each_of_warp(const Access& a, const Grid& g, F visit) {
    const double x = step(a, 0), y = step(a, 1), z = step(a, 2);
    for (int lane = 0; lane < static_cast<int>(std::min(kWarp, g.items)); ++lane) {
      const double at = std::fmod(lane, g.axes[0]) * x +
                        std::fmod(std::floor(lane / g.axes[0]), g.axes[1]) * y +
                        std::floor(lane / (g.axes[0] * g.axes[1])) * z;
      visit(at * a.stream.bytes);
    }
  }

  /// Lines that one access of a warp touches.
  static double sectors(const Access& a, const Grid& g, double line) {
    if (a.stream.scattered()) return std::min(kWarp, g.items);
    std::set<double> touched;
    each_of_warp(a, g, [&](double at) {
      touched.insert(std::floor(at / line));
      touched.insert(std::floor((at + a.stream.bytes - 1) / line));
    });
    return static_cast<double>(touched.size());
  }

  /// Elements that one instruction of a work-item accesses.
  static double vector_of(const Access& a) {
    for (std::size_t l = 0; l < a.share->path.size(); ++l)
      if (a.share->work->loops[l].is(TagKind::Vec) && std::abs(a.stream.step(l)) == 1)
        return std::max(a.share->path[l].trips, 1.0);
    return 1;
  }

  /// How often a bank of local memory is asked for different words by one instruction of a warp;
  /// work-items that ask for the same word are served at once.
  static double conflicts(const Access& a, const Grid& g) {
    std::map<double, std::set<double>> words;
    each_of_warp(a, g, [&](double at) {
      for (double byte = 0; byte < a.stream.bytes * vector_of(a); byte += kBankBytes) {
        const double word = std::floor((at + byte) / kBankBytes);
        words[word - kBanks * std::floor(word / kBanks)].insert(word);
      }
    });
    std::size_t most = 1;
    for (const auto& [bank, all] : words) most = std::max(most, all.size());
    return static_cast<double>(most);
  }

  void memory(const std::vector<Access>& accesses, Grid& g, Needs& needs) const {
    const MemoryLevel& local = p_.levels.front();
    const MemoryLevel& memory = p_.levels.back();
    const MemoryLevel& cache = p_.levels.size() > 2 ? p_.levels[p_.levels.size() - 2] : memory;
    std::vector<Stream> in_group, together;
    std::vector<double> by_warps;  // bytes that warps ask for, by stream of a group
    for (const Access& a : accesses) {
      if (a.place == Place::Local) {
        const double bytes = a.warps / vector_of(a) * conflicts(a, g) * kBanks * kBankBytes;
        needs.add("local", bytes / local.all, bytes, "B");
        continue;
      }
      // A unit's own cache gives a line at a time.
      const double lines = a.warps * sectors(a, g, kNearLine) * kNearLine;
      needs.add("L1", lines / local.all, lines, "B");
      const std::size_t before = in_group.size();
      Stream inside = reordered(a, g, false);
      add_stream(in_group, inside);
      const double bytes = a.warps * sectors(a, g, static_cast<double>(memory.line)) *
                           static_cast<double>(memory.line);
      if (in_group.size() > before)
        by_warps.push_back(bytes);
      else
        by_warps.back() += bytes;
      add_stream(together, reordered(a, g, true));
    }
    // The unit's own cache keeps what a group touches again, if it is large enough for all groups.
    const auto line = static_cast<double>(memory.line);
    const std::vector<Traffic> near =
        traffic_into(in_group, static_cast<double>(local.bytes) / g.resident, line);
    for (std::size_t n = 0; n < in_group.size(); ++n) {
      const double bytes = near[n].bytes > 0 ? std::min(near[n].bytes, by_warps[n]) : by_warps[n];
      needs.add(cache.name, bytes / cache.all, bytes, "B");
      g.far += bytes / kNearLine;
    }
    const std::vector<Traffic> far = traffic_into(together, static_cast<double>(cache.bytes), line);
    for (const Traffic& t : far) {
      if (t.bytes == 0) continue;
      needs.add(memory.name, t.bytes / memory.all, t.bytes, "B");
    }
  }

  /// The loops in the order in which a unit, or the whole device, goes through them: the host's,
  /// groups that do not run together, loops of work-items, then what runs at the same time.
  Stream reordered(const Access& a, const Grid& g, bool device) const {
    const Share& s = *a.share;
    std::vector<Trip> outer, inner, items, groups;
    std::vector<std::pair<std::size_t, double>> from_outer, from_inner, from_items, from_groups;
    double room = device ? g.together : 1;
    std::map<int, std::size_t> by_axis;
    for (std::size_t l = 0; l < s.path.size(); ++l)
      if (is_group(s.work->loops[l])) by_axis[s.work->loops[l].tag->axis] = l;
    for (const auto& [axis, l] : by_axis) {  // axis 0 is the fastest
      const Trip& t = s.path[l];
      const double now = std::clamp(room, 1.0, std::max(t.trips, 1.0));
      room = std::max(room / now, 1.0);
      Trip wave = t, part = t;
      wave.trips = std::max(t.trips / now, 1.0);
      wave.stride = now;
      wave.node = 2 * t.node + 1'000'000;
      part.trips = now;
      part.node = 2 * t.node + 1'000'001;
      outer.insert(outer.begin(), wave);
      from_outer.insert(from_outer.begin(), {l, now});
      groups.push_back(part);
      from_groups.emplace_back(l, 1.0);
    }
    std::size_t host = 0;
    bool in_kernel = by_axis.empty();
    for (std::size_t l = 0; l < s.path.size(); ++l) {
      if (is_group(s.work->loops[l])) {
        in_kernel = true;
      } else if (is_item(s.work->loops[l])) {
        items.push_back(s.path[l]);
        from_items.emplace_back(l, 1.0);
      } else if (!in_kernel) {
        outer.insert(outer.begin() + static_cast<std::ptrdiff_t>(host), s.path[l]);
        from_outer.insert(from_outer.begin() + static_cast<std::ptrdiff_t>(host++), {l, 1.0});
      } else {
        inner.push_back(s.path[l]);
        from_inner.emplace_back(l, 1.0);
      }
    }
    Stream out = a.stream;
    out.path.clear();
    std::vector<std::pair<std::size_t, double>> from;
    for (const auto* part : {&outer, &inner, &groups, &items})
      out.path.insert(out.path.end(), part->begin(), part->end());
    for (const auto* part : {&from_outer, &from_inner, &from_groups, &from_items})
      from.insert(from.end(), part->begin(), part->end());
    double reached = 1;
    for (Trip& t : out.path) t.reached = reached *= t.trips;
    for (std::size_t d = 0; d < out.axes.size(); ++d) {
      out.axes[d].factors.clear();
      for (const auto& [l, stride] : from)
        out.axes[d].factors.push_back(a.stream.axes[d].factors[l] * stride);
    }
    return out;
  }

  // ---- What is lost

  /// Groups that are fewer than the units or do not fill them evenly, and instructions of a warp
  /// that wait for the one before, or for lines, while too few warps do others meanwhile.
  void starvation(const Grid& g, double seconds) const {
    const double busy = std::min(1.0, g.groups / p_.units);
    const double rounds = g.groups / p_.units;
    const double even = rounds < 1 || rounds > 16 ? 1 : rounds / std::ceil(rounds);
    const double spread = seconds / std::max(busy * even, 1e-6);
    const double warps = g.launches * g.groups * g.warps_of_group;
    const double waves = g.launches * std::ceil(g.groups / (g.resident * p_.units));
    const double cycles = std::max(g.waited * p_.latency, g.far * kFarCycles / kFarInFlight);
    const double chain = cycles / warps * waves / p_.clock;
    totals_.alone("starvation", std::max(spread, chain) - seconds);
  }

  /// Of warps in which only some work-items run: part of what arithmetic takes, told by itself.
  void divergence(const std::vector<Share>& shares) const {
    for (const Share& s : shares)
      if (s.warps * kWarp > 1.5 * s.instances && s.warps > 1)
        q_.remarks.insert(fmt::format("`{}` runs in {:.0f}% of the work-items of its warps",
                                      s.work->id, 100 * s.instances / (s.warps * kWarp)));
  }

  const Question& q_;
  const MachineProfile& p_;
  Totals& totals_;
};

}  // namespace

void predict_on_gpu(const Question& q, Totals& totals) { Gpu(q, totals).predict(); }

}  // namespace moonloop::cost
