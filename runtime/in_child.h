#pragma once
#include <chrono>
#include <functional>
#include <string>

/// Work that may be stopped from outside, or crash, without harm to the caller.
namespace moonloop {

struct ChildLimits {
  double seconds = 0;      // from its start on; 0: any
  double memory = 0;       // bytes that it may take besides what this process has; 0: any
  bool gives_way = false;  // to other processes that want the same processor
};

struct ChildResult {
  bool stopped = false;  // by the caller, or at its limit of time
  bool late = false;     // at its limit of time
  bool ended = false;    // by itself, before its work was done
  int signal = 0;        // that ended the child; 0: none
  std::string text;      // what `work` returned, when none of them holds
};

/// Work in a child process, a copy of this one at its start, beside which this one goes on. It ends
/// with this process, however that ends, and so does what it starts by fork.
class ChildProcess {
 public:
  /// Fails `cannot-start`.
  explicit ChildProcess(const std::function<std::string()>& work, const ChildLimits& limits = {});
  /// Ends it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Has something to read when there may be news.
  int file() const { return file_; }
  /// Takes what there is without waiting, and ends the child at its limit of time. True once there
  /// is a result.
  bool done();
  /// Ends it and all that it has started.
  void stop();
  const ChildResult& result() const { return result_; }

 private:
  void wait();

  int file_ = -1;  // -1: done
  int child_ = 0;
  std::chrono::steady_clock::time_point start_;
  double seconds_ = 0;
  ChildResult result_;
};

/// Runs `work` in a child process and waits for it. `stop` is called when a signal has come in; on
/// true the child is stopped. Fails `cannot-start`.
ChildResult run_in_child(const std::function<std::string()>& work,
                         const std::function<bool()>& stop = {}, const ChildLimits& limits = {});

}  // namespace moonloop
