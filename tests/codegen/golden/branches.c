#include <stdbool.h>
#include <stdint.h>

void search(int32_t n, int32_t m, double const *restrict x, int32_t *restrict at,
            double *restrict d) {
  bool open = true;
  for (int32_t i = 0; i < n; ++i) {
    bool const cond = open != 0;
    if (cond && x[i] > 0.5) {
      at[0] = i;
      open = false;
      break;
    }
  }
  for (int32_t j = 0; j < n; ++j) {
    if (m < 0)
      d[j] = 1.0;
    else if (x[j] < 0.25)
      d[j] = 2.0;
    else if (open)
      d[j] = 3.0;
  }
}
