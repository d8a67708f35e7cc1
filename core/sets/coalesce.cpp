#include "core/sets/coalesce.h"

namespace moonloop {

Set coalesce(Set s) {
  if (count(isl_set_n_basic_set(s.get())) > 1) s = isl_set_detect_equalities(s.take());
  return isl_set_coalesce(s.take());
}

Map coalesce(Map m) {
  if (count(isl_map_n_basic_map(m.get())) > 1) m = isl_map_detect_equalities(m.take());
  return isl_map_coalesce(m.take());
}

}  // namespace moonloop
