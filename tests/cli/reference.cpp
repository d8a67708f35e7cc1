#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

TEST_CASE("cli: docs/reference.md is what the tables say; `./dev docs` writes it anew") {
  const Outcome o = tool("doc --markdown");
  CHECK(o.status == 0);
  const std::string page = read_file(kRoot / "docs" / "reference.md");
  std::istringstream want(o.out), have(page);
  std::string a, b;
  for (int line = 1; std::getline(want, a); ++line) {
    std::getline(have, b);
    CAPTURE(line);
    REQUIRE(a == b);
  }
  CHECK(page == o.out);
}
