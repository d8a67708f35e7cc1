#pragma once
#include <functional>

namespace moonloop::fortran {

/// Runs `f`, which is in Flang's hands, and gives the signal by which it crashed in this thread, or
/// 0. Then nothing that `f` made is destroyed: its memory is lost, and what else it holds, files
/// for example, has to be made by the caller. What `f` throws goes on. Other threads crash as ever.
int crash_of(const std::function<void()>& f);

}  // namespace moonloop::fortran
