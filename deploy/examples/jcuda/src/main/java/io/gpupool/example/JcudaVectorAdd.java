// SPDX-License-Identifier: Apache-2.0
package io.gpupool.example;

import static jcuda.driver.JCudaDriver.cuCtxSetCurrent;
import static jcuda.driver.JCudaDriver.cuDeviceGet;
import static jcuda.driver.JCudaDriver.cuDeviceGetName;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRelease;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRetain;
import static jcuda.driver.JCudaDriver.cuDeviceTotalMem;
import static jcuda.driver.JCudaDriver.cuInit;
import static jcuda.driver.JCudaDriver.cuLaunchKernel;
import static jcuda.driver.JCudaDriver.cuMemAlloc;
import static jcuda.driver.JCudaDriver.cuMemFree;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoH;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoD;
import static jcuda.driver.JCudaDriver.cuModuleGetFunction;
import static jcuda.driver.JCudaDriver.cuModuleLoadData;
import static jcuda.driver.JCudaDriver.cuModuleUnload;
import static jcuda.driver.JCudaDriver.cuStreamCreate;
import static jcuda.driver.JCudaDriver.cuStreamDestroy;
import static jcuda.driver.JCudaDriver.cuStreamSynchronize;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import jcuda.Pointer;
import jcuda.Sizeof;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/**
 * Adds two vectors on the first GPU through JCuda and checks every element. Argument: kernels.ptx.
 */
final class JcudaVectorAdd {
  private static final int COUNT = 1 << 18;

  private JcudaVectorAdd() {}

  public static void main(String[] arguments) throws IOException {
    JCudaDriver.setExceptionsEnabled(true);
    cuInit(0);
    CUdevice device = new CUdevice();
    cuDeviceGet(device, 0);
    CUcontext context = new CUcontext();
    cuDevicePrimaryCtxRetain(context, device);
    cuCtxSetCurrent(context);
    System.out.println("device: " + describe(device));

    CUmodule module = new CUmodule();
    // C text ends with a zero byte.
    String ptx = Files.readString(Path.of(arguments[0])) + '\0';
    cuModuleLoadData(module, ptx.getBytes(StandardCharsets.UTF_8));
    CUfunction add = new CUfunction();
    cuModuleGetFunction(add, module, "add");
    addVectors(add);
    cuModuleUnload(module);
    cuDevicePrimaryCtxRelease(device);
    System.out.println("jcuda: OK " + COUNT + " elements");
  }

  private static String describe(CUdevice device) {
    byte[] name = new byte[256];
    cuDeviceGetName(name, name.length, device);
    long[] totalBytes = {0};
    cuDeviceTotalMem(totalBytes, device);
    int length = 0;
    while (name[length] != 0) {
      length++;
    }
    return new String(name, 0, length, StandardCharsets.UTF_8)
        + ", "
        + (totalBytes[0] >> 20)
        + " MiB";
  }

  private static void addVectors(CUfunction add) {
    float[] a = new float[COUNT];
    float[] b = new float[COUNT];
    float[] c = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      a[i] = i / 3.0f;
      b[i] = (COUNT - i) / 7.0f;
    }
    long bytes = (long) COUNT * Sizeof.FLOAT;
    CUdeviceptr deviceA = copyOf(a, bytes);
    CUdeviceptr deviceB = copyOf(b, bytes);
    CUdeviceptr deviceC = new CUdeviceptr();
    cuMemAlloc(deviceC, bytes);
    CUstream stream = new CUstream();
    cuStreamCreate(stream, CUstream_flags.CU_STREAM_DEFAULT);
    Pointer parameters =
        Pointer.to(
            Pointer.to(deviceA),
            Pointer.to(deviceB),
            Pointer.to(deviceC),
            Pointer.to(new int[] {COUNT}));
    cuLaunchKernel(add, (COUNT + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters, null);
    cuStreamSynchronize(stream);
    cuMemcpyDtoH(Pointer.to(c), deviceC, bytes);
    for (int i = 0; i < COUNT; i++) {
      if (c[i] != a[i] + b[i]) {
        throw new IllegalStateException("element " + i + " is " + c[i] + ", not " + (a[i] + b[i]));
      }
    }
    cuStreamDestroy(stream);
    cuMemFree(deviceA);
    cuMemFree(deviceB);
    cuMemFree(deviceC);
  }

  private static CUdeviceptr copyOf(float[] values, long bytes) {
    CUdeviceptr device = new CUdeviceptr();
    cuMemAlloc(device, bytes);
    cuMemcpyHtoD(device, Pointer.to(values), bytes);
    return device;
  }
}
