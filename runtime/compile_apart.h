#pragma once
#include <functional>
#include <string>

namespace moonloop {

/// Runs a compiler that is a library in a process of its own, so that it may crash: NVRTC 13.0 does
/// on some programs, in its optimizer.
///
/// \param compiler  its name, for the error
/// \param work      compiles, and returns the result
/// \return          what `work` returned; an Error that it throws is thrown here
///
/// Fails `compiler-crashed` where the process ended by a signal, `cannot-start`.
/// Cost: a fork and a copy of the result through a pipe.
std::string compile_apart(const std::string& compiler, const std::function<std::string()>& work);

}  // namespace moonloop
