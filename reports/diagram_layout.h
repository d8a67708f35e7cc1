#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace moonloop {

/// A graph whose nodes are boxes in an order, to be drawn on a plane. Lengths are in pixels.
struct GraphToPlace {
  struct Node {
    double width = 0, height = 0;
  };
  struct Edge {
    std::size_t from = 0, to = 0;
    double label_width = 0, label_height = 0;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;  // at most one between two nodes in a direction
};

struct PlacedGraph {
  struct Point {
    double x = 0, y = 0;
  };
  struct Edge {
    std::string path;  // of SVG, from node to node
    Point label;       // its left end, halfway down
  };
  double width = 0, height = 0;
  std::vector<Point> nodes;  // left upper corners
  std::vector<Edge> edges;
};

/// Layers from top to bottom, each node at the level of the longest path of edges to it, counting
/// only edges to later nodes. An edge to the next row is a curve; others run around the rows, those
/// to later nodes on the right side and those to earlier ones on the left, each along a line of its
/// own wherever it would meet another. Boxes and labels do not overlap. Layers that are too wide
/// take several rows. Cost: near-linear.
PlacedGraph place(const GraphToPlace& g);

}  // namespace moonloop
