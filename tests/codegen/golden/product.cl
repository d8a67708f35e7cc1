#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(int const n, __global double const *restrict a, __global double const *restrict b,
            __global double *restrict c) {
  int const i = get_local_id(1);
  int const io = get_group_id(1);
  int const j = get_local_id(0);
  int const jo = get_group_id(0);
  if (i + 16*io < n)
    if (j + 16*jo < n) {
      double acc_k = 0.0;
      for (int k = 0; k < n; ++k)
        acc_k += a[(long)n*(i + 16*io) + k]*b[(long)n*k + j + 16*jo];
      c[(long)n*(i + 16*io) + j + 16*jo] = acc_k;
    }
}
