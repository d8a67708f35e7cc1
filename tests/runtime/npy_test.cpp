#include "runtime/npy.h"

#include "tests/runtime/support.h"

using namespace moonloop;
using test::error_of;
using test::Folder;
using test::slurp;
using test::spit;

namespace {

const Scalar kAll[] = {Scalar::Bool, Scalar::I8,  Scalar::I16, Scalar::I32, Scalar::I64,
                       Scalar::U8,   Scalar::U16, Scalar::U32, Scalar::U64, Scalar::F16,
                       Scalar::F32,  Scalar::F64, Scalar::C64, Scalar::C128};

Layout layout(Scalar type, std::vector<std::int64_t> shape, Order order) {
  Layout l{"a", type, std::move(shape), {}, 0};
  l.strides = contiguous(l.shape, order);
  return l;
}

/// A version 1 file with this dictionary and this content.
std::string npy(const std::string& dictionary, const std::string& content) {
  std::string out = "\x93NUMPY";
  out += '\1';
  out += '\0';
  out += static_cast<char>(dictionary.size() & 0xff);
  out += static_cast<char>(dictionary.size() >> 8);
  return out + dictionary + content;
}

std::string reading(const std::string& path, Scalar type, std::vector<std::int64_t> shape) {
  return error_of([&] {
    Buffer b(layout(type, std::move(shape), Order::C));
    read_npy(path, b);
  });
}

}  // namespace

TEST_CASE("npy: every type goes out and comes back, in both orders and from one to the other") {
  const Folder folder;
  for (const Scalar type : kAll)
    for (const Order from : {Order::C, Order::F})
      for (const Order to : {Order::C, Order::F}) {
        CAPTURE(Type(type).str());
        Buffer a(layout(type, {3, 4, 2}, from));
        a.fill("a");
        write_npy(folder / "a.npy", a);
        Buffer b(layout(type, {3, 4, 2}, to));
        read_npy(folder / "a.npy", b);
        CHECK(a.checksum().bytes == b.checksum().bytes);
        CHECK(a.first(24) == b.first(24));
      }
}

TEST_CASE("npy: the header says what numpy writes") {
  const Folder folder;
  Buffer c(layout(Scalar::F64, {2, 3}, Order::C));
  write_npy(folder / "c.npy", c);
  const std::string file = slurp(folder / "c.npy");
  CHECK(file.size() == 128 + 48);
  CHECK(file.substr(0, 8) == std::string("\x93NUMPY\1\0", 8));
  CHECK(file.substr(10, 59) == "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }");
  CHECK(file[127] == '\n');
  Buffer f(layout(Scalar::C64, {2, 3}, Order::F));
  write_npy(folder / "f.npy", f);
  CHECK(slurp(folder / "f.npy").substr(10, 58) ==
        "{'descr': '<c8', 'fortran_order': True, 'shape': (2, 3), }");
  Buffer v(layout(Scalar::Bool, {3}, Order::C));
  write_npy(folder / "v.npy", v);
  CHECK(slurp(folder / "v.npy").substr(10, 57) ==
        "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }");
}

TEST_CASE("npy: scalars, empty arrays, strides with gaps and offsets") {
  const Folder folder;
  Buffer scalar(layout(Scalar::I32, {}, Order::C));
  scalar.fill("s");
  write_npy(folder / "s.npy", scalar);
  Buffer again(layout(Scalar::I32, {}, Order::C));
  read_npy(folder / "s.npy", again);
  CHECK(again.first(1) == scalar.first(1));

  Buffer empty(layout(Scalar::F32, {3, 0}, Order::C));
  write_npy(folder / "e.npy", empty);
  Buffer none(layout(Scalar::F32, {3, 0}, Order::C));
  read_npy(folder / "e.npy", none);
  CHECK(none.first(1).empty());

  Buffer gaps(Layout{"g", Scalar::F64, {2, 3}, {10, -2}, 7});
  gaps.fill("g");
  write_npy(folder / "g.npy", gaps);
  Buffer plain(layout(Scalar::F64, {2, 3}, Order::C));
  read_npy(folder / "g.npy", plain);
  CHECK(plain.first(6) == gaps.first(6));
  read_npy(folder / "g.npy", gaps);
  CHECK(gaps.intact());
}

TEST_CASE("npy: an array without elements whose other extents are huge") {
  // Found by fuzzing under UBSan: its steps overflowed.
  Buffer b(Layout{"a", Scalar::F64, {0, std::int64_t{1} << 62}, {std::int64_t{1} << 62, 1}, 0});
  Cursor c(b);
  CHECK(!c);
  CHECK(b.intact());
}

