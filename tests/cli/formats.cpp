#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "runtime/process.h"
#include "tests/cli/harness.h"

/// `moonloop show --format`: output for other programs.

using namespace moonloop::test;  // NOLINT
using Json = nlohmann::json;

namespace {

/// Fails the test where the text is not XML that every reader takes. Returns its elements' tags.
std::vector<std::string> read_xml(const std::string& text) {
  static const std::regex tag(
      R"(<(/?)([A-Za-z][\w-]*)((?:\s+[A-Za-z][\w:-]*="[^"<>&]*(?:&(?:amp|lt|gt|quot);[^"<>&]*)*")*)\s*(/?)>)");
  static const std::regex plain(R"([^<>&]*(?:&(?:amp|lt|gt|quot);[^<>&]*)*)");
  std::vector<std::string> open, out;
  auto at = text.begin();
  while (at != text.end()) {
    const auto next = std::find(at, text.end(), '<');
    CHECK(std::regex_match(at, next, plain));
    CHECK((!open.empty() || std::all_of(at, next, [](char c) { return c == '\n'; })));
    at = next;
    if (at == text.end()) break;
    std::smatch m;
    const auto end = std::find(at, text.end(), '>');
    REQUIRE(end != text.end());
    const std::string one(at, end + 1);
    REQUIRE_MESSAGE(std::regex_match(one, m, tag), one);
    at = end + 1;
    if (m[1].length()) {
      REQUIRE(!open.empty());
      CHECK(open.back() == m[2].str());
      open.pop_back();
    } else {
      out.push_back(one);
      if (!m[4].length()) open.push_back(m[2].str());
    }
  }
  CHECK(open.empty());
  return out;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string attribute(const std::string& tag, const std::string& name) {
  const std::size_t at = tag.find(" " + name + "=\"");
  if (at == std::string::npos) return {};
  const std::size_t from = at + name.size() + 3;
  return tag.substr(from, tag.find('"', from) - from);
}

/// Statements of a tree, in their order.
void collect_statements(const Json& body, std::vector<std::string>& out) {
  for (const Json& n : body) {
    if (n.contains("iname"))
      collect_statements(n["body"], out);
    else
      out.push_back(n["id"]);
  }
}

constexpr const char* kPipe =
    "kernel pipe(n: int32, a: float64[n + 1], b: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "tag i: unr_hint\n"
    "a[i + 1] = a[i] if a[i] < 1 else 2   {id=up}\n"
    "b[i] = a[i + 1] + 1   {id=down}\n";

}  // namespace

