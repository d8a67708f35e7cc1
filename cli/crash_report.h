#pragma once
#include <string>

#include "core/model/kernel.h"

namespace moonloop::cli {

/// While it lives, a signal that ends the process (a division by zero, an invalid address) is
/// reported as an error of kernel `k`, whose generated code runs, and the process ends with the
/// status of an error. `verified`: the interpreter ran it without complaint. One at a time.
class CrashReport {
 public:
  CrashReport(const Kernel& k, bool verified, bool color);
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;
};

}  // namespace moonloop::cli
