#pragma once
#include <sanitizer/allocator_interface.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

/// The limits of one input. AddressSanitizer's redzones, quarantine and shadow are not the input's,
/// so requested bytes are counted, not those of the process.
namespace moonloop::fuzz {

inline constexpr std::size_t kMost = std::size_t{1} << 30;

/// While it lives, allocations beyond `kMost` end the process, which libFuzzer reports as a crash.
class InputMemory {
 public:
  InputMemory() {
    static const int installed = __sanitizer_install_malloc_and_free_hooks(took, gave);
    if (installed == 0) std::abort();
    held() = 0;
    counts() = true;
  }
  ~InputMemory() { counts() = false; }
  InputMemory(const InputMemory&) = delete;
  InputMemory& operator=(const InputMemory&) = delete;

 private:
  static bool& counts() {
    static thread_local bool value = false;
    return value;
  }
  static long long& held() {
    static thread_local long long bytes = 0;
    return bytes;
  }
  static void took(const volatile void*, std::size_t size) {
    if (!counts()) return;
    held() += static_cast<long long>(size);
    if (held() <= static_cast<long long>(kMost)) return;
    counts() = false;
    std::fputs("fuzz: this input takes more than 1 GiB\n", stderr);
    std::abort();
  }
  static void gave(const volatile void* p) {
    if (counts())
      held() -= static_cast<long long>(__sanitizer_get_allocated_size(const_cast<void*>(p)));
  }
};

}  // namespace moonloop::fuzz
