#include "core/base/node_memory.h"

#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MOONLOOP_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MOONLOOP_ASAN
#endif

namespace moonloop::node_memory {

#ifdef MOONLOOP_ASAN

void* take(std::size_t bytes) { return ::operator new(bytes); }
void give(void* p, std::size_t) { ::operator delete(p); }

#else

namespace {

struct Free {
  Free* next;
};

constexpr std::size_t kStep = alignof(std::max_align_t) / 2, kMost = 128, kBlock = 256 * 1024;

Free* free_by_size[kMost / kStep + 1];
char* unused = nullptr;  // of the newest block
std::size_t unused_bytes = 0;

}  // namespace

void* take(std::size_t bytes) {
  const std::size_t steps = (bytes + kStep - 1) / kStep;
  Free*& list = free_by_size[steps];
  if (list) {
    Free* p = list;
    list = p->next;
    return p;
  }
  const std::size_t size = steps * kStep;
  if (unused_bytes < size) {
    unused = static_cast<char*>(::operator new(kBlock));
    unused_bytes = kBlock;
  }
  void* p = unused;
  unused += size;
  unused_bytes -= size;
  return p;
}

void give(void* p, std::size_t bytes) {
  Free*& list = free_by_size[(bytes + kStep - 1) / kStep];
  list = new (p) Free{list};
}

#endif

}  // namespace moonloop::node_memory
