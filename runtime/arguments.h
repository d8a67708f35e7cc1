#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/expr/evaluate.h"
#include "runtime/buffer.h"

/// From a kernel and the user's input to the memory it runs on.
///
/// Input: a kernel that went through complete(); values of scalars as text. Output: scalars and
/// buffers. Entry points: read_scalars(), then make_buffers() or make_buffer().
namespace moonloop {

/// `n=1024`, name and value as written.
using GivenValues = std::vector<std::pair<std::string, std::string>>;

/// One scalar argument with its value.
struct ScalarArgument {
  std::string name;
  Type type;
  ScalarValue value;
  bool made_up = false;  // not given: made like the elements of an array of that name
  std::string text() const;
};

/// Values of all scalar arguments of `k`, in declared order. A value is parsed by its argument's
/// type. Scalars in sizes, domains, assumptions and strides have to be given; any other scalar may
/// be left out. Values for names in `elsewhere` that `k` does not have are ignored.
///
/// Fails `unknown-parameter`, `repeated-parameter`, `bad-value`, `missing-parameter` (lists all
/// that are missing), `assumption-violated`, `unsupported` for scalars of record type.
std::vector<ScalarArgument> read_scalars(const Kernel& k, const GivenValues& given,
                                         const std::vector<std::string>& elsewhere = {});

/// The text of each scalar of `k` that is given. Fails `unknown-parameter`, `repeated-parameter`.
std::map<std::string, std::string> given_scalars(const Kernel& k, const GivenValues& given,
                                                 const std::vector<std::string>& elsewhere = {});

/// The integers among `given`, parsed by the types of a complete kernel. Fails as read_scalars()
/// does, but for `missing-parameter`.
Integers given_integers(const Kernel& k, const GivenValues& given,
                        const std::vector<std::string>& elsewhere = {});

/// Names of the scalar arguments, in declared order.
std::vector<std::string> scalar_names(const Kernel& k);

/// Parses one value: `3`, `-0x10`, `2.5e3`, `inf`, `true`, `1+2j`. Fails `bad-value`.
ScalarValue parse_value(const std::string& name, Scalar type, const std::string& text);
/// Stores a scalar in memory as C has it.
void store_value(Scalar type, const ScalarValue& value, void* at);

/// The integer ones, by name.
Integers integers_of(const std::vector<ScalarArgument>& scalars);

/// Names of the scalars that must be known before the kernel can run: those in shapes, strides,
/// offsets, domains and assumptions.
std::vector<std::string> size_parameters(const Kernel& k);

/// The layout of array argument `a`. Fails as evaluate() and Layout do.
Layout layout_of(const Argument& a, const Integers& values);

/// A buffer for every array argument, in declared order, filled by its name. Fails `too-large`.
std::vector<Buffer> make_buffers(const Kernel& k, const Integers& values);

/// The arguments in the interpreter's form.
Bindings bindings_of(const std::vector<ScalarArgument>& scalars,
                     const std::vector<Buffer>& buffers);

}  // namespace moonloop
