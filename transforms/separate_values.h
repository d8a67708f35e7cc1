#pragma once
#include <string>

#include "core/model/kernel.h"

namespace moonloop {

/// Gives the values that one instruction writes to an array a temporary of their own, of the same
/// shape, from which they are read.
///
///     b[i] = f(a[i])    {id=s}              b_s[i] = f(a[i])    {id=s}
///     c[j] = b[j - 1] + b[j]                value(x) := b_s[x] if 1 <= x < n else b[x]
///     b[k] = g(c[k])                        c[j] = value(j - 1) + value(j)
///                                           b[k] = g(c[k])
///
/// (`s` is in a loop 1 <= i < n.) The rule, `value_of_<name>`, is made where some of the elements
/// that are read hold other values. So steps of a time loop no longer overwrite what others read,
/// and assignment_to_subst and precompute may then compute several in one pass.
///
/// Refuses  unknown-instruction; no-definition: not a plain assignment to elements of an array;
///          name-taken; unsupported: initial values, shared memory, flat subscripts, a record
///          no-use         nothing reads the values
///          still-needed   a value is in the array when the kernel ends; the instance
///          other-value    an element is read with this value and, from elsewhere, with another one
///          not-proved     subscripts or conditions that depend on data
/// Cost     isl for each read and each other write of the array
Kernel separate_values(const Kernel& k, const std::string& insn_id, const std::string& name);

}  // namespace moonloop
