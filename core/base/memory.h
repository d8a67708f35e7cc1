#pragma once
#include <cstdint>
#include <limits>

/// How much memory a thread holds, and an end to it: what runs on behalf of a script that is not
/// trusted must not take more than the script may.
///
/// Counted is what the thread took by operator new and by `note`, without what it gave back; where
/// the program is linked with jemalloc, all that it took, C libraries such as isl among it.
/// Operator new is replaced for that, by weak definitions: a program with its own has no counts and
/// no limit, but what it adds by `note`.
namespace moonloop::memory {

/// Bytes that this thread holds, relative to when it began: what one thread takes and another gives
/// back is missing there.
std::int64_t held();

/// Adds to held() what came from malloc or went back to it; nothing to do where jemalloc counts.
void note(std::int64_t bytes);

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// While it lives, operator new throws std::bad_alloc in this thread where held() would exceed
/// `most`. Requests of at most 512 bytes succeed all the same, since moves that must not fail make
/// such ones, those of std::deque for example; who makes many small objects calls check() at times.
/// After a failure it lets some more through, so that those who handle it have memory to do so,
/// until they call rearm(). The innermost limit counts.
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
/// Ends what a failure let through.
void rearm();

/// While it lives, no limit holds in this thread: for code that no exception may pass through.
class Unlimited : public Limit {
 public:
  Unlimited() : Limit(kNoLimit) {}
};

}  // namespace moonloop::memory
