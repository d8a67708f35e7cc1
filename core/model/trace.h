#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "core/model/step.h"

namespace moonloop {

/// The steps that led to a kernel, first to last. Kernels made one from another share one list, and
/// each sees the part that led to it: a further step costs the same after a thousand others as
/// after none, except where two kernels are made from one.
class Trace {
 public:
  using const_iterator = std::deque<Step>::const_iterator;

  const_iterator begin() const { return log().begin(); }
  const_iterator end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// References stay valid while some kernel has the step.
  const Step& operator[](std::size_t i) const { return log()[i]; }
  const Step& front() const { return log().front(); }
  const Step& back() const { return log()[size_ - 1]; }

  void push_back(Step step) {
    if (!log_ || log_->size() != size_)  // another kernel has gone on from here
      log_ = std::make_shared<std::deque<Step>>(begin(), end());
    log_->push_back(std::move(step));
    ++size_;
  }

 private:
  const std::deque<Step>& log() const {
    static const std::deque<Step> none;
    return log_ ? *log_ : none;
  }

  std::shared_ptr<std::deque<Step>> log_;  // null: no steps
  std::size_t size_ = 0;                   // of these
};

}  // namespace moonloop
