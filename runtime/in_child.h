#pragma once
#include <functional>
#include <string>

/// Work that may be stopped from outside, or crash, without harm to the caller.
namespace moonloop {

struct ChildResult {
  bool stopped = false;  // by the caller
  int signal = 0;        // that ended the child; 0: none
  std::string text;      // what `work` returned, when neither holds
};

/// Runs `work` in a child process, a copy of this one at this moment, and waits for it. `stop` is
/// called when a signal has come in; on true the child is killed. What the child starts dies with
/// it when the terminal interrupts them all. Fails `cannot-start`.
ChildResult run_in_child(const std::function<std::string()>& work,
                         const std::function<bool()>& stop = {});

}  // namespace moonloop
