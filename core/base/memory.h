#pragma once
#include <cstdint>
#include <limits>

/// How much memory a thread holds, and a limit on it: code that runs on behalf of an untrusted
/// script must not take more than the script may.
///
/// Counts what the thread took by operator new and by `note`, less what it gave back; where the
/// program is linked with jemalloc, all that it took, by C libraries such as isl too. Operator new
/// is replaced for this, by weak definitions: a program with its own has no counts and no limit,
/// except for what it adds by `note`.
namespace moonloop::memory {

/// Bytes that this thread holds, relative to its start: memory that one thread takes and another
/// gives back is subtracted from the latter's.
std::int64_t held();

/// Adds to held() what came from malloc or went back to it; nothing to do where jemalloc counts.
void note(std::int64_t bytes);

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// While it lives, operator new throws std::bad_alloc in this thread where held() would exceed
/// `most`. Requests of at most 512 bytes always succeed, since moves that must not fail make them,
/// std::deque's for example; code that makes many small objects calls check() at times. After a
/// failure it lets some more through, so that its handler has memory, until rearm() is called. The
/// innermost limit counts.
class Limit {
 public:
  explicit Limit(std::int64_t most);
  ~Limit();
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  std::int64_t around_;
};

/// Throws std::bad_alloc beyond the limit.
void check();
/// Ends the allowance that follows a failure.
void rearm();

/// While it lives, no limit holds in this thread: for code that no exception may pass through.
class Unlimited : public Limit {
 public:
  Unlimited() : Limit(kNoLimit) {}
};

}  // namespace moonloop::memory
