#pragma once
#include <memory>
#include <vector>

#include "runtime/arguments.h"
#include "runtime/device.h"

namespace moonloop {

/// A program for a device with the memory that it runs on.
class DeviceCall {
 public:
  /// Allocates. `module`: the program compiled on the device. Fails as Device does.
  DeviceCall(Device& device, const Program& program, DeviceModule& module,
             const std::vector<ScalarArgument>& scalars, const std::vector<Buffer>& buffers);
  /// Copies all arrays to the device.
  void upload(const std::vector<Buffer>& buffers);
  void upload(const Buffer& buffer);  // one of them
  /// Runs the program once: all its kernels, in the host's loops. Does not wait.
  void run();
  /// Waits, then copies the arrays that the program writes back.
  void download(std::vector<Buffer>& buffers);

 private:
  void steps(const std::vector<HostStep>& all, Integers& values);
  void launch(int kernel, const Integers& values);

  Device& device_;
  Program program_;
  Integers scalars_;
  std::map<std::string, std::vector<std::byte>> scalar_bytes_;
  std::map<std::string, std::unique_ptr<DeviceMemory>> memory_;
  DeviceModule& module_;
};

}  // namespace moonloop
