#include "runtime/buffer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/base/diagnostic.h"
#include "core/base/half.h"
#include "core/expr/evaluate.h"

static_assert(std::endian::native == std::endian::little,
              "checksums and .npy assume little-endian");

namespace moonloop {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kGuard = 256;
constexpr int kGuardByte = 0xA5;

template <class T>
T read(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void write(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

/// Alignment as C has it: that of the largest scalar part.
int alignment(const Type& type) {
  if (!type.is_record()) return size_of(type.scalar) / (is_complex(type.scalar) ? 2 : 1);
  int most = 1;
  for (const auto& f : type.record->fields) most = std::max(most, alignment(f.type));
  return most;
}

void add_leaves(const Type& type, std::size_t at, const std::string& path, std::vector<Leaf>& out) {
  if (!type.is_record()) {
    out.push_back({at, type.scalar, path});
    return;
  }
  std::size_t offset = 0;
  for (const auto& f : type.record->fields) {
    const auto a = static_cast<std::size_t>(alignment(f.type));
    offset = (offset + a - 1) / a * a;
    add_leaves(f.type, at + offset, path.empty() ? f.name : path + "." + f.name, out);
    offset += static_cast<std::size_t>(f.type.size());
  }
}

/// Sebastiano Vigna's public-domain mixing function (prng.di.unimi.it/splitmix64.c).
std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double unit64(std::uint64_t x) { return static_cast<double>(x >> 11) * 0x1p-53; }
/// Below 1 in float16 too, where halves of steps would round up.
float unit11(std::uint64_t x) { return static_cast<float>(x >> 53) * 0x1p-11f; }
float unit32(std::uint64_t x) { return static_cast<float>(x >> 40) * 0x1p-24f; }

/// Writes the value(s) number `position`, … of the stream `seed`; returns the next position.
std::uint64_t generate(Scalar s, void* at, std::uint64_t seed, std::uint64_t position) {
  const std::uint64_t x = splitmix64(seed + position);
  const std::uint64_t y = splitmix64(seed + position + 1);
  const auto small = static_cast<std::int8_t>(x % 10);
  switch (s) {
    case Scalar::Bool: write<std::uint8_t>(at, x & 1); return position + 1;
    case Scalar::I8: write<std::int8_t>(at, small); return position + 1;
    case Scalar::I16: write<std::int16_t>(at, small); return position + 1;
    case Scalar::I32: write<std::int32_t>(at, small); return position + 1;
    case Scalar::I64: write<std::int64_t>(at, small); return position + 1;
    case Scalar::U8: write<std::uint8_t>(at, small); return position + 1;
    case Scalar::U16: write<std::uint16_t>(at, small); return position + 1;
    case Scalar::U32: write<std::uint32_t>(at, small); return position + 1;
    case Scalar::U64: write<std::uint64_t>(at, small); return position + 1;
    case Scalar::F16: write<std::uint16_t>(at, half_bits(unit11(x))); return position + 1;
    case Scalar::F32: write<float>(at, unit32(x)); return position + 1;
    case Scalar::F64: write<double>(at, unit64(x)); return position + 1;
    case Scalar::C64: write<std::array<float, 2>>(at, {unit32(x), unit32(y)}); return position + 2;
    case Scalar::C128:
      write<std::array<double, 2>>(at, {unit64(x), unit64(y)});
      return position + 2;
  }
  throw InternalError("unknown scalar type");
}

/// The value as float64 parts, for sums.
std::array<double, 2> parts(Scalar s, const void* at) {
  switch (s) {
    case Scalar::Bool: return {read<std::uint8_t>(at) ? 1.0 : 0.0, 0};
    case Scalar::I8: return {static_cast<double>(read<std::int8_t>(at)), 0};
    case Scalar::I16: return {static_cast<double>(read<std::int16_t>(at)), 0};
    case Scalar::I32: return {static_cast<double>(read<std::int32_t>(at)), 0};
    case Scalar::I64: return {static_cast<double>(read<std::int64_t>(at)), 0};
    case Scalar::U8: return {static_cast<double>(read<std::uint8_t>(at)), 0};
    case Scalar::U16: return {static_cast<double>(read<std::uint16_t>(at)), 0};
    case Scalar::U32: return {static_cast<double>(read<std::uint32_t>(at)), 0};
    case Scalar::U64: return {static_cast<double>(read<std::uint64_t>(at)), 0};
    case Scalar::F16: return {static_cast<double>(half_value(read<std::uint16_t>(at))), 0};
    case Scalar::F32: return {static_cast<double>(read<float>(at)), 0};
    case Scalar::F64: return {read<double>(at), 0};
    case Scalar::C64: {
      const auto z = read<std::array<float, 2>>(at);
      return {z[0], z[1]};
    }
    case Scalar::C128: return read<std::array<double, 2>>(at);
  }
  throw InternalError("unknown scalar type");
}

/// Neumaier's compensated sum (ZAMM 54, 1974); non-finite values go through as they are.
struct Sum {
  double sum = 0, rest = 0;
  void add(double x) {
    const double t = sum + x;
    if (std::isfinite(t)) rest += std::abs(sum) >= std::abs(x) ? (sum - t) + x : (x - t) + sum;
    sum = t;
  }
  double value() const { return sum + rest; }
};

template <class T>
std::string complex_text(const std::array<T, 2>& z) {
  return std::signbit(z[1]) ? fmt::format("{}{}j", z[0], z[1]) : fmt::format("{}+{}j", z[0], z[1]);
}

}  // namespace

std::uint64_t fnv1a(const void* data, std::size_t n, std::uint64_t hash) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < n; ++i) hash = (hash ^ p[i]) * 0x100000001b3u;
  return hash;
}

