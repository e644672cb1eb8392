// SPDX-License-Identifier: Apache-2.0
// The hints that a program has set on a stream.
#include "shim.h"
#include "stream/stream.h"

#include <string.h>

// CUstreamAttrID
enum {
  ACCESS_POLICY_WINDOW = 1,
  SYNCHRONIZATION_POLICY = 3,
  PRIORITY = 8,
  MEM_SYNC_DOMAIN_MAP = 9,
  MEM_SYNC_DOMAIN = 10,
};

enum { SYNC_AUTO = 1, SYNC_BLOCKING = 4 };

/** The index of an attribute that is kept; -1: none is. */
static int slot_of(CUstreamAttrID attribute) {
  switch (attribute) {
    case ACCESS_POLICY_WINDOW:
      return 0;
    case SYNCHRONIZATION_POLICY:
      return 1;
    case MEM_SYNC_DOMAIN_MAP:
      return 2;
    case MEM_SYNC_DOMAIN:
      return 3;
    default:
      return -1;
  }
}

static int first_int(const CUstreamAttrValue *value) {
  int number;
  memcpy(&number, value, sizeof number);
  return number;
}

static CUresult attributes_of(CUstream handle, struct stream **stream,
                              struct stream_attributes **attributes) {
  struct context *context;
  CUresult result = stream_of(handle, &context, stream);
  if (result) return result;
  *attributes = *stream ? &(*stream)->attributes : &context->legacyAttributes;
  return CUDA_SUCCESS;
}

CUresult shim_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                   CUstreamAttrValue *value_out) {
  struct stream *stream;
  struct stream_attributes *attributes;
  int slot = slot_of(attr);
  if (!value_out || (slot < 0 && attr != PRIORITY)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = attributes_of(hStream, &stream, &attributes);
  if (result) return result;
  if (attr == PRIORITY) {
    int priority = stream ? stream->priority : 0;
    memset(value_out, 0, sizeof *value_out);
    memcpy(value_out, &priority, sizeof priority);
    return CUDA_SUCCESS;
  }
  *value_out = attributes->kept[slot];
  if (attr == SYNCHRONIZATION_POLICY && !first_int(value_out)) {
    int policy = SYNC_AUTO;
    memcpy(value_out, &policy, sizeof policy);
  }
  return CUDA_SUCCESS;
}

CUresult shim_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                   const CUstreamAttrValue *value) {
  struct stream *stream;
  struct stream_attributes *attributes;
  int slot = slot_of(attr);
  // A stream's priority is given to it when it is made; here it could only be told differently.
  if (attr == PRIORITY) return CUDA_ERROR_NOT_SUPPORTED;
  if (!value || slot < 0) return CUDA_ERROR_INVALID_VALUE;
  if (attr == SYNCHRONIZATION_POLICY &&
      (first_int(value) < SYNC_AUTO || first_int(value) > SYNC_BLOCKING)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = attributes_of(hStream, &stream, &attributes);
  if (!result) attributes->kept[slot] = *value;
  return result;
}

CUresult shim_cuStreamCopyAttributes(CUstream dst, CUstream src) {
  struct stream *stream;
  struct stream_attributes *from, *to;
  CUresult result = attributes_of(src, &stream, &from);
  if (!result) result = attributes_of(dst, &stream, &to);
  if (!result) *to = *from;
  return result;
}
