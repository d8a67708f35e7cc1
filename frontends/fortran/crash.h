#pragma once
#include <functional>

namespace moonloop::fortran {

/// Runs `f`, which calls Flang, and returns the signal by which it crashed in this thread, or 0.
/// After a crash nothing that `f` made is destroyed: its memory is lost, and its other resources,
/// files for example, have to be made by the caller. Exceptions of `f` pass through. Other threads
/// crash as usual.
int crash_of(const std::function<void()>& f);

}  // namespace moonloop::fortran
