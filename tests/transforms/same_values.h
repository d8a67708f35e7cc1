#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/infer/infer.h"
#include "core/interpreter/interpreter.h"
#include "core/model/kernel.h"
#include "core/order/check_kernel.h"
#include "core/order/order.h"

/// Runs two kernels on the same data with the reference interpreter.
namespace moonloop {

using Params = std::map<std::string, std::int64_t>;

/// The arrays of a kernel after a run, by name, as bytes. Elements are filled from a fixed seed per
/// name: integers are in [0, 4), reals half more, so that sums of them are exact.
inline std::map<std::string, std::vector<char>> values_of(const Kernel& k, const Params& params) {
  const Kernel full = complete(k);
  std::map<std::string, std::vector<char>> storage;
  Bindings b;
  for (const Argument& a : full.args) {
    if (!a.is_array) {
      ScalarValue v;
      if (const auto it = params.find(a.name); it != params.end()) v.i = it->second;
      v.re = params.contains(a.name) ? double(v.i) : 1.5;
      b.scalars[a.name] = v;
      continue;
    }
    ArrayView view;
    view.type = *a.type;
    std::int64_t size = 1;  // in C order, whatever the kernel's: an element has its place in both
    for (const Expr& e : *a.shape) view.shape.push_back(evaluate(e, params).value());
    for (const std::int64_t n : view.shape) size *= n;
    view.strides.assign(view.shape.size(), 1);
    for (std::size_t i = view.shape.size(); i-- > 1;)
      view.strides[i - 1] = view.strides[i] * view.shape[i];
    std::mt19937 random(static_cast<unsigned>(std::hash<std::string>{}(a.name)));
    std::vector<char>& data = storage[a.name];
    data.resize(std::size_t(size * view.type.size()));
    for (std::int64_t i = 0; i < size; ++i) {
      const auto n = static_cast<std::int32_t>(random() % 4);
      const double x = n + 0.5;
      const float f = float(x);
      const std::size_t at = std::size_t(i * view.type.size());
      if (view.type.scalar == Scalar::F64)
        std::memcpy(&data[at], &x, sizeof x);
      else if (view.type.scalar == Scalar::F32)
        std::memcpy(&data[at], &f, sizeof f);
      else if (view.type.scalar == Scalar::Bool)
        data[at] = n % 2 != 0;
      else if (is_integer(view.type.scalar))
        std::memcpy(&data[at], &n,
                    std::min(sizeof n, std::size_t(view.type.size())));  // little end first
      else
        FAIL("no such element type here");
    }
    view.data = data.data();
    b.arrays[a.name] = view;
  }
  interpret(full, b);
  return storage;
}

/// Both kernels leave the same bytes in every array that both have.
inline bool same_values(const Kernel& a, const Kernel& b, const Params& params) {
  const auto x = values_of(a, params), y = values_of(b, params);
  bool any = false;
  for (const auto& [name, data] : y) {
    const auto it = x.find(name);
    if (it == x.end()) continue;
    any = true;
    if (it->second != data) return false;
  }
  return any;
}

}  // namespace moonloop