std::vector<Leaf> leaves(const Type& type) {
  std::vector<Leaf> out;
  add_leaves(type, 0, "", out);
  return out;
}

std::string Layout::str() const {
  return fmt::format("{}[{}]", type.str(), fmt::join(shape, ", "));
}

std::int64_t Layout::elements() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      fail("negative-extent", {}, "array `{}` of shape [{}] has a negative extent", name,
           fmt::join(shape, ", "));
  }
  // An empty array is empty whatever its other extents are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const std::int64_t extent : shape)
    n = checked_mul(n, extent, fmt::format("the number of elements of `{}`", name));
  return n;
}

std::int64_t Layout::storage() const {
  ensure(strides.size() == shape.size(), "a layout has one stride per axis");
  if (elements() == 0) return 0;
  const std::string what = fmt::format("the storage of `{}`", name);
  std::int64_t low = offset, high = offset;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const std::int64_t reach = checked_mul(shape[a] - 1, strides[a], what);
    std::int64_t& end = reach < 0 ? low : high;
    end = checked_add(end, reach, what);
  }
  if (low < 0)
    fail("bad-layout", {},
         "array `{}`: shape [{}] with strides [{}] and offset {} puts an element {} before the "
         "start",
         name, fmt::join(shape, ", "), fmt::join(strides, ", "), offset, -low);
  return checked_add(high, 1, what);
}

std::vector<std::int64_t> contiguous(const std::vector<std::int64_t>& shape, Order order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const std::size_t a = order == Order::F ? n : shape.size() - 1 - n;
    strides[a] = step;
    step = checked_mul(step, std::max<std::int64_t>(shape[a], 1), "a stride");
  }
  return strides;
}

Buffer::Buffer(Layout layout) : layout_(std::move(layout)) {
  const std::int64_t size = checked_mul(layout_.storage(), layout_.type.size(),
                                        fmt::format("the storage of `{}`", layout_.name));
  bytes_ = static_cast<std::size_t>(size);
  constexpr auto limit = std::size_t{1} << 62;
  const std::size_t rounded = (bytes_ + kAlign - 1) / kAlign * kAlign;
  void* p = rounded > limit ? nullptr : std::aligned_alloc(kAlign, rounded + 2 * kGuard);
  if (!p)
    fail("too-large", {}, "no memory for array `{}`, {} of {} bytes", layout_.name, layout_.str(),
         bytes_);
  memory_.reset(p);
  std::memset(p, kGuardByte, kGuard);
  data_ = static_cast<std::byte*>(p) + kGuard;
  std::memset(data_, 0, bytes_);
  std::memset(data_ + bytes_, kGuardByte, rounded - bytes_ + kGuard);
}

ArrayView Buffer::view() const {
  return {layout_.type, layout_.shape, layout_.strides,
          data_ + layout_.offset * layout_.type.size()};
}

bool Buffer::intact() const {
  const auto untouched = [](const std::byte* p, std::size_t n) {
    return std::all_of(p, p + n, [](std::byte b) { return b == std::byte{kGuardByte}; });
  };
  const std::size_t rounded = (bytes_ + kAlign - 1) / kAlign * kAlign;
  return untouched(data_ - kGuard, kGuard) && untouched(data_ + bytes_, rounded - bytes_ + kGuard);
}

