#include <stdint.h>

void even(int32_t n, double *restrict a) {
  for (int32_t i = 0; i < n; i += 2)
    a[i] += 1.0;
}
