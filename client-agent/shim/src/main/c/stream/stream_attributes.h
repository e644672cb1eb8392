// SPDX-License-Identifier: Apache-2.0
// What a program has set on a stream: hints about caches, waiting and memory domains, kept to be told.
#pragma once

#include "core/driver.h"

enum { KEPT_ATTRIBUTES = 4 };

struct stream_attributes {
  struct CUstreamAttrValue kept[KEPT_ATTRIBUTES];
};
