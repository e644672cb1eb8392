// SPDX-License-Identifier: Apache-2.0
// Call streams that are cut while a session begins.
#include "peer_context.h"

#include <stdatomic.h>

static void lose_welcome(struct peer_session *session) {
  session->resuming->outLeft = 0;
  peer_welcome(session);
}

static void lose_partOfWelcome(struct peer_session *session) {
  session->resuming->outLeft = 300;
  peer_welcome(session);
}

static void check_begun(void) {
  CUdeviceptr device;
  peer.resumeWindow = 60;
  begin();
  CHECK_OK(cuMemAlloc_v2(&device, 4096));
  CHECK_OK(cuCtxSynchronize());
  CHECK(atomic_load(&peerResume.resumes) == 1);
  CHECK(peer.sessions == 1);
}

static void cut_beforeTheWelcome_isResumed(void) {
  peer.welcome = lose_welcome;
  check_begun();
}

static void cut_withinTheWelcome_isResumed(void) {
  peer.welcome = lose_partOfWelcome;
  check_begun();
}

static void cut_beforeTheWelcomeOfASessionThatIsGone_isAnError(void) {
  peer.welcome = lose_welcome;
  peer.resumeWindow = 60;
  atomic_store(&peerResume.refusal, "type=refused\ncause=refused\nmessage=no such session\n");
  peer_start(&peer);
  CHECK_RESULT(802, cuInit(0));
  CHECK_RESULT(802, cuInit(0));
}

int main(void) {
  CASE(cut_beforeTheWelcome_isResumed);
  CASE(cut_withinTheWelcome_isResumed);
  CASE(cut_beforeTheWelcomeOfASessionThatIsGone_isAnError);
  return test_result();
}
