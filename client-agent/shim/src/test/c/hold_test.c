// SPDX-License-Identifier: Apache-2.0
// Agents that go and come back beneath sessions that outlive their connections.
#include "peer_context.h"
#include "transport/connection.h"
#include "transport/hold.h"
#include "transport/session_state.h"

#include <sched.h>
#include <stdatomic.h>

static CUcontext context;

static void begin_held(const char *ticket) {
  peer.resumeWindow = 60;
  peer.ticket = ticket;
  context = begin();
}

static void await_holds(int count) {
  while (atomic_load(&peerResume.holds) < count) sched_yield();
}

/** Has the agent's connection end, as a killed agent's does. */
static void end_agent(void) {
  struct peer_session *worker = peerResume.live[0]->session;
  int agent = worker->agent;
  worker->agent = -1;
  close(agent);
}

static void check_held(const char *key, const char *expected) {
  char value[80];
  text_get(&peerResume.held, key, value, sizeof value);
  if (strcmp(value, expected) != 0) fprintf(stderr, "%s=%s\n", key, value);
  CHECK(strcmp(value, expected) == 0);
}

static void agentGone_isNoticedAndTheNextOneAskedToHold(void) {
  setenv("GPUPOOL_FRACTION", "0.5", 1);
  begin_held("L7.secret");
  for (int times = 1; times <= 3; times++) {
    end_agent();
    await_holds(times);
    check_held("type", "hold");
    check_held("protocol", "1");
    check_held("ticket", "L7.secret");
    check_held("fraction", "0.5");
    check_held("window", "60");
    check_held("streams", "1");
    check_held("server.0", "named");
    check_held("session.0", "s1");
    check_held("session_key.0", "0000000000000000000000000000000000000000000000000000000000000000");
    CHECK_OK(cuCtxSynchronize());
    while (peerResume.live[0]->session->agent < 0) sched_yield();
  }
  CHECK(atomic_load(&peerResume.resumes) == 0);
}

static void agentGone_leaseHeldByAnother_isShownNoTicket(void) {
  setenv("GPUPOOL_LEASE", "L8.secret", 1);
  begin_held(NULL);
  end_agent();
  await_holds(1);
  check_held("lease", "L8.secret");
  check_held("ticket", "");
}

static void agentAwayForAMoment_isAskedAgain(void) {
  begin_held("L7.secret");
  peerResume.refusal = "type=refused\ncause=unreachable\nmessage=the pool is away\n";
  end_agent();
  await_holds(2);
  peerResume.refusal = NULL;
  int asked = atomic_load(&peerResume.holds);
  await_holds(asked + 1);
  while (peerResume.live[0]->session->agent < 0) sched_yield();
  CHECK_OK(cuCtxSynchronize());
}

static void agentAndStreamGone_nextAgentHoldsBeforeItGivesAStream(void) {
  begin_held("L7.secret");
  end_agent();
  shutdown(connections[0].stream, SHUT_RDWR);
  CHECK_OK(cuCtxSynchronize());
  CHECK(atomic_load(&peerResume.holds) == 1);
  CHECK(atomic_load(&peerResume.resumes) == 1);
}

static void newAgent_thatEndsTheSession_isHeard(void) {
  begin_held("L7.secret");
  end_agent();
  hold_renew(8000);
  while (peerResume.live[0]->session->agent < 0) sched_yield();
  struct text_message message;
  text_begin(&message);
  text_add(&message, "type", "ended");
  text_add(&message, "message", "its lease is over");
  text_send(&message, peerResume.live[0]->session->agent);
  shutdown(connections[0].stream, SHUT_RDWR);
  CHECK_RESULT(46, cuCtxSynchronize());
  CHECK(atomic_load(&peerResume.resumes) == 0);
}

static void severalServers_areAllNamed(void) {
  peer.connections = 2;
  begin_held("L7.secret");
  end_agent();
  await_holds(1);
  check_held("streams", "2");
  check_held("session.1", "session-of-1");
  check_held("server.1", "server-of-1");
}

static void fork_afterTheAgentCameBack_leavesTheParentsConnectionAlone(void) {
  begin_held("L7.secret");
  end_agent();
  hold_renew(8000);
  pid_t child = fork();
  if (child == 0) {
    // Only the parent has the connection now.
    char byte;
    CHECK(recv(session.agent, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_OK(cuCtxSynchronize());
}

int main(void) {
  CASE(agentGone_isNoticedAndTheNextOneAskedToHold);
  CASE(agentGone_leaseHeldByAnother_isShownNoTicket);
  CASE(agentAwayForAMoment_isAskedAgain);
  CASE(agentAndStreamGone_nextAgentHoldsBeforeItGivesAStream);
  CASE(newAgent_thatEndsTheSession_isHeard);
  CASE(severalServers_areAllNamed);
  CASE(fork_afterTheAgentCameBack_leavesTheParentsConnectionAlone);
  return test_result();
}
