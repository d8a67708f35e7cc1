#include "runtime/arguments.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>

#include "core/base/diagnostic.h"
#include "core/base/half.h"
#include "core/infer/typing.h"
#include "core/model/domain.h"
#include "core/model/layout.h"
#include "core/order/check_ranges.h"

namespace moonloop {
namespace {

[[noreturn]] void bad_value(const std::string& name, Scalar type, const std::string& text) {
  fail("bad-value", {}, "`{}` is not a value of `{}`, which is of type {}", text, name,
       Type(type).str());
}

/// The longest prefix of `at` that is a number of type float64; moves `at` past it.
std::optional<double> real_prefix(const char*& at) {
  if (std::isspace(static_cast<unsigned char>(*at))) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(at, &end);
  if (end == at) return std::nullopt;
  at = end;
  return value;
}

std::optional<ScalarValue> parse_complex(const std::string& text) {
  const char* at = text.c_str();
  const auto first = real_prefix(at);
  if (!first) return std::nullopt;
  if (*at == '\0') return ScalarValue{0, *first, 0};
  if (std::strcmp(at, "j") == 0) return ScalarValue{0, 0, *first};
  if (*at != '+' && *at != '-') return std::nullopt;
  const auto second = real_prefix(at);
  if (!second || std::strcmp(at, "j") != 0) return std::nullopt;
  return ScalarValue{0, *first, *second};
}

std::optional<ScalarValue> parse_integer(Scalar type, const std::string& text) {
  const bool negative = text[0] == '-';
  const std::string digits = text.substr(negative || text[0] == '+' ? 1 : 0);
  if (digits.empty() || !std::isdigit(static_cast<unsigned char>(digits[0]))) return std::nullopt;
  const bool hex = digits.size() > 2 && digits[0] == '0' && (digits[1] | 32) == 'x';
  char* end = nullptr;
  errno = 0;
  const std::uint64_t size = std::strtoull(digits.c_str(), &end, hex ? 16 : 10);
  if (*end != '\0' || errno == ERANGE) return std::nullopt;
  const int bits = 8 * size_of(type);
  const std::uint64_t most = is_unsigned(type)
                                 ? std::numeric_limits<std::uint64_t>::max() >> (64 - bits)
                                 : (std::uint64_t{1} << (bits - 1)) - 1;
  if (negative ? (is_unsigned(type) ? size > 0 : size > most + 1) : size > most)
    return std::nullopt;
  return ScalarValue{static_cast<std::int64_t>(negative ? 0 - size : size), 0, 0};
}

/// The value that an array of this name would begin with.
ScalarValue made_up(const Argument& a) {
  Buffer b(Layout{a.name, *a.type, {}, {}, 0});
  b.fill(a.name);
  ScalarValue out;
  const Scalar s = a.type->scalar;
  if (s == Scalar::F16) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, b.data(), b.bytes());
    out.re = half_value(bits);
  } else if (s == Scalar::F32 || s == Scalar::C64) {
    float parts[2] = {0, 0};
    std::memcpy(parts, b.data(), b.bytes());
    out.re = parts[0], out.im = parts[1];
  } else if (s == Scalar::F64 || s == Scalar::C128) {
    double parts[2] = {0, 0};
    std::memcpy(parts, b.data(), b.bytes());
    out.re = parts[0], out.im = parts[1];
  } else {
    std::memcpy(&out.i, b.data(), b.bytes());  // small and not negative
  }
  return out;
}

void collect(const std::optional<Exprs>& es, std::set<std::string>& out) {
  if (es)
    for (const Expr& e : *es) collect_vars(e, out);
}

/// Fails where the values violate the kernel's assumptions.
void check_assumptions(const Kernel& k, const Integers& values) {
  if (!k.assumptions) return;
  Set left = k.assumptions;
  std::string shown;
  for (const std::string& p : param_names(left)) {
    const auto it = values.find(p);
    if (it == values.end()) continue;
    const int pos = isl_set_find_dim_by_name(left.get(), isl_dim_param, p.c_str());
    left = isl_set_fix_val(left.take(), isl_dim_param, static_cast<unsigned>(pos),
                           isl_val_int_from_si(isl(), it->second));
    shown += fmt::format("{}{} = {}", shown.empty() ? "" : ", ", p, it->second);
  }
  if (!yes(isl_set_is_empty(left.get()))) return;
  fail("assumption-violated", k.at, "with {}, what kernel `{}` assumes does not hold: {}", shown,
       k.name, to_string(from_set(k.assumptions)));
}

