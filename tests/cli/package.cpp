#include <regex>

#include "tests/cli/harness.h"

using namespace moonloop::test;  // NOLINT

namespace {

const std::filesystem::path kBuild =
    std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).parent_path();

/// Installs the build that the tests belong to, as it is.
void install(const Folder& prefix, const std::string& component) {
  const Outcome done = shell("cmake --install '" + kBuild.string() + "' --prefix '" + prefix.str() +
                             "' --component " + component);
  REQUIRE_MESSAGE(done.status == 0, done.err);
}

const char* const kEmbedded = R"(#include <stdint.h>

static inline int32_t min_i32(int32_t a, int32_t b) {
  return b < a ? b : a;
}

void axpy(int32_t n, double a, double const *restrict x, double *restrict y) {
  #pragma omp parallel for
  for (int32_t i_outer = 0; i_outer < (n + 63) / 64; ++i_outer) {
    #pragma omp simd
    for (int32_t i_inner = 0; i_inner < min_i32(64, n - 64*i_outer); ++i_inner)
      y[i_inner + 64*i_outer] += a*x[i_inner + 64*i_outer];
  }
}

refused: races
)";

/// The output of examples/embed, whichever way it was built.
void check_embedded(const std::string& program, const Folder& folder) {
  const Outcome ran = shell(program, folder.str());
  CHECK(ran.status == 0);
  CHECK(ran.err == "");
  CHECK(ran.out.substr(0, std::string(kEmbedded).size()) == kEmbedded);
  CHECK(contains(ran.out,
                 "kernel.loop:4:1: error: tagging `i` as `par` would run step[i=1] and "
                 "step[i=2] at the same time"));
  CHECK(contains(ran.out, "script.lua:1:15: note: in script at script.lua:1"));
}

}  // namespace

TEST_CASE(
    "package: the example of a program with Moonloop in it builds against what was installed") {
  const Folder prefix, folder;
  install(prefix, "development");
  SUBCASE("by CMake's package") {
    build_example(
        "embed", folder,
        "-DCMAKE_CXX_COMPILER='" MOONLOOP_CXX "' -DCMAKE_PREFIX_PATH='" + prefix.str() + "'");
    check_embedded("build/embed", folder);
  }
  SUBCASE("by pkg-config") {
    const std::string flags = "$(PKG_CONFIG_PATH='" + prefix.str() +
                              "/" MOONLOOP_LIBDIR
                              "/pkgconfig' pkg-config --cflags --libs moonloop)";
    const Outcome built =
        shell("'" MOONLOOP_CXX "' -std=c++20 '" + (kRoot / "examples/embed/main.cpp").string() +
                  "' -o embed " + flags,
              folder.str());
    REQUIRE_MESSAGE(built.status == 0, built.err);
    check_embedded("./embed", folder);
  }
}

TEST_CASE("package: public headers are installed with all that they include, and no others") {
  const Folder prefix;
  install(prefix, "development");
  const std::filesystem::path root = std::filesystem::path(prefix.str()) / "include/moonloop";
  const std::regex include("#include \"([^\"]+)\"");
  std::size_t headers = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    ++headers;
    CAPTURE(entry.path().string());
    const std::string text = read_file(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
      CAPTURE(std::string((*it)[1]));
      CHECK(std::filesystem::exists(root / std::string((*it)[1])));
    }
  }
  CHECK(headers > 50);
  for (const char* used :
       {"moonloop.h", "transforms/split_iname.h", "core/interpreter/interpreter.h",
        "frontends/fortran/fortran.h", "runtime/runner.h"})
    CHECK(std::filesystem::exists(root / used));
  for (const char* inside : {"core/order/legality.h", "codegen/plan/plan.h", "scripts/state.h",
                             "frontends/fortran/program.h", "reports/report.h"})
    CHECK_FALSE(std::filesystem::exists(root / inside));
}

TEST_CASE("package: the tool comes with what it says of itself") {
  const Folder prefix;
  install(prefix, "tool");
  const auto installed = [&](const std::string& file) { return prefix.read("share/" + file); };
  CHECK(shell("bin/moonloop --version", prefix.str()).out == tool("--version").out);
  CHECK(installed("man/man1/moonloop.1") == tool("doc --man").out);
  for (const std::string command : {"gen", "run", "check", "show", "repl", "doc", "devices"})
    CHECK(installed("man/man1/moonloop-" + command + ".1") == tool("doc --man " + command).out);
  CHECK(installed("bash-completion/completions/moonloop") == tool("doc --completion bash").out);
  CHECK(installed("zsh/vendor-completions/_moonloop") == tool("doc --completion zsh").out);
  CHECK(installed("fish/vendor_completions.d/moonloop.fish") == tool("doc --completion fish").out);
  CHECK(installed("moonloop/lua/moonloop.lua") == tool("doc --lua-stubs").out);
  CHECK(installed("moonloop/lua/moonloop/lib.lua") == tool("doc --lua-stubs moonloop.lib").out);
  CHECK(installed("moonloop/moonloop.json") == tool("doc --json").out);
  CHECK(installed("doc/moonloop/docs/tutorial.md") == read_file(kRoot / "docs/tutorial.md"));
  CHECK(prefix.has("share/doc/moonloop/LICENSE"));
  CHECK_FALSE(prefix.has("include"));
}
