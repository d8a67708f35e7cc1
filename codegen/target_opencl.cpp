#include "codegen/target.h"
#include "codegen/target_device.h"

namespace moonloop {
namespace {

class OpenCLDialect : public Dialect {
 public:
  void decorate(Block& block, const Plan& plan) const override {
    decorate_device(block, plan, [](int n) { return "unroll " + std::to_string(n); });
  }
  std::string atomic_update(bool) const override { return ""; }
  std::string atomic_write() const override { return ""; }
  std::string barrier(const Sync& s) const override {
    if (s.local && s.global) return "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
    return s.global ? "barrier(CLK_GLOBAL_MEM_FENCE);" : "barrier(CLK_LOCAL_MEM_FENCE);";
  }
  std::string kernel_head(const DeviceKernel& k) const override {
    return fmt::format("__kernel __attribute__((reqd_work_group_size({}, {}, {})))\nvoid {}(",
                       k.items[0], k.items[1], k.items[2], k.name);
  }
  std::string global_prefix() const override { return "__global "; }
  std::string local_prefix() const override { return "__local "; }
  std::string prelude(const std::string& text) const override {
    if (text.find("double") == std::string::npos) return "";
    return "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n\n";
  }
};

}  // namespace

std::unique_ptr<Dialect> make_opencl_dialect() { return std::make_unique<OpenCLDialect>(); }

}  // namespace moonloop
