#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moonloop {

enum class Scalar { Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, C64, C128 };

bool is_integer(Scalar s);  // signed and unsigned; Bool is not an integer
bool is_unsigned(Scalar s);
bool is_real(Scalar s);  // F16, F32, F64
bool is_complex(Scalar s);
int size_of(Scalar s);  // bytes

struct Record;

/// The type of a value: a scalar, or a record of named fields.
struct Type {
  Scalar scalar = Scalar::F64;
  std::shared_ptr<const Record> record;  // when set, `scalar` is meaningless

  Type() = default;
  Type(Scalar s) : scalar(s) {}  // NOLINT: a scalar is a type
  bool is_record() const { return record != nullptr; }
  bool operator==(const Type& o) const;
  /// `float64`, `int32`, `complex128`, `bool`, or the record's name.
  std::string str() const;
  int size() const;  // bytes, with C's padding rules for records
};

struct Record {
  std::string name;
  struct Field {
    std::string name;
    Type type;
  };
  std::vector<Field> fields;
  const Field* find(std::string_view field) const;
};

/// Accepts `float64`, `f64`, `<f8`-style `f8`, `half`, `int32`, `i32`, `i4`, `double`, `float`,
/// `complex128`, `c128`, `c16`, `bool` and their kin; nothing for an unknown name, nor for `i8` and
/// `u8`, which mean one byte here and eight bytes in numpy.
std::optional<Scalar> parse_scalar(std::string_view name);

}  // namespace moonloop
