#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
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
  /// From now on `run` does what it did the last time as one piece of work, where the device can
  /// record it and it had more than one launch: the device waits less for the host between them.
  void record();
  /// Waits, then copies the arrays that the program writes back.
  void download(std::vector<Buffer>& buffers);

 private:
  /// A number of groups or work-items, found once where no loop of the host decides it.
  struct Number {
    Expr expression;
    std::string what;
    bool fixed = false;
    std::optional<std::int64_t> known;

    std::int64_t of(const Integers& values);
  };
  /// A kernel with its arguments: a host's loop may launch it many times.
  struct Launch {
    std::array<Number, 3> items, groups;
    bool items_checked = false;
    std::vector<DeviceArgument> args;
    std::vector<std::string> inames;    // arguments that are variables of the host's loops,
    std::vector<std::int64_t> numbers;  // and their values, to which `args` point
  };

  Launch launch_of(const DeviceKernel& k);
  void steps(const std::vector<HostStep>& all, Integers& values);
  void launch(int kernel, const Integers& values);

  Device& device_;
  Program program_;
  Integers scalars_;
  std::map<std::string, std::vector<std::byte>> scalar_bytes_;
  std::map<std::string, std::unique_ptr<DeviceMemory>> memory_;
  DeviceModule& module_;
  std::vector<Launch> launches_;  // by kernel
  std::int64_t launched_ = 0;     // by the last run
  std::unique_ptr<DeviceRecord> record_;
};

}  // namespace moonloop
