#include <nlohmann/json.hpp>

#include "tests/cli/browser.h"
#include "tests/cli/harness.h"

/// The page of `moonloop tune --report`: its content, and that a browser shows it.

using namespace moonloop::test;  // NOLINT

namespace {

using ReportJson = nlohmann::json;

ReportJson report_data(const std::string& page) {
  const std::string begin = "const data = ";
  const std::size_t from = page.find(begin) + begin.size();
  return ReportJson::parse(page.substr(from, page.find(";\n", from) - from));
}

}  // namespace

TEST_CASE("tune: the report has each trial, its prediction, and the best script") {
  const Folder f;
  f.write("k.loop",
          "kernel up(n: int32, a: float64[n, n])\n"
          "domain {[i, j]: 1 <= i < n and 0 <= j < n - 1}\n"
          "a[i, j] = a[i-1, j+1] + 1\n");
  f.write("t.lua", R"(-- </script>
local way = lp.knob('way', {'plain', 'turned', 'claimed', 'stopped'})
if way == 'turned' then up = up:prioritize_loops('j, i') end
if way == 'claimed' then up = up:prioritize_loops('j, i', {unsafe = true}) end
if way == 'stopped' then error('no such way') end
up = up:split_iname('j', lp.knob('bj', {8, 16}))
)");
  const Outcome o =
      tool("tune k.loop -t t.lua --db t.db -p n=60 --quiet --json --report r.html", f.str());
  REQUIRE(o.status == 0);
  const std::string page = f.read("r.html");
  const ReportJson data = report_data(page), result = ReportJson::parse(o.out);
  CHECK(data["kernel"] == "up");
  CHECK(data["sizes"] == ReportJson{{"n", 60}});
  CHECK(data["ending"] == "2 ok, 1 refused, 1 failed, 2 wrong; 6 run, 0 known; all combinations");
  REQUIRE(data["devices"].size() == 1);
  const ReportJson& device = data["devices"][0];
  CHECK(device["device"] == result["device"]);
  CHECK(device["best"] == result["best"]["median"]);
  CHECK(device["default"] == result["default"]["median"]);
  CHECK(device["knobs"] == result["best"]["knobs"]);
  CHECK(device["options"] == result["best"]["options"]);
  // The script is one that gives the best kernel without knobs.
  f.write("best.lua", device["script"]);
  CHECK(tool("show k.loop -t best.lua", f.str()).out ==
        tool("show k.loop -t t.lua --no-db " + device["options"].get<std::string>(), f.str()).out);
  CHECK(data["scripts"] == ReportJson::array({{{"name", "t.lua"}, {"text", f.read("t.lua")}}}));
  REQUIRE(data["trials"].size() == 6);
  double before = 0;
  for (const ReportJson& t : data["trials"]) {
    CAPTURE(t.dump());
    CHECK(t["at"] >= before);
    before = t["at"];
    CHECK(t["known"] == false);
    CHECK(t["seconds"].is_null() == (t["status"] != "ok"));
    CHECK(t["reason"].get<std::string>().empty() == (t["status"] == "ok"));
    // What a script made has a prediction, whatever came of it.
    const bool made = t["status"] == "ok" || t["status"] == "wrong";
    CHECK(t["predicted"].is_number() == made);
    if (made) CHECK(t["predicted"] > 0);
  }
  // It needs nothing from elsewhere, and no text in it ends its script.
  std::string rest = page;
  const std::string allowed = "http://www.w3.org/2000/svg";
  for (std::size_t at = 0; (at = rest.find(allowed)) != std::string::npos;)
    rest.erase(at, allowed.size());
  CHECK(rest.find("://") == std::string::npos);
  CHECK(page.find("</script>") == page.rfind("</script>"));

  const std::string dom = browse(page, std::string(kKeys) + R"(
tell("time", all("#time circle").length + " " + all("#time .failure").length + " " + all("#time .best").length);
tell("model", all("#model circle").length + " " + all("#model .even").length);
tell("knobs", all("#knobs .knob").map(e => e.textContent).join(" ") + " " + all("#knobs circle").length + " " +
     all("#knobs .middle").length);
tell("rows", all("#table tr").length);
tell("numbers", all("svg *").some(e => [...e.attributes].some(a => /NaN|undefined|Infinity/.test(a.value))));
tell("script", document.getElementById("script").textContent === data.devices[0].script);
)");
  if (dom.empty()) return;
  CHECK(told(dom, "time") == "2 4 1");
  CHECK(told(dom, "model") == "2 1");
  CHECK(told(dom, "knobs") == "bj way 4 3");
  CHECK(told(dom, "rows") == "7");
  CHECK(told(dom, "numbers") == "false");
  CHECK(told(dom, "script") == "true");
}

TEST_CASE("tune: a report of what was known, and of nothing") {
  const Folder f;
  f.write("k.loop", kDouble);
  f.write("t.lua", "twice = twice:split_iname('i', lp.knob('bi', {4, 8, 16}))\n");
  const std::string command = "tune k.loop -t t.lua --db t.db -p n=64 --quiet --report r.html ";
  CHECK(tool(command, f.str()).status == 0);
  CHECK(tool(command, f.str()).status == 0);
  const ReportJson known = report_data(f.read("r.html"));
  REQUIRE(known["trials"].size() == 3);
  for (const ReportJson& t : known["trials"]) CHECK(t["known"] == true);
  CHECK(
      tool("tune k.loop -t t.lua --db t.db -p n=65 --time 0.0001s --quiet --report e.html", f.str())
          .status == 0);
  const std::string page = f.read("e.html");
  CHECK(report_data(page)["trials"].empty());
  const std::string dom = browse(page, std::string(kKeys) + R"(
tell("notes", all("#time .note, #model .note, #knobs .note").length);
)");
  if (!dom.empty()) CHECK(told(dom, "notes") == "3");
  const Outcome nowhere =
      tool("tune k.loop -t t.lua --db t.db -p n=64 --quiet --report no/such/r.html", f.str());
  CHECK(nowhere.status == 1);
  CHECK(has(nowhere.err, "[cannot-write]"));
}
