#include "core/base/memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

// jemalloc's, where the program is linked with it.
extern "C" {
int mallctl(const char*, void*, std::size_t*, void*, std::size_t) __attribute__((weak));
void sdallocx(void*, std::size_t, int) __attribute__((weak));
}

namespace moonloop::memory {
namespace {

constexpr std::size_t kSmall = 512;                      // the first block of a std::deque
constexpr std::int64_t kStep = 64 * 1024;                // taken between two looks, at least
constexpr std::int64_t kGrace = std::int64_t{32} << 20;  // let through after a failure

struct Meter {
  std::int64_t unseen = kNoLimit;  // bytes to take before the next look at the limit
  std::int64_t most = kNoLimit;
  std::int64_t grace = 0;
  std::int64_t counted = 0;  // by operator new and `note`, where there is no jemalloc
  const std::uint64_t *taken = nullptr, *given = nullptr;  // jemalloc's counts
};
constinit thread_local Meter meter;

bool by_jemalloc() { return mallctl != nullptr; }

const std::uint64_t* counter(const char* name) {
  static constexpr std::uint64_t kZero = 0;
  std::uint64_t* out = nullptr;
  std::size_t size = sizeof out;
  return mallctl(name, static_cast<void*>(&out), &size, nullptr, 0) == 0 ? out : &kZero;
}

/// Fails where `bytes` more are too many; otherwise sets when to look again.
void look(std::size_t bytes) {
  Meter& m = meter;
  m.unseen = kNoLimit;  // also while this function calls jemalloc
  if (m.most == kNoLimit) return;
  const std::int64_t left = m.most + m.grace - held();
  if (left < 0 || bytes > static_cast<std::uint64_t>(left)) {
    m.grace = std::max(m.grace, held() - m.most) + kGrace;
    m.unseen = 0;
    throw std::bad_alloc();
  }
  m.unseen = std::max(left - static_cast<std::int64_t>(bytes), kStep);
}

[[maybe_unused]] void* take(std::size_t bytes, std::size_t alignment = 0) {
  Meter& m = meter;
  m.unseen -= static_cast<std::int64_t>(std::min<std::size_t>(bytes, kNoLimit / 2));
  if (m.unseen < 0 && bytes > kSmall) look(bytes);
  for (;;) {
    void* p = alignment > alignof(std::max_align_t)
                  ? std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment)
                  : std::malloc(bytes ? bytes : 1);
    if (p) {
      if (!by_jemalloc()) m.counted += static_cast<std::int64_t>(malloc_usable_size(p));
      return p;
    }
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

/// The same in a few instructions where there is nothing to look at.
[[maybe_unused, gnu::always_inline]] inline void* take_at_once(std::size_t bytes) {
  Meter& m = meter;
  if (by_jemalloc() && bytes - 1 < kSmall) {
    m.unseen -= static_cast<std::int64_t>(bytes);
    if (void* p = std::malloc(bytes)) return p;
    m.unseen += static_cast<std::int64_t>(bytes);
  }
  return take(bytes);
}

[[maybe_unused]] void give(void* p) noexcept {
  if (!by_jemalloc() && p) meter.counted -= static_cast<std::int64_t>(malloc_usable_size(p));
  std::free(p);
}

[[maybe_unused]] void give(void* p, std::size_t bytes) noexcept {
  if (p && by_jemalloc()) return sdallocx(p, bytes, 0);  // need not look the size up
  give(p);
}

template <class... Alignment>
[[maybe_unused]] void* take_or_null(std::size_t bytes, Alignment... alignment) noexcept {
  try {
    return take(bytes, alignment...);
  } catch (const std::bad_alloc&) { return nullptr; }
}

}  // namespace

std::int64_t held() {
  Meter& m = meter;
  if (!by_jemalloc()) return m.counted;
  if (!m.taken) m.taken = counter("thread.allocatedp"), m.given = counter("thread.deallocatedp");
  return static_cast<std::int64_t>(*m.taken - *m.given);
}

void note(std::int64_t bytes) {
  if (!by_jemalloc()) meter.counted += bytes;
}

void check() { look(0); }

void rearm() { meter.unseen = meter.grace = 0; }

Limit::Limit(std::int64_t most) : around_(std::exchange(meter.most, most)) { rearm(); }
Limit::~Limit() {
  meter.most = around_;
  rearm();
}

}  // namespace moonloop::memory

#define MOONLOOP_WEAK __attribute__((weak))
// All forms, so that none comes from another library, whose memory the rest would not know.
using moonloop::memory::give;
using moonloop::memory::take;
using moonloop::memory::take_at_once;
using moonloop::memory::take_or_null;
using std::align_val_t, std::nothrow_t, std::size_t;

MOONLOOP_WEAK void* operator new(size_t n) { return take_at_once(n); }
MOONLOOP_WEAK void* operator new[](size_t n) { return take_at_once(n); }
MOONLOOP_WEAK void* operator new(size_t n, align_val_t a) { return take(n, size_t(a)); }
MOONLOOP_WEAK void* operator new[](size_t n, align_val_t a) { return take(n, size_t(a)); }
MOONLOOP_WEAK void* operator new(size_t n, const nothrow_t&) noexcept { return take_or_null(n); }
MOONLOOP_WEAK void* operator new[](size_t n, const nothrow_t&) noexcept { return take_or_null(n); }
MOONLOOP_WEAK void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept {
  return take_or_null(n, size_t(a));
}
MOONLOOP_WEAK void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
  return take_or_null(n, size_t(a));
}
MOONLOOP_WEAK void operator delete(void* p) noexcept { give(p); }
MOONLOOP_WEAK void operator delete[](void* p) noexcept { give(p); }
MOONLOOP_WEAK void operator delete(void* p, size_t n) noexcept { give(p, n); }
MOONLOOP_WEAK void operator delete[](void* p, size_t n) noexcept { give(p, n); }
MOONLOOP_WEAK void operator delete(void* p, align_val_t) noexcept { give(p); }
MOONLOOP_WEAK void operator delete[](void* p, align_val_t) noexcept { give(p); }
MOONLOOP_WEAK void operator delete(void* p, size_t, align_val_t) noexcept { give(p); }
MOONLOOP_WEAK void operator delete[](void* p, size_t, align_val_t) noexcept { give(p); }
MOONLOOP_WEAK void operator delete(void* p, const nothrow_t&) noexcept { give(p); }
MOONLOOP_WEAK void operator delete[](void* p, const nothrow_t&) noexcept { give(p); }
MOONLOOP_WEAK void operator delete(void* p, align_val_t, const nothrow_t&) noexcept { give(p); }
MOONLOOP_WEAK void operator delete[](void* p, align_val_t, const nothrow_t&) noexcept { give(p); }
