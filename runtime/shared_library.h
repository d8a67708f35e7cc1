#pragma once
#include <dlfcn.h>

#include <string>

#include "core/base/diagnostic.h"

namespace moonloop {

/// A system library that may be missing. It stays loaded: drivers do not unload well.
class SharedLibrary {
 public:
  /// The first of `names` that exists.
  explicit SharedLibrary(std::initializer_list<const char*> names) {
    for (const char* n : names)
      if ((handle_ = ::dlopen(n, RTLD_NOW | RTLD_LOCAL))) {
        name_ = n;
        return;
      }
  }
  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }
  /// Fails `no-device`.
  template <class F>
  void find(F*& to, const char* symbol) const {
    to = reinterpret_cast<F*>(::dlsym(handle_, symbol));
    if (!to) fail("no-device", {}, "`{}` has no `{}`", name_, symbol);
  }

 private:
  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace moonloop