TEST_CASE("formats: dependences as JSON and for Graphviz") {
  const Folder f;
  f.write("k.loop", kPipe);
  const auto show = [&](const std::string& arguments) {
    const Outcome o = tool("show k.loop " + arguments, f.str());
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    return o.out;
  };
  CHECK(show("--what deps --format json") == R"x({
  "kernel": "pipe",
  "nodes": [
    {
      "id": "up",
      "inames": [
        "i"
      ],
      "text": "a[i + 1] = a[i] if a[i] < 1 else 2  {id=up}"
    },
    {
      "id": "down",
      "inames": [
        "i"
      ],
      "text": "b[i] = a[i + 1] + 1  {id=down}"
    }
  ],
  "edges": [
    {
      "source": "up",
      "target": "up",
      "kind": "flow",
      "variable": "a",
      "relation": "[n] -> { [i] -> [i' = 1 + i] : 0 <= i <= -2 + n }",
      "exact": true,
      "distance": [
        {
          "iname": "i",
          "min": 1,
          "max": 1
        }
      ]
    },
    {
      "source": "up",
      "target": "down",
      "kind": "flow",
      "variable": "a",
      "relation": "[n] -> { [i] -> [i' = i] : 0 <= i < n }",
      "exact": true,
      "distance": [
        {
          "iname": "i",
          "min": 0,
          "max": 0
        }
      ]
    }
  ]
}
)x");
  CHECK(show("--what deps --format dot") == R"x(digraph "pipe" {
  node [shape=box, fontname="monospace", fontsize=11];
  edge [fontname="monospace", fontsize=10];
  "up" [label="up [i]\la[i + 1] = a[i] if a[i] < 1 else 2\l"];
  "down" [label="down [i]\lb[i] = a[i + 1] + 1\l"];
  "up" -> "up" [label="flow a (1)", tooltip="[n] -> { [i] -> [i' = 1 + i] : 0 <= i <= -2 + n }", color="#0b5cad"];
  "up" -> "down" [label="flow a (0)", tooltip="[n] -> { [i] -> [i' = i] : 0 <= i < n }", color="#0b5cad"];
}
)x");
  CHECK(show("--what tree --format json") == R"x({
  "kernel": "pipe",
  "body": [
    {
      "iname": "i",
      "tag": "unr_hint",
      "bounds": "0 <= i < n",
      "body": [
        {
          "id": "up",
          "inames": [
            "i"
          ],
          "text": "a[i + 1] = a[i] if a[i] < 1 else 2  {id=up}",
          "items": []
        },
        {
          "id": "down",
          "inames": [
            "i"
          ],
          "text": "b[i] = a[i + 1] + 1  {id=down}",
          "items": []
        }
      ]
    }
  ]
}
)x");
  CHECK(show("--what tree --format dot") == R"x(digraph "pipe" {
  node [shape=box, fontname="monospace", fontsize=11];
  edge [fontname="monospace", fontsize=10];
  graph [ordering=out];
  "for i" [label="for i [unr_hint]  0 <= i < n", style=rounded];
  "up" [label="up\la[i + 1] = a[i] if a[i] < 1 else 2\l"];
  "for i" -> "up";
  "down" [label="down\lb[i] = a[i + 1] + 1\l"];
  "for i" -> "down";
}
)x");
  CHECK(show("--what tree --format text") == show("--what tree"));
  CHECK(show("--what deps --format text") == show("--what deps"));
  CHECK(show("--what deps --format svg -o d.svg").empty());
  CHECK(f.read("d.svg") == show("--what deps --format svg"));
}

