#include "tuning/hashes.h"

#include "tests/tuning/kit.h"

using namespace moonloop;          // NOLINT
using namespace moonloop::test;    // NOLINT
using namespace moonloop::tuning;  // NOLINT

namespace {

std::string hash_of(const std::string& kernels, std::size_t which = 0) {
  return kernel_hash(parse_kernels(add_source("test.loop", kernels)).at(which));
}

const char* const kPlain = R"(kernel twice(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
b[i] = 2*a[i]   {id=double}
)";

}  // namespace

TEST_CASE("hashes: a kernel's covers its meaning, not its text") {
  const std::string plain = hash_of(kPlain);
  CHECK(plain.size() == 64);
  CHECK(plain == hash_of(R"(# twice
kernel twice(
    n: i32, a: f64[n],

    b: float64[n])  # doubled
domain { [i]: i >= 0 and n > i }

for i
  b[i] = 2 * a[i]  {id = double}
end
)"));
  CHECK(plain == hash_of(R"(kernel twice(n: int32, a: float64[n], b)
domain {[i]: 0 <= i < n}
b[i] = 2*a[i]   {id=double}
)"));  // inferred
  for (const auto& [part, by] :
       std::vector<std::pair<std::string, std::string>>{{"2*a", "3*a"},
                                                        {"2*a[i]", "a[i]*2"},
                                                        {"0 <= i", "1 <= i"},
                                                        {"float64[n], b", "float32[n], b"},
                                                        {"kernel twice", "kernel double"},
                                                        {"id=double", "id=dbl"},
                                                        {"id=double", "id=double, tags=x"},
                                                        {"domain", "assume n >= 4\ndomain"}}) {
    std::string text = kPlain;
    text.replace(text.find(part), part.size(), by);
    CAPTURE(text);
    CHECK(plain != hash_of(text));
  }
}

TEST_CASE("hashes: a kernel's covers the kernels that it calls") {
  const auto text = [](const std::string& factor) {
    return "kernel scale(n: int32, x: float64[n])\ndomain {[j]: 0 <= j < n}\nx[j] = " + factor +
           "*x[j]\n\nkernel rows(n: int32, a: float64[n, n])\ndomain {[i]: 0 <= i < n}\n"
           "call scale(n, a[i, :])\n";
  };
  CHECK(hash_of(text("2"), 1) == hash_of(text(" 2 "), 1));
  CHECK(hash_of(text("2"), 1) != hash_of(text("3"), 1));
}

TEST_CASE("hashes: a script's covers its words, not comments and blanks") {
  const auto hash = [](const std::string& text) { return script_hash({text}, {}); };
  const std::string plain = hash("k = k:split_iname('i', 16)\nlocal a = b - -c\n");
  CHECK(plain == hash("#!/usr/bin/env lua\n-- a comment\nk=k:split_iname ( 'i' ,16 ) --[[ and\n "
                      "more ]] local a =\n  b- -c --[==[ ]] ]==]"));
  CHECK(plain != hash("k = k:split_iname('i', 17)\nlocal a = b - -c\n"));
  CHECK(plain != hash("k = k:split_iname('i ', 16)\nlocal a = b - -c\n"));
  CHECK(hash("a = 'x--y'") != hash("a = 'x"));
  CHECK(hash("a = [[x --y]]") != hash("a = [[x --z]]"));
  CHECK(hash("a = 'it\\'s' b = 1") != hash("a = 'it\\'s' b = 2"));
  CHECK(hash("a = b .. c") != hash("a = b . . c"));
  CHECK(hash("a = 1e-5") != hash("a = 1e - 5"));
  CHECK(hash("ab = 1") != hash("a b = 1"));
  CHECK(hash("a[b[1]] = 2 -- x") == hash("a [ b[1] ] = 2"));
  for (const char* torn : {"a = 'x", "--[[ x", "[==[ x", "a = \"x\\", "[", "[=", "-", "#", "'"})
    CHECK(hash(torn).size() == 64);
}

TEST_CASE("hashes: scripts in their order, and settings by name") {
  CHECK(script_hash({"a()", "b()"}, {}) != script_hash({"b()", "a()"}, {}));
  CHECK(script_hash({"a()", "b()"}, {}) != script_hash({"a() b()"}, {}));
  CHECK(script_hash({"a()"}, {{"x", "1"}, {"y", "2"}}) ==
        script_hash({"a()"}, {{"y", "2"}, {"x", "1"}}));
  CHECK(script_hash({"a()"}, {{"x", "1"}}) != script_hash({"a()"}, {{"x", "2"}}));
  CHECK(made_kernel_hash("a()", {}) == made_kernel_hash("a ( ) -- x", {}));
  CHECK(made_kernel_hash("a()", {}) != script_hash({"a()"}, {}));
}
