#include "grid.h"
#include "smooth.h"

int main(void) {
  static double u[SIZE], v[SIZE];
  fill(u);
  cl_platform_id platform;
  cl_device_id device;
  cl_int status = clGetPlatformIDs(1, &platform, NULL);
  if (!status) status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  if (status) return printf("no OpenCL device (%d)\n", status), 2;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  cl_mem a = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof u, u, &status);
  cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof v, v, &status);
  if (!status) status = smooth(queue, N, M, 0.8, a, b);
  if (!status) status = clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof v, v, 0, NULL, NULL);
  clReleaseMemObject(a), clReleaseMemObject(b);
  clReleaseCommandQueue(queue), clReleaseContext(context);
  if (status) return printf("OpenCL's error %d\n", status), 2;
  return check(0.8, u, v);
}