template <class T>
void put(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

ScalarValue parse_value(const std::string& name, Scalar type, const std::string& text) {
  if (text.empty()) bad_value(name, type, text);
  std::optional<ScalarValue> out;
  if (type == Scalar::Bool) {
    if (text == "true" || text == "1") out = ScalarValue{1, 0, 0};
    if (text == "false" || text == "0") out = ScalarValue{0, 0, 0};
  } else if (is_integer(type)) {
    out = parse_integer(type, text);
  } else if (is_real(type)) {
    const char* at = text.c_str();
    const auto value = real_prefix(at);
    if (value && *at == '\0') out = ScalarValue{0, *value, 0};
  } else {
    out = parse_complex(text);
  }
  if (!out) bad_value(name, type, text);
  if (type == Scalar::F16) out->re = half_value(half_bits(static_cast<float>(out->re)));
  if (real_part(type) == Scalar::F32) {
    // Through memory: GCC 12 at -O2 takes a pair of conversions to float and back for no change.
    const volatile float re = static_cast<float>(out->re), im = static_cast<float>(out->im);
    out->re = re, out->im = im;
  }
  return *out;
}

void store_value(Scalar type, const ScalarValue& v, void* at) {
  switch (type) {
    case Scalar::Bool:
    case Scalar::I8:
    case Scalar::U8: return put(at, static_cast<std::uint8_t>(v.i));
    case Scalar::I16:
    case Scalar::U16: return put(at, static_cast<std::uint16_t>(v.i));
    case Scalar::I32:
    case Scalar::U32: return put(at, static_cast<std::uint32_t>(v.i));
    case Scalar::I64:
    case Scalar::U64: return put(at, v.i);
    case Scalar::F16: return put(at, half_bits(static_cast<float>(v.re)));
    case Scalar::F32: return put(at, static_cast<float>(v.re));
    case Scalar::F64: return put(at, v.re);
    case Scalar::C64:
      return put(at, std::array{static_cast<float>(v.re), static_cast<float>(v.im)});
    case Scalar::C128: return put(at, std::array{v.re, v.im});
  }
  throw InternalError("unknown scalar type");
}

std::string ScalarArgument::text() const {
  std::array<std::byte, 16> raw{};
  store_value(type.scalar, value, raw.data());
  return scalar_text(type.scalar, raw.data());
}

std::vector<std::string> size_parameters(const Kernel& k) {
  std::set<std::string> needed;
  for (const Argument& a : k.args) {
    collect(a.shape, needed);
    collect(a.strides, needed);
    if (a.offset) collect_vars(a.offset, needed);
  }
  for (const auto& [name, t] : k.temporaries) collect(t.shape, needed);
  for (const Domain& d : k.domains)
    for (const std::string& p : d.params()) needed.insert(p);
  if (k.assumptions)
    for (const std::string& p : param_names(k.assumptions)) needed.insert(p);
  std::vector<std::string> out;
  for (const Argument& a : k.args)
    if (!a.is_array && needed.count(a.name)) out.push_back(a.name);
  return out;
}

std::vector<std::string> scalar_names(const Kernel& k) {
  std::vector<std::string> out;
  for (const Argument& a : k.args)
    if (!a.is_array) out.push_back(a.name);
  return out;
}

std::map<std::string, std::string> given_scalars(const Kernel& k, const GivenValues& given,
                                                 const std::vector<std::string>& elsewhere) {
  const std::vector<std::string> known = scalar_names(k);
  std::map<std::string, std::string> text;
  for (const auto& [name, value] : given) {
    const Argument* a = k.find_arg(name);
    if (a && a->is_array)
      fail("unknown-parameter", a->at, "`{}` is an array; read it with `--in {}=FILE.npy`", name,
           name);
    if (!a && std::find(elsewhere.begin(), elsewhere.end(), name) != elsewhere.end()) continue;
    if (!a)
      fail("unknown-parameter", k.at, "kernel `{}` has no scalar `{}`; it has {}{}", k.name, name,
           known.empty() ? "none" : quoted_list(known), did_you_mean(name, known));
    if (!text.emplace(name, value).second)
      fail("repeated-parameter", {}, "`{}` is given twice, as {} and {}", name, text[name], value);
  }
  return text;
}

Integers given_integers(const Kernel& k, const GivenValues& given,
                        const std::vector<std::string>& elsewhere) {
  std::vector<ScalarArgument> out;
  for (const auto& [name, text] : given_scalars(k, given, elsewhere)) {
    const Argument& a = *k.find_arg(name);
    ensure(a.type.has_value(), "a completed kernel's arguments have types");
    if (!a.type->is_record())
      out.push_back({name, *a.type, parse_value(name, a.type->scalar, text), false});
  }
  check_assumptions(k, integers_of(out));
  return integers_of(out);
}

std::vector<ScalarArgument> read_scalars(const Kernel& k, const GivenValues& given,
                                         const std::vector<std::string>& elsewhere) {
  const std::map<std::string, std::string> text = given_scalars(k, given, elsewhere);
  std::vector<std::string> missing;
  for (const std::string& p : size_parameters(k))
    if (!text.count(p)) missing.push_back(p);
  if (!missing.empty())
    fail("missing-parameter", k.at, "kernel `{}` needs a value of {}; give `-p {}=VALUE`", k.name,
         quoted_list(missing), missing.front());

  std::vector<ScalarArgument> out;
  for (const Argument& a : k.args) {
    if (a.is_array) continue;
    ensure(a.type.has_value(), "a completed kernel's arguments have types");
    if (a.type->is_record())
      fail("unsupported", a.at, "scalar `{}` of record type {} cannot be passed", a.name,
           a.type->str());
    const auto it = text.find(a.name);
    if (it == text.end())
      out.push_back({a.name, *a.type, made_up(a), true});
    else
      out.push_back({a.name, *a.type, parse_value(a.name, a.type->scalar, it->second), false});
  }
  check_assumptions(k, integers_of(out));
  check_ranges(k, integers_of(out));
  return out;
}

Integers integers_of(const std::vector<ScalarArgument>& scalars) {
  Integers out;
  for (const ScalarArgument& s : scalars)
    if (is_integer(s.type.scalar) || s.type.scalar == Scalar::Bool) out[s.name] = s.value.i;
  return out;
}

Layout layout_of(const Argument& a, const Integers& values) {
  ensure(a.type && a.shape, "a completed kernel's arrays have types and shapes");
  Layout out{a.name, *a.type, {}, {}, 0};
  for (std::size_t d = 0; d < a.shape->size(); ++d) {
    if (as_int((*a.shape)[d]) == kUnknownExtent)
      throw Error(Diagnostic{"unknown-shape",
                             fmt::format("nothing says how far axis {} of `{}` reaches, so that no "
                                         "values can be made for it",
                                         d, a.name),
                             {a.at, {}},
                             {},
                             fmt::format("read it from a file, with `--in {}=FILE.npy`", a.name)});
    out.shape.push_back(
        evaluate((*a.shape)[d], values, fmt::format("extent {} of array `{}`", d, a.name)));
  }
  out.elements();  // before strides of it are made
  if (a.strides)
    for (std::size_t d = 0; d < a.strides->size(); ++d)
      out.strides.push_back(
          evaluate((*a.strides)[d], values, fmt::format("stride {} of array `{}`", d, a.name)));
  else
    out.strides = contiguous(out.shape, a.order);
  if (a.offset) out.offset = evaluate(a.offset, values, fmt::format("the offset of `{}`", a.name));
  return out;
}

namespace {

/// Checks that with these sizes too no two elements of an array that the kernel writes share a
/// place.
void check_written_strides(const Kernel& k, const Argument& a, const Layout& l) {
  const auto same = same_place(l.shape, l.strides);
  if (!same || std::none_of(k.instructions.begin(), k.instructions.end(),
                            [&](const InsnPtr& i) { return writes(*i).count(a.name) > 0; }))
    return;
  fail("bad-strides", a.at,
       "strides [{}] put {} of shape [{}] in one place, and kernel `{}` writes `{}`",
       fmt::join(l.strides, ", "), same->text(a.name), fmt::join(l.shape, ", "), k.name, a.name);
}

}  // namespace

std::vector<Buffer> make_buffers(const Kernel& k, const Integers& values) {
  std::vector<Buffer> out;
  for (const Argument& a : k.args) {
    if (!a.is_array) continue;
    Layout layout = layout_of(a, values);
    if (a.strides) check_written_strides(k, a, layout);
    out.emplace_back(std::move(layout));
    out.back().fill(a.name);
  }
  return out;
}

Bindings bindings_of(const std::vector<ScalarArgument>& scalars,
                     const std::vector<Buffer>& buffers) {
  Bindings out;
  for (const ScalarArgument& s : scalars) out.scalars[s.name] = s.value;
  for (const Buffer& b : buffers) out.arrays[b.layout().name] = b.view();
  return out;
}

}  // namespace moonloop
