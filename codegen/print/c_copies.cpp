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

/// Of 16 bytes, and of smaller elements.
constexpr const char* kCopyBytes =
    R"(template <class T>
static __device__ __forceinline__ void copy_bytes_ahead(void *to, void const *from, bool there) {
#if __CUDA_ARCH__ >= 800
  unsigned const at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (sizeof(T) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(at), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(at), "l"(from), "n"(sizeof(T) < 16 ? static_cast<int>(sizeof(T)) : 8),
                   "r"(there ? static_cast<int>(sizeof(T)) : 0)
                 : "memory");
#else
  *static_cast<T *>(to) = there ? *static_cast<T const *>(from) : T();
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

std::string Helpers::copy_bytes_ahead(std::int64_t bytes) {
  functions_["copy_bytes_ahead"] = kCopyBytes;
  return std::string("copy_bytes_ahead<") +
         (bytes == 16  ? "uint4"
          : bytes == 8 ? "uint2"
                       : "unsigned") +
         ">";
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
/// `bytes`: of all elements that are copied.
void CPrinter::copy_ahead(const Expr& to, const Expr& value, std::int64_t bytes) {
  const auto* choice = value.as<Select>();
  const std::string there = choice ? expr_.value(choice->cond, Scalar::Bool) : "true";
  const bool one = bytes == expr_.type(to).size();
  line((one ? helpers_.copy_ahead() : helpers_.copy_bytes_ahead(bytes)) + "(&" + expr_.place(to) +
       ", &" + expr_.place(choice ? choice->yes : value) + ", " + there + ");");
}

/// The copies of a `vec` loop, if it has any that run while work-items go on, several elements at
/// once. False: each runs by itself.
bool CPrinter::lanes_ahead(const Run& run, const Loop& x) {
  const auto ahead = plan_.bytes_ahead.find(run.insn);
  if (ahead == plan_.bytes_ahead.end() || as_int(x.lower) != 0) return false;
  const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run.insn)];
  const std::int64_t elements = ahead->second / expr_.type(insn.lhs[0]).size();
  if (elements < 1 || x.lanes % elements != 0 ||
      plan_.expansions.contains(written_name(insn.lhs[0])))
    return false;
  aligned_.insert(written_name(insn.lhs[0]));
  expr_.within_domains(true);
  for (std::int64_t i = 0; i < x.lanes; i += elements) {
    std::map<std::string, Expr> values;
    for (const auto& [iname, e] : run.values) values.emplace(iname, without_truncation(e));
    values[x.iname] = lit(i);
    expr_.set_instruction(run.insn, values);
    copy_ahead(expr_.with_values(insn.lhs[0], values), expr_.with_values(insn.rhs, values),
               ahead->second);
  }
  expr_.within_domains(false);
  return true;
}

}  // namespace moonloop
