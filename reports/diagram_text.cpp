#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/diagram.h"

/// Diagrams as JSON, and in the language of Graphviz.
namespace moonloop {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& j) {
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json statement(const DiagramStatement& s) {
  return {{"id", s.id}, {"inames", s.inames}, {"text", s.line}};
}

Json statements(const std::vector<DiagramStatement>& all) {
  Json out = Json::array();
  for (const DiagramStatement& s : all) out.push_back(statement(s));
  return out;
}

Json bound(const std::optional<std::int64_t>& n) { return n ? Json(*n) : Json(); }

Json loop(const LoopDiagram::Loop& l) {
  return {{"iname", l.iname}, {"tag", l.tag}, {"bounds", l.bounds}};
}

Json nodes(const LoopDiagram& d, const std::vector<LoopDiagram::Node>& all) {
  Json out = Json::array();
  for (const LoopDiagram::Node& n : all) {
    Json j = n.loop ? loop(*n.loop) : statement(d.statements[n.statement]);
    if (n.loop) {
      j["body"] = nodes(d, n.body);
    } else {
      j["items"] = Json::array();
      for (const LoopDiagram::Loop& l : n.items) j["items"].push_back(loop(l));
    }
    out.push_back(std::move(j));
  }
  return out;
}

// ---- Graphviz. In its strings a backslash begins an escape, `\l` ends a line set to the left.

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\l";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

constexpr const char* kHead =
    "digraph {} {{\n"
    "  node [shape=box, fontname=\"monospace\", fontsize=11];\n"
    "  edge [fontname=\"monospace\", fontsize=10];\n";

std::string node(const DiagramStatement& s, const std::string& note) {
  return fmt::format("  {} [label={}];\n", quoted(s.id),
                     quoted(s.id + note + "\n" + s.text + "\n"));
}

const char* style(DepKind kind) {
  switch (kind) {
    case DepKind::Flow: return "color=\"#0b5cad\"";
    case DepKind::Anti: return "color=\"#a3261b\", style=dashed";
    case DepKind::Output: return "color=\"#7a5c00\", style=dotted";
  }
  throw InternalError("unknown kind of dependence");
}

/// Blanks distinguish the names of loops from those of statements.
std::string name_of(const LoopDiagram& d, const LoopDiagram::Node& n) {
  return quoted(n.loop ? "for " + n.loop->iname : d.statements[n.statement].id);
}

void add_dot(const LoopDiagram& d, const LoopDiagram::Node& n, std::string& out) {
  if (!n.loop) {
    std::string items;
    for (const LoopDiagram::Loop& l : n.items)
      items += (items.empty() ? " [" : ", ") + l.iname + ": " + l.tag;
    out += node(d.statements[n.statement], items + (items.empty() ? "" : "]"));
    return;
  }
  out += fmt::format("  {} [label={}, style=rounded];\n", name_of(d, n), quoted(n.loop->label()));
  for (const LoopDiagram::Node& c : n.body) {
    add_dot(d, c, out);
    out += fmt::format("  {} -> {};\n", name_of(d, n), name_of(d, c));
  }
}

}  // namespace

std::string to_json(const DependenceGraph& g) {
  Json edges = Json::array();
  for (const DependenceGraph::Edge& e : g.edges) {
    Json distance = Json::array();
    for (const DependenceGraph::Distance& d : e.distance)
      distance.push_back({{"iname", d.iname}, {"min", bound(d.least)}, {"max", bound(d.most)}});
    edges.push_back({{"source", g.statements[e.from].id},
                     {"target", g.statements[e.to].id},
                     {"kind", to_string(e.kind)},
                     {"variable", e.variable},
                     {"relation", e.relation},
                     {"exact", e.exact},
                     {"distance", std::move(distance)}});
  }
  return text_of(
      {{"kernel", g.kernel}, {"nodes", statements(g.statements)}, {"edges", std::move(edges)}});
}

std::string to_json(const LoopDiagram& d) {
  return text_of({{"kernel", d.kernel}, {"body", nodes(d, d.roots)}});
}

std::string to_dot(const DependenceGraph& g) {
  std::string out = fmt::format(kHead, quoted(g.kernel));
  for (const DiagramStatement& s : g.statements)
    out += node(s, s.inames.empty() ? "" : fmt::format(" [{}]", fmt::join(s.inames, ", ")));
  for (const DependenceGraph::Edge& e : g.edges)
    out +=
        fmt::format("  {} -> {} [label={}, tooltip={}, {}{}];\n", quoted(g.statements[e.from].id),
                    quoted(g.statements[e.to].id), quoted(e.label()), quoted(e.relation),
                    style(e.kind), e.to < e.from ? ", constraint=false" : "");
  return out + "}\n";
}

std::string to_dot(const LoopDiagram& d) {
  std::string out = fmt::format(kHead, quoted(d.kernel)) + "  graph [ordering=out];\n";
  for (const LoopDiagram::Node& n : d.roots) add_dot(d, n, out);
  return out + "}\n";
}

}  // namespace moonloop
