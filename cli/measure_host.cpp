#include <algorithm>
#include <chrono>
#include <cmath>

#include "cli/measure.h"
#include "core/base/diagnostic.h"
#include "runtime/c_compiler.h"
#include "runtime/host.h"

/// Rates of the processor, from small functions of C that are compiled as generated code is.
namespace moonloop::cli {
namespace {

/// Every function takes how often it repeats its work, and buffers.
constexpr const char* kSource = R"SOURCE(
#include <math.h>
#include <stdint.h>
#pragma GCC visibility push(default)
#if defined(__clang__)
#define SCALAR
#define SCALAR_LOOP _Pragma("clang loop vectorize(disable) interleave(disable)")
#else
#define SCALAR __attribute__((optimize("no-tree-vectorize")))
#define SCALAR_LOOP
#endif
/* Repetitions stay apart, in their order. */
#define AGAIN __asm__ volatile("" ::: "memory");
#ifdef _OPENMP
extern int omp_get_thread_num(void), omp_get_num_threads(void);
static long thread_number(void) { return omp_get_thread_num(); }
static long number_of_threads(void) { return omp_get_num_threads(); }
#else
static long thread_number(void) { return 0; }
static long number_of_threads(void) { return 1; }
#endif
#define STEP(c) c = c*x + y;
#define STEPS(c) STEP(c) STEP(c) STEP(c) STEP(c) STEP(c) STEP(c) STEP(c) STEP(c)
#define CHAINS(T, FROM) \
  T v = FROM, c0 = v, c1 = v + 1, c2 = v + 2, c3 = v + 3, c4 = v + 4, c5 = v + 5; \
  STEPS(c0) STEPS(c1) STEPS(c2) STEPS(c3) STEPS(c4) STEPS(c5)
#define RATE(NAME, T, MARK, LOOP) \
  MARK void NAME(long times, long n, T *restrict a, T *restrict b) { \
    const T x = (T)0.5, y = (T)0.25; \
    for (long t = 0; t < times; ++t) { \
      LOOP for (long i = 0; i < n; ++i) { CHAINS(T, a[i]) b[i] = c0 + c1 + c2 + c3 + c4 + c5; } \
      AGAIN \
    } \
  }
RATE(rate_f64, double, , )
RATE(rate_f32, float, , )
RATE(rate_scalar, double, SCALAR, SCALAR_LOOP)
#undef STEP
#define STEP(c) c = (c + x) ^ y;
void rate_i32(long times, long n, uint32_t *restrict a, uint32_t *restrict b) {
  for (long t = 0; t < times; ++t) {
    const uint32_t x = a[t % n], y = b[(t + 1) % n];
    for (long i = 0; i < n; ++i) { CHAINS(uint32_t, a[i]) b[i] = c0 + c1 + c2 + c3 + c4 + c5; }
    AGAIN
  }
}
void clock_chain(long times, long n, uint32_t *a, uint32_t *b) {
  uint32_t x = a[0];
  const uint32_t y = b[0];
  for (long t = 0; t < times; ++t)
    for (uint32_t i = 0; i < (uint32_t)n; ++i) x = (x ^ i) + y;
  a[0] = x;
}
void sum_chain(long times, long n, double *restrict a, double *restrict b) {
  double s = 0;
  for (long t = 0; t < times; ++t) {
    for (long i = 0; i < n; ++i) s += a[i] * b[i];
    AGAIN
  }
  a[0] += s * 1e-300;
}
void divide(long times, long n, double *restrict a, double *restrict b) {
  for (long t = 0; t < times; ++t) {
    const double x = a[t % n] + t;
    for (long i = 0; i < n; ++i) b[i] = x / a[i];
  }
}
void function(long times, long n, double *restrict a, double *restrict b) {
  for (long t = 0; t < times; ++t) {
    for (long i = 0; i < n; ++i) b[i] += exp(a[i]);
    AGAIN
  }
}
void power(long times, long n, double *restrict a, double *restrict b) {
  for (long t = 0; t < times; ++t) {
    for (long i = 0; i < n; ++i) b[i] += pow(a[i], 1.7);
    AGAIN
  }
}
void stream(long times, long n, double *restrict a, double *restrict b) {
  for (long t = 0; t < times; ++t) {
    for (long i = 0; i < n; ++i) b[i] = a[i]*0.5 + b[i];
    AGAIN
  }
}
void stream_all(long times, long n, double *a, double *b) {
#pragma omp parallel
  {
    const long part = thread_number();
    stream(times, n, a + part * n, b + part * n);
  }
}
void scattered(long times, long n, double *restrict a, double *restrict b) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (long t = 0; t < times; ++t)
    for (long l = 0; l < 64; ++l) {
      const double *at = a + 8 * l;
      for (long p = 0; p + 4 <= n; p += 4, at += 4 * 520) {
        s0 += at[0]; s1 += at[520]; s2 += at[2 * 520]; s3 += at[3 * 520];
      }
      AGAIN
    }
  b[0] = s0 + s1 + s2 + s3;
}
void rate_all(long times, long n, float *a, float *b) {
#pragma omp parallel
  {
    const long part = thread_number();
    rate_f32(times, n, a + part * n, b + part * n);
  }
}
/* One thread writes `w`; all of them then read and write their part of `a`. */
static void hand_over(long n, long each, double *w, double *a) {
  for (long i = 0; i < n; ++i) w[i] = w[i]*0.5 + 1;
#pragma omp parallel
  {
    const long part = thread_number(), parts = number_of_threads();
    for (long r = part * each; r + each <= n; r += parts * each)
      for (long i = 0; i < each; ++i) a[r + i] = a[r + i]*0.5 + 1;
  }
}
#define HAND_OVER(NAME, W, EACH) \
  void NAME(long times, long n, double *restrict a, double *restrict b) { \
    for (long t = 0; t < times; ++t) { hand_over(n, EACH, W, a); AGAIN } \
  }
HAND_OVER(handed_in_order, a, 1024)
HAND_OVER(kept_in_order, b, 1024)
HAND_OVER(handed_apart, a, 16)
HAND_OVER(kept_apart, b, 16)
void threads(long times, long n, double *a, double *b) {
  for (long t = 0; t < times; ++t) {
#pragma omp parallel
    { volatile long x = n; (void)x; }
  }
  a[0] += 0 * b[0];
}
)SOURCE";

