#include "cost/acm.h"

#include <algorithm>
#include <cmath>

#include "codegen/language.h"
#include "cost/models.h"

namespace moonloop::cost {
namespace {

/// The last cache before main memory.
double last_cache(const MachineProfile& p) {
  const std::size_t n = p.levels.size();
  return static_cast<double>(p.levels[n > 1 ? n - 2 : 0].bytes);
}

/// Of one statement in a device's kernel.
double gpu_cost(const WorkStatement& s, const Question& q, const AcmMachine& m) {
  double groups = 1, parallel = 1, serial = 1, host = 1;
  bool in_kernel = false, launched_again = false;
  const std::vector<Trip> path = trips_of(s, q);
  const bool has_groups = std::any_of(s.loops.begin(), s.loops.end(),
                                      [](const WorkLoop& l) { return l.is(TagKind::Group); });
  for (std::size_t l = 0; l < path.size(); ++l) {
    const WorkLoop& loop = s.loops[l];
    if (loop.is(TagKind::Group)) {
      groups *= path[l].trips;
      parallel *= path[l].trips;
      in_kernel = true;
    } else if (loop.tag && is_work_item(&*loop.tag)) {
      parallel *= path[l].trips;
      in_kernel = true;
    } else if (in_kernel || !has_groups) {
      serial *= path[l].trips;
    } else {
      host *= path[l].trips;
      launched_again = true;
    }
  }
  const double exec = acm_lambda_exec(m, groups, parallel, serial);
  return acm_gpu_cost(m, exec, launched_again ? std::optional(host) : std::nullopt);
}

}  // namespace

double acm_psi(const AcmMachine& m) {
  return m.f_gpu * (m.lc_gpu / (m.units * m.caches)) / (m.f_cpu * m.lc_cpu);
}

double acm_lambda_exec(const AcmMachine& m, double groups, double parallel, double serial) {
  if (groups <= 0) return 0;
  return std::ceil(groups / m.units) / (groups * m.schedulers * m.warp) * parallel * serial;
}

double acm_gpu_cost(const AcmMachine& m, double lambda_exec, std::optional<double> sequential) {
  return sequential ? std::max(m.lambda_x, lambda_exec) * *sequential : m.lambda_x + lambda_exec;
}

AcmMachine acm_machine(const MachineProfile& host, const MachineProfile& gpu) {
  AcmMachine m;
  m.f_cpu = host.clock;
  m.f_gpu = gpu.clock;
  m.lc_cpu = last_cache(host);
  m.lc_gpu = last_cache(gpu);
  m.units = gpu.units;
  m.statement = 1 / host.clock;
  m.transfer = gpu.transfer * m.statement;
  m.lambda_x = 1.1 * gpu.launch / m.statement * m.mu * acm_psi(m);
  return m;
}

Prediction predict_acm(const Work& work, const Integers& params, const AcmMachine& m,
                       const PredictOptions& options) {
  Prediction out;
  out.remarks = work.remarks;
  Totals totals;
  static const MachineProfile kNone;
  const Question q{work, params, kNone, options, out.remarks};
  const double cpu = 1 / m.mu, gpu = cpu / acm_psi(m);  // I_cpu and I_gpu
  double statements = 0, bytes = 0;
  for (const WorkStatement& s : work.statements)
    statements += is_device(work.target) ? gpu_cost(s, q, m) * gpu
                                         : (s.reached.empty() ? 1 : q.at(s.reached.back())) * cpu;
  totals.alone("statements", statements * m.statement, statements);
  if (is_device(work.target) && !options.resident && m.transfer > 0) {
    bytes = transferred_bytes(q);
    totals.alone("transfers", bytes / m.transfer * m.statement, bytes);
  }
  totals.write(out);
  return out;
}

}  // namespace moonloop::cost
