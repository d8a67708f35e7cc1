#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/sets/isl.h"

/// The two instances that a refusal names, for drawing them.
namespace moonloop {

/// One instance of a statement, among all of them.
struct CounterexampleInstance {
  std::string id;                   // of the statement
  std::vector<std::string> inames;  // loops, outer to inner, then work-items
  std::vector<std::int64_t> at;     // by iname
  std::string does;                 // "writes a[4]"
  Set domain;                       // of the statement: dimensions are `inames`
};

/// The problem with two instances.
enum class CounterexampleKind {
  Order,     // the first has to run before the second, and would not
  Together,  // they must not run at the same time
  Copies,    // the second needs what the first leaves in its own copy
};
struct Counterexample {
  CounterexampleInstance first, second;
  std::map<std::string, std::int64_t> params;  // for which both instances exist
  CounterexampleKind kind = CounterexampleKind::Order;
};

/// A refusal because of two instances. Counterexamples hold objects of the thread's isl_ctx.
class RefusedByCounterexample : public Refused {
 public:
  RefusedByCounterexample(Diagnostic d, Counterexample counterexample)
      : Refused(std::move(d)),
        counterexample_(std::make_shared<const Counterexample>(std::move(counterexample))) {}
  RefusedByCounterexample(std::vector<Diagnostic> all,
                          std::shared_ptr<const Counterexample> counterexample)
      : Refused(std::move(all)), counterexample_(std::move(counterexample)) {}
  const std::shared_ptr<const Counterexample>& counterexample() const { return counterexample_; }

 private:
  std::shared_ptr<const Counterexample> counterexample_;
};

/// While one of them exists, nobody is told why a step is refused: no two instances are looked for,
/// which may take longer than to find out that there are some. Zeros stand in their place.
class WithoutReasons {
 public:
  WithoutReasons() { ++count_; }
  ~WithoutReasons() { --count_; }
  WithoutReasons(const WithoutReasons&) = delete;
  WithoutReasons& operator=(const WithoutReasons&) = delete;
  static bool apply() { return count_ > 0; }

 private:
  static thread_local int count_;
};

/// The values of `inames` in `at`, by name.
std::vector<std::int64_t> values_at(const std::vector<std::string>& inames,
                                    const std::map<std::string, std::int64_t>& at);

}  // namespace moonloop
