#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/diagram.h"
#include "reports/diagram_layout.h"

/// Diagrams as SVG, drawn without other programs and looking the same in all: a monospaced font,
/// whose letters are assumed to be as wide as those of the widest such fonts.
namespace moonloop {
namespace {

constexpr double kLetter = 7.25, kSmallLetter = 6.65;  // at 12 and 11 pixels
constexpr double kLine = 16, kLabelLine = 14, kPad = 8;
constexpr std::size_t kLongest = 72;  // letters of a statement, the rest is in its note

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += c; break;
      default: out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;  // XML allows no others
    }
  }
  return out;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }  // of UTF-8

std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string cut(const std::string& text) {
  if (letters(text) <= kLongest) return text;
  std::size_t end = 0;
  for (std::size_t n = 0; n < kLongest; ++n) do
      ++end;
    while (end < text.size() && continues(text[end]));
  return text.substr(0, end) + "…";
}

double width_of(const std::string& text, double letter = kLetter) {
  return static_cast<double>(letters(text)) * letter;
}

std::string head(const std::string& what, double width, double height) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="{2}">
<title>{2}</title>
<style>
svg {{ --back: #fbfbf8; --panel: #ffffff; --ink: #1c1f24; --dim: #5c636e; --line: #b9bdc6;
  --flow: #0b5cad; --anti: #a3261b; --output: #7a5c00; }}
@media (prefers-color-scheme: dark) {{ svg {{ --back: #16181d; --panel: #1f2229; --ink: #e6e8ec;
  --dim: #a4abb8; --line: #4a505c; --flow: #7db8f5; --anti: #ff9a8f; --output: #e0c060; }} }}
.back {{ fill: var(--back); }}
.box {{ fill: var(--panel); stroke: var(--line); }}
.loop {{ fill: none; stroke: var(--line); }}
text {{ font: 12px ui-monospace, "DejaVu Sans Mono", monospace; fill: var(--ink); white-space: pre; }}
.name {{ font-weight: bold; }}
.dim {{ fill: var(--dim); }}
.tag {{ fill: var(--flow); }}
.label {{ font-size: 11px; stroke: var(--back); stroke-width: 4px; paint-order: stroke; }}
path {{ fill: none; stroke-width: 1.3; }}
path.flow {{ stroke: var(--flow); }}
path.anti {{ stroke: var(--anti); stroke-dasharray: 6 3; }}
path.output {{ stroke: var(--output); stroke-dasharray: 2 3; }}
text.flow, path.head-flow {{ fill: var(--flow); }}
text.anti, path.head-anti {{ fill: var(--anti); }}
text.output, path.head-output {{ fill: var(--output); }}
</style>
<rect class="back" width="100%" height="100%"/>
)",
      width, height, escaped(what));
}

// ---- Dependences.

/// Drawn as one arrow: the edges from one statement to another, and of these as one label those
/// that read the same.
struct Arrow {
  std::size_t from = 0, to = 0;
  struct Label {
    std::string text, relations;
    DepKind kind = DepKind::Flow;
    int edges = 0;
    std::string shown() const { return edges == 1 ? text : fmt::format("{} ×{}", text, edges); }
  };
  std::vector<Label> labels;
};

std::vector<Arrow> arrows_of(const DependenceGraph& g) {
  std::map<std::pair<std::size_t, std::size_t>, Arrow> all;
  for (const DependenceGraph::Edge& e : g.edges) {
    Arrow& a = all[{e.from, e.to}];
    a.from = e.from;
    a.to = e.to;
    const std::string text = e.label();
    auto same = std::find_if(a.labels.begin(), a.labels.end(),
                             [&](const Arrow::Label& l) { return l.text == text; });
    if (same == a.labels.end()) same = a.labels.insert(same, {text, {}, e.kind, 0});
    same->relations += (same->edges++ ? "\n" : "") + e.relation;
  }
  std::vector<Arrow> out;
  for (auto& [ends, arrow] : all) out.push_back(std::move(arrow));
  return out;
}

std::string inames_text(const DiagramStatement& s) {
  return s.inames.empty() ? "" : fmt::format(" [{}]", fmt::join(s.inames, ", "));
}

std::string markers() {
  std::string out = "<defs>\n";
  for (const DepKind kind : {DepKind::Flow, DepKind::Anti, DepKind::Output})
    out += fmt::format(
        "<marker id=\"{0}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" "
        "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
        "<path class=\"head-{0}\" d=\"M0,0L8,4L0,8z\"/></marker>\n",
        to_string(kind));
  return out + "</defs>\n";
}

/// One line of text: name, then its description.
std::string title_line(double x, double y, const std::string& name, const std::string& tag,
                       const std::string& rest) {
  const auto part = [](const char* kind, const std::string& text) {
    return text.empty() ? "" : fmt::format("<tspan class=\"{}\">{}</tspan>", kind, escaped(text));
  };
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}{}{}</text>\n", x, y, part("name", name),
                     part("tag", tag), part("dim", rest));
}

/// The two lines in the box of a statement.
std::string statement_box(const DiagramStatement& s, const std::string& tag,
                          const std::string& rest, double x, double y, double width) {
  return fmt::format(
             "<g class=\"statement\" data-id=\"{}\">\n<title>{}</title>\n"
             "<rect class=\"box\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
             "rx=\"4\"/>\n",
             escaped(s.id), escaped(s.line), x, y, width, 2 * kLine + kPad) +
         title_line(x + kPad, y + kLine, s.id, tag, rest) +
         fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n</g>\n", x + kPad, y + 2 * kLine,
                     escaped(cut(s.text)));
}

