// SPDX-License-Identifier: Apache-2.0
// Checks of the arguments of entry points that are marshalled as they are.
#pragma once

#include "stream/capture_interface.h"

CUresult check_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                    CUstream hStream);
CUresult check_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream);
CUresult check_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                CUstream hStream);
CUresult check_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream);
CUresult check_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                 size_t Width, size_t Height, CUstream hStream);
CUresult check_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                  size_t Width, size_t Height, CUstream hStream);
CUresult check_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                  size_t Width, size_t Height, CUstream hStream);

/** The end of a synchronous fill: it waits if the host sees the memory. */
CUresult memset_wait(CUdeviceptr destination, CUstream handle);

// The same entry points in a stream that is capturing.
CUresult capture_cuMemcpyDtoDAsync_v2(struct stream *stream, CUdeviceptr dstDevice,
                                      CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream);
CUresult capture_cuMemsetD8Async(struct stream *stream, CUdeviceptr dstDevice, unsigned char value,
                                 size_t N, CUstream hStream);
CUresult capture_cuMemsetD16Async(struct stream *stream, CUdeviceptr dstDevice,
                                  unsigned short value, size_t N, CUstream hStream);
CUresult capture_cuMemsetD32Async(struct stream *stream, CUdeviceptr dstDevice, unsigned int value,
                                  size_t N, CUstream hStream);
CUresult capture_cuMemsetD2D8Async(struct stream *stream, CUdeviceptr dstDevice, size_t dstPitch,
                                   unsigned char value, size_t Width, size_t Height,
                                   CUstream hStream);
CUresult capture_cuMemsetD2D16Async(struct stream *stream, CUdeviceptr dstDevice, size_t dstPitch,
                                    unsigned short value, size_t Width, size_t Height,
                                    CUstream hStream);
CUresult capture_cuMemsetD2D32Async(struct stream *stream, CUdeviceptr dstDevice, size_t dstPitch,
                                    unsigned int value, size_t Width, size_t Height,
                                    CUstream hStream);

// The same entry points of a session with several connections, checked.
CUresult routed_cuMemcpyDtoDAsync_v2(struct context *context, uint32_t stream, CUdeviceptr dstDevice,
                                     CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream);
CUresult routed_cuMemsetD8Async(struct context *context, uint32_t stream, CUdeviceptr dstDevice,
                               unsigned char value, size_t N, CUstream hStream);
CUresult routed_cuMemsetD2D8Async(struct context *context, uint32_t stream, CUdeviceptr dstDevice,
                                 size_t dstPitch, unsigned char value, size_t Width,
                                 size_t Height, CUstream hStream);
CUresult routed_cuMemsetD16Async(struct context *context, uint32_t stream, CUdeviceptr dstDevice,
                               unsigned short value, size_t N, CUstream hStream);
CUresult routed_cuMemsetD2D16Async(struct context *context, uint32_t stream, CUdeviceptr dstDevice,
                                 size_t dstPitch, unsigned short value, size_t Width,
                                 size_t Height, CUstream hStream);
CUresult routed_cuMemsetD32Async(struct context *context, uint32_t stream, CUdeviceptr dstDevice,
                               unsigned int value, size_t N, CUstream hStream);
CUresult routed_cuMemsetD2D32Async(struct context *context, uint32_t stream, CUdeviceptr dstDevice,
                                 size_t dstPitch, unsigned int value, size_t Width,
                                 size_t Height, CUstream hStream);