TEST_CASE("formats: every statement and every dependence is in each of them, and SVG is XML") {
  const Folder f;
  f.write("signs.loop",
          "kernel signs(n: int32, a: int32[n], b: int32[n])\n"
          "domain {[i, j]: 0 <= i, j < n}\n"
          "b[i] = (a[i] & 3) + (1 if a[i] < 2 and a[i] >= -2 else 0)   {id=mask}\n"
          "a[j] = b[j] >> 1   {id=back, if=b[j] != 7}\n");
  const std::string examples = (kRoot / "examples").string();
  for (const std::string& input :
       {"'" + f.str() + "/signs.loop'", std::string("matmul/matmul.loop -t matmul/tiled.lua"),
        std::string("edit/edit.loop"), std::string("trsv/trsv.loop -t trsv/trsv.lua"),
        std::string("fortran/hydro.f90")}) {
    CAPTURE(input);
    const auto show = [&](const std::string& options) {
      const Outcome o = tool("show " + input + " " + options, examples);
      REQUIRE_MESSAGE(o.status == 0, o.err);
      return o.out;
    };
    const Json deps = Json::parse(show("--what deps --format json"));
    const std::string dot = show("--what deps --format dot");
    const std::string svg = show("--what deps --format svg");
    const std::vector<std::string> tags = read_xml(svg);
    std::size_t boxes = 0, drawn_edges = 0;
    for (const std::string& tag : tags) {
      if (attribute(tag, "class") == "statement")
        CHECK(attribute(tag, "data-id") == deps["nodes"][boxes++]["id"].get<std::string>());
      if (tag.starts_with("<text class=\"label "))
        drawn_edges += std::stoul(attribute(tag, "data-edges"));
    }
    CHECK(boxes == deps["nodes"].size());
    CHECK(drawn_edges == deps["edges"].size());
    for (const Json& n : deps["nodes"]) {
      CHECK(contains(dot, "  \"" + n["id"].get<std::string>() + "\" [label="));
      CHECK(contains(svg, "<title>" + escaped(n["text"]) + "</title>"));
    }
    std::istringstream lines(show("--what deps"));
    for (const Json& e : deps["edges"]) {
      const std::string source = e["source"], target = e["target"], relation = e["relation"];
      CHECK(contains(dot, "  \"" + source + "\" -> \"" + target + "\" [label=\"" +
                              e["kind"].get<std::string>() + " " +
                              e["variable"].get<std::string>()));
      CHECK(contains(dot, "tooltip=\"" + relation + "\""));
      CHECK(contains(svg, "data-source=\"" + source + "\" data-target=\"" + target + "\" "));
      CHECK(contains(svg, escaped(relation)));
      std::string line;
      std::getline(lines, line);
      CHECK(line == e["kind"].get<std::string>() + " " + e["variable"].get<std::string>() + ": " +
                        source + " -> " + target + ": " + relation +
                        (e["exact"].get<bool>() ? "" : " (over-approximated)"));
    }
    const Json tree = Json::parse(show("--what tree --format json"));
    std::vector<std::string> ids;
    collect_statements(tree["body"], ids);
    CHECK(ids.size() == deps["nodes"].size());
    const std::string tree_dot = show("--what tree --format dot");
    std::size_t drawn = 0;
    for (const std::string& tag : read_xml(show("--what tree --format svg"))) {
      if (attribute(tag, "class") != "statement") continue;
      CHECK(std::find(ids.begin(), ids.end(), attribute(tag, "data-id")) != ids.end());
      ++drawn;
    }
    CHECK(drawn == ids.size());
    for (const std::string& id : ids) CHECK(contains(tree_dot, "  \"" + id + "\" [label="));
  }
}

TEST_CASE("formats: a browser draws the pictures") {
  const std::string browser = moonloop::find_program("chromium");
  if (browser.empty()) {
    MESSAGE("no chromium: the pictures are not looked at");
    return;
  }
  const Folder f;
  for (const std::string what : {"deps", "tree"}) {
    CAPTURE(what);
    const Outcome made =
        tool("show edit/edit.loop --what " + what + " --format svg -o '" + (f / "p.svg") + "'",
             (kRoot / "examples").string());
    REQUIRE(made.status == 0);
    const Outcome o = shell("timeout 60 " + browser +
                                " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
                                "--user-data-dir=profile --dump-dom file://$PWD/p.svg",
                            f.str());
    CHECK(o.status == 0);
    CHECK(contains(o.out, "data-id=\"insn\""));
    CHECK(!contains(o.out, "parsererror"));
  }
}

TEST_CASE("formats: thousands of statements, without work that grows with their square") {
  const Folder f;
  constexpr int kCount = 3000;
  std::string text = "kernel chain(n: int32, a0: float64[n]";
  for (int i = 1; i <= kCount; ++i) text += ", a" + std::to_string(i) + ": float64[n]";
  text += ")\ndomain {[i]: 0 <= i < n}\n";
  for (int i = 1; i <= kCount; ++i)
    text += "a" + std::to_string(i) + "[i] = a" + std::to_string(i - 1) + "[i]\n";
  f.write("k.loop", text);
  const auto show = [&](const std::string& options) {
    const Outcome o = tool("show k.loop " + options, f.str());
    CHECK(o.status == 0);
    return o.out;
  };
  CHECK(Json::parse(show("--what deps --format json"))["edges"].size() == kCount - 1);
  CHECK(Json::parse(show("--what tree --format json"))["body"][0]["body"].size() == kCount);
  const std::string dot = show("--what deps --format dot");
  CHECK(std::count(dot.begin(), dot.end(), '\n') == 4 + kCount + kCount - 1);
  CHECK(contains(show("--what deps --format svg"), "</svg>\n"));
}

