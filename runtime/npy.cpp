#include "runtime/npy.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/diagnostic.h"
#include "runtime/file.h"

namespace moonloop {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = std::size_t{1} << 20;

/// A cursor over the header's dictionary.
class HeaderParser {
 public:
  HeaderParser(const std::string& text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    NpyHeader h;
    bool have_descr = false, have_order = false, have_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      bool* have = nullptr;
      if (key == "descr") {
        have = &have_descr;
        if (peek() == '[')
          fail("npy-type", {}, "`{}` holds records; only arrays of numbers can be read", path_);
        set_type(h, string());
      } else if (key == "fortran_order") {
        have = &have_order;
        h.fortran_order = boolean();
      } else if (key == "shape") {
        have = &have_shape;
        h.shape = shape();
      } else {
        bad(fmt::format("unknown key `{}`", printable(key)));
      }
      if (*have) bad(fmt::format("key `{}` occurs twice", key));
      *have = true;
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip();
    if (at_ != text_.size()) bad("something is after the dictionary");
    if (!have_descr) bad("no key `descr`");
    if (!have_order) bad("no key `fortran_order`");
    if (!have_shape) bad("no key `shape`");
    return h;
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    fail("bad-npy", {}, "`{}` has a bad .npy header: {}", path_, what);
  }
  static std::string printable(std::string s) {
    for (char& c : s)
      if (c < ' ' || c > '~') c = '?';
    return s.size() > 40 ? s.substr(0, 40) + "…" : s;
  }
  void skip() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) && text_[at_]) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(fmt::format("expected `{}` at byte {}", c, at_));
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') bad(fmt::format("expected a string at byte {}", at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) bad("a string has no end");
    const std::string s = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return s;
  }
  bool boolean() {
    skip();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (std::string_view(text_).substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    bad("`fortran_order` is neither True nor False");
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> out;
    expect('(');
    while (!accept(')')) {
      std::int64_t extent = 0;
      const char first = peek();
      if (first < '0' || first > '9') bad(fmt::format("expected an extent at byte {}", at_));
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
        if (__builtin_mul_overflow(extent, 10, &extent) ||
            __builtin_add_overflow(extent, text_[at_] - '0', &extent))
          bad("an extent overflows 64 bits");
      accept('L');  // Python 2 wrote long integers so
      out.push_back(extent);
      if (out.size() > 64) bad("more than 64 axes");
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return out;
  }

  void set_type(NpyHeader& h, const std::string& descr) const {
    struct Row {
      std::string_view code;
      Scalar type;
    };
    static constexpr Row rows[] = {{"b1", Scalar::Bool}, {"i1", Scalar::I8},   {"i2", Scalar::I16},
                                   {"i4", Scalar::I32},  {"i8", Scalar::I64},  {"u1", Scalar::U8},
                                   {"u2", Scalar::U16},  {"u4", Scalar::U32},  {"u8", Scalar::U64},
                                   {"f2", Scalar::F16},  {"f4", Scalar::F32},  {"f8", Scalar::F64},
                                   {"c8", Scalar::C64},  {"c16", Scalar::C128}};
    std::string_view code = descr;
    if (!code.empty() && std::strchr("<>|=", code[0])) {
      h.big_endian = code[0] == '>';
      code.remove_prefix(1);
    }
    for (const Row& row : rows)
      if (row.code == code) {
        h.type = row.type;
        return;
      }
    fail("npy-type", {},
         "`{}` holds {}; only bool, integers, float16/32/64 and complex64/128 can be read", path_,
         describe(code));
  }
  static std::string describe(std::string_view code) {
    if (code == "f16" || code == "f12" || code == "f10") return "long double";
    if (code == "c32" || code == "c24" || code == "c20") return "long double complex";
    switch (code.empty() ? '\0' : code[0]) {
      case 'S':
      case 'a': return "byte strings";
      case 'U': return "strings";
      case 'O': return "Python objects";
      case 'M':
      case 'm': return "dates or times";
      case 'V': return "raw records";
      default: return fmt::format("type `{}`", printable(std::string(code)));
    }
  }

  const std::string& text_;
  const std::string& path_;
  std::size_t at_ = 0;
};

/// A file or standard input, closed at the end.
class Input {
 public:
  explicit Input(const std::string& path) : path_(path) {
    file_ = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
    struct stat info {};
    if (!file_ || ::fstat(::fileno(file_), &info) != 0)
      fail("cannot-read", {}, "cannot read `{}`: {}", path, std::strerror(errno));
    if (S_ISDIR(info.st_mode)) {
      close();
      fail("cannot-read", {}, "cannot read `{}`: {}", path, std::strerror(EISDIR));
    }
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() { close(); }

  /// Reads up to `n` bytes; fewer only at the end.
  std::size_t read(void* to, std::size_t n) {
    const std::size_t got = std::fread(to, 1, n, file_);
    if (got < n && std::ferror(file_))
      fail("cannot-read", {}, "cannot read `{}`: {}", path_, std::strerror(errno));
    return got;
  }

 private:
  void close() {
    if (file_ && file_ != stdin) std::fclose(file_);
    file_ = nullptr;
  }
  const std::string& path_;
  std::FILE* file_ = nullptr;
};

NpyHeader read_header(Input& in, const std::string& path) {
  unsigned char start[8] = {};
  const std::size_t got = in.read(start, sizeof start);
  if (got < kMagic.size() || std::memcmp(start, kMagic.data(), kMagic.size()) != 0)
    fail("bad-npy", {}, "`{}` is not an .npy file: it does not start with \\x93NUMPY", path);
  const int version = start[6];
  if (got < sizeof start) fail("bad-npy", {}, "`{}` is truncated in the header", path);
  if (version < 1 || version > 3)
    fail("bad-npy", {}, "`{}` has version {}.{} of the .npy format; 1.0 to 3.0 are known", path,
         version, static_cast<int>(start[7]));
  unsigned char size[4] = {};
  const std::size_t width = version == 1 ? 2 : 4;
  if (in.read(size, width) < width) fail("bad-npy", {}, "`{}` is truncated in the header", path);
  const std::size_t length =
      size[0] | std::size_t{size[1]} << 8 | std::size_t{size[2]} << 16 | std::size_t{size[3]} << 24;
  if (length > kLongestHeader)
    fail("bad-npy", {}, "`{}` claims a header of {} bytes; the limit is {}", path, length,
         kLongestHeader);
  std::string text(length, '\0');
  if (in.read(text.data(), length) < length)
    fail("bad-npy", {}, "`{}` is truncated in the header", path);
  return parse_npy_header(text, path);
}

void swap_bytes(std::byte* at, std::size_t n, Scalar type) {
  const auto width = static_cast<std::size_t>(size_of(type)) / (is_complex(type) ? 2 : 1);
  for (std::size_t i = 0; i + width <= n; i += width) std::reverse(at + i, at + i + width);
}

std::string_view descr(Scalar s) {
  switch (s) {
    case Scalar::Bool: return "|b1";
    case Scalar::I8: return "|i1";
    case Scalar::I16: return "<i2";
    case Scalar::I32: return "<i4";
    case Scalar::I64: return "<i8";
    case Scalar::U8: return "|u1";
    case Scalar::U16: return "<u2";
    case Scalar::U32: return "<u4";
    case Scalar::U64: return "<u8";
    case Scalar::F16: return "<f2";
    case Scalar::F32: return "<f4";
    case Scalar::F64: return "<f8";
    case Scalar::C64: return "<c8";
    case Scalar::C128: return "<c16";
  }
  throw InternalError("unknown scalar type");
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

}  // namespace

NpyHeader parse_npy_header(const std::string& text, const std::string& path) {
  return HeaderParser(text, path).parse();
}

NpyHeader read_npy_header(const std::string& path) {
  Input in(path);
  return read_header(in, path);
}

void read_npy(const std::string& path, Buffer& to) {
  Input in(path);
  const NpyHeader header = read_header(in, path);
  const Layout& wanted = to.layout();
  if (!(Type(header.type) == wanted.type))
    fail("npy-type", {}, "`{}` holds {}, but array `{}` is of type {}", path,
         Type(header.type).str(), wanted.name, wanted.type.str());
  if (header.shape != wanted.shape)
    fail("npy-shape", {}, "`{}` has shape {}, but array `{}` has shape {}", path,
         shape_text(header.shape), wanted.name, shape_text(wanted.shape));

  Layout stored = wanted;
  stored.offset = 0;
  stored.strides = contiguous(stored.shape, header.fortran_order ? Order::F : Order::C);
  Buffer from(stored);
  const std::size_t got = in.read(from.data(), from.bytes());
  if (got < from.bytes())
    fail("bad-npy", {}, "`{}` is truncated: {} of {} bytes of the array are there", path, got,
         from.bytes());
  if (char more = 0; in.read(&more, 1) != 0)
    fail("bad-npy", {}, "`{}` goes on after the array's {} bytes", path, from.bytes());
  auto* bytes = static_cast<std::byte*>(from.data());
  if (header.big_endian) swap_bytes(bytes, from.bytes(), header.type);
  if (header.type == Scalar::Bool)  // C gives no meaning to a bool that is neither 0 nor 1
    for (std::size_t i = 0; i < from.bytes(); ++i)
      bytes[i] = bytes[i] == std::byte{0} ? std::byte{0} : std::byte{1};
  to.copy_elements(from);
}

void write_npy(const std::string& path, const Buffer& from) {
  Layout stored = from.layout();
  if (stored.type.is_record())
    fail("npy-type", {}, "array `{}` of record type {} cannot be written as .npy", stored.name,
         stored.type.str());
  const bool fortran = stored.strides == contiguous(stored.shape, Order::F) &&
                       stored.strides != contiguous(stored.shape, Order::C);
  stored.offset = 0;
  stored.strides = contiguous(stored.shape, fortran ? Order::F : Order::C);
  Buffer packed(stored);
  packed.copy_elements(from);

  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}",
                  descr(stored.type.scalar), fortran ? "True" : "False", shape_text(stored.shape));
  while ((kMagic.size() + 4 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  ensure(text.size() < 65536, "a version 1 header is shorter than 64 KiB");
  std::string head(kMagic);
  head += '\x01';
  head += '\0';
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  head += text;
  write_file(path, {head, {static_cast<const char*>(packed.data()), packed.bytes()}});
}

}  // namespace moonloop
