#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cost/predict.h"

/// The elements that accesses touch while loops run: sizes of footprints, lines, strides.
namespace moonloop::cost {

/// A loop around an access, at given parameters.
struct Trip {
  int node = 0;  // equal for accesses that are in one loop
  std::string iname;
  double trips = 1;    // on average, each time that it starts
  double reached = 1;  // how often its body runs, in all
  double stride = 1;   // that its iname advances by: more where it stands for waves of groups
};

/// A subscript as a sum over loops.
struct AxisForm {
  std::vector<double> factors;  // one for each loop
  double low = 0, high = 0;     // the constant of all accesses that the stream has
  double extent = 1;            // of the axis
  double stride = 1;            // in elements
  bool whole = false;           // not affine: it may be any place of the axis
};

/// Accesses to an array whose subscripts differ by constants at most.
struct Stream {
  std::string array;
  double bytes = 8;  // of an element
  bool read = false, write = false;
  std::vector<Trip> path;  // outer first
  std::vector<AxisForm> axes;
  int statement = 0;  // the first that has it
  int accesses = 1;   // that are in it
  double instances = 0;

  bool scattered() const;  // some subscript is not affine
  bool depends_on(std::size_t loop) const;
  /// Elements between the places of neighbouring iterations of a loop.
  double step(std::size_t loop) const;
  /// Lines of `line` bytes that it touches while the loops from `loop` on run once.
  double lines(std::size_t loop, double line) const;
  /// Bytes that follow each other of those that it touches while the loops from `loop` on run once.
  double run(std::size_t loop) const;
  /// How many times as much of a cache they take as their number says: lines at a large power of
  /// two from one another are kept in few of its sets.
  double crowding(std::size_t loop, double line) const;
};

/// A subscript at given parameters: a constant and a factor for each loop of `path`. Nothing where
/// it is neither affine nor nearly so (quotients and remainders by constants are, with a remark).
struct LinearForm {
  double constant = 0;
  std::vector<double> factors;
};
std::optional<LinearForm> linear_form(const Expr& e, const std::vector<Trip>& path,
                                      const Integers& params, Remarks& remarks);

/// The access as a stream of its own.
Stream stream_of(const WorkAccess& access, const WorkArray& array, const std::vector<Trip>& path,
                 const Integers& params, Remarks& remarks);
/// Adds `more` to the streams: to one with equal factors in the same loops, else by itself.
void add_stream(std::vector<Stream>& streams, Stream more);

/// Lines of a stream that are moved into a cache.
struct Traffic {
  double bytes = 0;
  /// They follow each other in few rows of memory, so that the hardware fetches them ahead; else
  /// each is on another page.
  bool in_order = true;
  /// Lines that are asked for one right after the other, before as many iterations as find theirs
  /// again: no more of them are on their way at once.
  double burst = 1e9;
};
/// What a cache does with lines, besides how many bytes of them it keeps.
struct CacheHabits {
  bool crowds = false;  // the lines' addresses tell their places
  /// It drops the line that was used longest ago, so that a walk over more than it holds finds
  /// nothing again; else of a footprint that is less than twice as large as the cache, a part.
  bool drops_oldest = false;
  bool both_ways = false;  // lines that are written back leave while others come
  /// Units that work at the same time: the loops of `split`, by their nodes, run on one of them,
  /// which has that part of the capacity; the others have all of it together.
  double units = 1;
  std::set<int> split;
  double between = 0;  // bytes of other memory that are used from run to run
  bool own = false;    // each unit has its own part: lines that all of them use are in each
};
/// Bytes of lines that are moved into a cache of `capacity` bytes, by stream. A loop's body whose
/// footprint fits finds at its next iteration what the last one left there.
std::vector<Traffic> traffic_into(const std::vector<Stream>& streams, double capacity, double line,
                                  const CacheHabits& habits = {});

}  // namespace moonloop::cost
