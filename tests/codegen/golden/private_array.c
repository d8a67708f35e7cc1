#include <stdint.h>

void rows(int32_t n, double *restrict a) {
  #pragma omp parallel for
  for (int32_t i = 0; i < n; ++i) {
    double row[8];
    for (int32_t j = 0; j < 8; ++j)
      row[j] = a[8*(int64_t)i + j];
    for (int32_t k = 0; k < 8; ++k)
      a[8*(int64_t)i + k] = row[7 - k];
  }
}
