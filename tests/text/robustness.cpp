#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/text/helpers.h"

using namespace moonloop;
using namespace moonloop::testing;

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> out;
  const std::filesystem::path root = std::filesystem::path(MOONLOOP_SOURCE_DIR) / "examples";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".loop") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string repeated(const std::string& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

}  // namespace

TEST_CASE("every example parses, prints and parses back") {
  CHECK(examples().size() >= 10);
  for (const auto& path : examples()) {
    CAPTURE(path.string());
    for (const Kernel& k : parse_all(read(path))) check_round_trip(k);
  }
}

TEST_CASE("a loop that does not follow from the names is printed as a block") {
  const Kernel k =
      body("for j\n  a[i] = 1 {id=x}\n  b[i] = 2\n  for i\n    c = 3\n  end\nend\nd[i] = 4\n");
  const std::string text = print_kernel(k);
  CHECK(text.substr(text.find("for j")) ==
        "for j\n  a[i] = 1  {id=x}\n  b[i] = 2  {id=insn}\nend\nfor i\n  for j\n    c = 3  "
        "{id=insn_0}\n"
        "  end\nend\nd[i] = 4  {id=insn_1}\n");
  check_round_trip(k);
}

TEST_CASE("an instruction outside of loops that its names suggest says so") {
  Kernel k = body("<> t = a[i] {id=w}\nb = t {id=r}\n");
  k.instructions[1] = edit(k.instructions[1], [](Instruction& i) { i.inames.clear(); });
  CHECK(print_kernel(k).find("b = t  {id=r, inames=}") != std::string::npos);
  check_round_trip(k);
  k.instructions[0] = edit(k.instructions[0], [](Instruction& i) { i.inames = {"i", "j"}; });
  k.instructions[1] = edit(k.instructions[1], [](Instruction& i) { i.inames = {"j"}; });
  check_round_trip(k);
}

TEST_CASE("dependencies that the parser would add to are printed as final") {
  const Kernel k = body("a[i] = t {id=r, dep=*}\n<> t = b[i] {id=w}\n");
  CHECK(print_kernel(k).find("a[i] = t  {id=r, dep=*}") != std::string::npos);
  check_round_trip(k);
}

TEST_CASE("a long chain written backwards takes its loops and its order from its end") {
  std::string backwards = "kernel big(n: int32)\ndomain {[i]: 0 <= i < n}\n";
  for (int k = 0; k < 10000; ++k) backwards += fmt::format("<>t{} = t{} + 1\n", k, k + 1);
  backwards += "<>t10000 = x[i]\n";
  const Kernel chain = parsed(backwards);
  CHECK(joined(chain.instructions[0]->inames) == "i");
  CHECK(joined(chain.instructions[0]->depends_on) == "insn_0");
}

TEST_CASE("broken text of any size gives errors, not crashes") {
  const std::string head = "kernel k\ndomain {[i]: 0 <= i < n}\n";
  CHECK(errors(head + "a[i] = " + repeated("b[i] + ", 300000) + "1\n") == "no error");
  CHECK(errors(head + repeated("a[i] = (\n", 20000)).find("3:8 unbalanced: `(` is never closed") ==
        0);
  CHECK(errors(head + repeated("for i\n", 5000))
            .find("203:1 too-deep: blocks are nested more than 200") == 0);
  CHECK(errors(head + repeated("if a\n", 500)).find("too-deep") != std::string::npos);
  CHECK(errors("kernel k\ndomain {[i]: " + repeated("(", 100000) + "i" + repeated(")", 100000) +
               " > 0}\n") == "2:8 too-deep: the set is nested more than 200 levels deep");
  CHECK(errors(head + repeated(")", 100000) + "\n").find("3:1 unbalanced") == 0);
  CHECK(errors(head + "a = " + std::string(2000000, '9') + "\n") ==
        "3:5 integer-overflow: the integer `" + std::string(37, '9') +
            "...` exceeds int64, which literals are; `cast(uint64, -1)` is the largest uint64");
  CHECK(errors("kernel k\ndomain {[i]: 0 <= i < " + std::string(60, '7') + "n}\na[i] = 1\n") ==
        "2:8 integer-overflow: the integer `" + std::string(37, '7') + "...` exceeds 64 bits");
  CHECK(errors(head + "assume n < 9223372036854775808\na[i] = 1\n") ==
        "3:8 integer-overflow: the integer `9223372036854775808` exceeds 64 bits");
  CHECK(errors(head + "\"" + std::string(1000000, 'x') + "\n") ==
        "3:1 unbalanced: the string is never closed");
}

TEST_CASE("mangled text never does anything but fail or parse") {
  const std::string pieces[] = {"(",    ")",   "[",      "]",        "{",     "}", "<>",
                                "=",    ":=",  "if",     "for",      "end",   ",", "\n",
                                "sum(", "...", "$",      ".",        "1e",    "'", "\"",
                                "\xff", "\\",  "domain", "kernel x", "tag i:"};
  std::mt19937 rng(7);
  std::vector<std::string> texts;
  for (const auto& path : examples()) texts.push_back(read(path));
  int parsed = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = texts[rng() % texts.size()];
    for (int edits = 1 + static_cast<int>(rng() % 3); edits > 0; --edits) {
      const std::size_t at = rng() % (text.size() + 1);
      if (rng() % 2)
        text.insert(at, pieces[rng() % std::size(pieces)]);
      else
        text.erase(at, 1 + rng() % 6);
    }
    CAPTURE(text);
    try {
      for (const Kernel& k : parse_all(text)) print_kernel(k), ++parsed;
    } catch (const Error& e) {
      CHECK(!e.diagnostics().empty());
      for (const Diagnostic& d : e.diagnostics()) render(d);
    }
  }
  CHECK(parsed > 0);
}

TEST_CASE("text: sets that isl would take for something else") {
  CHECK(errors("kernel k(a: inout int32[1000])\ndomain {[i]: 0 <= i < 1e3}\na[i] = 1\n") ==
        "2:8 bad-domain: `1e3` is not a whole number here; write its digits");
  CHECK(errors("kernel k(n: int32, a: inout int32[n])\n"
               "domain {[i]: exists (e1: i = 2e1 and 0 <= 2e1 < n)}\na[i] = 1\n")
            .find("whole number") == std::string::npos);
  const auto about = [](const std::string& set) {
    const std::string all =
        errors("kernel k(n: int32, a: inout int32[n])\ndomain " + set + "\na[i] = 1\n");
    const auto at = all.find(" are about ");
    return at == std::string::npos ? "" : all.substr(at, all.find(';', at) - at);
  };
  CHECK(about("{[i]: 0 <= i < n; [j]: 0 <= j < n + 2}") == " are about `[i]` and `[j]`");
  CHECK(about("{[i]: 0 <= i < n; [i, j]: 0 <= i, j < 3}") == " are about `[i]` and `[i, j]`");
  CHECK(about("{[i]: 0 <= i < 2 and n > 9; [i]: 4 <= i < n; [i = 3]: n > 9}") == "");
}
