#include "reports/diagram.h"

#include <doctest/doctest.h>

#include <random>

#include "reports/diagram_layout.h"

/// Pictures of the order relation: the text in them, and the places of things.

using namespace moonloop;  // NOLINT

TEST_CASE("diagram: names and texts are escaped") {
  DependenceGraph g{"k", {}, {}};
  g.statements.push_back({"a\"b", {"i"}, "x = \"<\\>\"", "x\ny & z"});
  g.edges.push_back({0, 0, DepKind::Anti, "v\\w", "{ [i] -> [\"j\"] : i < j }", false, {}});
  const std::string dot = to_dot(g);
  CHECK(dot.find(R"(  "a\"b" [label="a\"b [i]\lx = \"<\\>\"\l"];)") != std::string::npos);
  CHECK(dot.find(R"(  "a\"b" -> "a\"b" [label="anti v\\w at most", )"
                 R"(tooltip="{ [i] -> [\"j\"] : i < j }")") != std::string::npos);
  const std::string svg = to_svg(g);
  CHECK(svg.find("data-id=\"a&quot;b\"") != std::string::npos);
  CHECK(svg.find("<title>x\ny &amp; z</title>") != std::string::npos);
  CHECK(svg.find(">x = &quot;&lt;\\&gt;&quot;</text>") != std::string::npos);
  CHECK(to_json(g).find(R"("id": "a\"b")") != std::string::npos);
  CHECK(to_json(g).find(R"("text": "x\ny & z")") != std::string::npos);
}

TEST_CASE("diagram: labels say how far apart instances are") {
  DependenceGraph::Edge e{0, 0, DepKind::Flow, "a", "", true, {}};
  CHECK(e.label() == "flow a");
  e.distance = {{"i", 0, 0}, {"j", 1, {}}, {"k", {}, -1}, {"l", {}, {}}, {"m", -2, 2}};
  CHECK(e.label() == "flow a (0, 1.., ..-1, *, -2..2)");
  e.exact = false;
  CHECK(e.label() == "flow a (0, 1.., ..-1, *, -2..2) at most");
}

TEST_CASE("diagram: long texts are cut, letters are not") {
  DependenceGraph g{"k", {}, {}};
  std::string text;
  for (int i = 0; i < 80; ++i) text += "\xc3\xa9";
  g.statements.push_back({"s", {}, text, text});
  const std::string svg = to_svg(g), end = "\xc3\xa9…</text>";
  const std::size_t at = svg.find(end);
  REQUIRE(at != std::string::npos);
  CHECK(at - svg.rfind('>', at) - 1 == 2 * 71);
}

TEST_CASE("diagram: boxes and labels lie apart, within the picture") {
  struct Box {
    double x, y, width, height;
  };
  std::mt19937 random(1);  // NOLINT: the same each time
  const auto any = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    GraphToPlace g;
    const std::size_t n = 1 + any(12);
    for (std::size_t i = 0; i < n; ++i) g.nodes.push_back({40.0 + any(200), 40});
    std::vector<std::vector<bool>> seen(n, std::vector<bool>(n));
    for (std::size_t e = any(2 * n); e-- > 0;) {
      const std::size_t from = any(n), to = any(n);
      if (seen[from][to]) continue;
      seen[from][to] = true;
      g.edges.push_back({from, to, 20.0 + any(150), 14.0 * (1 + any(3))});
    }
    const PlacedGraph p = moonloop::place(g);
    std::vector<Box> boxes;
    for (std::size_t i = 0; i < n; ++i)
      boxes.push_back({p.nodes[i].x, p.nodes[i].y, g.nodes[i].width, g.nodes[i].height});
    for (std::size_t e = 0; e < g.edges.size(); ++e) {
      const GraphToPlace::Edge& size = g.edges[e];
      boxes.push_back({p.edges[e].label.x, p.edges[e].label.y - size.label_height / 2,
                       size.label_width, size.label_height});
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const Box& a = boxes[i];
      CHECK((a.x >= 0 && a.y >= 0 && a.x + a.width <= p.width && a.y + a.height <= p.height));
      for (std::size_t j = 0; j < i; ++j) {
        const Box& b = boxes[j];
        const bool disjoint = a.x + a.width <= b.x + .01 || b.x + b.width <= a.x + .01 ||
                              a.y + a.height <= b.y + .01 || b.y + b.height <= a.y + .01;
        CHECK_MESSAGE(disjoint, i << " and " << j << " of " << n);
      }
    }
    for (const GraphToPlace::Edge& e : g.edges)  // later nodes are lower, if an edge says so
      if (e.from < e.to) CHECK(p.nodes[e.from].y < p.nodes[e.to].y);
  }
  CHECK(moonloop::place({}).nodes.empty());
}
