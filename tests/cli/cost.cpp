#include "tests/cli/harness.h"

/// `moonloop show --what cost`.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

/// A machine whose numbers are round.
const char* const kMachine = R"({
  "version": 2, "device": "Example", "gpu": false, "measured": true, "units": 2,
  "clock": 1e9, "vector_bytes": 32, "registers": 16, "together": 1, "issue": 4, "latency": 4,
  "f32": 3.2e10, "f64": 1.6e10, "i32": 1.6e10, "launch": 1e-5, "start": 0, "handover": 1e10,
  "handover_apart": 2e9, "barrier": 0,
  "transfer_start": 0, "transfer": 0,
  "operations": {"division": 8, "function": 30, "power": 60},
  "levels": [
    {"name": "L1", "bytes": 32768, "line": 64, "shared": false, "one": 6.4e10, "all": 12.8e10, "scattered": 3.2e10},
    {"name": "memory", "bytes": 0, "line": 64, "shared": true, "one": 1e10, "all": 2e10, "scattered": 2e9}
  ]
})";

}  // namespace

TEST_CASE("cli: show --what cost tells the time and what bounds it") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("m.json", kMachine);
  const Outcome o = tool("show k.loop --what cost -p n=1000000 --profile m.json", f.str());
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  CHECK(contains(o.out, "twice on c, n = 1000000: 2.40 ms, bound by memory\n"));
  CHECK(contains(o.out, "  memory       2.40 ms   2.40 ms  24.0 MB\n"));
  CHECK(contains(o.out, "profile: Example, measured\n"));
  const Outcome json =
      tool("show k.loop --what cost -p n=1000000 --profile m.json --format json", f.str());
  CHECK(contains(json.out, "\"bottleneck\": \"memory\""));
  CHECK(contains(json.out, "\"amount\": 24000"));
  CHECK(contains(tool("show k.loop --what cost -p n=1000", f.str()).out, "profile: "));
}

TEST_CASE("cli: show --what cost says what it lacks") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("m.json", "{\"version\": 2}");
  const auto why = [&](const std::string& options, int status) {
    const Outcome o = tool("show k.loop --what cost " + options, f.str());
    CHECK(o.status == status);
    return o.err;
  };
  CHECK(contains(why("", 1), "needs a value of `n`; give `-p n=VALUE` [missing-parameter]"));
  CHECK(contains(why("-p n=10 --profile m.json", 1), "`device` is not there [bad-profile]"));
  CHECK(contains(why("-p n=10 --profile nothing", 1), "[no-profile]"));
  CHECK(contains(why("-p n=10 --trips j", 2), "`j` is not NAME=NUMBER"));
  CHECK(contains(why("-p n=10 --format svg", 2), "`--what cost` is text or json, not svg"));
}
