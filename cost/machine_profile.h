#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/expr/type.h"

/// What a machine can do, as numbers: what predictions are made with.
namespace moonloop::cost {

/// A cache, the local memory of a device, or main memory.
struct MemoryLevel {
  std::string name;        // `L1`, `L2`, `L3`, `local`, `memory`
  std::int64_t bytes = 0;  // that it holds; 0: as many as there are
  std::int64_t line = 64;  // bytes that are moved at once
  bool shared = false;     // by all units; else each has its own
  double one = 0;          // bytes per second that one unit reads and writes in it, lines in order
  double all = 0;          // the same for all units together
  double scattered = 0;    // bytes per second of one unit where each line is on another page
};

/// How long operations take: those of addition are 1.
struct OperationCosts {
  double division = 8;   // also remainders and square roots
  double function = 30;  // of the mathematical library
  double power = 60;
};

struct MachineProfile {
  static constexpr int kVersion = 2;

  std::string device;     // as the command `devices` names it
  bool is_gpu = false;    // work-items in warps; else units have vectors
  bool measured = false;  // else made from what the system tells
  int units = 1;          // cores, or a device's compute units
  double clock = 1e9;     // Hz
  int vector_bytes = 16;  // of a vector that the compiler uses; of devices those of a warp's f32
  int registers = 16;     // vectors of a unit; of devices words of a work-item
  /// What a unit computes while all of them do, as a part of what it does alone: less than 1 where
  /// units are threads of one core.
  double together = 1;
  double issue = 4;    // instructions per cycle of a unit; of devices warps' instructions
  double latency = 4;  // cycles from an addition to one that needs its result
  /// Operations per second of one unit by type: a multiplication and an addition of it count 2.
  double f32 = 0, f64 = 0, i32 = 0;
  OperationCosts operations;
  std::vector<MemoryLevel> levels;  // the nearest first; the last one is main memory
  /// Seconds to start a kernel of a device, or a loop whose iterations threads share.
  double launch = 0;
  /// Seconds that a call of a device's kernels takes besides its launches.
  double start = 0;
  /// Of what one thread wrote and others fetch from its core's caches, bytes per second of all of
  /// them: lines that follow each other, and lines apart from each other.
  double handover = 0, handover_apart = 0;
  double barrier = 0;  // seconds that a group of a device waits
  /// Of copies between the host and a device: seconds before the first byte, bytes per second.
  double transfer_start = 0, transfer = 0;

  double rate(Scalar type) const;  // operations per second of one unit
  const MemoryLevel* level(const std::string& name) const;
};

/// As JSON, indented, members in a fixed order.
std::string to_json(const MachineProfile& p);
/// Reads it back. Fails `bad-profile`: what it is not, and the member; another version too.
MachineProfile parse_profile(const std::string& text, const std::string& name);

/// What the system tells of a machine without measuring.
struct MachineFacts {
  std::string device;
  bool is_gpu = false;
  int units = 1;
  double clock = 0;  // Hz; 0: not told
  int vector_bytes = 16;
  struct Cache {
    int level = 1;
    std::int64_t bytes = 0, line = 64;
    bool shared = false;
  };
  std::vector<Cache> caches;     // of data, the nearest first
  std::int64_t memory = 0;       // bytes; 0: not told
  std::int64_t local_bytes = 0;  // of a device's group
};

/// A profile of these facts, with cautious numbers in place of what is measured: as many bytes and
/// operations in a cycle as most machines of the last ten years reach.
MachineProfile default_profile(const MachineFacts& facts);

}  // namespace moonloop::cost
