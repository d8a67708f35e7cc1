#pragma once
#include <cstdint>
#include <ctime>
#include <string>

#include "scripts/script.h"

/// A script's limits and its use so far: instructions of the virtual machine, processor time,
/// memory. One account for all work of a script: Fortran that it reads, with the scripts in it, is
/// on the account of the reading script.
///
/// Instructions are the measure that does not depend on the machine. Other work has a price in
/// instructions: calls, memory that Lua takes, characters that patterns look at, transforms. Time
/// is the second limit, for work whose price is too low. The time within transforms does not count:
/// isl's budgets end each of them, and its price ends their number.
namespace moonloop::lua {

class Account {
 public:
  explicit Account(const ScriptOptions& options);

  /// Counts `n` instructions and looks at the clock; false when the script has to end. From then on
  /// it is false, until refill().
  bool spend(std::int64_t n);
  bool exhausted() const { return !why_.empty(); }
  /// What was exceeded, for a message.
  const std::string& why() const { return why_; }
  /// Restores the limits: each line that a user types has all of them. Memory stays taken.
  void refill();

  /// Bytes that this thread took since the account began.
  std::int64_t used() const;
  /// The value of memory::held() at which the memory is used up.
  std::int64_t most_held() const { return most_held_; }
  /// Whether garbage should be collected before more is made. Lua does not see how much its objects
  /// hold outside of its heap; this keeps dead ones from piling up, at a cost proportional to new
  /// objects.
  bool wants_collection() const;
  void collected();

  /// Stops the clock: while one lives, or several, the time is not the script's own.
  class Pause {
   public:
    explicit Pause(Account& a);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Account& a_;
  };
  /// One script within another; fails `script-limit` when they are too deep.
  class Nested {
   public:
    explicit Nested(Account& a);
    ~Nested() { --a_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Account& a_;
  };

 private:
  bool out_of_time();

  const std::int64_t instructions_;
  const double seconds_;
  const std::int64_t began_held_, most_held_;
  std::int64_t spent_ = 0, collect_at_ = 0;
  std::int64_t began_ns_ = 0, paused_ns_ = 0, pause_began_ns_ = 0;  // of this thread's time
  std::int64_t last_look_ = 0;                                      // by the coarse clock
  int paused_ = 0, depth_ = 0;
  std::string why_;
};

}  // namespace moonloop::lua
