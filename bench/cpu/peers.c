/* The kernels of kernels.loop as one writes them by hand, for gcc -O3 -march=native -fopenmp. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

void softmax(int rows, int n, float const *restrict x, float *restrict y) {
#pragma omp parallel for
  for (int r = 0; r < rows; ++r) {
    float const *in = x + (size_t)n*r;
    float *out = y + (size_t)n*r, most = -INFINITY, total = 0;
#pragma omp simd reduction(max : most)
    for (int j = 0; j < n; ++j) most = in[j] > most ? in[j] : most;
#pragma omp simd reduction(+ : total)
    for (int j = 0; j < n; ++j) total += out[j] = expf(in[j] - most);
    float const scale = 1/total;
    for (int j = 0; j < n; ++j) out[j] *= scale;
  }
}

void layernorm(int rows, int n, float const *restrict x, float const *restrict g,
               float const *restrict b, float *restrict y) {
#pragma omp parallel for
  for (int r = 0; r < rows; ++r) {
    float const *in = x + (size_t)n*r;
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < n; ++j) sum += in[j];
    float const mean = sum/n;
#pragma omp simd reduction(+ : squares)
    for (int j = 0; j < n; ++j) squares += (in[j] - mean)*(in[j] - mean);
    float const scale = 1/sqrtf(squares/n + 1e-5f);
    for (int j = 0; j < n; ++j) y[(size_t)n*r + j] = (in[j] - mean)*scale*g[j] + b[j];
  }
}

void total(int n, double const *restrict x, double *restrict y) {
  double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += x[i];
  *y = sum;
}

void row_sums(int rows, int n, double const *restrict x, double *restrict y) {
#pragma omp parallel for
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < n; ++j) sum += x[(size_t)n*r + j];
    y[r] = sum;
  }
}

void column_sums(int rows, int n, double const *restrict x, double *restrict y) {
  memset(y, 0, sizeof(double)*n);
#pragma omp parallel for reduction(+ : y[:n])
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < n; ++j) y[j] += x[(size_t)n*r + j];
}

void scan(int n, double const *restrict x, double *restrict y) {
  double sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
  for (int i = 0; i < n; ++i) {
    sum += x[i];
#pragma omp scan inclusive(sum)
    y[i] = sum;
  }
}

void histogram(int n, int bins, int const *restrict at, int *restrict y) {
  memset(y, 0, sizeof(int)*bins);
#pragma omp parallel for reduction(+ : y[:bins])
  for (int i = 0; i < n; ++i) ++y[at[i]];
}

static void sweep_2d(int n, double const *restrict a, double *restrict b) {
#pragma omp parallel for
  for (int i = 1; i < n - 1; ++i)
    for (int j = 1; j < n - 1; ++j) {
      double const *at = a + (size_t)n*i + j;
      b[(size_t)n*i + j] = 0.2*(at[0] + at[-n] + at[n] + at[-1] + at[1]);
    }
}

void jacobi_2d(int n, int m, double *a, double *b) {
  for (int t = 0; t < m; ++t) sweep_2d(n, a, b), sweep_2d(n, b, a);
}

static void sweep_3d(int n, double const *restrict a, double *restrict b) {
  size_t const plane = (size_t)n*n;
#pragma omp parallel for
  for (int i = 1; i < n - 1; ++i)
    for (int j = 1; j < n - 1; ++j)
      for (int k = 1; k < n - 1; ++k) {
        double const *at = a + plane*i + (size_t)n*j + k;
        b[plane*i + (size_t)n*j + k] =
            (at[0] + at[-plane] + at[plane] + at[-n] + at[n] + at[-1] + at[1])/7;
      }
}

void jacobi_3d(int n, int m, double *a, double *b) {
  for (int t = 0; t < m; ++t) sweep_3d(n, a, b), sweep_3d(n, b, a);
}

void transpose(int n, double const *restrict x, double *restrict y) {
#pragma omp parallel for collapse(2)
  for (int p = 0; p < n; p += 16)
    for (int q = 0; q < n; q += 16)
      for (int i = p; i < p + 16 && i < n; ++i)
        for (int j = q; j < q + 16 && j < n; ++j) y[(size_t)n*i + j] = x[(size_t)n*j + i];
}

void nstream(int n, double *restrict a, double const *restrict b, double const *restrict c) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) a[i] += b[i] + 0.4*c[i];
}

void bilinear(int n, double const *restrict x, double const *restrict y, double const *restrict a,
              double *restrict r) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; ++i) {
    double row = 0;
#pragma omp simd reduction(+ : row)
    for (int j = 0; j < n; ++j) row += a[(size_t)n*i + j]*x[j];
    sum += y[i]*row;
  }
  *r = sum;
}

/* The rate at which memory can be copied. */
void copy(int n, double const *restrict x, double *restrict y) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) y[i] = x[i];
}