TEST_CASE("npy: big-endian files and headers of versions 2 and 3 are read") {
  const Folder folder;
  spit(folder / "b.npy", npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }",
                             std::string("\x01\x02\xff\xfe", 4)));
  Buffer b(layout(Scalar::I16, {2}, Order::C));
  read_npy(folder / "b.npy", b);
  CHECK(b.first(2) == std::vector<std::string>{"258", "-2"});

  const std::string d = "{\"shape\": (1L,), \"fortran_order\": True, \"descr\": \"|u1\"}";
  for (const char version : {'\2', '\3'}) {
    std::string file = "\x93NUMPY";
    file += version;
    file += '\0';
    file += static_cast<char>(d.size());
    file += std::string(3, '\0') + d + "\x2a";
    spit(folder / "v.npy", file);
    Buffer u(layout(Scalar::U8, {1}, Order::C));
    read_npy(folder / "v.npy", u);
    CHECK(u.first(1) == std::vector<std::string>{"42"});
  }
}

TEST_CASE("npy: bad files are refused by name") {
  const Folder folder;
  const std::string path = folder / "x.npy";
  CHECK(reading(path, Scalar::F64, {2}) ==
        "cannot read `" + path + "`: No such file or directory [cannot-read]");
  CHECK(reading(folder.path(), Scalar::F64, {2}) ==
        "cannot read `" + folder.path() + "`: Is a directory [cannot-read]");
  spit(path, "not an array");
  CHECK(reading(path, Scalar::F64, {2}) ==
        "`" + path + "` is not an .npy file: it does not start with \\x93NUMPY [bad-npy]");
  const std::string good = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }";
  spit(path, npy(good, std::string(15, '\0')));
  CHECK(reading(path, Scalar::F64, {2}) ==
        "`" + path + "` is truncated: 15 of 16 bytes of the array are there [bad-npy]");
  spit(path, npy(good, std::string(17, '\0')));
  CHECK(reading(path, Scalar::F64, {2}) ==
        "`" + path + "` goes on after the array's 16 bytes [bad-npy]");
  spit(path, npy(good, std::string(16, '\0')));
  CHECK(reading(path, Scalar::F32, {2}) ==
        "`" + path + "` holds float64, but array `a` is of type float32 [npy-type]");
  CHECK(reading(path, Scalar::F64, {3}) ==
        "`" + path + "` has shape (2,), but array `a` has shape (3,) [npy-shape]");
  CHECK(reading(path, Scalar::F64, {2, 1}) ==
        "`" + path + "` has shape (2,), but array `a` has shape (2, 1) [npy-shape]");
  spit(path, npy(good, "").substr(0, 20));
  CHECK(reading(path, Scalar::F64, {2}) == "`" + path + "` is truncated in the header [bad-npy]");
  std::string version = npy(good, "");
  version[6] = 9;
  spit(path, version);
  CHECK(reading(path, Scalar::F64, {2}) ==
        "`" + path + "` has version 9.0 of the .npy format; 1.0 to 3.0 are known [bad-npy]");
}

TEST_CASE("npy: bad headers say what is wrong") {
  const auto parsing = [](const std::string& text) {
    return error_of([&] { parse_npy_header(text, "x.npy"); });
  };
  const auto bad = [](const std::string& what) {
    return "`x.npy` has a bad .npy header: " + what + " [bad-npy]";
  };
  CHECK(parsing("") == bad("expected `{` at byte 0"));
  CHECK(parsing("{'descr': '<f8', 'shape': (1,)}") == bad("no key `fortran_order`"));
  CHECK(parsing("{'descr': '<f8', 'fortran_order': False}") == bad("no key `shape`"));
  CHECK(parsing("{'shape': (1,), 'fortran_order': False}") == bad("no key `descr`"));
  CHECK(parsing("{'descr': '<f8', 'descr': '<f8'}") == bad("key `descr` occurs twice"));
  CHECK(parsing("{'colour': 'red'}") == bad("unknown key `colour`"));
  CHECK(parsing("{'fortran_order': 1}") == bad("`fortran_order` is neither True nor False"));
  CHECK(parsing("{'shape': (-1,)}") == bad("expected an extent at byte 11"));
  CHECK(parsing("{'shape': (99999999999999999999,)}") == bad("an extent overflows 64 bits"));
  CHECK(parsing("{'descr': '<f8") == bad("a string has no end"));
  CHECK(parsing("{'descr': '<f8', 'fortran_order': False, 'shape': ()} x") ==
        bad("something is after the dictionary"));
  CHECK(parsing("{'descr': '|O'}") ==
        "`x.npy` holds Python objects; only bool, integers, float16/32/64 and complex64/128 can be "
        "read [npy-type]");
  CHECK(parsing("{'descr': [('x', '<f8')]}") ==
        "`x.npy` holds records; only arrays of numbers can be read [npy-type]");
}

TEST_CASE("npy: a file appears whole or not at all") {
  const Folder folder;
  Buffer a(layout(Scalar::F64, {4}, Order::C));
  CHECK(error_of([&] { write_npy(folder / "no/such/a.npy", a); }) ==
        "cannot write `" + (folder / "no/such/a.npy") +
            "`: No such file or directory [cannot-write]");
  write_npy(folder / "a.npy", a);
  const std::string before = slurp(folder / "a.npy");
  a.fill("other");
  write_npy(folder / "a.npy", a);
  CHECK(slurp(folder / "a.npy") != before);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder.path())) ++files;
  CHECK(files == 1);  // nothing temporary is left
}
