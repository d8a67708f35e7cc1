#include "runtime/device.h"

#include "core/diagnostic.h"

namespace moonloop {

std::unique_ptr<Device> open_device(Target target, int n) {
  return target == Target::Cuda ? open_cuda(n) : open_opencl(n);
}

int count_devices(Target target) { return target == Target::Cuda ? count_cuda() : count_opencl(); }

void check_limits(const Program& program, const Device& device) {
  const DeviceLimits& l = device.limits();
  if (program.device->uses_double && !l.has_double)
    fail("device-limit", {}, "kernel `{}` computes in double precision, which `{}` does not have",
         program.name, device.name());
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
