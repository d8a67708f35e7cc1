#include "core/expr/type.h"

#include <algorithm>
#include <array>

namespace moonloop {
namespace {

struct Row {
  Scalar scalar;
  int size;
  std::array<std::string_view, 6> names;  // the first is the canonical one
};

// numpy's short codes count bytes (`f8`), ours count bits (`f64`). `i8` and `u8` would be claimed
// by both (one byte, or eight), so neither is accepted.
constexpr std::array<Row, 14> kRows{{
    {Scalar::Bool, 1, {"bool", "bool8", "b1", "?", "", ""}},
    {Scalar::I8, 1, {"int8", "i1", "", "", "", ""}},
    {Scalar::I16, 2, {"int16", "i16", "i2", "short", "", ""}},
    {Scalar::I32, 4, {"int32", "i32", "i4", "int", "", ""}},
    {Scalar::I64, 8, {"int64", "i64", "long", "", "", ""}},
    {Scalar::U8, 1, {"uint8", "u1", "", "", "", ""}},
    {Scalar::U16, 2, {"uint16", "u16", "u2", "", "", ""}},
    {Scalar::U32, 4, {"uint32", "u32", "u4", "uint", "", ""}},
    {Scalar::U64, 8, {"uint64", "u64", "ulong", "", "", ""}},
    {Scalar::F16, 2, {"float16", "f16", "f2", "half", "", ""}},
    {Scalar::F32, 4, {"float32", "f32", "f4", "float", "single", ""}},
    {Scalar::F64, 8, {"float64", "f64", "f8", "double", "", ""}},
    {Scalar::C64, 8, {"complex64", "c64", "c8", "", "", ""}},
    {Scalar::C128, 16, {"complex128", "c128", "c16", "", "", ""}},
}};

const Row& row(Scalar s) { return kRows[static_cast<std::size_t>(s)]; }

int alignment(const Type& t) {
  if (!t.is_record()) return is_complex(t.scalar) ? size_of(t.scalar) / 2 : size_of(t.scalar);
  int a = 1;
  for (const auto& f : t.record->fields) a = std::max(a, alignment(f.type));
  return a;
}

}  // namespace

bool is_integer(Scalar s) { return s >= Scalar::I8 && s <= Scalar::U64; }
bool is_unsigned(Scalar s) { return s >= Scalar::U8 && s <= Scalar::U64; }
bool is_real(Scalar s) { return s >= Scalar::F16 && s <= Scalar::F64; }
bool is_complex(Scalar s) { return s == Scalar::C64 || s == Scalar::C128; }
int size_of(Scalar s) { return row(s).size; }

bool Type::operator==(const Type& o) const {
  if (is_record() || o.is_record()) return record && o.record && record->name == o.record->name;
  return scalar == o.scalar;
}

std::string Type::str() const { return record ? record->name : std::string(row(scalar).names[0]); }

int Type::size() const {
  if (!record) return size_of(scalar);
  int at = 0;
  for (const auto& f : record->fields) {
    const int a = alignment(f.type);
    at = (at + a - 1) / a * a + f.type.size();
  }
  const int a = alignment(*this);
  return (at + a - 1) / a * a;
}

const Record::Field* Record::find(std::string_view field) const {
  const auto it =
      std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == field; });
  return it == fields.end() ? nullptr : &*it;
}

std::optional<Scalar> parse_scalar(std::string_view name) {
  if (!name.empty() && name[0] == '<') name.remove_prefix(1);  // numpy's little-endian mark
  if (name.empty()) return std::nullopt;
  for (const Row& r : kRows)
    if (std::find(r.names.begin(), r.names.end(), name) != r.names.end()) return r.scalar;
  return std::nullopt;
}

}  // namespace moonloop