double box_width(const std::string& first, const std::string& text) {
  return std::max(width_of(first), width_of(cut(text))) + 2 * kPad;
}

// ---- The tree.

class TreePicture {
 public:
  explicit TreePicture(const LoopDiagram& d) : d_(d) {}

  std::string svg() {
    double width = 0;
    for (const LoopDiagram::Node& n : d_.roots) width = std::max(width, width_of_node(n));
    double y = kOutside;
    for (const LoopDiagram::Node& n : d_.roots) y = draw(n, kOutside, y, width) + kPad;
    return head("loops of " + d_.kernel, width + 2 * kOutside, y - kPad + kOutside) + body_ +
           "</svg>\n";
  }

 private:
  static constexpr double kOutside = 12, kHead = 24;

  static std::string tag_text(const std::string& tag) { return tag.empty() ? "" : " " + tag; }
  static std::string bounds_text(const LoopDiagram::Loop& l) {
    return l.bounds.empty() ? "" : "  " + l.bounds;
  }
  static std::string items_text(const LoopDiagram::Node& n) {
    std::string out;
    for (const LoopDiagram::Loop& l : n.items)
      out += (out.empty() ? " " : ", ") + l.iname + ": " + l.tag;
    return out;
  }

  double width_of_node(const LoopDiagram::Node& n) const {
    if (!n.loop) {
      const DiagramStatement& s = d_.statements[n.statement];
      return box_width(s.id + items_text(n), s.text);
    }
    double width = width_of(n.loop->label()) + 2 * kPad;
    for (const LoopDiagram::Node& c : n.body) width = std::max(width, width_of_node(c) + 2 * kPad);
    return width;
  }

  /// Returns where it ends.
  double draw(const LoopDiagram::Node& n, double x, double y, double width) {
    if (!n.loop) {
      body_ += statement_box(d_.statements[n.statement], items_text(n), "", x, y, width);
      return y + 2 * kLine + kPad;
    }
    const std::size_t at = body_.size();
    double end = y + kHead;
    for (const LoopDiagram::Node& c : n.body) end = draw(c, x + kPad, end, width - 2 * kPad) + kPad;
    body_.insert(at, fmt::format("<g class=\"iname\" data-iname=\"{}\">\n<rect class=\"loop\" "
                                 "x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                                 "rx=\"4\"/>\n",
                                 escaped(n.loop->iname), x, y, width, end - y) +
                         title_line(x + kPad, y + kLine, "for " + n.loop->iname,
                                    tag_text(n.loop->tag), bounds_text(*n.loop)) +
                         "</g>\n");
    return end;
  }

  const LoopDiagram& d_;
  std::string body_;
};

}  // namespace

std::string to_svg(const DependenceGraph& g) {
  const std::vector<Arrow> arrows = arrows_of(g);
  GraphToPlace graph;
  for (const DiagramStatement& s : g.statements)
    graph.nodes.push_back({box_width(s.id + inames_text(s), s.text), 2 * kLine + kPad});
  for (const Arrow& a : arrows) {
    double width = 0;
    for (const Arrow::Label& l : a.labels)
      width = std::max(width, width_of(l.shown(), kSmallLetter));
    graph.edges.push_back({a.from, a.to, width, kLabelLine * static_cast<double>(a.labels.size())});
  }
  const PlacedGraph placed = place(graph);

  std::string out = head("dependences of " + g.kernel, placed.width, placed.height) + markers();
  std::string labels;
  for (std::size_t i = 0; i < arrows.size(); ++i) {
    const Arrow& arrow = arrows[i];
    out += fmt::format("<path class=\"{0}\" d=\"{1}\" marker-end=\"url(#{0})\"/>\n",
                       to_string(arrow.labels.front().kind), placed.edges[i].path);
    const PlacedGraph::Point at = placed.edges[i].label;
    double y = at.y - graph.edges[i].label_height / 2 + kLabelLine - 3;
    for (const Arrow::Label& l : arrow.labels) {
      labels += fmt::format(
          "<text class=\"label {}\" x=\"{:.1f}\" y=\"{:.1f}\" data-source=\"{}\" "
          "data-target=\"{}\" data-edges=\"{}\"><title>{}</title>{}</text>\n",
          to_string(l.kind), at.x, y, escaped(g.statements[arrow.from].id),
          escaped(g.statements[arrow.to].id), l.edges, escaped(l.relations), escaped(l.shown()));
      y += kLabelLine;
    }
  }
  for (std::size_t i = 0; i < g.statements.size(); ++i) {
    const DiagramStatement& s = g.statements[i];
    out += statement_box(s, "", inames_text(s), placed.nodes[i].x, placed.nodes[i].y,
                         graph.nodes[i].width);
  }
  return out + labels + "</svg>\n";
}

std::string to_svg(const LoopDiagram& d) { return TreePicture(d).svg(); }

}  // namespace moonloop
