#include "runtime/device.h"

#include "core/base/diagnostic.h"
#include "runtime/buffer.h"

namespace moonloop {
namespace {

const char* meaning_of(const std::string& extension) {
  if (extension == "cl_khr_fp64") return "double precision";
  if (extension.find("atomics") != extension.npos) return "atomic updates of 64-bit integers";
  return "more than OpenCL 1.2";
}

}  // namespace

std::unique_ptr<Device> open_device(Target target, int n) {
  return target == Target::Cuda ? open_cuda(n) : open_opencl(n);
}

int count_devices(Target target) { return target == Target::Cuda ? count_cuda() : count_opencl(); }

void check_limits(const Program& program, const Device& device) {
  const DeviceLimits& l = device.limits();
  const std::string has = " " + l.extensions + " ";
  for (const std::string& e : program.device->extensions)
    if (has.find(" " + e + " ") == std::string::npos)
      fail("device-limit", {}, "`{}` needs {}, the extension `{}`, which `{}` does not have",
           program.name, meaning_of(e), e, device.name());
  for (const DeviceKernel& k : program.device->kernels) {
    if (const auto items = constant_items(k)) check_items(k, *items, device);
    if (k.local_bytes > l.local_bytes)
      fail("device-limit", {}, "kernel `{}` needs {} bytes of local memory; `{}` has {}", k.name,
           k.local_bytes, device.name(), l.local_bytes);
  }
}

void check_items(const DeviceKernel& k, const std::array<std::int64_t, 3>& items,
                 const Device& device) {
  const DeviceLimits& l = device.limits();
  const std::string hint =
      constant_items(k) ? ""
                        : ", and parameters decide how many there are; split_iname makes an inner "
                          "loop of fixed length";
  std::int64_t all = 1;
  for (const std::int64_t n : items) all = checked_mul(all, n, "a group of `" + k.name + "`");
  if (all > l.items_in_group)
    fail("device-limit", {},
         "kernel `{}` has groups of {} x {} x {} = {} work-items; `{}` allows {}{}", k.name,
         items[0], items[1], items[2], all, device.name(), l.items_in_group, hint);
  for (std::size_t i = 0; i < 3; ++i)
    if (items.at(i) > l.items.at(i))
      fail("device-limit", {}, "kernel `{}` has {} work-items along `l.{}`; `{}` allows {}{}",
           k.name, items.at(i), i, device.name(), l.items.at(i), hint);
}

}  // namespace moonloop
