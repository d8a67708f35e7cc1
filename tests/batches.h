#pragma once
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/expr/evaluate.h"
#include "core/interpreter/interpreter.h"
#include "core/order/check_kernel.h"
#include "transforms/to_batched.h"

/// The oracle of `to_batched`: the kernel alone, once for each batch.
namespace moonloop::test {

using Sizes = std::vector<std::int64_t>;
using Scalars = std::map<std::string, std::int64_t>;

/// An array in memory, as its kernel declares it.
struct Memory {
  Sizes shape, strides;
  Type type;
  std::vector<char> data;

  Memory(const Argument& a, const Exprs& extents, const Scalars& scalars) : type(*a.type) {
    for (const Expr& e : extents) shape.push_back(evaluate(e, scalars, a.name));
    strides.assign(shape.size(), 1);
    std::int64_t size = 1;
    for (std::size_t n = 0; n < shape.size(); ++n) {
      const std::size_t axis = a.order == Order::F ? n : shape.size() - 1 - n;
      strides[axis] = size;
      size *= shape[axis];
    }
    data.resize(static_cast<std::size_t>(size * type.size()));
  }
  ArrayView view() { return {type, shape, strides, data.data()}; }
  std::size_t elements() const { return data.size() / static_cast<std::size_t>(type.size()); }
  char* at(std::int64_t element) { return &data[static_cast<std::size_t>(element * type.size())]; }

  /// Integers below 4, and reals half more: sums of them are exact.
  void fill(std::mt19937& random) {
    for (std::size_t n = 0; n < elements(); ++n) {
      const auto whole = static_cast<std::int32_t>(random() % 4);
      const double real = whole + 0.5;
      const auto single = static_cast<float>(real);
      char* const place = at(static_cast<std::int64_t>(n));
      switch (type.scalar) {
        case Scalar::F64: std::memcpy(place, &real, sizeof real); break;
        case Scalar::F32: std::memcpy(place, &single, sizeof single); break;
        default:  // little end first; of complex numbers, both parts are tiny
          std::memcpy(place, &whole, std::min(sizeof whole, static_cast<std::size_t>(type.size())));
      }
    }
  }
};

/// Copies `part`, which is all of `whole` at `batch` of this axis, from there or back.
inline void copy_part(Memory& whole, std::size_t axis, std::int64_t batch, Memory& part,
                      bool back) {
  Sizes at(part.shape.size(), 0);
  for (std::size_t n = 0; n < part.elements(); ++n) {
    std::int64_t own = 0, place = batch * whole.strides[axis];
    for (std::size_t d = 0; d < at.size(); ++d) {
      own += at[d] * part.strides[d];
      place += at[d] * whole.strides[d < axis ? d : d + 1];
    }
    char *const x = part.at(own), *const y = whole.at(place);
    std::memcpy(back ? y : x, back ? x : y, static_cast<std::size_t>(part.type.size()));
    for (std::size_t d = 0; d < at.size() && ++at[d] == part.shape[d]; ++d) at[d] = 0;
  }
}

/// The first array that the batched kernel leaves otherwise than three runs of the kernel alone;
/// empty where all are the same. Scalars that are not given are 1.25.
inline std::string different_batch(const Kernel& k, const BatchOptions& how, Scalars scalars) {
  constexpr std::int64_t kBatches = 3;
  const Kernel one = complete(k), all = complete(to_batched(k, how));
  scalars.emplace("nbatch", kBatches);
  Bindings whole;
  std::map<std::string, Memory> given, after;
  std::mt19937 random(7);
  for (const Argument& a : all.args) {
    if (!a.is_array) {
      whole.scalars[a.name].i = scalars.contains(a.name) ? scalars.at(a.name) : 0;
      whole.scalars[a.name].re = 1.25;
      continue;
    }
    Memory& m = given.emplace(a.name, Memory(a, *a.shape, scalars)).first->second;
    m.fill(random);
    whole.arrays[a.name] = after.emplace(a.name, m).first->second.view();
  }
  interpret(all, whole);
  const auto each = [&](const std::function<void(const Argument&, std::optional<std::size_t>)>& f) {
    for (const Argument& a : one.args) {
      const std::size_t axes = a.is_array ? a.shape->size() : 0;
      const bool own = given.contains(a.name) && given.at(a.name).shape.size() > axes;
      const std::size_t axis = (a.order == Order::C) != how.inside ? 0 : axes;
      f(a, own ? std::optional(axis) : std::nullopt);
    }
  };
  for (std::int64_t b = 0; b < kBatches; ++b) {
    Bindings alone;
    std::map<std::string, Memory> parts;
    each([&](const Argument& a, std::optional<std::size_t> axis) {
      if (axis) {
        Memory& m =
            parts.emplace(a.name, Memory(a, a.shape.value_or(Exprs{}), scalars)).first->second;
        copy_part(given.at(a.name), *axis, b, m, false);
        if (a.is_array)
          alone.arrays[a.name] = m.view();
        else
          std::memcpy(&alone.scalars[a.name].re, m.data.data(), sizeof(double));
      } else if (a.is_array) {
        alone.arrays[a.name] = given.at(a.name).view();
      } else {
        alone.scalars[a.name] = whole.scalars.at(a.name);
      }
    });
    interpret(one, alone);
    each([&](const Argument& a, std::optional<std::size_t> axis) {
      if (axis && a.is_array) copy_part(given.at(a.name), *axis, b, parts.at(a.name), true);
    });
  }
  for (const auto& [name, m] : given)
    if (m.data != after.at(name).data) return name;
  return {};
}

}  // namespace moonloop::test