using Measured = void (*)(long, long, void*, void*);

class HostMeter {
 public:
  HostMeter()
      : facts_(host_facts()),
        threads_(supports_openmp(find_c_compiler())),
        library_(compile(kSource, threads_ ? Target::OpenMP : Target::C)),
        p_(cost::default_profile(facts_)) {}

  cost::MachineProfile profile() {
    p_.measured = true;
    rates();
    for (std::size_t i = 0; i < p_.levels.size(); ++i) level(i);
    if (threads_) p_.launch = start_of_threads();
    const double most = p_.levels.back().one;
    p_.handover = handed("handed_in_order", "kept_in_order", most);
    p_.handover_apart = std::min(handed("handed_apart", "kept_apart", most / 4), p_.handover);
    return p_;
  }

 private:
  static double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
  }

  /// Of one repetition of the function's work, the least of several times.
  double seconds(const char* name, long n, std::vector<double>& a, std::vector<double>& b) {
    const auto f = reinterpret_cast<Measured>(library_.find(name));
    long times = 1;
    double took = 0;
    for (;;) {  // as many as a clock can tell apart
      const double start = now();
      f(times, n, a.data(), b.data());
      took = now() - start;
      if (took > 2e-3 || times > 100'000'000) break;
      times *= took < 2e-4 ? 8 : 2;
    }
    double least = took / static_cast<double>(times);
    const double begun = now();
    for (int i = 0; i < 200 && now() - begun < 0.15; ++i) {
      const double start = now();
      f(times, n, a.data(), b.data());
      least = std::min(least, (now() - start) / static_cast<double>(times));
    }
    return least;
  }

  /// Of one call: the least of many, since one that others disturb takes a thousand times as long.
  double least_call(const char* name, long n, double for_seconds) {
    const auto f = reinterpret_cast<Measured>(library_.find(name));
    double least = 1;
    const double begun = now();
    for (int i = 0; i < 20'000 && now() - begun < for_seconds; ++i) {
      const double start = now();
      f(1, n, a_.data(), b_.data());
      least = std::min(least, now() - start);
    }
    return least;
  }

  double start_of_threads() {
    const double least = least_call("threads", 1, 2);
    constexpr double most = 2e-4;  // more is the time of others
    return least < most ? least : p_.launch;
  }

  /// Bytes per second of what one thread wrote and the others fetch; at most what that core moves
  /// in its own caches. `assumed` where others disturb.
  double handed(const char* with, const char* without, double assumed) {
    double most = assumed;
    for (const cost::MemoryLevel& l : p_.levels)
      if (!l.shared) most = std::max(most, l.one);
    const int parts = threads_ ? thread_count() : 1;
    if (parts < 2) return assumed;
    constexpr long n = 1 << 15;  // a quarter of a megabyte, which one core's caches hold
    a_.assign(n, 1.25);
    b_.assign(n, 0.75);
    const double more = least_call(with, n, 0.5) - least_call(without, n, 0.5);
    const double bytes = 8.0 * n * (parts - 1) / parts;
    const double rate = more > bytes / most ? bytes / more : most;
    return rate > most / 50 ? rate : assumed;  // less is the time of others
  }

  /// Operations per second of chains on `n` elements.
  double chains(const char* name, long n) {
    constexpr double operations = 6 * 8 * 2;
    return operations * static_cast<double>(n) / seconds(name, n, a_, b_);
  }

  /// What a thread computes while all do, of what it does alone.
  double together(long n) {
    const auto all = static_cast<std::size_t>(n) * static_cast<std::size_t>(thread_count());
    a_.assign(all, 1.25);
    b_.assign(all, 0.75);
    const double part = chains("rate_all", n) / p_.f32;
    a_.resize(2 * static_cast<std::size_t>(n));
    b_.resize(2 * static_cast<std::size_t>(n));
    return part > 1.0 / 4 ? std::min(part, 1.0) : 1;  // less is the time of others
  }

  void rates() {
    constexpr long n = 1024;
    a_.assign(2 * n, 1.25);
    b_.assign(2 * n, 0.75);
    p_.f64 = chains("rate_f64", n);
    const double scalar = chains("rate_scalar", n);
    p_.f32 = chains("rate_f32", n);
    p_.i32 = chains("rate_i32", n);
    if (threads_) p_.together = together(n);
    const double lanes = std::exp2(std::round(std::log2(std::max(p_.f64 / scalar, 1.0))));
    p_.vector_bytes = static_cast<int>(8 * std::clamp(lanes, 1.0, 16.0));
    p_.registers = p_.vector_bytes >= 64 ? 32 : 16;
    p_.clock = 2 * 1e6 / seconds("clock_chain", 1'000'000, a_, b_);
    a_.assign(2 * n, 1.25);
    p_.latency = p_.clock * seconds("sum_chain", n, a_, b_) / n;
    // Of an addition, in a vector or by itself.
    const double vector = p_.f64 / 2, one = scalar / 2;
    p_.operations.division = std::max(1.0, vector * seconds("divide", n, a_, b_) / n);
    p_.operations.function = std::max(1.0, one * seconds("function", n, a_, b_) / n);
    p_.operations.power = std::max(1.0, one * seconds("power", n, a_, b_) / n);
  }

  /// Of each buffer of two, for memory far more than the last cache. A cache that is said to be far
  /// larger than the one before is shared with cores that others use.
  std::int64_t bytes_of(std::size_t level) const {
    const auto& all = p_.levels;
    if (level + 1 < all.size()) {
      const std::int64_t part = all[level].bytes * 3 / 8;
      return all[level].shared && level > 0 ? std::min(part, 8 * all[level - 1].bytes) : part;
    }
    std::int64_t most = all.size() > 1 ? 3 * all[level - 1].bytes : std::int64_t{64} << 20;
    most = std::clamp(most, std::int64_t{64} << 20, std::int64_t{512} << 20);
    return facts_.memory > 0 ? std::min(most, facts_.memory / (8 * (p_.units + 1))) : most;
  }

  void level(std::size_t i) {
    cost::MemoryLevel& l = p_.levels[i];
    const std::int64_t bytes = bytes_of(i);
    const auto n = static_cast<long>(bytes / 8);
    const bool last = i + 1 == p_.levels.size();
    // Read, read and written; lines leave a core's own cache while others come.
    const auto at = [&](double values) { return (i > 0 && !l.shared ? 16.0 : 24.0) * values; };
    a_.assign(static_cast<std::size_t>(n), 1.25);
    b_.assign(static_cast<std::size_t>(n), 0.75);
    l.one = at(static_cast<double>(n)) / seconds("stream", n, a_, b_);
    l.all = l.one * p_.units;
    if (threads_ && l.shared) {
      const long each = last ? n : n / p_.units;  // a shared cache is divided
      const auto whole = static_cast<std::size_t>(each) * static_cast<std::size_t>(thread_count());
      a_.assign(whole, 1.25);
      b_.assign(whole, 0.75);
      l.all = at(static_cast<double>(each) * thread_count()) / seconds("stream_all", each, a_, b_);
    }
    l.all = std::max(l.all, l.one);
    const long pages = std::max<long>(4, 2 * n / 520 / 4 * 4);
    a_.assign(static_cast<std::size_t>(pages + 1) * 520, 1.25);
    l.scattered = 64.0 * 64.0 * static_cast<double>(pages) / seconds("scattered", pages, a_, b_);
    l.scattered = std::min(l.scattered, l.one);
  }

  cost::MachineFacts facts_;
  bool threads_;
  Library library_;
  cost::MachineProfile p_;
  std::vector<double> a_, b_;
};

}  // namespace

cost::MachineProfile measure_host() { return HostMeter().profile(); }

}  // namespace moonloop::cli