TEST_CASE("formats: other reports have one form") {
  const Folder f;
  f.write("k.loop", kPipe);
  for (const std::string what : {"ir", "schedule", "trace", "stats"}) {
    CAPTURE(what);
    const Outcome o = tool("show k.loop --format dot --what " + what, f.str());
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK(o.err.starts_with("--format: `--what " + what +
                            "` has one form; `deps` and `tree` have several\n"));
  }
  const Outcome usual = tool("show k.loop --format text", f.str());
  CHECK(usual.status == 2);
  CHECK(contains(usual.err, "--format: `--what ir` has one form"));
  CHECK(tool("show k.loop --what deps --format png", f.str()).status == 2);
}

TEST_CASE("formats: which loops are parallel") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, map: in int32[n], a: float64[n, n], b: float64[n], s: float64[1])\n"
          "domain {[i, j]: 1 <= i < n and 1 <= j < n}\ndomain {[l]: 0 <= l < n}\n"
          "domain {[m]: 0 <= m < n}\na[i, j] = a[i - 1, j] {id=w}\nb[map[l]] = 1 {id=v}\n"
          "s[0] = max(s[0], b[m]) {id=u}\n");
  const auto show = [&](const std::string& options) {
    return tool("show k.loop --what parallelism " + options, f.str());
  };
  CHECK(show("").out ==
        "loops\n"
        "  i    carried: flow a: w[i=1, j=1] writes a[1, 1], w[i=2, j=1] reads a[1, 1] (n=3)\n"
        "    j  parallel\n"
        "  l    unproved: output b: v[l=0] may write b[map[l]], v[l=1] may write b[map[l]] (n=2); "
        "where a subscript is read from an array, assume_injective or assume_disjoint says what "
        "cannot be seen here; the option unsafe=true takes it on trust\n"
        "  m    reduction: `u` accumulates the max `s`; recognize_reduction(\"m\") comes first\n"
        "carried dependences\n"
        "  flow a: w -> w (1, 0)\n"
        "  output b: v -> v (<) (over-approximated)\n"
        "  anti s: u -> u (<)\n"
        "  flow s: u -> u (<)\n"
        "  output s: u -> u (<)\n"
        "permutable bands\n"
        "  i, j\n");
  CHECK(show("--format text").out == show("").out);
  const Json j = Json::parse(show("--format json").out);
  CHECK(j["loops"].size() == 4);
  CHECK(j["loops"][0]["instances"][1]["at"] == Json{{"i", 2}, {"j", 1}});
  CHECK(j["loops"][1]["status"] == "parallel");
  CHECK(j["loops"][1]["par"] == true);
  CHECK(!j["loops"][1].contains("why"));
  CHECK(j["loops"][2]["code"] == "not-proved");
  CHECK(j["loops"][3]["reductions"][0]["op"] == "max");
  CHECK(j["dependences"][0]["distance"] == Json::parse(R"([{"iname": "i", "min": 1, "max": 1},
                                                         {"iname": "j", "min": 0, "max": 0}])"));
  CHECK(j["dependences"][1]["exact"] == false);
  CHECK(j["bands"] == Json::parse(R"([{"loops": ["i", "j"], "perfect": true}])"));
  for (const char* format : {"dot", "svg"}) {
    const Outcome o = show(fmt::format("--format {}", format));
    CHECK(o.status == 2);
    CHECK(o.err.starts_with(
        fmt::format("--format: `--what parallelism` is text or json, not {}\n", format)));
  }
  f.write("empty.loop", "kernel e(a: float64[1])\na[0] = 1\n");
  CHECK(tool("show empty.loop --what parallelism", f.str()).out ==
        "loops\n  none\ncarried dependences\n  none\npermutable bands\n  none\n");
}
