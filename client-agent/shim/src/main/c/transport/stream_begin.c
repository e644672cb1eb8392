// SPDX-License-Identifier: Apache-2.0
#include "transport/stream_begin.h"

#include "transport/sealed_stream.h"
#include "transport/shared_stream.h"

bool stream_begin(struct connection *connection, int stream, const struct stream_terms *terms) {
  return sealed_begin(connection, terms->secret) && shared_begin(connection, stream, terms->shares);
}
