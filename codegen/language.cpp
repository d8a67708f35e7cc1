#include "codegen/language.h"

#include "core/infer/typing.h"

namespace moonloop {
namespace {

std::string c_type(Scalar s) {
  switch (s) {
    case Scalar::Bool: return "bool";
    case Scalar::I8: return "int8_t";
    case Scalar::I16: return "int16_t";
    case Scalar::I32: return "int32_t";
    case Scalar::I64: return "int64_t";
    case Scalar::U8: return "uint8_t";
    case Scalar::U16: return "uint16_t";
    case Scalar::U32: return "uint32_t";
    case Scalar::U64: return "uint64_t";
    case Scalar::F16: return "_Float16";
    case Scalar::F32: return "float";
    case Scalar::F64: return "double";
    case Scalar::C64: return "float complex";
    case Scalar::C128: return "double complex";
  }
  return "";
}

/// The languages have the same widths for these on every device; C's headers are not there.
std::string device_type(Language language, Scalar s) {
  const bool cl = language == Language::OpenCL;
  switch (s) {
    case Scalar::I8: return cl ? "char" : "signed char";
    case Scalar::I16: return "short";
    case Scalar::I32: return "int";
    case Scalar::I64: return cl ? "long" : "long long";
    case Scalar::U8: return cl ? "uchar" : "unsigned char";
    case Scalar::F16:  // its bits
    case Scalar::U16: return cl ? "ushort" : "unsigned short";
    case Scalar::U32: return cl ? "uint" : "unsigned int";
    case Scalar::U64: return cl ? "ulong" : "unsigned long long";
    case Scalar::C64: return "float2";
    case Scalar::C128: return "double2";
    default: break;
  }
  return c_type(s);
}

}  // namespace

Language language_of(Target t) {
  switch (t) {
    case Target::C:
    case Target::OpenMP: return Language::C;
    case Target::OpenCL: return Language::OpenCL;
    case Target::Cuda: return Language::Cuda;
  }
  return Language::C;
}

Surroundings surroundings_of(Language language) {
  switch (language) {
    case Language::C: return Surroundings::C;
    case Language::OpenCL: return Surroundings::OpenCL;
    case Language::Cuda: return Surroundings::Cuda;
  }
  return Surroundings::C;
}

bool is_device(Target t) { return language_of(t) != Language::C; }

std::string type_name(Language language, const Type& t) {
  if (t.is_record()) return unreserved(surroundings_of(language), NameUse::Global, t.record->name);
  return language == Language::C ? c_type(t.scalar) : device_type(language, t.scalar);
}

std::string field_name(Language language, const std::string& name) {
  return unreserved(surroundings_of(language), NameUse::Member, name);
}

std::string element_type(Language language, const Type& t) {
  const bool byte = language == Language::OpenCL && t == Type(Scalar::Bool);
  return byte ? "uchar" : type_name(language, t);
}

std::string math_function(Language language, const std::string& name, Scalar s) {
  if (language == Language::OpenCL) return name;
  const bool single = (is_complex(s) ? real_part(s) : s) == Scalar::F32;
  return (is_complex(s) ? "c" : "") + name + (single ? "f" : "");
}

std::string hardware_id(Language language, bool group, int axis) {
  if (language == Language::OpenCL)
    return std::string(group ? "get_group_id(" : "get_local_id(") + std::to_string(axis) + ")";
  return std::string(group ? "blockIdx." : "threadIdx.") + "xyz"[axis];
}

std::string table_prefix(Language language) {
  switch (language) {
    case Language::C: return "static ";
    case Language::OpenCL: return "__constant ";
    case Language::Cuda: return "static __constant__ ";
  }
  return "";
}

std::string function_prefix(Language language) {
  switch (language) {
    case Language::C: return "static inline ";
    case Language::OpenCL: return "";
    case Language::Cuda: return "static __host__ __device__ __forceinline__ ";
  }
  return "";
}

}  // namespace moonloop
