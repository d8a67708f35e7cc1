#include "runtime/device.h"

#include "core/diagnostic.h"

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
    const std::int64_t items = k.items[0] * k.items[1] * k.items[2];
    if (items > l.items_in_group)
      fail("device-limit", {},
           "kernel `{}` has groups of {} x {} x {} = {} work-items; `{}` allows {}", k.name,
           k.items[0], k.items[1], k.items[2], items, device.name(), l.items_in_group);
    for (std::size_t i = 0; i < 3; ++i)
      if (k.items.at(i) > l.items.at(i))
        fail("device-limit", {}, "kernel `{}` has {} work-items along `l.{}`; `{}` allows {}",
             k.name, k.items.at(i), i, device.name(), l.items.at(i));
    if (k.local_bytes > l.local_bytes)
      fail("device-limit", {}, "kernel `{}` needs {} bytes of local memory; `{}` has {}", k.name,
           k.local_bytes, device.name(), l.local_bytes);
  }
}

}  // namespace moonloop
