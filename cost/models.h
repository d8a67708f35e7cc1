#pragma once
#include "cost/bounds.h"
#include "cost/streams.h"

/// The models, one for each kind of machine; predict() chooses.
namespace moonloop::cost {

/// What they are given.
struct Question {
  const Work& work;
  const Integers& params;
  const MachineProfile& profile;
  const PredictOptions& options;
  Remarks& remarks;

  double at(const SharedAmount& a) const { return a->at(params, options.trips, remarks); }
};

/// Loops around a statement with the numbers of their iterations.
std::vector<Trip> trips_of(const WorkStatement& s, const Question& q);

/// Cores with vectors and caches; on devices of a processor, groups go to cores.
void predict_on_cores(const Question& q, Totals& totals);
/// A GPU: groups of work-items in warps.
void predict_on_gpu(const Question& q, Totals& totals);
/// Of an array with these parameters.
double bytes_of(const WorkArray& a, const Integers& params);
/// Bytes of arguments that are copied to a device and, where they are written, back; how many
/// copies.
double transferred_bytes(const Question& q, double* copies = nullptr);
/// Copies of the arguments to a device and back.
void predict_transfers(const Question& q, Totals& totals);

}  // namespace moonloop::cost
