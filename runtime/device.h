#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"

/// Devices that programs for OpenCL and CUDA run on. Their libraries are opened at run time, so
/// that one binary runs with or without them.
namespace moonloop {

/// The capabilities of a device, as far as generated code depends on them.
struct DeviceLimits {
  std::int64_t items_in_group = 1;              // most work-items of a group
  std::array<std::int64_t, 3> items{1, 1, 1};   // most along each axis
  std::array<std::int64_t, 3> groups{1, 1, 1};  // most groups along each axis
  std::int64_t local_bytes = 0;                 // local memory of a group
  std::int64_t memory = 0;                      // bytes of global memory
  int compute_units = 0;
  bool has_double = true;
  bool is_gpu = true;            // else a processor, with work-items in its vectors
  double clock = 0;              // Hz; 0: not told
  std::int64_t cache_bytes = 0;  // of the last cache before its memory; 0: not told
  std::string extensions;        // of OpenCL, separated by spaces
};

/// The memory taken for `bytes`: not zero, and whole words, since atomic updates of less than a
/// word exchange the word around it.
inline std::size_t whole_words(std::size_t bytes) {
  return std::max<std::size_t>((bytes + 3) / 4 * 4, 16);
}

/// Memory on a device, given back with the object.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void upload(const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, std::size_t bytes) const = 0;
};

/// One argument of a kernel: memory, or the bytes of a scalar.
struct DeviceArgument {
  DeviceMemory* memory = nullptr;
  const void* scalar = nullptr;
  std::size_t bytes = 0;
};

/// Compiled kernels.
class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
  /// Puts kernel number `kernel` of the program in line. Fails `device-failed`.
  virtual void launch(int kernel, const std::vector<DeviceArgument>& args,
                      const std::array<std::int64_t, 3>& groups,
                      const std::array<std::int64_t, 3>& items) = 0;
};

/// Launches that a device remembers, to do them again as a whole.
class DeviceRecord {
 public:
  virtual ~DeviceRecord() = default;
  /// Puts all of them in line. Fails `device-failed`.
  virtual void run() = 0;
};

struct DeviceCompileOptions {
  bool contract = true;  // see CompileOptions
  bool optimize = true;  // off for users who doubt the device's compiler
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual const DeviceLimits& limits() const = 0;
  /// Fails `out-of-device-memory`.
  virtual std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) = 0;
  /// Fails `compiler-failed` with the compiler's log, `device-failed` when it lacks something that
  /// the program needs.
  virtual std::unique_ptr<DeviceModule> compile(const Program& program,
                                                const DeviceCompileOptions& options) = 0;
  /// From here to `stop_recording` launches are remembered and not run. Returns whether the device
  /// can do so.
  virtual bool start_recording() { return false; }
  virtual std::unique_ptr<DeviceRecord> stop_recording() { return nullptr; }
  /// Waits for all queued work. Fails `device-failed`.
  virtual void finish() = 0;
  /// Marks the start of the timed work, then its end: seconds on the device's own clock.
  virtual void start_clock() = 0;
  virtual double stop_clock() = 0;
};

/// Device number `n` of those that the target's library lists; -1: the first GPU, else the first
/// one. Fails `no-device`.
std::unique_ptr<Device> open_device(Target target, int n);
/// How many the target's library lists. Fails `no-device` when there is no library.
int count_devices(Target target);
std::unique_ptr<Device> open_opencl(int n);
std::unique_ptr<Device> open_cuda(int n);
int count_opencl();
int count_cuda();

/// Fails `device-limit` where a kernel of the program needs more than the device has, for any
/// values of the scalars.
void check_limits(const Program& program, const Device& device);
/// The same for a group of that many work-items along each axis.
void check_items(const DeviceKernel& k, const std::array<std::int64_t, 3>& items,
                 const Device& device);

}  // namespace moonloop
