#include "scripts/account.h"

#include <algorithm>
#include <limits>

#include "core/base/diagnostic.h"
#include "core/base/memory.h"

namespace moonloop::lua {
namespace {

constexpr std::int64_t kNanosecond = 1, kSecond = 1'000'000'000 * kNanosecond;
constexpr std::int64_t kBetweenLooks = kSecond / 50;
constexpr int kDeepestScript = 8;  // each level takes its part of the stack
constexpr std::int64_t kFirstCollection = std::int64_t{2} << 20;

std::int64_t clock_ns(clockid_t which) {
  timespec t{};
  clock_gettime(which, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}
std::int64_t thread_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t add(std::int64_t a, std::size_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<std::int64_t>::max() : out;
}

}  // namespace

Account::Account(const ScriptOptions& o)
    : instructions_(o.instructions),
      seconds_(o.seconds),
      began_held_(memory::held()),
      most_held_(add(began_held_, o.memory)),
      collect_at_(began_held_ + std::min(kFirstCollection, (most_held_ - began_held_) / 2)),
      began_ns_(thread_ns()) {}

bool Account::spend(std::int64_t n) {
  if (exhausted()) return false;
  spent_ += n;
  if (spent_ > instructions_)
    why_ = fmt::format("the script ran more than {} instructions", instructions_);
  else if (paused_ == 0 && out_of_time())
    why_ = fmt::format("the script ran for more than {} s", seconds_);
  return !exhausted();
}

/// Asks for this thread's time, which takes a call of the system, only when some time went by at
/// all.
bool Account::out_of_time() {
  const std::int64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
  if (now - last_look_ < kBetweenLooks) return false;
  last_look_ = now;
  return static_cast<double>(thread_ns() - began_ns_ - paused_ns_) >
         seconds_ * static_cast<double>(kSecond);
}

void Account::refill() {
  spent_ = 0;
  why_.clear();
  began_ns_ = thread_ns();
  paused_ns_ = 0;
}

std::int64_t Account::used() const { return memory::held() - began_held_; }

bool Account::wants_collection() const { return memory::held() >= collect_at_; }

void Account::collected() {
  const std::int64_t live = memory::held() - began_held_, all = most_held_ - began_held_;
  // Fresh memory costs more than a collection. Near the limit every thirtieth of memory is worth
  // one.
  const std::int64_t most = std::max(all - all / 8, live + all / 32);
  const std::int64_t next = std::min(live + live / 4 + kFirstCollection / 4, most);
  collect_at_ = began_held_ + std::max(next, std::min(kFirstCollection, all / 2));
}

Account::Pause::Pause(Account& a) : a_(a) {
  if (a_.paused_++ == 0) a_.pause_began_ns_ = thread_ns();
}
Account::Pause::~Pause() {
  if (--a_.paused_ == 0) a_.paused_ns_ += thread_ns() - a_.pause_began_ns_;
}

Account::Nested::Nested(Account& a) : a_(a) {
  if (a_.depth_ >= kDeepestScript)
    throw Error(Diagnostic{
        "script-limit",
        fmt::format("scripts run scripts within Fortran, more than {} deep", kDeepestScript),
        {},
        {},
        {}});
  ++a_.depth_;
}

}  // namespace moonloop::lua
