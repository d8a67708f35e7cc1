#include "codegen/print/target.h"
#include "core/infer/typing.h"

namespace moonloop {
namespace {

class CudaDialect : public Dialect {
 public:
  void decorate(Block& block, const Plan& plan, const CNames&) const override {
    mark_unrolled(block, plan, "unroll ");
  }
  std::string atomic_update(bool) const override { return ""; }
  std::string atomic_write() const override { return ""; }
  std::string barrier(const Sync&) const override { return "__syncthreads();"; }
  std::string kernel_head(const DeviceKernel& k) const override {
    std::string bounds;
    if (const auto items = constant_items(k))
      bounds = fmt::format(" __launch_bounds__({})", (*items)[0] * (*items)[1] * (*items)[2]);
    return fmt::format("extern \"C\" __global__{}\nvoid {}(", bounds, k.name);
  }
  std::string local_prefix() const override { return "__shared__ "; }
  std::int64_t most_declared_bytes() const override { return 48 * 1024; }
  std::string given_memory() const override {
    return "extern __shared__ __align__(16) unsigned char local_memory[];";
  }
  std::string given_memory_name() const override { return "local_memory"; }
  // CUDA C++ Programming Guide, technical specifications per compute capability: 227 KiB from 9.0
  // on, 163 KiB in 8.0, 96 KiB in 7.0, 64 KiB in 7.5, 99 KiB in 8.6, 8.9 and 12.0.
  std::int64_t most_given_bytes() const override { return 227 * 1024; }
  std::string largest_device() const override { return "sm_90"; }
  std::string aligned_prefix() const override { return "__align__(16) "; }
  std::string restrict_word() const override { return "__restrict__"; }
  std::string atomic_function(const std::string& op, Scalar s) const override {
    if (op == "add") return "atomicAdd";
    if (is_real(s)) return "";
    return op == "min" ? "atomicMin" : "atomicMax";
  }
  std::string atomic_call(const std::string& function, const std::string& pointer,
                          const std::string& value, Scalar s) const override {
    if (function == "atomicAdd" && s == Scalar::I64)  // the same bits either way
      return function + "((unsigned long long *)" + pointer + ", (unsigned long long)(" + value +
             "))";
    return function + "(" + pointer + ", " + value + ")";
  }
  AtomicWords atomic_words(Scalar s, bool) const override {
    const bool wide = size_of(s) == 8;
    const std::string word = wide ? "unsigned long long" : "int";
    AtomicWords w{word + " *", word, "atomicCAS", "", ""};
    if (s == Scalar::F32) w.to_value = "__int_as_float", w.to_word = "__float_as_int";
    if (s == Scalar::C64) w.to_value = "pair_of_word", w.to_word = "word_of_pair";
    if (s == Scalar::F64) w.to_value = "__longlong_as_double", w.to_word = "__double_as_longlong";
    return w;
  }
  bool combines_updates() const override { return true; }
  std::string swap() const override { return "atomicExch"; }
  std::string fence() const override { return "__threadfence();"; }
  /// NVRTC has no headers of C.
  std::string prelude(const std::set<Feature>& used) const override {
    std::string out;
    if (used.count(Feature::Infinity))
      out += "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n";
    if (used.count(Feature::NotANumber))
      out += "#ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif\n";
    if (used.count(Feature::PairAsWord))
      out +=
          "static __device__ __forceinline__ float2 pair_of_word(unsigned long long w) {\n"
          "  return make_float2(__uint_as_float((unsigned)w), __uint_as_float((unsigned)(w >> "
          "32)));\n}\n"
          "static __device__ __forceinline__ unsigned long long word_of_pair(float2 z) {\n"
          "  return (unsigned long long)__float_as_uint(z.y) << 32 | __float_as_uint(z.x);\n}\n";
    return out.empty() ? out : out + "\n";
  }
};

}  // namespace

std::unique_ptr<Dialect> make_cuda_dialect();  // codegen/targets.def
std::unique_ptr<Dialect> make_cuda_dialect() { return std::make_unique<CudaDialect>(); }

}  // namespace moonloop