Cursor::Cursor(const Buffer& b)
    : shape_(b.layout().shape),
      steps_(b.layout().strides),
      index_(shape_.size(), 0),
      left_(b.layout().elements()) {
  if (left_ == 0) return;  // its other extents may have any size
  const std::int64_t size = b.layout().type.size();
  for (std::int64_t& step : steps_) step *= size;
  at_ = static_cast<std::byte*>(b.data()) + b.layout().offset * size;
}

void Cursor::next() {
  if (--left_ == 0) return;
  for (std::size_t a = shape_.size() - 1;; --a) {
    at_ += steps_[a];
    if (++index_[a] < shape_[a]) return;
    at_ -= steps_[a] * shape_[a];
    index_[a] = 0;
  }
}

void Buffer::fill(const std::string& name) {
  const std::uint64_t seed = fnv1a(name.data(), name.size());
  const std::vector<Leaf> parts_of = leaves(layout_.type);
  std::uint64_t position = 0;
  for (Cursor c(*this); c; c.next())
    for (const Leaf& leaf : parts_of)
      position = generate(leaf.scalar, c.at() + leaf.offset, seed, position);
}

void Buffer::copy_elements(const Buffer& from) {
  ensure(layout_.shape == from.layout_.shape && layout_.type == from.layout_.type,
         "elements are copied between arrays of the same shape and type");
  if (layout_.strides == from.layout_.strides && layout_.offset == from.layout_.offset)
    return copy_storage(from);
  const auto size = static_cast<std::size_t>(layout_.type.size());
  Cursor source(from);
  for (Cursor c(*this); c; c.next(), source.next()) std::memcpy(c.at(), source.at(), size);
}

void Buffer::copy_storage(const Buffer& from) {
  ensure(bytes_ == from.bytes_, "storage is copied between arrays of the same layout");
  if (bytes_) std::memcpy(data_, from.data_, bytes_);
}

Checksum Buffer::checksum() const {
  const std::vector<Leaf> parts_of = leaves(layout_.type);
  Sum re, im;
  std::uint64_t hash = fnv1a(nullptr, 0);
  for (Cursor c(*this); c; c.next())
    for (const Leaf& leaf : parts_of) {
      const std::array<double, 2> z = parts(leaf.scalar, c.at() + leaf.offset);
      re.add(z[0]);
      im.add(z[1]);
      hash = fnv1a(c.at() + leaf.offset, static_cast<std::size_t>(size_of(leaf.scalar)), hash);
    }
  return {re.value(), im.value(), hash};
}

std::vector<std::string> Buffer::first(std::size_t n) const {
  std::vector<std::string> out;
  const std::vector<Leaf> parts_of = leaves(layout_.type);
  for (Cursor c(*this); c && out.size() < n; c.next())
    out.push_back(element_text(parts_of, c.at()));
  return out;
}

std::string scalar_text(Scalar scalar, const void* at) {
  switch (scalar) {
    case Scalar::Bool: return read<std::uint8_t>(at) ? "true" : "false";
    case Scalar::I8: return fmt::format("{}", static_cast<int>(read<std::int8_t>(at)));
    case Scalar::I16: return fmt::format("{}", read<std::int16_t>(at));
    case Scalar::I32: return fmt::format("{}", read<std::int32_t>(at));
    case Scalar::I64: return fmt::format("{}", read<std::int64_t>(at));
    case Scalar::U8: return fmt::format("{}", static_cast<int>(read<std::uint8_t>(at)));
    case Scalar::U16: return fmt::format("{}", read<std::uint16_t>(at));
    case Scalar::U32: return fmt::format("{}", read<std::uint32_t>(at));
    case Scalar::U64: return fmt::format("{}", read<std::uint64_t>(at));
    case Scalar::F16: return fmt::format("{}", half_value(read<std::uint16_t>(at)));
    case Scalar::F32: return fmt::format("{}", read<float>(at));
    case Scalar::F64: return fmt::format("{}", read<double>(at));
    case Scalar::C64: return complex_text(read<std::array<float, 2>>(at));
    case Scalar::C128: return complex_text(read<std::array<double, 2>>(at));
  }
  throw InternalError("unknown scalar type");
}

std::string element_text(const std::vector<Leaf>& all, const std::byte* at) {
  if (all.size() == 1 && all[0].path.empty()) return scalar_text(all[0].scalar, at);
  std::string out;
  for (const Leaf& leaf : all)
    out += fmt::format("{}{}: {}", out.empty() ? "{" : ", ", leaf.path,
                       scalar_text(leaf.scalar, at + leaf.offset));
  return out + "}";
}

std::string index_text(const std::vector<std::int64_t>& shape, std::int64_t position) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t a = shape.size(); a-- > 0; position /= shape[a]) index[a] = position % shape[a];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

}  // namespace moonloop
