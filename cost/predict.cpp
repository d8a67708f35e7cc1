#include "cost/predict.h"

#include "codegen/language.h"
#include "cost/models.h"

namespace moonloop::cost {

const Bound& Prediction::bottleneck() const {
  static const Bound kNothing{"nothing", 0, 0, 0, ""};
  return bounds.empty() ? kNothing : bounds.front();
}

std::vector<Trip> trips_of(const WorkStatement& s, const Question& q) {
  std::vector<Trip> out;
  double before = 1;
  for (std::size_t l = 0; l < s.loops.size(); ++l) {
    const double reached = q.at(s.reached[l]);
    out.push_back({s.loops[l].node, s.loops[l].iname, before > 0 ? reached / before : 0, reached,
                   s.loops[l].stride});
    before = reached;
  }
  return out;
}

double bytes_of(const WorkArray& a, const Integers& params) {
  double out = a.type.size();
  for (const Expr& e : a.shape) out *= static_cast<double>(evaluate(e, params, "an extent"));
  return out;
}

double transferred_bytes(const Question& q, double* copies) {
  double bytes = 0;
  for (const auto& [name, a] : q.work.arrays) {
    if (!a.argument || (!a.read && !a.written)) continue;
    const double times = a.written ? 2 : 1;
    bytes += times * bytes_of(a, q.params);
    if (copies) *copies += times;
  }
  return bytes;
}

void predict_transfers(const Question& q, Totals& totals) {
  double copies = 0;
  const double bytes = transferred_bytes(q, &copies);
  if (q.profile.transfer <= 0) return;
  totals.alone("transfers", copies * q.profile.transfer_start + bytes / q.profile.transfer, bytes);
}

Prediction predict(const Work& work, const Integers& params, const MachineProfile& profile,
                   const PredictOptions& options) {
  Prediction out;
  out.device = profile.device;
  out.measured = profile.measured;
  out.remarks = work.remarks;
  Totals totals;
  const Question q{work, params, profile, options, out.remarks};
  const bool device = is_device(work.target);
  device&& profile.is_gpu ? predict_on_gpu(q, totals) : predict_on_cores(q, totals);
  if (device && !options.resident) predict_transfers(q, totals);
  totals.write(out);
  return out;
}

Prediction predict(const Kernel& k, Target target, const Integers& params,
                   const MachineProfile& profile, const PredictOptions& options) {
  return predict(work_of(k, target), params, profile, options);
}

}  // namespace moonloop::cost
