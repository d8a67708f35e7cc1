#pragma once
#include "core/model/call_binding.h"
#include "core/order/reference.h"

/// What a call of a kernel does to the caller's variables, known from the callee's body.
namespace moonloop {

/// The kernels that a kernel calls, and how the arrays lie that they get.
struct CalledKernels {
  std::map<std::string, std::shared_ptr<const CalledKernel>> all;
  std::map<std::string, Exprs> strides;  // by array of the caller
};
/// Null where `k` calls none.
std::shared_ptr<const CalledKernels> called_kernels(const Kernel& k);

/// Whether each call sets the argument, which has no axes, before it reads it: else the call counts
/// as one that reads it.
bool sets_first(const CalledKernel& called, const std::string& argument);

/// The accesses of an instruction that calls a kernel, reads first; nothing for others. An axis
/// along which the callee goes by itself, or as values of memory say, is a whole slice, not one of
/// a known extent. Cost: one walk over the callee, once for all calls of it.
std::optional<std::vector<Access>> call_accesses(const Instruction& insn,
                                                 const CalledKernels& called);

}  // namespace moonloop
