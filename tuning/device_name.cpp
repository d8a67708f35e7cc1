#include "tuning/device_name.h"

#include <fmt/format.h>

#include "codegen/language.h"
#include "runtime/device.h"
#include "runtime/host.h"

namespace moonloop::tuning {

std::string device_name(Target target, int n) {
  if (is_device(target)) return open_device(target, n)->name();
  const std::string model = processor_model();
  if (target == Target::C) return model;
  const int threads = thread_count();
  return fmt::format("{}, {} thread{}", model, threads, threads == 1 ? "" : "s");
}

}  // namespace moonloop::tuning
