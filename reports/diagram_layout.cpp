#include "reports/diagram_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

namespace moonloop {
namespace {

constexpr double kMargin = 16, kBeside = 28, kWidestRow = 1400;
constexpr double kAboveTracks = 10, kBelowTracks = 20, kTrackGap = 6, kLane = 10, kLoop = 26;

struct Interval {
  double from = 0, to = 0;
  std::size_t owner = 0;
};

/// A number for each interval, the same for two only where they are disjoint; few of them.
std::vector<std::size_t> apart(const std::vector<Interval>& all) {
  std::vector<std::size_t> order(all.size()), out(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].from < all[b].from; });
  using Free = std::pair<double, std::size_t>;  // from where on, which number
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (const std::size_t i : order) {
    std::size_t number = free.size();
    if (!free.empty() && free.top().first < all[i].from) {
      number = free.top().second;
      free.pop();
    }
    out[i] = number;
    free.emplace(all[i].to, number);
  }
  return out;
}

class Placing {
 public:
  explicit Placing(const GraphToPlace& g)
      : g_(g),
        row_(g.nodes.size()),
        loop_(g.nodes.size()),
        left_(g.nodes.size()),
        height_(g.nodes.size()) {
    for (std::size_t i = 0; i < g.nodes.size(); ++i) height_[i] = g.nodes[i].height;
    out_.nodes.resize(g.nodes.size());
    out_.edges.resize(g.edges.size());
  }

  PlacedGraph run() {
    assign_rows();
    for (std::vector<std::size_t>& row : rows_) place_row(row);
    find_sides();
    choose_ports();
    fill_gaps();
    choose_lanes();
    set_heights();
    draw();
    return std::move(out_);
  }

 private:
  enum class Way { Loop, Direct, Right, Left };

  // ---- Which row, and where in it.

  void assign_rows() {
    const std::size_t n = g_.nodes.size();
    std::vector<std::vector<std::size_t>> after(n);
    before_.resize(n);
    for (std::size_t e = 0; e < g_.edges.size(); ++e) {
      const GraphToPlace::Edge& edge = g_.edges[e];
      if (edge.from == edge.to) {
        loop_[edge.from] = kLoop + edge.label_width;
        height_[edge.from] = std::max(height_[edge.from], edge.label_height);
      }
      if (edge.from >= edge.to) continue;
      after[edge.from].push_back(edge.to);
      before_[edge.to].push_back(edge.from);
    }
    std::vector<std::vector<std::size_t>> layers;
    std::vector<std::size_t> layer(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (layer[i] >= layers.size()) layers.resize(layer[i] + 1);
      layers[layer[i]].push_back(i);
      for (const std::size_t j : after[i]) layer[j] = std::max(layer[j], layer[i] + 1);
    }
    for (const auto& nodes : layers) {
      double width = kWidestRow;
      for (const std::size_t i : nodes) {
        width += cell(i) + kBeside;
        if (width > kWidestRow) {
          rows_.emplace_back();
          width = cell(i);
        }
        row_[i] = rows_.size() - 1;
        rows_.back().push_back(i);
      }
    }
  }
  double cell(std::size_t i) const { return g_.nodes[i].width + loop_[i]; }
  double middle(std::size_t i) const { return left_[i] + g_.nodes[i].width / 2; }

