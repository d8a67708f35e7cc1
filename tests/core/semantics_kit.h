#pragma once
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/infer/infer.h"
#include "core/interpreter/interpreter.h"
#include "core/order/check_kernel.h"
#include "tests/one_kernel.h"

/// Kernels as text, and runs of them on data, for the tests of inference and of the interpreter.
namespace kit {

using namespace moonloop;

/// The message, its code in brackets and the hint of `f`'s error; `ok` if it does not.
template <class F>
std::string failure(F f) {
  try {
    f();
    return "ok";
  } catch (const Error& e) {
    const Diagnostic& d = e.diagnostic();
    return d.text + " [" + d.code + "]" + (d.hint.empty() ? "" : "; " + d.hint);
  }
}
inline std::string completing(const std::string& text) {
  return failure([&] { complete(parsed(text)); });
}

inline std::string type_in(const Kernel& k, const std::string& name) {
  if (const Temporary* t = k.find_temporary(name)) return t->type ? t->type->str() : "?";
  const Argument* a = k.find_arg(name);
  return a && a->type ? a->type->str() : "?";
}
inline std::string shape_in(const Kernel& k, const std::string& name) {
  if (const Temporary* t = k.find_temporary(name)) return t->shape ? to_string(*t->shape) : "?";
  const Argument* a = k.find_arg(name);
  return a && a->shape ? to_string(*a->shape) : "?";
}

/// Data of a run: vectors by name, which must outlive it.
class Data {
 public:
  template <class T>
  Data& array(const std::string& name, Scalar type, std::vector<T>& v,
              const std::vector<std::int64_t>& shape = {}, bool fortran = false) {
    ArrayView a;
    a.type = type;
    a.shape =
        shape.empty() ? std::vector<std::int64_t>{static_cast<std::int64_t>(v.size())} : shape;
    a.strides.assign(a.shape.size(), 1);
    for (std::size_t n = 1; n < a.shape.size(); ++n) {
      const std::size_t r = a.shape.size();
      if (fortran) {
        a.strides[n] = a.strides[n - 1] * a.shape[n - 1];
      } else {
        a.strides[r - 1 - n] = a.strides[r - n] * a.shape[r - n];
      }
    }
    a.data = v.data();
    b_.arrays[name] = a;
    return *this;
  }
  Data& scalar(const std::string& name, std::int64_t v) {
    b_.scalars[name] = {v, static_cast<double>(v), 0};
    return *this;
  }
  Data& real(const std::string& name, double v) {
    b_.scalars[name] = {static_cast<std::int64_t>(v), v, 0};
    return *this;
  }
  void run(const Kernel& k) { interpret(k, b_); }
  void run(const std::string& text) { interpret(parsed(text), b_); }

 private:
  Bindings b_;
};

}  // namespace kit
