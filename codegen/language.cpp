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

std::string ispc_type(Scalar s) {
  switch (s) {
    case Scalar::Bool: return "bool";
    case Scalar::I8: return "int8";
    case Scalar::I16: return "int16";
    case Scalar::I32: return "int32";
    case Scalar::I64: return "int64";
    case Scalar::U8: return "uint8";
    case Scalar::U16: return "uint16";
    case Scalar::U32: return "uint32";
    case Scalar::U64: return "uint64";
    case Scalar::F16: return "float16";
    case Scalar::F32: return "float";
    case Scalar::F64: return "double";
    case Scalar::C64:
    case Scalar::C128: break;  // refused before
  }
  throw InternalError("a complex number in ISPC");
}

struct Row {
  Target target;
  const char* name;
  Language language;
  TargetFeatures features;
};

const Row& row_of(Target t) {
  static const Row kRows[] = {
#define MOONLOOP_TARGET(id, name, language, features, dialect) \
  {Target::id, name, Language::language, features},
#include "codegen/targets.def"
#undef MOONLOOP_TARGET
  };
  return kRows[static_cast<std::size_t>(t)];
}

}  // namespace

const std::vector<Target>& all_targets() {
  static const std::vector<Target> kAll{
#define MOONLOOP_TARGET(id, name, language, features, dialect) Target::id,
#include "codegen/targets.def"
#undef MOONLOOP_TARGET
  };
  return kAll;
}

std::string to_string(Target t) { return row_of(t).name; }

std::optional<Target> parse_target(std::string_view name) {
  for (const Target t : all_targets())
    if (to_string(t) == name) return t;
  return std::nullopt;
}

std::string target_list(const std::string& last) {
  std::string out;
  for (const Target t : all_targets())
    out += (t == all_targets().front()  ? ""
            : t == all_targets().back() ? last
                                        : ", ") +
           to_string(t);
  return out;
}

const TargetFeatures& features_of(Target t) { return row_of(t).features; }
Language language_of(Target t) { return row_of(t).language; }

std::string language_name(Language language) {
  switch (language) {
    case Language::C: return "C";
    case Language::OpenCL: return "OpenCL C";
    case Language::Cuda: return "CUDA";
    case Language::Ispc: return "ISPC";
  }
  return "C";
}

Surroundings surroundings_of(Language language) {
  switch (language) {
    case Language::C: return Surroundings::C;
    case Language::OpenCL: return Surroundings::OpenCL;
    case Language::Cuda: return Surroundings::Cuda;
    case Language::Ispc: return Surroundings::Ispc;
  }
  return Surroundings::C;
}

bool is_device(Target t) { return features_of(t).device; }

bool has_headers(Language language) { return language != Language::Ispc; }

std::string type_name(Language language, const Type& t) {
  if (t.is_record()) return unreserved(surroundings_of(language), NameUse::Global, t.record->name);
  switch (language) {
    case Language::C: return c_type(t.scalar);
    case Language::Ispc: return ispc_type(t.scalar);
    case Language::OpenCL:
    case Language::Cuda: break;
  }
  return device_type(language, t.scalar);
}

std::string c_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out + "\"";
}

std::string field_name(Language language, const std::string& name) {
  return unreserved(surroundings_of(language), NameUse::Member, name);
}

std::string element_type(Language language, const Type& t) {
  const bool byte = language == Language::OpenCL && t == Type(Scalar::Bool);
  return byte ? "uchar" : type_name(language, t);
}

std::string math_function(Language language, const std::string& name, Scalar s) {
  if (language == Language::OpenCL || language == Language::Ispc) return name;
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
    case Language::Ispc: return "static uniform ";
  }
  return "";
}

std::string function_prefix(Language language) {
  switch (language) {
    case Language::C:
    case Language::Ispc: return "static inline ";
    case Language::OpenCL: return "";
    case Language::Cuda: return "static __host__ __device__ __forceinline__ ";
  }
  return "";
}

const std::vector<HostStep>& body_of(const HostStep& s) {
  if (const auto* loop = std::get_if<HostLoop>(&s.op)) return loop->body;
  return std::get<HostGuard>(s.op).body;
}

}  // namespace moonloop