  /// Below the nodes that lead to it, as far as its neighbours let it.
  void place_row(std::vector<std::size_t>& row) {
    std::vector<std::pair<double, std::size_t>> wanted;  // left end
    double width = -kBeside;
    for (const std::size_t i : row) width += cell(i) + kBeside;
    double next = -width / 2;
    for (const std::size_t i : row) {
      double sum = 0;
      for (const std::size_t b : before_[i]) sum += middle(b);
      wanted.emplace_back(
          before_[i].empty() ? next
                             : sum / static_cast<double>(before_[i].size()) - g_.nodes[i].width / 2,
          i);
      next += cell(i) + kBeside;
    }
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    double error = 0;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const auto& [x, i] = wanted[k];
      row[k] = i;
      left_[i] = k == 0 ? x : std::max(x, left_[row[k - 1]] + cell(row[k - 1]) + kBeside);
      error += left_[i] - x;
    }
    for (const std::size_t i : row) left_[i] -= error / static_cast<double>(row.size());
  }

  void find_sides() {
    min_x_ = max_x_ = 0;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      min_x_ = std::min(min_x_, left_[i]);
      max_x_ = std::max(max_x_, left_[i] + cell(i));
    }
  }

  // ---- Where edges leave and arrive.

  Way way(const GraphToPlace::Edge& e) const {
    if (e.from == e.to) return Way::Loop;
    if (e.from > e.to) return Way::Left;
    return row_[e.to] == row_[e.from] + 1 ? Way::Direct : Way::Right;
  }

  void choose_ports() {
    leave_.resize(g_.edges.size());
    arrive_.resize(g_.edges.size());
    std::vector<std::vector<std::size_t>> out(g_.nodes.size()), in(g_.nodes.size());
    for (std::size_t e = 0; e < g_.edges.size(); ++e) {
      if (way(g_.edges[e]) == Way::Loop) continue;
      out[g_.edges[e].from].push_back(e);
      in[g_.edges[e].to].push_back(e);
    }
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      spread(i, out[i], leave_, [&](const GraphToPlace::Edge& e) { return middle(e.to); });
      spread(i, in[i], arrive_, [&](const GraphToPlace::Edge& e) { return middle(e.from); });
    }
  }
  /// Along a side of node `i`, so that they do not cross at once.
  template <class F>
  void spread(std::size_t i, std::vector<std::size_t>& edges, std::vector<double>& ports,
              F other_end) {
    const auto key = [&](std::size_t e) {
      const GraphToPlace::Edge& edge = g_.edges[e];
      const Way w = way(edge);
      return std::pair(w == Way::Left ? 0 : w == Way::Direct ? 1 : 2, other_end(edge));
    };
    std::stable_sort(edges.begin(), edges.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    for (std::size_t k = 0; k < edges.size(); ++k)
      ports[edges[k]] = left_[i] + g_.nodes[i].width * static_cast<double>(k + 1) /
                                       static_cast<double>(edges.size() + 1);
  }

  // ---- Between the rows: labels of curves, and lines to the sides.

  /// From top to bottom: ways to the right side and to the left one, those of inner nodes above
  /// those of outer ones, so that they do not cross each other's labels; curves; ways from the
  /// sides.
  enum Block { ToRight, ToLeft, Curves, FromSides, kBlocks };
  struct Span {
    Interval x;
    double height = 0, middle = 0;  // `middle`: below the gap's upper end
  };
  /// Gap g is above row g.
  struct Gap {
    std::vector<Span> spans[kBlocks];
    double height = 0;
  };

  std::size_t add_span(std::size_t gap, Block block, double from, double to, double height) {
    std::vector<Span>& all = gaps_[gap].spans[block];
    all.push_back({{from, to, 0}, height, 0});
    return all.size() - 1;
  }

  void fill_gaps() {
    gaps_.resize(rows_.size() + 1);
    first_.resize(g_.edges.size());
    second_.resize(g_.edges.size());
    for (std::size_t e = 0; e < g_.edges.size(); ++e) {
      const GraphToPlace::Edge& edge = g_.edges[e];
      const double w = edge.label_width, h = edge.label_height, below = leave_[e],
                   above = arrive_[e];
      switch (way(edge)) {
        case Way::Loop: break;
        case Way::Direct:
          first_[e] = add_span(row_[edge.to], Curves, std::min(below, above) - w / 2,
                               std::max(below, above) + w / 2, h);
          min_x_ = std::min(min_x_, std::min(below, above) - w / 2);
          max_x_ = std::max(max_x_, std::max(below, above) + w / 2);
          break;
        case Way::Right:
          max_x_ = std::max(max_x_, below + w + 12);
          first_[e] = add_span(row_[edge.from] + 1, ToRight, -below, -below, h + kTrackGap);
          second_[e] = add_span(row_[edge.to], FromSides, above, kFar, kTrackGap);
          break;
        case Way::Left:
          min_x_ = std::min(min_x_, below - w - 12);
          first_[e] = add_span(row_[edge.from] + 1, ToLeft, below, below, h + kTrackGap);
          second_[e] = add_span(row_[edge.to], FromSides, -kFar, above, kTrackGap);
          break;
      }
    }
    for (Gap& gap : gaps_) {
      double y = kAboveTracks;
      for (std::size_t b = 0; b < kBlocks; ++b) y = stack(gap.spans[b], b >= Curves, y);
      gap.height = y == kAboveTracks ? kMargin : y + kBelowTracks;
    }
  }
  /// Below `y`, each by itself in the order of their beginnings or, with `share`, side by side
  /// where they do not overlap. Returns where they end.
  static double stack(std::vector<Span>& spans, bool share, double y) {
    std::vector<Interval> all;
    for (const Span& s : spans) all.push_back({s.x.from, share ? s.x.to : kFar, 0});
    const std::vector<std::size_t> track = apart(all);
    std::vector<double> heights, top;
    for (std::size_t s = 0; s < spans.size(); ++s) {
      if (track[s] >= heights.size()) heights.resize(track[s] + 1);
      heights[track[s]] = std::max(heights[track[s]], spans[s].height);
    }
    for (const double h : heights) {
      top.push_back(y);
      y += h + kTrackGap;
    }
    for (std::size_t s = 0; s < spans.size(); ++s)
      spans[s].middle = top[track[s]] + heights[track[s]] / 2;
    return y;
  }

  void choose_lanes() {
    lane_.resize(g_.edges.size());
    for (const Way side : {Way::Right, Way::Left}) {
      std::vector<Interval> spans;
      for (std::size_t e = 0; e < g_.edges.size(); ++e) {
        if (way(g_.edges[e]) != side) continue;
        const double from = static_cast<double>(row_[g_.edges[e].from] + 1);
        const double to = static_cast<double>(row_[g_.edges[e].to]);
        spans.push_back({std::min(from, to), std::max(from, to) + .5, e});
      }
      const std::vector<std::size_t> numbers = apart(spans);
      std::size_t lanes = 0;
      for (std::size_t s = 0; s < spans.size(); ++s) {
        const double far = kLane * static_cast<double>(numbers[s] + 1);
        lane_[spans[s].owner] = side == Way::Right ? max_x_ + far : min_x_ - far;
        lanes = std::max(lanes, numbers[s] + 1);
      }
      (side == Way::Right ? right_of_lanes_ : left_of_lanes_) = kLane * static_cast<double>(lanes);
    }
    max_x_ += right_of_lanes_;
    min_x_ -= left_of_lanes_;
  }

  void set_heights() {
    double y = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      gap_y_.push_back(y);
      y += gaps_[r].height;
      row_y_.push_back(y);
      double height = 0;
      for (const std::size_t i : rows_[r]) height = std::max(height, height_[i]);
      y += height;
    }
    gap_y_.push_back(y);
    out_.height = y + gaps_.back().height;
    out_.width = max_x_ - min_x_ + 2 * kMargin;
  }

  // ---- Lines.

  double x(double x) const { return x - min_x_ + kMargin; }
  double track_y(std::size_t gap, Block block, std::size_t span) const {
    return gap_y_[gap] + gaps_[gap].spans[block][span].middle;
  }

  void draw() {
    for (std::size_t i = 0; i < g_.nodes.size(); ++i)
      out_.nodes[i] = {x(left_[i]), row_y_[row_[i]]};
    for (std::size_t e = 0; e < g_.edges.size(); ++e) {
      const GraphToPlace::Edge& edge = g_.edges[e];
      PlacedGraph::Edge& to = out_.edges[e];
      const PlacedGraph::Point from_corner = out_.nodes[edge.from];
      const double bottom = from_corner.y + g_.nodes[edge.from].height, top = out_.nodes[edge.to].y,
                   x1 = x(leave_[e]), x2 = x(arrive_[e]);
      switch (way(edge)) {
        case Way::Loop: {
          const double right = from_corner.x + g_.nodes[edge.from].width,
                       middle = from_corner.y + g_.nodes[edge.from].height / 2;
          to.path = fmt::format("M{:.1f},{:.1f} c24,-14 24,26 0,12", right, middle - 6);
          to.label = {right + kLoop - 4, std::max(middle, from_corner.y + edge.label_height / 2)};
          break;
        }
        case Way::Direct: {
          const double y = track_y(row_[edge.to], Curves, first_[e]);
          to.path = fmt::format("M{0:.1f},{1:.1f} C{0:.1f},{2:.1f} {3:.1f},{2:.1f} {3:.1f},{4:.1f}",
                                x1, bottom, (bottom + top) / 2, x2, top);
          to.label = {
              x1 + (x2 - x1) * aside_at((y - bottom) / (top - bottom)) - edge.label_width / 2, y};
          break;
        }
        case Way::Right:
        case Way::Left: {
          const bool right = way(edge) == Way::Right;
          const double half = edge.label_height / 2,
                       y1 =
                           track_y(row_[edge.from] + 1, right ? ToRight : ToLeft, first_[e]) + half,
                       y2 = track_y(row_[edge.to], FromSides, second_[e]), side = x(lane_[e]);
          to.path = around(x1, bottom, y1, side, y2, x2, top);
          to.label = {right ? x1 + 6 : x1 - 6 - edge.label_width, y1 - half - 2};
          break;
        }
      }
    }
  }

  /// How far to the side such a curve is, as a fraction, where it is so far down.
  static double aside_at(double down) {
    double low = 0, high = 1;  // of the curve's parameter
    for (int i = 0; i < 30; ++i) {
      const double t = (low + high) / 2;
      (1.5 * t * (1 - t) + t * t * t < down ? low : high) = t;
    }
    return low * low * (3 - 2 * low);
  }

  /// Down, sideways, along the side, back, and down to the node, with round corners.
  static std::string around(double x1, double bottom, double y1, double side, double y2, double x2,
                            double top) {
    constexpr double kRound = 4;
    const double out = side > x1 ? kRound : -kRound, back = x2 > side ? kRound : -kRound,
                 along = y2 > y1 ? kRound : -kRound;
    return fmt::format(
        "M{:.1f},{:.1f} V{:.1f} q0,{} {},{} H{:.1f} q{},0 {},{} V{:.1f} q0,{} {},{} H{:.1f} "
        "q{},0 {},{} V{:.1f}",
        x1, bottom, y1 - kRound, kRound, out, kRound, side - out, out, out, along, y2 - along,
        along, back, along, x2 - back, back, back, kRound, top);
  }

  static constexpr double kFar = 1e9;
  const GraphToPlace& g_;
  PlacedGraph out_;
  std::vector<std::size_t> row_;
  /// By node: width of what is drawn next to it; left end; height including that.
  std::vector<double> loop_, left_, height_;
  std::vector<std::vector<std::size_t>> before_, rows_;
  double min_x_ = 0, max_x_ = 0, right_of_lanes_ = 0, left_of_lanes_ = 0;
  std::vector<double> leave_, arrive_,
      lane_;  // by edge: x of its ends, and of its way along a side
  std::vector<Gap> gaps_;
  std::vector<std::size_t> first_, second_;  // by edge: its spans in the gaps
  std::vector<double> gap_y_, row_y_;
};

}  // namespace

PlacedGraph place(const GraphToPlace& g) { return Placing(g).run(); }

}  // namespace moonloop
