#pragma once
#include <string>
#include <vector>

#include "codegen/codegen.h"

namespace moonloop {

/// What decides between the versions of a dispatch.
struct DispatchGuard {
  /// Bodies of functions of C that give the predicted seconds of each version; they take the
  /// kernel's integers as doubles of their names.
  std::string host, device;
  std::string condition;                            // of C in place of a comparison of these
  std::vector<std::string> host_says, device_says;  // comments, in lines
  std::vector<std::string> says;                    // of the comparison
  std::vector<std::string> parameters;              // those integers that decide
};

/// One C function of the kernel's name, with arrays of the host, that runs one of two versions of
/// the kernel: on the host, or on a device, where it copies the arrays to and back.
///
///     bool NAME_prefers_device(int32_t n);    what the guard says
///     void NAME(int32_t n, double *a);        what the guard chooses
///
/// In the environment, `MOONLOOP_DISPATCH=host` or `device` chooses instead. Where there is no
/// device, and none is asked for, the host's version runs, and the first time this is said on
/// standard error; what else fails on the device ends the program.
///
/// \param name    of the kernel; `host` and `device` are the programs of kernels with the names
/// that
///                dispatch_names() gives, `host` made with GenerateOptions::called, and for CUDA
///                `cxx`, `device` with `host_arrays`
/// \return        pieces of a unit in C, for CUDA in CUDA C++
///
/// Fails `unsupported` where check_dispatch() does, and where the arguments of both differ.
Pieces dispatch(const std::string& name, const Program& host, const Program& device,
                const DispatchGuard& guard);

/// The names of the kernels of both versions.
std::string dispatch_name(const std::string& name, Target version);

/// Fails `unsupported` for targets whose code cannot be in one unit, or of which none is a device.
void check_dispatch(Target host, Target device);

/// A header for it.
std::string dispatch_header(const std::string& name, const Program& host,
                            const DispatchGuard& guard);

}  // namespace moonloop
