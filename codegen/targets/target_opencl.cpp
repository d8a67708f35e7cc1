#include <algorithm>

#include "codegen/language.h"
#include "codegen/print/target.h"

namespace moonloop {
namespace {

class OpenCLDialect : public Dialect {
 public:
  void decorate(Block& block, const Plan& plan, const CNames&) const override {
    mark_unrolled(block, plan, "unroll ");
  }
  std::string atomic_update(bool) const override { return ""; }
  std::string atomic_write() const override { return ""; }
  std::string barrier(const Sync& s) const override {
    if (s.local && s.global) return "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
    return s.global ? "barrier(CLK_GLOBAL_MEM_FENCE);" : "barrier(CLK_LOCAL_MEM_FENCE);";
  }
  std::string kernel_head(const DeviceKernel& k) const override {
    std::string size;
    if (const auto items = constant_items(k))
      size = fmt::format(" __attribute__((reqd_work_group_size({})))", fmt::join(*items, ", "));
    return fmt::format("__kernel{}\nvoid {}(", size, k.name);
  }
  std::string global_prefix() const override { return "__global "; }
  std::string local_prefix() const override { return "__local "; }
  std::string aligned_prefix() const override { return "__attribute__((aligned(16))) "; }
  std::string atomic_function(const std::string& op, Scalar s) const override {
    if (!is_integer(s)) return "";
    return (size_of(s) == 8 ? "atom_" : "atomic_") + op;
  }
  AtomicWords atomic_words(Scalar s, bool local) const override {
    const bool wide = size_of(s) == 8;
    const std::string word = wide ? "long" : "int";
    return {std::string("volatile ") + (local ? "__local " : "__global ") + word + " *", word,
            wide ? "atom_cmpxchg" : "atomic_cmpxchg", "as_" + type_name(Language::OpenCL, s),
            "as_" + word};
  }
  std::string swap() const override { return "atomic_xchg"; }
  std::string fence() const override {
    return "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
  }
  std::vector<std::string> extensions(const std::set<Feature>& used) const override {
    std::vector<std::string> out;
    if (used.count(Feature::Fp64)) out.emplace_back("cl_khr_fp64");
    if (used.count(Feature::Int64Atomics)) out.emplace_back("cl_khr_int64_base_atomics");
    if (used.count(Feature::Int64Extremes)) out.emplace_back("cl_khr_int64_extended_atomics");
    return out;
  }
  std::string prelude(const std::set<Feature>& used) const override {
    std::string out;
    for (const std::string& e : extensions(used))
      out += "#pragma OPENCL EXTENSION " + e + " : enable\n";
    return out.empty() ? out : out + "\n";
  }
};

}  // namespace

std::unique_ptr<Dialect> make_opencl_dialect();  // codegen/targets.def
std::unique_ptr<Dialect> make_opencl_dialect() { return std::make_unique<OpenCLDialect>(); }

}  // namespace moonloop
