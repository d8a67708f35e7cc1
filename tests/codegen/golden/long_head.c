#include <stdint.h>

static inline int32_t max_i32(int32_t a, int32_t b) {
  return b > a ? b : a;
}

static inline int32_t min_i32(int32_t a, int32_t b) {
  return b < a ? b : a;
}

void band(int32_t number_of_rows, int32_t half_bandwidth, double *restrict matrix) {
  for (int32_t row_index = 0; row_index < number_of_rows; ++row_index)
    for (int32_t column_index = max_i32(0, row_index - half_bandwidth);
        column_index < min_i32(number_of_rows, half_bandwidth + row_index + 1); ++column_index)
      matrix[(int64_t)number_of_rows*row_index + column_index] = 0.0;
}
