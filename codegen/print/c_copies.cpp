#include "codegen/print/c_printer.h"

// Copies on a device that run while work-items go on.
namespace moonloop {
namespace {

constexpr const char* kCopy =
    R"(template <class T>
static __device__ __forceinline__ void copy_ahead(T *to, T const *from, bool there) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from),
                 "n"(static_cast<int>(sizeof(T))), "r"(there ? static_cast<int>(sizeof(T)) : 0)
               : "memory");
#else
  *to = there ? *from : T(0);
#endif
}
)";

constexpr const char* kAwait =
    R"(template <int last>
static __device__ __forceinline__ void await_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group %0;" : : "n"(last) : "memory");
#endif
}
)";

}  // namespace

std::string Helpers::copy_ahead() {
  functions_["copy_ahead"] = kCopy;
  return "copy_ahead";
}

std::string Helpers::await_copies(int last) {
  functions_["await_copies"] = kAwait;
  return "await_copies<" + std::to_string(last) + ">";
}

void CPrinter::sync(const Sync& x) {
  if (x.in_flight) line(helpers_.await_copies(*x.in_flight) + "();");
  line(dialect_.barrier(x));
}

/// The element may not be there where the condition does not hold; then nothing reads from it.
void CPrinter::copy_ahead(const Expr& to, const Expr& value) {
  const auto* choice = value.as<Select>();
  const std::string there = choice ? expr_.value(choice->cond, Scalar::Bool) : "true";
  line(helpers_.copy_ahead() + "(&" + expr_.place(to) + ", &" +
       expr_.place(choice ? choice->yes : value) + ", " + there + ");");
}

}  // namespace moonloop
